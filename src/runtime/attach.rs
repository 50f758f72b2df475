//! The state of a communicator, determined at its first use.

use std::cell::Cell;
use std::ffi::c_int;
use std::rc::Rc;

use exec::constants::{MPI_Comm, MPI_Datatype};
use exec::{Communicator, ExecError, NoChannels, NodeChannels, RawCall, check};
use mpi::ffi;
use schedule::{Algorithm, Collective, Nodes, Placed};
use table::OperatorClass;
use table::dispatch::{Choice, CommunicatorRules};
use vocabulary::{Candidate, CommShape, RankOrder, RankPlace, Through};

use crate::FallbackReason;
use crate::agree::{greatest, rank_and_size, sum};
use crate::arguments::measured;
use crate::devices;
use crate::place::{firsts, is_of_this_world, place};
use crate::plan::Plans;
use crate::versions::{Version, Versions};

/// The state of an application's communicator.
#[derive(Debug)]
pub(crate) struct State {
    /// The application's communicator.
    pub(crate) communicator: MPI_Comm,
    pub(crate) rank: c_int,
    pub(crate) ranks: c_int,
    /// The state for tuned calls, or for each collective the reason why there are none.
    pub(crate) tuned: Result<Tuned, Reasons>,
    /// For each collective, the calls that are known to be left to the library.
    pub(crate) passed: [Option<Passed>; Collective::MEASURED.len()],
}

/// Calls of one collective that are known to be left to the library, whatever their other arguments are.
#[derive(Clone, Debug)]
pub(crate) struct Passed {
    /// Their datatype and their largest number of elements; all calls if absent. The datatype is predefined, so it
    /// cannot be freed.
    pub(crate) few: Option<(MPI_Datatype, c_int)>,
    /// The row of the summary that they count for.
    pub(crate) row: usize,
    /// The number of the row's calls.
    pub(crate) calls: Rc<Cell<u64>>,
}

impl Passed {
    /// Whether a call of `count` elements of a datatype is one of these.
    #[inline(always)]
    fn has(&self, (count, datatype): (c_int, MPI_Datatype)) -> bool {
        let is_few = |(of, most): (_, _)| of == datatype && (1..=most).contains(&count);
        self.few.is_none_or(is_few)
    }
}

/// The reasons why calls are passed on, by collective.
pub(crate) type Reasons = [FallbackReason; Collective::MEASURED.len()];

/// Passes on all calls, for the same reason in all collectives.
fn none<T>(reason: FallbackReason) -> Result<T, Reasons> {
    Err([reason; Collective::MEASURED.len()])
}

/// The state of a communicator on which some calls are carried out by our algorithms.
#[derive(Debug)]
pub(crate) struct Tuned {
    pub(crate) version: Rc<Version>,
    pub(crate) rules: Rc<CommunicatorRules>,
    /// The least size in bytes of calls that may be ours, by collective.
    least_bytes: [u64; Collective::MEASURED.len()],
    // Declared first, because the datatypes of plans must be freed before the communicator.
    pub(crate) plans: Plans,
    pub(crate) private: Communicator,
    /// The reason why there are no channels, if rules need them.
    pub(crate) lacking: Option<NoChannels>,
    /// The value of [`crate::Dispatcher`]'s count of our calls at the last one on this communicator.
    pub(crate) used: Cell<u64>,
}

impl Tuned {
    /// The least size in bytes of calls that the rules may not leave to the library's default; `u64::MAX` if they
    /// leave all calls to it.
    pub(crate) fn least_bytes(&self, collective: Collective) -> u64 {
        self.least_bytes[collective as usize]
    }
}

/// The resources for communicators.
#[derive(Debug)]
pub(crate) struct Means {
    /// Whether to serve programs that have loaded an accelerator's driver.
    pub(crate) allows_devices: bool,
    /// The limit of memory that this process may share with others of its node, in bytes.
    pub(crate) shared_bytes: u64,
    /// Whether the ranks of this node outnumber the CPUs that they may use.
    pub(crate) is_oversubscribed: bool,
    /// The channels of all communicators, if these have the same ranks; otherwise each opens its own.
    pub(crate) channels: Option<Rc<NodeChannels>>,
}

impl Means {
    /// Gives a communicator channels, if available. Collective, with the same outcome on all ranks.
    pub(crate) fn open_channels(
        &self,
        private: &mut Communicator,
    ) -> Result<Option<NoChannels>, ExecError> {
        let opened = match &self.channels {
            Some(channels) => Ok(Rc::clone(channels)),
            None => {
                let node = private.node()?;
                NodeChannels::open(private, &node, self.shared_bytes, self.is_oversubscribed)?
            }
        };
        match opened {
            Ok(channels) => {
                private.set_channels(channels);
                Ok(None)
            }
            Err(reason) => Ok(Some(reason)),
        }
    }
}

/// The most private communicators at a time. Libraries provide few, about two thousand, and the application needs
/// them.
const MOST_PRIVATE: i32 = 256;

impl State {
    /// The known calls that a call belongs to; `None` if it is not known to be left to the library.
    #[inline(always)]
    pub(crate) fn passed(&self, call: &RawCall) -> Option<&Passed> {
        let passed = self.passed[call.collective as usize].as_ref();
        passed.filter(|passed| passed.has(measured(call, self.rank)))
    }

    /// Determines the state of a communicator. Collective, with the same outcome on all ranks.
    ///
    /// # Safety
    ///
    /// The communicator is valid.
    pub(crate) unsafe fn new(
        communicator: MPI_Comm,
        versions: &Versions,
        private: usize,
        calls: u64,
        means: &Means,
    ) -> Result<Self, ExecError> {
        // SAFETY: the caller's.
        let (rank, ranks) = unsafe { rank_and_size(communicator)? };
        let mut is_inter = 0;
        // SAFETY: the caller's; the result is written by the call.
        let tuned = unsafe {
            let code = ffi::PMPI_Comm_test_inter(communicator, &mut is_inter);
            check("MPI_Comm_test_inter", code)?;
            if is_inter != 0 {
                none(FallbackReason::Intercommunicator)
            } else if ranks < 2 {
                none(FallbackReason::Alone)
            } else if !is_of_this_world(communicator)? {
                none(FallbackReason::OtherWorld)
            } else if let Some(reasons) = versions.why_none(ranks as u32) {
                Err(reasons)
            } else {
                Silenced::new(communicator)?.tune(versions, private, calls, means)?
            }
        };
        Ok(Self {
            communicator,
            rank,
            ranks,
            tuned,
            passed: [const { None }; Collective::MEASURED.len()],
        })
    }
}

/// A communicator with its error handler replaced while we use it.
struct Silenced {
    communicator: MPI_Comm,
    handler: ffi::MPI_Errhandler,
}

impl Silenced {
    /// # Safety
    ///
    /// A valid communicator.
    unsafe fn new(communicator: MPI_Comm) -> Result<Self, ExecError> {
        // SAFETY: the caller's; the handler is written by the call.
        unsafe {
            let mut handler = ffi::RSMPI_ERRORS_RETURN;
            let code = ffi::PMPI_Comm_get_errhandler(communicator, &mut handler);
            check("MPI_Comm_get_errhandler", code)?;
            let code = ffi::PMPI_Comm_set_errhandler(communicator, ffi::RSMPI_ERRORS_RETURN);
            check("MPI_Comm_set_errhandler", code)?;
            Ok(Self {
                communicator,
                handler,
            })
        }
    }

    /// Determines whether some calls may be ours. The ranks agree on failures that may affect single ranks only, as
    /// far as the library makes that possible.
    ///
    /// # Safety
    ///
    /// A valid intracommunicator with all ranks in `MPI_COMM_WORLD`.
    unsafe fn tune(
        &self,
        versions: &Versions,
        private: usize,
        calls: u64,
        means: &Means,
    ) -> Result<Result<Tuned, Reasons>, ExecError> {
        // SAFETY: the caller's.
        unsafe {
            let place = place(self.communicator);
            let leads = place.as_ref().is_ok_and(|place| place.rank.lower == 0);
            let has_devices = !means.allows_devices && devices::may_be_in_use();
            let mut sums = [leads, place.is_err(), has_devices].map(i32::from);
            sum(self.communicator, &mut sums)?;
            let [nodes, failed, with_devices] = sums;
            let node_ranks = place.as_ref().map_or(0, |place| place.node_ranks);
            let is_out = |is_in: &dyn Fn(RankPlace) -> bool| {
                i32::from(!place.as_ref().is_ok_and(|place| is_in(place.rank)))
            };
            let out_of_block = is_out(&RankPlace::is_in_block);
            let out_of_turn = is_out(&|place| place.is_in_turn(nodes as u32));
            let mut most = [
                node_ranks,
                -node_ranks,
                private as i32,
                out_of_block,
                out_of_turn,
            ];
            greatest(self.communicator, &mut most)?;
            let [ppn, least, private, out_of_block, out_of_turn] = most;
            if with_devices > 0 {
                return Ok(none(FallbackReason::Devices));
            }
            if failed > 0 || private >= MOST_PRIVATE {
                return Ok(none(FallbackReason::NoCommunicator));
            }
            let shape = CommShape {
                nodes: nodes as u32,
                ppn: ppn as u32,
            };
            let version = versions.agree(self.communicator)?;
            let order = RankOrder::of(out_of_block == 0, out_of_turn == 0);
            let is_even = least == -ppn;
            let rules = version.rules(shape, order, is_even);
            let rounding = rules.rounding() as i32;
            if rounding > 0 {
                let mut ends = [rounding, -rounding];
                greatest(self.communicator, &mut ends)?;
                if ends[0] != -ends[1] {
                    return Ok(none(FallbackReason::Rounding));
                }
            }
            let choices = |collective| choices(&rules, collective);
            let is_ours = |choice: &Choice| matches!(choice.candidate, Candidate::Ours { .. });
            if !Collective::MEASURED
                .into_iter()
                .flat_map(choices)
                .any(is_ours)
            {
                return Ok(Err(Collective::MEASURED.map(|collective| {
                    version.why_all_default(&rules, collective, FallbackReason::NoRules)
                })));
            }
            let least_bytes = Collective::MEASURED.map(|collective| {
                let choices = choices(collective);
                let others = choices.filter(|choice| choice.candidate != Candidate::Default);
                others
                    .map(|choice| choice.from_bytes)
                    .min()
                    .unwrap_or(u64::MAX)
            });
            let knows_nodes = |choice: &Choice| {
                let found = schedule::find(choice.candidate.algorithm());
                found.is_some_and(Algorithm::knows_nodes)
            };
            let found = match order {
                _ if !is_even => None,
                RankOrder::Block => Some(Placed::Block {
                    per_node: shape.ppn,
                }),
                RankOrder::Cyclic => Some(Placed::Cyclic { nodes: shape.nodes }),
                RankOrder::Other | RankOrder::Unknown => None,
            };
            let nodes = match found.and_then(|placed| placed.nodes(shape.ranks())) {
                Some(nodes) => Some(nodes),
                None if !Collective::MEASURED
                    .into_iter()
                    .flat_map(choices)
                    .any(knows_nodes) =>
                {
                    None
                }
                None => {
                    let first = place.as_ref().map_or(0, |place| place.rank.first);
                    Some(Nodes::of_list(&firsts(self.communicator, first)?))
                }
            };
            let private = Communicator::duplicate_of_raw(self.communicator);
            let mut failed = [i32::from(private.is_err())];
            greatest(self.communicator, &mut failed)?;
            let (Ok(mut private), [0]) = (private, failed) else {
                return Ok(none(FallbackReason::NoCommunicator));
            };
            if let Some(nodes) = nodes {
                private.set_nodes(nodes);
            }
            let is_shared =
                |choice: &Choice| choice.candidate.parameters().through == Through::Shared;
            let asks = Collective::MEASURED
                .into_iter()
                .flat_map(choices)
                .any(is_shared);
            let lacking = match asks {
                true => means.open_channels(&mut private)?,
                false => None,
            };
            Ok(Ok(Tuned {
                version,
                rules,
                least_bytes,
                plans: Plans::default(),
                private,
                lacking,
                used: Cell::new(calls),
            }))
        }
    }
}

impl Drop for Silenced {
    fn drop(&mut self) {
        // SAFETY: the previous handler; freeing it releases the reference from querying it.
        unsafe {
            ffi::PMPI_Comm_set_errhandler(self.communicator, self.handler);
            ffi::PMPI_Errhandler_free(&mut self.handler);
        }
    }
}

/// All choices of the rules for a collective.
fn choices(rules: &CommunicatorRules, collective: Collective) -> impl Iterator<Item = &Choice> {
    let of_class = move |class| rules.choices(collective, class).iter();
    OperatorClass::ALL.into_iter().flat_map(of_class)
}
