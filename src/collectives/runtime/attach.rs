//! Attaching a communicator: its ranks agree on the rules that decide about its calls.
//!
//! The first call on `MPI_COMM_WORLD` attaches it; another communicator is attached by the call with which its calls
//! have moved [`crate::Settings::attach_after_bytes`], a number that all ranks count alike. Its ranks find out its
//! shape (nodes by `MPI_Comm_split_type`, ranks on the fullest), and whether they are in block or cyclic order, which
//! each rank finds by its node's first rank. Then they compile the rules of the table for that shape and order, and
//! agree on the outcome, also on having rounded alike where the shape is between measured ones.
//!
//! The collectives by which ranks agree lead to our own hooks: while a communicator is prepared, the dispatcher is busy
//! and passes them on. Other threads may attach other communicators meanwhile; [`crate::threads`] says why they do not wait
//! for each other.

use std::cell::Cell;
use std::sync::{Arc, Mutex};

use exec::constants::MPI_Comm;
use exec::{ExecError, check_code};
use mpi::ffi;
use schedule::{Algorithm, Collective, Nodes, Placed};
use table::OperatorClass;
use table::dispatch::{Choice, CommunicatorRules};
use vocabulary::{Candidate, CommShape, RankOrder, RankPlace};

use crate::FallbackReason;
use crate::agree::{maximum_over_ranks, sum_over_ranks};
use crate::devices;
use crate::nonblocking::{LeftCalls, ReadyCalls};
use crate::place::{find_node_place, first_ranks_on_nodes};
use crate::plan::Plans;
use crate::state::{AttachContext, Attached, NetworkCheck, Reasons, pass_on_all};
use crate::threads::lock;
use crate::versions::Version;

/// The placement of a communicator's ranks.
struct Placement {
    /// The number of nodes, and the most ranks of a node.
    shape: CommShape,
    order: RankOrder,
    /// Whether all nodes have the same number of ranks.
    is_even: bool,
    /// The first rank on this rank's node.
    first: u32,
}

/// A communicator with its error handler replaced while we use it. Threads may do so at the same time with
/// `MPI_COMM_WORLD`, to which errors of others are reported: the last one gives the handler back.
pub(crate) struct SilencedCommunicator {
    communicator: MPI_Comm,
    /// The handler that was replaced.
    handler: Arc<ErrorHandler>,
}

/// A communicator that is silenced.
struct Silence {
    communicator: MPI_Comm,
    handler: Arc<ErrorHandler>,
    /// The number of [`SilencedCommunicator`]s.
    users: usize,
}

// SAFETY: handles of MPI are valid in all threads.
unsafe impl Send for Silence {}

/// A reference to an error handler, which exists as long as this value, also if the program frees its own.
#[derive(Debug)]
pub(crate) struct ErrorHandler(ffi::MPI_Errhandler);

// SAFETY: handles of MPI are valid in all threads.
unsafe impl Send for ErrorHandler {}
// SAFETY: as above; the handle is not changed before it is dropped.
unsafe impl Sync for ErrorHandler {}

/// All communicators that are silenced. Held during calls that change handlers, which wait for no other rank.
static SILENCED: Mutex<Vec<Silence>> = Mutex::new(Vec::new());

impl SilencedCommunicator {
    /// # Safety
    ///
    /// The communicator is valid, and is not freed while this value is in use.
    pub(crate) unsafe fn new(communicator: MPI_Comm) -> Result<Self, ExecError> {
        let mut silenced = lock(&SILENCED);
        let mut known = silenced.iter_mut();
        if let Some(silence) = known.find(|silence| silence.communicator == communicator) {
            silence.users += 1;
            return Ok(Self {
                communicator,
                handler: Arc::clone(&silence.handler),
            });
        }
        // SAFETY: the caller promises that the communicator is valid.
        unsafe {
            let handler = Arc::new(ErrorHandler::of_communicator(communicator)?);
            let code = ffi::PMPI_Comm_set_errhandler(communicator, ffi::RSMPI_ERRORS_RETURN);
            check_code("MPI_Comm_set_errhandler", code)?;
            silenced.push(Silence {
                communicator,
                handler: Arc::clone(&handler),
                users: 1,
            });
            Ok(Self {
                communicator,
                handler,
            })
        }
    }

    /// Determines whether some calls may be ours. All ranks take the same branches, as far as the library makes that
    /// possible: after [`Self::find_placement`] and [`Self::round_alike`] by what these have reduced over all ranks,
    /// otherwise by the rules, which are the same on all of them.
    ///
    /// # Safety
    ///
    /// This is a valid intracommunicator with all ranks in `MPI_COMM_WORLD`.
    pub(crate) unsafe fn attach(
        &self,
        common: &AttachContext<'_>,
    ) -> Result<Result<Attached, Reasons>, ExecError> {
        // SAFETY: the caller promises that this is a valid intracommunicator with all ranks in `MPI_COMM_WORLD`.
        unsafe {
            let placement = match self.find_placement(common)? {
                Ok(placement) => placement,
                Err(reason) => return Ok(pass_on_all(reason)),
            };
            let version = common.versions.agree_on_version(self.communicator)?;
            let rules =
                version.rules_for_shape(placement.shape, placement.order, placement.is_even);
            let section = version.nonblocking.as_ref();
            let nonblocking = section
                .filter(|_| common.serves_nonblocking)
                .map(|section| {
                    section.rules_for_shape(placement.shape, placement.order, placement.is_even)
                });
            let all_rules = || std::iter::once(&rules).chain(&nonblocking);
            for of_form in all_rules() {
                if !self.round_alike(of_form)? {
                    return Ok(pass_on_all(FallbackReason::Rounding));
                }
            }
            let has_ours = |of_form: &Arc<CommunicatorRules>| {
                any_choice(of_form, |choice| {
                    matches!(choice.candidate, Candidate::Ours { .. })
                })
            };
            if !all_rules().any(has_ours) {
                let reasons = Collective::ALL.map(|collective| {
                    version.why_all_default(&rules, collective, FallbackReason::NoRules)
                });
                return Ok(Err(Box::new(reasons)));
            }
            if placement.shape.nodes > 1 && !self.networks_fit(common.networks, &version)? {
                return Ok(pass_on_all(FallbackReason::Networks));
            }
            let nodes = self.find_nodes(&placement, all_rules())?;
            Ok(Ok(Attached {
                version,
                least_bytes: Collective::ALL.map(|collective| least_bytes(&rules, collective)),
                rules,
                nonblocking,
                nodes,
                plans: Plans::default(),
                irregular: Vec::new(),
                ready: ReadyCalls::default(),
                left_calls: LeftCalls::default(),
                left_totals: None,
                private: None,
                used: Cell::new(common.calls),
            }))
        }
    }

    /// The placement of all ranks, or the reason why no call may be ours. The outcome depends only on sums and maxima
    /// over all ranks.
    ///
    /// # Safety
    ///
    /// As in [`Self::attach`].
    unsafe fn find_placement(
        &self,
        common: &AttachContext<'_>,
    ) -> Result<Result<Placement, FallbackReason>, ExecError> {
        // SAFETY: the caller promises that this communicator is a valid intracommunicator.
        let place = unsafe { find_node_place(self.communicator) };
        let leads = place.as_ref().is_ok_and(|place| place.rank.lower == 0);
        let has_devices = !common.means.allows_devices && devices::may_be_in_use();
        let mut sums = [leads, place.is_err(), has_devices].map(i32::from);
        // SAFETY: the caller promises that this communicator is a valid intracommunicator.
        unsafe { sum_over_ranks(self.communicator, &mut sums)? };
        let [nodes, failed, with_devices] = sums;
        let node_ranks = place.as_ref().map_or(0, |place| place.node_ranks);
        let is_out = |is_in: &dyn Fn(RankPlace) -> bool| {
            i32::from(!place.as_ref().is_ok_and(|place| is_in(place.rank)))
        };
        let mut most = [
            node_ranks,
            -node_ranks,
            is_out(&RankPlace::is_in_block),
            is_out(&|rank_place| rank_place.is_in_turn(nodes as u32)),
        ];
        // SAFETY: the caller promises that this communicator is a valid intracommunicator.
        unsafe { maximum_over_ranks(self.communicator, &mut most)? };
        let [ppn, least, out_of_block, out_of_turn] = most;
        if with_devices > 0 {
            return Ok(Err(FallbackReason::Devices));
        }
        if failed > 0 {
            return Ok(Err(FallbackReason::NoCommunicator));
        }
        Ok(Ok(Placement {
            shape: CommShape {
                nodes: nodes as u32,
                ppn: ppn as u32,
            },
            order: RankOrder::from_checks(out_of_block == 0, out_of_turn == 0),
            is_even: least == -ppn,
            first: place.map_or(0, |place| place.rank.first),
        }))
    }

    /// Whether the processors of all ranks interpolate to the same rules; a maximum over all ranks, if rules are
    /// interpolated.
    ///
    /// # Safety
    ///
    /// As in [`Self::attach`].
    unsafe fn round_alike(&self, rules: &CommunicatorRules) -> Result<bool, ExecError> {
        let rounding = rules.rounding_checksum() as i32;
        if rounding == 0 {
            return Ok(true);
        }
        let mut ends = [rounding, -rounding];
        // SAFETY: the caller promises that this communicator is a valid intracommunicator.
        unsafe { maximum_over_ranks(self.communicator, &mut ends)? };
        Ok(ends[0] == -ends[1])
    }

    /// Whether a table may decide between nodes on the networks of all ranks; keeps a difference that was found.
    ///
    /// # Safety
    ///
    /// As in [`Self::attach`]; all ranks have agreed on the version.
    unsafe fn networks_fit(
        &self,
        networks: &NetworkCheck<'_>,
        version: &Version,
    ) -> Result<bool, ExecError> {
        let (host, table) = (networks.host, &version.loaded.table);
        // SAFETY: the caller promises that this communicator is a valid intracommunicator, and that all ranks have
        // agreed on the version, so they have the same table.
        let found = unsafe { host.common_networks(self.communicator, table)? };
        let fit = found.is_none() || networks.is_forced;
        networks.found.replace(found);
        Ok(fit)
    }

    /// The nodes of the ranks. If they follow neither from the shape nor are needed, there are none; if they are
    /// needed, all ranks gather them.
    ///
    /// # Safety
    ///
    /// As in [`Self::attach`].
    unsafe fn find_nodes<'r>(
        &self,
        placement: &Placement,
        mut all_rules: impl Iterator<Item = &'r Arc<CommunicatorRules>>,
    ) -> Result<Option<Nodes>, ExecError> {
        let Placement {
            shape,
            order,
            is_even,
            first,
        } = *placement;
        let found = match order {
            _ if !is_even => None,
            RankOrder::Block => Some(Placed::Block {
                per_node: shape.ppn,
            }),
            RankOrder::Cyclic => Some(Placed::Cyclic { nodes: shape.nodes }),
            RankOrder::Other | RankOrder::Unknown => None,
        };
        let nodes = found.and_then(|placed| placed.resolve_nodes(shape.ranks()));
        let knows_nodes = |choice: &Choice| {
            let algorithm = schedule::find_algorithm(choice.candidate.algorithm());
            algorithm.is_some_and(Algorithm::knows_nodes)
        };
        if nodes.is_some() || !all_rules.any(|rules| any_choice(rules, knows_nodes)) {
            return Ok(nodes);
        }
        // SAFETY: the caller promises that this communicator is a valid intracommunicator.
        let firsts = unsafe { first_ranks_on_nodes(self.communicator, first)? };
        Ok(Some(Nodes::from_labels(&firsts)))
    }
}

impl SilencedCommunicator {
    /// The handler that was replaced.
    pub(crate) fn handler(&self) -> &ErrorHandler {
        &self.handler
    }
}

impl Drop for SilencedCommunicator {
    fn drop(&mut self) {
        let mut silenced = lock(&SILENCED);
        let is_this = |silence: &Silence| silence.communicator == self.communicator;
        let Some(place) = silenced.iter().position(is_this) else {
            return;
        };
        silenced[place].users -= 1;
        if silenced[place].users > 0 {
            return;
        }
        silenced.swap_remove(place);
        // SAFETY: the communicator has not been freed, as the caller of `new` promises; this value has a reference to the
        // handler.
        unsafe { ffi::PMPI_Comm_set_errhandler(self.communicator, self.handler.0) };
    }
}

impl ErrorHandler {
    /// The handler that the program has given a communicator, also while another thread has silenced that.
    ///
    /// # Safety
    ///
    /// The communicator is valid.
    pub(crate) unsafe fn of_program(communicator: MPI_Comm) -> Result<Arc<Self>, ExecError> {
        // Held, so that no thread silences the communicator between both steps.
        let silenced = lock(&SILENCED);
        let mut known = silenced.iter();
        if let Some(silence) = known.find(|silence| silence.communicator == communicator) {
            return Ok(Arc::clone(&silence.handler));
        }
        // SAFETY: the caller promises that the communicator is valid.
        unsafe { Self::of_communicator(communicator).map(Arc::new) }
    }

    /// The handler that a communicator has now.
    ///
    /// # Safety
    ///
    /// The communicator is valid.
    unsafe fn of_communicator(communicator: MPI_Comm) -> Result<Self, ExecError> {
        // SAFETY: the caller promises that the communicator is valid; the handler is written by the call.
        unsafe {
            let mut handler = ffi::RSMPI_ERRORS_RETURN;
            let code = ffi::PMPI_Comm_get_errhandler(communicator, &mut handler);
            check_code("MPI_Comm_get_errhandler", code)?;
            Ok(Self(handler))
        }
    }

    fn returns_errors(&self) -> bool {
        // SAFETY: a constant of the library.
        self.0 == unsafe { ffi::RSMPI_ERRORS_RETURN }
    }

    /// Gives this handler to a communicator that was made of one with it, if the new one has inherited the handler that
    /// silences communicators: libraries differ in which communicators inherit.
    ///
    /// # Safety
    ///
    /// The communicator is valid or null, and no other thread knows it.
    pub(crate) unsafe fn give_to(&self, communicator: MPI_Comm) {
        // SAFETY: the caller promises that the communicator is valid or null; the handler is valid, and the
        // communicator keeps a reference of its own to it.
        unsafe {
            if self.returns_errors() || communicator == ffi::RSMPI_COMM_NULL {
                return;
            }
            let inherited = Self::of_communicator(communicator);
            if inherited.is_ok_and(|inherited| inherited.returns_errors()) {
                ffi::PMPI_Comm_set_errhandler(communicator, self.0);
            }
        }
    }
}

impl Drop for ErrorHandler {
    fn drop(&mut self) {
        // SAFETY: releases the reference from querying the handler.
        unsafe { ffi::PMPI_Errhandler_free(&mut self.0) };
    }
}

/// Whether the rules have such a choice for any collective.
pub(crate) fn any_choice(rules: &CommunicatorRules, is_such: impl Fn(&Choice) -> bool) -> bool {
    let mut collectives = Collective::ALL.into_iter();
    collectives.any(|collective| choices_for_collective(rules, collective).any(&is_such))
}

/// The least size in bytes that the rules may not leave to the library's default; `u64::MAX` if there is none.
fn least_bytes(rules: &CommunicatorRules, collective: Collective) -> u64 {
    let choices = choices_for_collective(rules, collective);
    let others = choices.filter(|choice| choice.candidate != Candidate::Default);
    others
        .map(|choice| choice.from_bytes)
        .min()
        .unwrap_or(u64::MAX)
}

/// All choices of the rules for a collective.
fn choices_for_collective(
    rules: &CommunicatorRules,
    collective: Collective,
) -> impl Iterator<Item = &Choice> {
    let of_class = move |class| rules.choices(collective, class).iter();
    OperatorClass::ALL.into_iter().flat_map(of_class)
}
