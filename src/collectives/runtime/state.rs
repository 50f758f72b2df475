//! The state of a communicator.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::ffi::c_int;
use std::rc::Rc;
use std::sync::Arc;

use exec::constants::{MPI_Comm, MPI_Datatype};
use exec::{Communicator, ExecError, NoChannels, NodeChannels, RawCall, check_code};
use mpi::ffi;
use schedule::{Collective, Nodes};
use table::dispatch::CommunicatorRules;

use crate::FallbackReason;
use crate::agree::{maximum_over_ranks, rank_and_size};
use crate::arguments::measured_elements;
use crate::irregular::{IrregularPlan, LeftTotals};
use crate::left::LeftRows;
use crate::nonblocking::{LeftCalls, ReadyCalls};
use crate::place::is_of_this_world;
use crate::plan::Plans;
use crate::predefined::PredefinedTypes;
use crate::table_mismatch::{Host, TableMismatch};
use crate::threads::CallCounter;
use crate::versions::{Version, Versions};

/// The state of an application's communicator. One thread at a time uses it: that which makes a collective call on the
/// communicator, or frees it.
#[derive(Debug)]
pub(crate) struct State {
    /// The application's communicator.
    pub(crate) communicator: MPI_Comm,
    pub(crate) rank: c_int,
    pub(crate) ranks: c_int,
    /// The state for our calls, or for each collective the reason why there are none.
    pub(crate) attached: Result<Attached, Reasons>,
    /// The bytes that the sizes of calls must still add up to before the communicator is attached; 0 once it has been
    /// attached, or is known never to be.
    pub(crate) awaited: u64,
    /// Whether there is no private communicator because we had too many; it may use the base, once there is one.
    pub(crate) awaits_base: bool,
    /// The number of nonblocking calls that our algorithms have carried out or started, the same on all ranks.
    pub(crate) nonblocking_calls: u64,
    /// For each collective, the calls that are known to be left to the library.
    pub(crate) passed: [Option<PassedCalls>; Collective::ALL.len()],
    /// The same for nonblocking calls, which are counted elsewhere.
    pub(crate) left_nonblocking: [Option<LeftElements>; Collective::ALL.len()],
    /// The predefined datatypes that irregular collectives have used.
    pub(crate) predefined: PredefinedTypes,
    /// The rows of calls that are left to the library each for itself.
    pub(crate) left: LeftRows,
}

/// Calls of one collective that are known to be left to the library, whatever their other arguments are.
#[derive(Clone, Debug)]
pub(crate) struct PassedCalls {
    pub(crate) elements: LeftElements,
    /// The row of the summary that they count for.
    pub(crate) row: usize,
    /// The number of the row's calls.
    pub(crate) calls: Arc<CallCounter>,
}

/// The elements with which calls of one collective are left to the library.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LeftElements {
    /// Any.
    All,
    /// Some numbers of elements of a predefined datatype, which cannot be freed.
    Some {
        datatype: MPI_Datatype,
        /// The least number of them, at least 1.
        first: i64,
        /// The largest number of them.
        last: i64,
    },
}

impl LeftElements {
    /// Whether they are those of a call of `count` elements of a datatype.
    #[inline(always)]
    fn include(self, (count, datatype): (i64, MPI_Datatype)) -> bool {
        match self {
            Self::All => true,
            Self::Some {
                datatype: left,
                first,
                last,
            } => left == datatype && (first..=last).contains(&count),
        }
    }

    /// Whether these are elements of calls at least as short as those of `earlier`. The time to decide about a call matters most
    /// to the shortest ones.
    pub(crate) fn are_as_short(self, earlier: Self) -> bool {
        match (self, earlier) {
            (_, Self::All) => false,
            (Self::All, Self::Some { .. }) => true,
            (Self::Some { first, .. }, Self::Some { first: known, .. }) => first <= known,
        }
    }
}

/// The reasons why calls are passed on, by collective.
pub(crate) type Reasons = Box<[FallbackReason; Collective::ALL.len()]>;

/// Passes on all calls, for the same reason in all collectives.
pub(crate) fn pass_on_all<T>(reason: FallbackReason) -> Result<T, Reasons> {
    Err(Box::new([reason; Collective::ALL.len()]))
}

/// The state of a communicator on which some calls are carried out by our algorithms.
#[derive(Debug)]
pub(crate) struct Attached {
    pub(crate) version: Arc<Version>,
    pub(crate) rules: Arc<CommunicatorRules>,
    /// The rules for nonblocking calls, if the table has any and they are served.
    pub(crate) nonblocking: Option<Arc<CommunicatorRules>>,
    /// The least size in bytes of calls that may be ours, by collective.
    pub(crate) least_bytes: [u64; Collective::ALL.len()],
    /// The nodes of its ranks, if they are known or needed.
    pub(crate) nodes: Option<Nodes>,
    // Declared before `private`, because the datatypes of plans must be freed before the communicator.
    pub(crate) plans: Plans,
    /// What carries out the calls of irregular collectives; likewise.
    pub(crate) irregular: Vec<IrregularPlan>,
    /// What carries out nonblocking calls; likewise.
    pub(crate) ready: ReadyCalls,
    /// Nonblocking calls that are left to the library.
    pub(crate) left_calls: LeftCalls,
    /// Calls of an allgatherv like the latest one that the rules left to the library.
    pub(crate) left_totals: Option<LeftTotals>,
    /// Absent until a call is to be carried out by one of our algorithms.
    pub(crate) private: Option<PrivateCommunicator>,
    /// The value of [`crate::Dispatcher`]'s count of our calls at the last one on this communicator.
    pub(crate) used: Cell<u64>,
}

/// The communicator for the messages of our algorithms.
#[derive(Debug)]
pub(crate) struct PrivateCommunicator {
    pub(crate) communicator: Communicator,
    /// The library's communicator that it uses.
    pub(crate) held: Rc<HeldCommunicator>,
    /// The reason why there are no channels, if rules need them.
    pub(crate) lacking: Option<NoChannels>,
}

/// What is known of a communicator of the library that private ones use.
#[derive(Debug)]
pub(crate) struct HeldCommunicator {
    /// A number that no other one has on this process, the same on all of its ranks.
    pub(crate) number: c_int,
    /// Its ranks, by their ranks in `MPI_COMM_WORLD`.
    pub(crate) world_ranks: Vec<c_int>,
    /// The next tag of this process on it; ranks that share a tag agree on a greater one.
    pub(crate) next_tag: Cell<c_int>,
    /// A share of [`crate::Dispatcher`]'s `private_users` while it exists, where threads call MPI at the same time.
    pub(crate) _user: Option<Arc<()>>,
}

impl HeldCommunicator {
    /// Whether all of its ranks are among some, given by their ranks in `MPI_COMM_WORLD`.
    pub(crate) fn is_within(&self, members: &HashSet<c_int>) -> bool {
        self.world_ranks.iter().all(|rank| members.contains(rank))
    }
}

impl Attached {
    /// Forgets all plans, which are for the private communicator and the channels that they were made with.
    pub(crate) fn drop_plans(&mut self) {
        self.plans = Plans::default();
        self.irregular = Vec::new();
        self.ready = ReadyCalls::default();
        self.left_calls = LeftCalls::default();
        self.left_totals = None;
    }

    /// Whether it has channels of its own.
    pub(crate) fn has_channels(&self) -> bool {
        let private = self.private.as_ref();
        private.is_some_and(|private| private.communicator.channels().is_some())
    }

    /// The least size in bytes of calls that the rules may not leave to the library's default; `u64::MAX` if they
    /// leave all calls to it.
    pub(crate) fn least_bytes(&self, collective: Collective) -> u64 {
        self.least_bytes[collective as usize]
    }
}

/// The resources for communicators.
#[derive(Debug)]
pub(crate) struct CommunicatorMeans {
    /// Whether to serve programs that have loaded an accelerator's driver.
    pub(crate) allows_devices: bool,
    /// The limit of memory that this process may share with others of its node, in bytes.
    pub(crate) shared_bytes: u64,
    /// Whether the ranks of this node outnumber the CPUs that they may use.
    pub(crate) is_oversubscribed: bool,
    /// The channels of all communicators, if these have the same ranks; otherwise each opens its own.
    pub(crate) channels: Option<Rc<NodeChannels>>,
}

impl CommunicatorMeans {
    /// Gives the private communicator of another one channels, if available. Collective, with the same outcome on all
    /// ranks, also if the library has no communicators left that this needs for a moment.
    ///
    /// # Safety
    ///
    /// `on` is a valid intracommunicator whose errors are returned, with the ranks of the private one.
    pub(crate) unsafe fn open_channels(
        &self,
        private: &mut Communicator,
        on: MPI_Comm,
    ) -> Result<Option<NoChannels>, ExecError> {
        let opened = match &self.channels {
            Some(channels) => Ok(Rc::clone(channels)),
            None => {
                // SAFETY: the caller promises that `on` is a valid intracommunicator whose errors are returned.
                let own = unsafe { agreed(on, Communicator::duplicate_of_raw(on))? };
                // SAFETY: the caller promises that `on` is a valid intracommunicator whose errors are returned.
                let node = unsafe { agreed(on, own.node())? };
                NodeChannels::open(&own, &node, self.shared_bytes, self.is_oversubscribed)?
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

/// Something that has been made on all ranks, or an error on all of them. Collective.
///
/// # Safety
///
/// `on` is a valid intracommunicator whose errors are returned.
pub(crate) unsafe fn agreed<T>(on: MPI_Comm, made: Result<T, ExecError>) -> Result<T, ExecError> {
    let mut failed = [i32::from(made.is_err())];
    // SAFETY: the caller promises that `on` is a valid intracommunicator.
    unsafe { maximum_over_ranks(on, &mut failed)? };
    // Other ranks' failure is this one's, too.
    let code = failed[0] * ffi::MPI_ERR_OTHER as c_int;
    check_code("MPI_Comm_create", code)?;
    made
}

/// What attaching a communicator needs to know of the dispatcher.
#[derive(Debug)]
pub(crate) struct AttachContext<'a> {
    pub(crate) versions: &'a Versions,
    pub(crate) means: &'a CommunicatorMeans,
    pub(crate) serves_nonblocking: bool,
    pub(crate) networks: &'a NetworkCheck<'a>,
    /// The number of our calls so far.
    pub(crate) calls: u64,
}

/// How attaching a communicator judges the networks between its nodes.
#[derive(Debug)]
pub(crate) struct NetworkCheck<'a> {
    pub(crate) host: &'a Host,
    /// Whether a table is used despite other networks.
    pub(crate) is_forced: bool,
    /// The difference that was found on some rank, if any.
    pub(crate) found: RefCell<Option<TableMismatch>>,
}

impl State {
    /// Lets the next call attach the communicator, whatever has been found before.
    pub(crate) fn attach_again(&mut self) {
        self.attached = pass_on_all(FallbackReason::FirstCalls);
        self.awaited = 1;
        self.awaits_base = false;
        self.passed = [const { None }; Collective::ALL.len()];
        self.left_nonblocking = [None; Collective::ALL.len()];
    }

    /// The known calls that a call belongs to; `None` if it is not known to be left to the library.
    #[inline(always)]
    pub(crate) fn find_passed(&self, call: &RawCall) -> Option<&PassedCalls> {
        let passed = self.passed[call.collective as usize].as_ref();
        passed.filter(|passed| {
            let elements = measured_elements(call, self.rank);
            passed.elements.include(elements)
        })
    }

    /// Whether a nonblocking call is known to be left to the library.
    #[inline(always)]
    pub(crate) fn leaves_nonblocking(&self, call: &RawCall) -> bool {
        let elements = measured_elements(call, self.rank);
        let is_empty = elements.0 == 0 && call.collective.has_data();
        let left = self.left_nonblocking[call.collective as usize];
        // Calls without data count until the communicator is attached.
        is_empty && self.attached.is_ok() || left.is_some_and(|left| left.include(elements))
    }

    /// The calls of a collective, if all of them are known to be left to the library.
    #[inline(always)]
    pub(crate) fn find_all_passed(&self, collective: Collective) -> Option<&PassedCalls> {
        let passed = self.passed[collective as usize].as_ref();
        passed.filter(|passed| matches!(passed.elements, LeftElements::All))
    }

    /// Determines the state of a communicator, as far as that needs no communication. The outcome is the same on all
    /// ranks. A communicator that may get calls of ours is attached later, see [`Self::awaited`].
    ///
    /// # Safety
    ///
    /// The communicator is valid.
    pub(crate) unsafe fn new(
        communicator: MPI_Comm,
        versions: &Versions,
        attach_after: u64,
        serves_nonblocking: bool,
    ) -> Result<Self, ExecError> {
        // SAFETY: the caller promises that the communicator is valid.
        let (rank, ranks) = unsafe { rank_and_size(communicator)? };
        let (mut is_inter, mut awaited) = (0, 0);
        // SAFETY: the caller promises that the communicator is valid, and it is looked at further only if it is no
        // intercommunicator; the result is written by the call.
        let attached = unsafe {
            let code = ffi::PMPI_Comm_test_inter(communicator, &mut is_inter);
            check_code("MPI_Comm_test_inter", code)?;
            if is_inter != 0 {
                pass_on_all(FallbackReason::Intercommunicator)
            } else if ranks < 2 {
                pass_on_all(FallbackReason::Alone)
            } else if !is_of_this_world(communicator)? {
                pass_on_all(FallbackReason::OtherWorld)
            } else if let Some(reasons) = versions.why_none(ranks as u32, serves_nonblocking) {
                Err(reasons)
            } else {
                // Programs use it until they end.
                let is_whole = communicator == ffi::RSMPI_COMM_WORLD;
                awaited = if is_whole { 1 } else { attach_after.max(1) };
                pass_on_all(FallbackReason::FirstCalls)
            }
        };
        Ok(Self {
            communicator,
            rank,
            ranks,
            attached,
            awaited,
            awaits_base: false,
            nonblocking_calls: 0,
            passed: [const { None }; Collective::ALL.len()],
            left_nonblocking: [None; Collective::ALL.len()],
            predefined: PredefinedTypes::default(),
            left: LeftRows::default(),
        })
    }
}
