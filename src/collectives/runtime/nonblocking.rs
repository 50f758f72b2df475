//! Nonblocking collectives that our algorithms carry out: `MPI_Ibcast`, `MPI_Iallreduce` and `MPI_Ibarrier`.
//!
//! # A call
//!
//! The call that starts a collective must not wait for other ranks (MPI 4.0, section 6.12), so it attaches no communicator
//! and makes no private one. `MPI_COMM_WORLD` has both when MPI starts; other communicators get both in the blocking
//! collective with which they are attached. Until then the library carries out the call. All messages go through MPI: a call
//! that polls shared memory would have to be polled itself.
//!
//! What decides are the table's rules for nonblocking calls ([`Table::nonblocking`]), which are compiled and looked up as
//! those for blocking calls are, and so are equal on all ranks. A nonblocking call is as good as what it leaves of the
//! computation beside it, and an algorithm with few rounds may be better for that than a fast one; so the rules of blocking
//! calls serve nonblocking ones only where the user asks for it (`environment::force`) and the table has no others.
//!
//! [`Table::nonblocking`]: table::Table::nonblocking
//!
//! Several calls may be under way on one communicator, and ranks may be ahead in different ones, so each has a tag of its
//! own. The upper half of the library's tags is for these: each communicator has [`CALL_TAGS`] of them, for its calls in
//! turn. A call that meets an earlier one with its tag on this rank starts when that has ended here, as consecutive
//! blocking calls do.
//!
//! # Progress
//!
//! A step of a call ends where messages have not arrived. The next one must be taken in whatever call of MPI the program
//! waits, not only in those that are given the request: while a rank receives a message in `MPI_Recv`, others may wait for
//! its part in the collective, and send the message afterwards. Open MPI calls registered functions whenever it makes
//! progress, as for its own nonblocking collectives, so [`advance_calls`] is one of these. Other libraries lack such a
//! function, and nonblocking collectives are left to them, unless the user has said that the program waits in calls that
//! are given requests only (`environment::force`); these calls then advance ours.
//!
//! # The request
//!
//! The program gets a generalized request (MPI 4.0, section 13.2). So the library knows it in all calls that are given
//! requests, in Fortran, too, and with others in any order. A request that the program frees before it has been completed
//! is kept until then, as MPICH would forget it; so are datatypes and operators that the program frees meanwhile, as it
//! may. `MPI_Cancel` is an error, as for the library's own collectives.
//!
//! The error handler of the communicator is not called for an error after the start, since the program may have freed the
//! communicator: the call that completes the request returns the error.
//!
//! # What the other collectives would need
//!
//! Only the three most frequent ones are served; calls of all others are counted in the summary and left to the library.
//!
//! - *Nonblocking regular ones* (`MPI_Ireduce`, `MPI_Iallgather`, `MPI_Ialltoall`, ...) need nothing but the conversion of
//!   their arguments in `preload/nonblocking.rs`: [`exec::StartedCall`] takes a step of any schedule. A gather's and a
//!   scatter's other datatype would have to be kept, and `MPI_Ireduce_scatter`'s counts copied, which the program must not
//!   change but may hold in memory of its own language's calling sequence.
//! - *Nonblocking irregular ones* (`MPI_Ialltoallv`, ...): [`exec::IrregularCall`] binds its blocks to a call's arrays in a
//!   buffer that it reuses in the next call. Each call under way needs its own, and the rounds that tell sizes need steps,
//!   as the others have.
//! - *Persistent ones* (`MPI_Bcast_init`, MPI 4.0, section 6.13): a plan belongs to the request instead of the
//!   communicator, and a start takes its first step. Generalized requests cannot be started again. So `MPI_Start` and all
//!   calls that are given requests would have to replace ours by requests of their own, including in arrays, and to put
//!   them back afterwards; in Fortran the program's handle is a number that the library knows, for which an inactive
//!   persistent request of the library, such as that of `MPI_Send_init` to `MPI_PROC_NULL`, could stand. Each start needs a
//!   tag; all ranks start the requests of one communicator in the same order, so the turns work as they are. What decides
//!   could then measure at run time, since the same call comes again.
//! - *Neighbourhood collectives* have no schedules: which ranks communicate depends on the topology that the program has
//!   given the communicator.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use exec::constants::{MPI_Comm, MPI_Datatype, MPI_Op};
use exec::{
    ApplicationCall, Communicator, ExecError, PartCounts, RawCall, StartedCall, check_code,
};
use mpi::ffi;
use schedule::Collective;
use table::OperatorClass;
use table::dispatch::CommunicatorRules;
use thiserror::Error;
use vocabulary::{Candidate, NONBLOCKING};

use crate::agree::maximum_over_ranks;
use crate::arguments::call_length;
use crate::call::{CallKey, significant};
use crate::plan::KEPT_BYTES;
use crate::private::most_tag;
use crate::serve::{CallForm, Decided, Refused, asked_call, call_error_handler, left_elements};
use crate::state::{Attached, LeftElements, State};
use crate::threads::{CallCounter, lock};
use crate::user_handles::UserHandles;
use crate::versions::Version;
use crate::{BYTES_OF_A_CALL, Dispatcher};

/// The number of tags that the calls on one communicator have in turn.
const CALL_TAGS: c_int = 64;

/// The most calls that a communicator keeps ready, and their largest buffers in bytes.
const MOST_READY: usize = 16;
const READY_BYTES: u64 = KEPT_BYTES / MOST_READY as u64;

/// The most calls that a communicator remembers as left to the library.
const MOST_LEFT: usize = 16;

/// The time for which calls that the program has neither completed nor freed are carried on when MPI ends. Other ranks may
/// wait for their part of them, though such a program is wrong.
const LEFT_OVER: Duration = Duration::from_secs(1);

/// The number of calls under way, for a short check.
static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);

/// Whether calls advance only in the program's calls that are given requests.
static ARE_POLLED: AtomicBool = AtomicBool::new(false);

/// The calls under way in this process. Locked by one who advances them; another one does not wait for that, since it may
/// run in a call of MPI that the first one makes.
///
/// So no thread ever sleeps until it is unlocked, and that is a plain store. A mutex of the system is unlocked by an atomic
/// exchange, in which the processor waits for all earlier stores, such as that of a message into memory of another core.
static CALLS: spin::Mutex<CallsUnderWay> = spin::Mutex::new(CallsUnderWay {
    calls: Vec::new(),
    freed_datatypes: Vec::new(),
    freed_operators: Vec::new(),
    times: BTreeMap::new(),
});

/// How nonblocking calls that are under way advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// In all calls of the library in which it makes progress.
    Everywhere,
    /// In the program's calls that are given requests.
    InCompletion,
}

/// The reason why all nonblocking collectives are left to the library although they are to be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NotNonblocking {
    /// Their steps are taken by one thread at a time.
    #[error("the program's threads may call MPI at the same time (MPI_THREAD_MULTIPLE)")]
    Threads,
    /// The program may wait in a call in which the library does not let us make progress.
    #[error(
        "this MPI library lets no other one make progress; with `progress` in COLLTUNE_FORCE, they are served for programs that \
         wait only in calls that are given requests (MPI_Wait, MPI_Test and so on) while such a collective is under way"
    )]
    Progress,
}

/// What the library and the calls under way share about a request. The library frees it with the request.
#[derive(Debug)]
struct RequestOutcome {
    /// MPI's error code of the call, once it has ended.
    code: AtomicI32,
}

/// What carries out the calls of a communicator that are like earlier ones, which have ended.
pub(crate) type ReadyCalls = Rc<RefCell<Vec<Box<ReadyCall>>>>;

/// What carries out calls with a key, one at a time.
#[derive(Debug)]
pub(crate) struct ReadyCall {
    key: CallKey,
    /// The program's own handles that it depends on.
    own: Option<Box<UserHandles>>,
    /// Absent while a call is under way.
    ours: Option<Box<ApplicationCall>>,
    row: usize,
    calls: Arc<CallCounter>,
}

impl ReadyCall {
    /// Takes one that has been kept for calls with a key.
    fn take_kept(kept: &ReadyCalls, key: &CallKey) -> Option<Box<Self>> {
        let mut ready = kept.borrow_mut();
        let place = ready.iter().rposition(|ready| ready.key == *key)?;
        let found = ready.remove(place);
        found
            .own
            .as_deref()
            .is_none_or(UserHandles::is_there)
            .then_some(found)
    }

    /// Keeps it for later calls, in place of the one that has not been used for the longest time if there are many.
    fn keep_for_later(self: Box<Self>, kept: &ReadyCalls) {
        let bytes = self
            .ours
            .as_ref()
            .map_or(u64::MAX, |ours| ours.kept_bytes());
        // The communicator may have been freed.
        if self.key.is_large() || bytes > READY_BYTES || Rc::strong_count(kept) < 2 {
            return;
        }
        let mut ready = kept.borrow_mut();
        if ready.len() >= MOST_READY {
            ready.remove(0);
        }
        ready.push(self);
    }
}

/// The latest calls that rules have left to the library, and that [`LeftElements`] do not tell: with the program's own datatypes,
/// or with other elements than the first such call of their collective.
#[derive(Debug, Default)]
pub(crate) struct LeftCalls(Vec<LeftCall>);

#[derive(Debug)]
struct LeftCall {
    key: CallKey,
    /// The program's own handles that the decision depends on.
    own: Option<Box<UserHandles>>,
}

impl LeftCalls {
    fn has_call(&self, key: &CallKey) -> bool {
        let are_there = |own: &UserHandles| own.is_there();
        let mut known = self.0.iter();
        known.any(|left| left.key == *key && left.own.as_deref().is_none_or(are_there))
    }

    /// Remembers a call, in place of the oldest one if there are many.
    fn remember_call(&mut self, key: CallKey, own: Option<Box<UserHandles>>) {
        if key.is_large() {
            return;
        }
        self.0.retain(|left| left.key != key);
        if self.0.len() >= MOST_LEFT {
            self.0.remove(0);
        }
        self.0.push(LeftCall { key, own });
    }
}

/// A call that has been started and has not ended.
#[derive(Debug)]
struct CallUnderWay {
    call: StartedCall,
    /// What started it, and where that is kept afterwards; absent if it is not.
    ready: Option<(Box<ReadyCall>, ReadyCalls)>,
    request: ffi::MPI_Request,
    /// Lives until the request is completed and freed.
    outcome: *const RequestOutcome,
    /// Whether the program has freed the request.
    is_freed: bool,
    /// Whether an earlier call had the same tag and had not ended.
    has_earlier: bool,
    datatype: MPI_Datatype,
    operator: Option<MPI_Op>,
    /// The row of the summary, if calls are timed.
    timed_row: Option<usize>,
}

/// All calls under way, in the order of their start.
#[derive(Debug)]
struct CallsUnderWay {
    #[expect(
        clippy::vec_box,
        reason = "nothing large may be moved after a message has been sent, see `ExecError`"
    )]
    calls: Vec<Box<CallUnderWay>>,
    /// Datatypes and operators that the program has freed while calls use them.
    freed_datatypes: Vec<MPI_Datatype>,
    freed_operators: Vec<MPI_Op>,
    /// The time in steps of calls, by rows of the summary.
    times: BTreeMap<usize, Duration>,
}

// SAFETY: handles and addresses, which one thread at a time uses: programs whose threads call MPI at the same time are not
// served.
unsafe impl Send for CallsUnderWay {}

/// The number of nonblocking calls of ours under way.
#[inline(always)]
pub fn calls_under_way() -> usize {
    UNDER_WAY.load(Ordering::Relaxed)
}

/// Whether the program's calls that are given requests must advance calls under way.
#[inline(always)]
pub fn are_calls_polled() -> bool {
    calls_under_way() > 0 && ARE_POLLED.load(Ordering::Relaxed)
}

/// Takes the next steps of all calls under way, without waiting. Returns the number of calls that have ended; does nothing
/// in the middle of another step.
pub fn advance_calls() -> usize {
    if calls_under_way() == 0 {
        return 0;
    }
    with_calls(CallsUnderWay::advance_all).unwrap_or(0)
}

/// Remembers that the program has freed a request of ours that has not been completed. Returns false if it is none.
pub fn keep_freed_request(request: ffi::MPI_Request) -> bool {
    let mark = |calls: &mut CallsUnderWay| {
        let mut known = calls.calls.iter_mut();
        let found = known.find(|call| call.request == request);
        found.map(|call| call.is_freed = true).is_some()
    };
    calls_under_way() > 0 && with_calls(mark).unwrap_or(false)
}

/// Frees a datatype of the program when the calls under way that use it have ended. Returns false if there are none.
pub fn keep_freed_datatype(datatype: MPI_Datatype) -> bool {
    let keep = |calls: &mut CallsUnderWay| {
        let is_used = calls.calls.iter().any(|call| call.datatype == datatype);
        if is_used {
            calls.freed_datatypes.push(datatype);
        }
        is_used
    };
    calls_under_way() > 0 && with_calls(keep).unwrap_or(false)
}

/// The same for an operator.
pub fn keep_freed_operator(operator: MPI_Op) -> bool {
    let keep = |calls: &mut CallsUnderWay| {
        let mut known = calls.calls.iter();
        let is_used = known.any(|call| call.operator == Some(operator));
        if is_used {
            calls.freed_operators.push(operator);
        }
        is_used
    };
    calls_under_way() > 0 && with_calls(keep).unwrap_or(false)
}

/// Ends all calls before MPI is finalised. The program may have freed requests, whose calls end in any case; a program that
/// has done neither that nor completed one is wrong, and its calls are cancelled after a while.
pub fn finish_calls() {
    let start = Instant::now();
    let is_awaited = |calls: &mut CallsUnderWay| {
        let has_freed = calls.calls.iter().any(|call| call.is_freed);
        has_freed || !calls.calls.is_empty() && start.elapsed() < LEFT_OVER
    };
    while with_calls(is_awaited).unwrap_or(false) {
        advance_calls();
        std::thread::yield_now();
    }
    with_calls(|calls| {
        calls.calls.clear();
        UNDER_WAY.store(0, Ordering::Relaxed);
    });
}

/// The time in steps of calls, by rows of the summary.
pub(crate) fn time_in_steps() -> BTreeMap<usize, Duration> {
    with_calls(|calls| calls.times.clone()).unwrap_or_default()
}

/// Does something with the calls under way; nothing in the middle of something else that does.
fn with_calls<T>(does: impl FnOnce(&mut CallsUnderWay) -> T) -> Option<T> {
    // Looking is cheaper than trying, and each step leads to another one, as the library makes progress in it.
    if CALLS.is_locked() {
        return None;
    }
    Some(does(&mut *CALLS.try_lock()?))
}

impl CallsUnderWay {
    /// Adds a call, and starts its first messages.
    fn add_call(&mut self, mut call: Box<CallUnderWay>) {
        let mut known = self.calls.iter();
        call.has_earlier = known.any(|earlier| earlier.call.shares_tag_with(&call.call));
        self.calls.push(call);
        UNDER_WAY.store(self.calls.len(), Ordering::Relaxed);
        self.take_step_at(self.calls.len() - 1, StartedCall::start_first_round);
    }

    /// Takes the next steps of all calls. Returns the number of those that have ended.
    fn advance_all(&mut self) -> usize {
        let before = self.calls.len();
        let mut place = 0;
        while place < self.calls.len() {
            if !self.advance_at(place) {
                place += 1;
            }
        }
        before - self.calls.len()
    }

    /// Takes the next steps of the call at a place. Returns whether it has ended, and has been removed.
    fn advance_at(&mut self, place: usize) -> bool {
        self.take_step_at(place, StartedCall::advance)
    }

    /// Takes a step of the call at a place. Returns whether it has ended, and has been removed.
    #[inline(always)]
    fn take_step_at(
        &mut self,
        place: usize,
        take_step: fn(&mut StartedCall) -> Result<bool, Box<ExecError>>,
    ) -> bool {
        if self.calls[place].has_earlier && self.awaits_earlier(place) {
            return false;
        }
        let call = &mut self.calls[place];
        call.has_earlier = false;
        let timed = call.timed_row.map(|row| (row, Instant::now()));
        let advanced = take_step(&mut call.call);
        if let Some((row, start)) = timed {
            *self.times.entry(row).or_default() += start.elapsed();
        }
        let code = match advanced {
            Ok(false) => return false,
            Ok(true) => 0,
            Err(error) => error_code(&error),
        };
        let ended = self.calls.remove(place);
        UNDER_WAY.store(self.calls.len(), Ordering::Relaxed);
        ended.complete_request(code);
        self.free_unused_handles();
        true
    }

    /// Whether an earlier call has the same tag.
    fn awaits_earlier(&self, place: usize) -> bool {
        let (earlier, rest) = self.calls.split_at(place);
        rest.first().is_some_and(|own| {
            let mut earlier = earlier.iter();
            earlier.any(|other| other.call.shares_tag_with(&own.call))
        })
    }

    /// Frees the datatypes and operators that the program has freed and no call uses any more.
    fn free_unused_handles(&mut self) {
        let Self {
            calls,
            freed_datatypes,
            freed_operators,
            ..
        } = self;
        freed_datatypes.retain_mut(|datatype| {
            let is_used = calls.iter().any(|call| call.datatype == *datatype);
            if !is_used {
                // SAFETY: the program has freed the handle, and has left that to us.
                unsafe { ffi::PMPI_Type_free(datatype) };
            }
            is_used
        });
        freed_operators.retain_mut(|operator| {
            let is_used = calls.iter().any(|call| call.operator == Some(*operator));
            if !is_used {
                // SAFETY: as above.
                unsafe { ffi::PMPI_Op_free(operator) };
            }
            is_used
        });
    }
}

impl CallUnderWay {
    /// Lets the program complete the request of a call that has ended.
    fn complete_request(self: Box<Self>, code: c_int) {
        let Self {
            call,
            ready,
            outcome,
            mut request,
            is_freed,
            ..
        } = *self;
        if let Some((mut ready, kept)) = ready.filter(|_| code == 0) {
            ready.ours = call.take_back();
            ready.keep_for_later(&kept);
        }
        // SAFETY: the library frees the outcome with the request, which has not been completed before; the program has left
        // it to us to free the request if it has freed it before.
        unsafe {
            (*outcome).code.store(code, Ordering::Relaxed);
            ffi::PMPI_Grequest_complete(request);
            if is_freed {
                ffi::PMPI_Request_free(&mut request);
            }
        }
    }
}

/// MPI's code of an error.
fn error_code(error: &ExecError) -> c_int {
    match error {
        ExecError::Mpi { code, .. } => *code,
        ExecError::Lengths { .. } | ExecError::MessageLength => ffi::MPI_ERR_TRUNCATE as c_int,
        _ => ffi::MPI_ERR_OTHER as c_int,
    }
}

impl Dispatcher {
    /// Serves nonblocking collectives from now on, if the table has rules for them or the settings ask for that. Collective over
    /// the communicator over which the table was loaded, which is attached if it is `MPI_COMM_WORLD` or its first call would
    /// do that. `is_called` says whether the library calls [`advance_calls`] whenever it makes progress.
    ///
    /// # Errors
    ///
    /// The reason, on all ranks alike, why they are all left to the library nevertheless.
    ///
    /// # Safety
    ///
    /// A valid intracommunicator; no call of ours has been made.
    pub unsafe fn serve_nonblocking(
        &self,
        communicator: MPI_Comm,
        is_called: bool,
    ) -> Result<(), NotNonblocking> {
        // A table that is read again may have such rules although the first one has none.
        let is_wanted = self.force.nonblocking || self.versions.may_have_nonblocking_rules();
        if !is_wanted {
            return Ok(());
        }
        if self.is_multiple {
            return Err(NotNonblocking::Threads);
        }
        // Where a rank cannot, another one waits for it.
        let mut lacks = [i32::from(!is_called)];
        let agreed = self.with_library_collectives(|| {
            // SAFETY: the caller promises a valid intracommunicator.
            unsafe { maximum_over_ranks(communicator, &mut lacks) }
        });
        let progress = match (agreed, lacks) {
            (Ok(()), [0]) => Progress::Everywhere,
            (Ok(()), _) if self.force.progress => Progress::InCompletion,
            _ => return Err(NotNonblocking::Progress),
        };
        ARE_POLLED.store(progress == Progress::InCompletion, Ordering::Relaxed);
        self.nonblocking.set(Some(progress));
        // SAFETY: the caller promises a valid intracommunicator; nothing of any state is borrowed, since no call is under way.
        unsafe {
            if let Some(state) = self.state_of(communicator)
                && (*state).awaited == 1
            {
                (*state).awaited = 0;
                self.attach_state(state);
            }
        }
        Ok(())
    }

    /// Whether the settings, or the table that this rank used last, ask for nonblocking collectives of ours.
    pub fn wants_nonblocking(&self) -> bool {
        self.force.nonblocking || self.versions.last().has_nonblocking_rules()
    }

    /// Whether the settings ask for nonblocking collectives to follow the rules of blocking ones.
    pub fn forces_nonblocking(&self) -> bool {
        self.force.nonblocking
    }

    /// The rules for nonblocking calls of a collective; `None` if the table has none and those for blocking calls do not serve
    /// in their place.
    pub(crate) fn nonblocking_rules<'a>(
        &self,
        attached: &'a Attached,
        collective: Collective,
    ) -> Option<(&'a Version, &'a Arc<CommunicatorRules>)> {
        let section = attached.version.nonblocking.as_deref();
        let own = section.zip(attached.nonblocking.as_ref());
        own.filter(|(version, _)| version.deployed.collectives.contains_key(&collective))
            .or_else(|| {
                let forced = (&*attached.version, &attached.rules);
                self.force.nonblocking.then_some(forced)
            })
    }

    /// Whether the rules may have one of our algorithms carry out a nonblocking call.
    fn may_serve_nonblocking(&self, attached: &Attached) -> bool {
        let mut collectives = NONBLOCKING.into_iter();
        collectives.any(|collective| {
            let found = self.nonblocking_rules(attached, collective);
            found.is_some_and(|(_, rules)| may_choose_ours(rules, collective))
        })
    }

    /// Whether nonblocking collectives are served.
    pub fn serves_nonblocking(&self) -> bool {
        self.nonblocking.get().is_some()
    }

    /// Attaches the communicator of a state, and makes its private communicator if nonblocking calls may need it: they cannot
    /// make it themselves. Collective.
    ///
    /// # Safety
    ///
    /// The state is that of a valid intracommunicator with all ranks in `MPI_COMM_WORLD`, and nothing of any state is
    /// borrowed.
    pub(crate) unsafe fn attach_state(&self, state: *mut State) {
        // SAFETY: the caller promises a valid communicator, and that nothing of its state is borrowed.
        unsafe {
            let attached = self.attach_communicator((*state).communicator);
            let needs_private = self.nonblocking.get().is_some()
                && attached
                    .as_ref()
                    .is_ok_and(|attached| self.may_serve_nonblocking(attached));
            (*state).attached = attached;
            if needs_private {
                self.give_private(state);
            }
        }
    }

    /// Starts a nonblocking collective by one of our algorithms, and writes its request. Returns MPI's error code, or `None`
    /// if the library must carry out the call.
    ///
    /// # Safety
    ///
    /// As MPI asks of the call, which is that of one of [`vocabulary::NONBLOCKING`].
    #[inline(never)]
    pub unsafe fn start_nonblocking(
        &self,
        communicator: MPI_Comm,
        call: &RawCall,
        request: *mut ffi::MPI_Request,
    ) -> Option<c_int> {
        self.nonblocking.get()?;
        if self.busy.is_set() || request.is_null() {
            return None;
        }
        // SAFETY: the caller promises what MPI asks of the call, so the communicator is valid or null, and the state is that
        // of this communicator; no call of ours uses it.
        unsafe {
            let state = match self.find_communicator(communicator) {
                Some(known) => known.state(),
                None => self.state_of(communicator)?,
            };
            let state = state.as_mut()?;
            if state.leaves_nonblocking(call) {
                return None;
            }
            match self.prepare_nonblocking(state, call)? {
                Ok(prepared) => Some(self.start_prepared(state, prepared, call, request)),
                Err(error) => Some(call_error_handler(communicator, &error)),
            }
        }
    }

    /// Decides about a nonblocking call; `None` if it is left to the library.
    ///
    /// # Safety
    ///
    /// As for [`Self::start_nonblocking`]; the state is that of the call's communicator.
    unsafe fn prepare_nonblocking(
        &self,
        state: &mut State,
        call: &RawCall,
    ) -> Option<Result<PreparedCall, ExecError>> {
        if state.attached.is_err() && state.awaited == 0 {
            return None;
        }
        let (rank, ranks) = (state.rank, state.ranks);
        let (significant, key) = significant(*call, rank);
        if let Ok(attached) = &state.attached
            && let Some(ready) = ReadyCall::take_kept(&attached.ready, &key)
        {
            let on = communicator_of_call(attached, state.nonblocking_calls)?;
            return Some(Ok(PreparedCall {
                ready,
                is_kept: true,
                on,
            }));
        }
        if let Ok(attached) = &state.attached
            && attached.left_calls.has_call(&key)
        {
            return None;
        }
        // SAFETY: the caller promises what MPI asks of the call, and the state of its communicator.
        unsafe {
            let asked = asked_call(state, call);
            if self.answers.why_not(asked, &self.attributes).is_some() {
                return None;
            }
            if state.awaited > 0 {
                // It counts, but must not wait for other ranks: the next blocking call attaches the communicator.
                let length = call_length(&significant, rank, ranks);
                let bytes = length.map_or(0, |length| length.unwrap_or(0));
                let more = bytes.saturating_add(BYTES_OF_A_CALL);
                state.awaited = state.awaited.saturating_sub(more).max(1);
                return None;
            }
            let attached = state.attached.as_ref().ok()?;
            let left = self.find_left_elements(attached, state, &significant);
            if left.is_some() {
                let known = &mut state.left_nonblocking[call.collective as usize];
                if known.is_none() {
                    *known = left;
                } else {
                    self.remember_left_call(state, &significant, key);
                }
                return None;
            }
            let on = communicator_of_call(attached, state.nonblocking_calls)?;
            let none = PartCounts::Int(&[]);
            let decided = self.decide_call(state, &significant, &key, none, CallForm::Nonblocking);
            let decided = match decided {
                Ok(decided) => decided,
                Err(Refused::PassedOn(_)) => {
                    self.remember_left_call(state, &significant, key);
                    return None;
                }
                Err(Refused::Unprepared) => return None,
                Err(Refused::Failed(error)) => return Some(Err(error)),
            };
            let own = UserHandles::from_call(&significant, &self.attributes.datatypes);
            let row = self.nonblocking_row(attached, call.collective, &decided);
            Some(Ok(PreparedCall {
                is_kept: own.is_ok(),
                ready: Box::new(ReadyCall {
                    key,
                    own: own.unwrap_or_default(),
                    ours: Some(Box::new(decided.call)),
                    row,
                    calls: self.row_counter(row),
                }),
                on,
            }))
        }
    }

    /// Remembers a call with blanked insignificant arguments that the rules have left to the library.
    ///
    /// # Safety
    ///
    /// The handles of the call are valid, or blank.
    unsafe fn remember_left_call(&self, state: &mut State, call: &RawCall, key: CallKey) {
        // SAFETY: the caller promises valid handles.
        let own = unsafe { UserHandles::from_call(call, &self.attributes.datatypes) };
        if let (Ok(own), Ok(attached)) = (own, &mut state.attached) {
            attached.left_calls.remember_call(key, own);
        }
    }

    /// The elements with which the rules leave nonblocking calls to the library, if those of this call are among them. Nothing
    /// needs to be decided about further calls with such elements.
    ///
    /// # Safety
    ///
    /// The handles of the call are valid.
    unsafe fn find_left_elements(
        &self,
        attached: &Attached,
        state: &State,
        call: &RawCall,
    ) -> Option<LeftElements> {
        let found = self.nonblocking_rules(attached, call.collective);
        let Some((_, rules)) = found.filter(|(_, rules)| may_choose_ours(rules, call.collective))
        else {
            return Some(LeftElements::All);
        };
        // SAFETY: the caller promises valid handles; none of these collectives has counts of ranks.
        unsafe { left_elements(rules, state, call) }
    }

    /// The row of the summary for a decision about nonblocking calls.
    fn nonblocking_row(
        &self,
        attached: &Attached,
        collective: Collective,
        decided: &Decided,
    ) -> usize {
        let rules = self.nonblocking_rules(attached, collective);
        let is_forced = rules.is_some_and(|(_, rules)| Arc::ptr_eq(rules, &attached.rules));
        let decision = if is_forced {
            format!("{} (rule of {collective})", decided.name)
        } else {
            decided.name.clone()
        };
        lock(&self.summary).find_or_add_nonblocking_row(collective, &decision, decided.by)
    }

    /// # Safety
    ///
    /// As for [`Self::start_nonblocking`]; the call has been prepared on the communicator of the state.
    unsafe fn start_prepared(
        &self,
        state: &mut State,
        prepared: PreparedCall,
        call: &RawCall,
        request: *mut ffi::MPI_Request,
    ) -> c_int {
        // All ranks have decided alike.
        state.nonblocking_calls += 1;
        let PreparedCall {
            mut ready,
            is_kept,
            on,
        } = prepared;
        let (Some(ours), Ok(attached)) = (ready.ours.take(), &state.attached) else {
            return ffi::MPI_ERR_OTHER as c_int;
        };
        ready.calls.count_call();
        let timed_row = self.timed.then_some(ready.row);
        let ready = is_kept.then(|| (ready, Rc::clone(&attached.ready)));
        // SAFETY: the caller promises what MPI asks of the call: its buffers match the arguments, and stay valid until the
        // request is completed, which it is when the call has ended. Handles that the program frees before that are kept.
        let started = unsafe {
            let started = ours.start(on, call.send, call.recv);
            started.and_then(|started| CallUnderWay::new(started, call, ready, timed_row))
        };
        match started {
            Ok(started) => {
                // SAFETY: the caller promises that the request may be written.
                unsafe { request.write(started.request) };
                // Nothing else uses the calls, as the program's call is not made in the middle of a step.
                with_calls(|calls| calls.add_call(started));
                0
            }
            // SAFETY: the communicator of a call is valid.
            Err(error) => unsafe { call_error_handler(state.communicator, &error) },
        }
    }
}

/// A decision for one of our algorithms, and the communicator for the call.
struct PreparedCall {
    ready: Box<ReadyCall>,
    /// Whether it may be kept for later calls.
    is_kept: bool,
    on: Communicator,
}

/// The communicator for the messages of the next nonblocking call; `None` on all ranks if there is none.
fn communicator_of_call(attached: &Attached, number: u64) -> Option<Communicator> {
    let private = &attached.private.as_ref()?.communicator;
    let tag = tag_of_call(private.tag(), number, most_tag())?;
    Some(private.share_for_call(tag))
}

impl CallUnderWay {
    /// A call with a request that the library has made.
    fn new(
        call: StartedCall,
        raw: &RawCall,
        ready: Option<(Box<ReadyCall>, ReadyCalls)>,
        timed_row: Option<usize>,
    ) -> Result<Box<Self>, ExecError> {
        let outcome = Box::into_raw(Box::new(RequestOutcome {
            code: AtomicI32::new(0),
        }));
        // SAFETY: the functions have the types that MPI gives them; the request is written by the call.
        unsafe {
            let mut request = ffi::RSMPI_REQUEST_NULL;
            let code = ffi::PMPI_Grequest_start(
                Some(query_status),
                Some(free_outcome),
                Some(refuse_to_cancel),
                outcome.cast(),
                &mut request,
            );
            if let Err(error) = check_code("MPI_Grequest_start", code) {
                drop(Box::from_raw(outcome));
                return Err(error);
            }
            Ok(Box::new(Self {
                call,
                ready,
                request,
                outcome,
                is_freed: false,
                has_earlier: false,
                datatype: raw.recv_type,
                operator: raw.collective.is_reduction().then_some(raw.operator),
                timed_row,
            }))
        }
    }
}

/// Called by the library when a request has been completed: sets the status, and returns the error of the call.
unsafe extern "C" fn query_status(extra: *mut c_void, status: *mut ffi::MPI_Status) -> c_int {
    // SAFETY: MPI passes the address that the request was made with, which lives as long as the request, and a status.
    unsafe {
        ffi::PMPI_Status_set_elements(status, ffi::RSMPI_UINT8_T, 0);
        ffi::PMPI_Status_set_cancelled(status, 0);
        (*status).MPI_SOURCE = ffi::RSMPI_UNDEFINED;
        (*status).MPI_TAG = ffi::RSMPI_UNDEFINED;
        (*extra.cast::<RequestOutcome>())
            .code
            .load(Ordering::Relaxed)
    }
}

/// Called by the library when a request has been completed and freed.
unsafe extern "C" fn free_outcome(extra: *mut c_void) -> c_int {
    // SAFETY: made by `CallUnderWay::new`; MPI calls this once.
    drop(unsafe { Box::from_raw(extra.cast::<RequestOutcome>()) });
    0
}

/// Called by the library for `MPI_Cancel`, which is an error for collectives (MPI 4.0, section 6.12).
unsafe extern "C" fn refuse_to_cancel(_: *mut c_void, has_ended: c_int) -> c_int {
    if has_ended != 0 {
        return 0;
    }
    ffi::MPI_ERR_REQUEST as c_int
}

/// The tag of a call, the one with this number on its communicator; `None` on all ranks if there is none.
fn tag_of_call(of_communicator: c_int, number: u64, most: c_int) -> Option<c_int> {
    let turn = (number % CALL_TAGS as u64) as c_int;
    let tag = of_communicator.checked_mul(CALL_TAGS)?.checked_add(turn)?;
    let tag = tag.checked_add(first_tag_of_calls(most))?;
    (tag <= most).then_some(tag)
}

/// The first of the tags that are for nonblocking calls; those of communicators are below.
pub(crate) fn first_tag_of_calls(most: c_int) -> c_int {
    most / 2 + 1
}

/// Whether rules may have one of our algorithms carry out a call of a collective.
fn may_choose_ours(rules: &CommunicatorRules, collective: Collective) -> bool {
    OperatorClass::ALL.into_iter().any(|class| {
        let mut choices = rules.choices(collective, class).iter();
        choices.any(|choice| matches!(choice.candidate, Candidate::Ours { .. }))
    })
}

#[cfg(test)]
mod tests {
    use super::{CALL_TAGS, first_tag_of_calls, tag_of_call};

    #[test]
    fn calls_have_tags_of_their_own_as_long_as_there_are_some() {
        for most in [32767, (1 << 28) - 1, i32::MAX] {
            let first = first_tag_of_calls(most);
            assert_eq!(tag_of_call(0, 0, most), Some(first));
            assert_eq!(tag_of_call(0, CALL_TAGS as u64, most), Some(first));
            let of_others = first + CALL_TAGS;
            assert_eq!(tag_of_call(1, 0, most), Some(of_others));
            assert_eq!(tag_of_call(0, 63, most), Some(of_others - 1));
            let last = (most - first) / CALL_TAGS;
            assert_eq!(tag_of_call(last, 63, most), Some(most));
            assert_eq!(tag_of_call(last + 1, 0, most), None);
        }
    }
}
