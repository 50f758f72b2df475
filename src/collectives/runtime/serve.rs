//! The handling of one call.

use std::borrow::Cow;
use std::cell::Cell;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use exec::constants::MPI_Comm;
use exec::{ApplicationCall, ExecError, OperatorHandle, PartCounts, RawCall, is_named};
use mpi::ffi;
use schedule::Collective;
use table::OperatorClass;
use table::dispatch::CommunicatorRules;
use vocabulary::{Parameters, Through};

use crate::arguments::{call_length, executor_arguments, measured_elements};
use crate::call::{CallKey, significant};
use crate::chosen::AskedRules;
use crate::plan::{Plan, Way};
use crate::state::{Attached, LeftElements, PassedCalls, PrivateCommunicator, Reasons, State};
use crate::threads::{CallCounter, lock};
use crate::user_handles::UserHandles;
use crate::wrong::{AskedCall, distance};
use crate::{BYTES_OF_A_CALL, By, Dispatcher, FallbackReason, KnownCommunicator};

/// The outcome of a call, which has been counted. Small, as it is created for every call.
pub(crate) struct ServedCall {
    /// The row of the summary that it belongs to.
    pub(crate) row: usize,
    pub(crate) gain_seconds: f64,
    /// `None` if the library has not been called yet.
    pub(crate) outcome: Option<Result<(), Box<ExecError>>>,
}

impl Dispatcher {
    /// Whether a call is known to be left to the library. If so, it is counted here, and the caller must call the
    /// library. Always false if calls are timed.
    ///
    /// # Safety
    ///
    /// As MPI asks of the call; the communicator is the call's.
    #[inline(always)]
    pub unsafe fn passes_on(&self, known: KnownCommunicator, call: &RawCall) -> bool {
        if self.timed {
            return false;
        }
        // SAFETY: a state lives as long as its communicator, which the caller promises is the call's, and so is valid.
        match unsafe { (*known.state()).find_passed(call) } {
            Some(passed) => {
                passed.calls.count_call();
                true
            }
            None => false,
        }
    }
}

// Functions marked `inline(always)` are on the path of repeated calls. In the hooks, where the collective is known,
// most of this path is evaluated at compile time.
impl Dispatcher {
    /// Makes a call that is not passed on at once, see [`Self::passes_on`]. Returns MPI's error code; the
    /// communicator's error handler has been called then.
    ///
    /// `call` describes the call. It is a function since only rare paths need the description in memory, which takes
    /// time to write.
    ///
    /// # Safety
    ///
    /// As MPI asks of the call; the communicator is the call's, and no call of ours is under way.
    #[inline(always)]
    pub unsafe fn call_on(&self, known: KnownCommunicator, call: impl Fn() -> RawCall) -> c_int {
        let state = known.state();
        // SAFETY: the caller promises what MPI asks of the call, that `known` is its communicator, and that no call of
        // ours is under way, so nothing else uses the state.
        unsafe {
            if self.timed {
                return self.call_timed(state, call());
            }
            match self.run_known(&mut *state, call()) {
                Some(served) => self.finish_call(served, (*state).communicator, call, None),
                None => self.serve_new(state, call(), None),
            }
        }
    }

    /// Makes a call and adds up its time, also if the call is passed on.
    ///
    /// # Safety
    ///
    /// As in [`Self::call_on`]; the state is that of the call's communicator.
    #[inline(never)]
    unsafe fn call_timed(&self, state: *mut State, call: RawCall) -> c_int {
        let start = Some(Instant::now());
        // SAFETY: the caller promises what MPI asks of the call, that the state is that of its communicator, and that
        // no call of ours is under way, so nothing else uses the state.
        unsafe {
            let served = match (*state).find_passed(&call) {
                Some(known) => Some(left_to_library(known.row, &known.calls)),
                None => self.run_known(&mut *state, call),
            };
            match served {
                Some(served) => self.finish_call(served, (*state).communicator, || call, start),
                None => self.serve_new(state, call, start),
            }
        }
    }

    /// Leaves a call on `MPI_COMM_SELF`, which has no state, to the library, and counts it.
    ///
    /// # Safety
    ///
    /// As MPI asks of the call.
    #[cold]
    pub(crate) unsafe fn call_alone(&self, communicator: MPI_Comm, call: RawCall) -> c_int {
        let start = Some(Instant::now());
        let row = self.passed_row(call.collective, FallbackReason::Alone);
        let served = left_to_library(row, &self.row_counter(row));
        // SAFETY: the caller promises what MPI asks of the call.
        unsafe { self.finish_call(served, communicator, || call, start) }
    }

    /// Carries out a call that has been seen before.
    ///
    /// # Safety
    ///
    /// As MPI asks of the call; the state is that of its communicator.
    #[inline(always)]
    unsafe fn run_known(&self, state: &mut State, call: RawCall) -> Option<ServedCall> {
        let attached = state.attached.as_mut().ok()?;
        let (_, key) = significant(call, state.rank);
        // SAFETY: the caller promises what MPI asks of the call, so there is one count per rank where there are counts,
        // and that the state, with its plans, is that of the call's communicator.
        unsafe {
            let plan = attached
                .plans
                .find_plan(&key, call.part_counts(state.ranks))?;
            let is_refused =
                has_parts(call.collective) && plan.refused_distance == Some(distance(&call));
            if is_refused {
                return None;
            }
            Some(self.carry_out(plan, attached.private.as_ref(), &attached.used, call))
        }
    }

    /// A call that has not been seen before.
    ///
    /// # Safety
    ///
    /// As in [`Self::call_on`]; the state is that of the call's communicator.
    #[cold]
    #[inline(never)]
    unsafe fn serve_new(&self, state: *mut State, call: RawCall, start: Option<Instant>) -> c_int {
        // SAFETY: the caller promises what MPI asks of the call, that the state is that of its communicator, and that
        // no call of ours is under way; no borrow of the state outlives one of these functions.
        unsafe {
            let communicator = (*state).communicator;
            let served = match self.refuse_call(&mut *state, &call) {
                Some(served) => served,
                None => match self.await_attachment(state, &call) {
                    Some(served) => served,
                    None => loop {
                        if let Some(served) = self.run_new(&mut *state, call) {
                            break served;
                        }
                        self.give_private(state);
                    },
                },
            };
            self.finish_call(served, communicator, || call, start)
        }
    }

    /// Leaves a call to the library for a reason that needs no agreement with other ranks, see [`Answers::why_not`].
    /// Nothing is sent, and the communicator is not attached.
    ///
    /// [`Answers::why_not`]: crate::wrong::Answers::why_not
    ///
    /// # Safety
    ///
    /// As in [`Self::call_on`]; the state is that of the call's communicator.
    unsafe fn refuse_call(&self, state: &mut State, call: &RawCall) -> Option<ServedCall> {
        // All calls on an intercommunicator, where roots have other meanings, are left to the library.
        if state.attached.is_err() && state.awaited == 0 {
            return None;
        }
        // SAFETY: the caller promises what MPI asks of the call, so handles that are not null are valid, and `counts`
        // has one count per rank or is null.
        unsafe {
            let reason = self
                .answers
                .why_not(asked_call(state, call), &self.attributes)?;
            let (row, calls) = self.left_row(&mut state.left, call.collective, reason);
            let served = left_to_library(row, &calls);
            // Other reasons may no longer hold when the same handles are used again: a datatype may be committed.
            if let (FallbackReason::Undefined { .. }, Ok(attached)) = (reason, &mut state.attached)
            {
                let (significant, key) = significant(*call, state.rank);
                let counts = call.part_counts(state.ranks).as_int();
                if let Some(counts) = counts
                    && let Ok(own) =
                        UserHandles::from_call(&significant, &self.attributes.datatypes)
                {
                    attached.plans.store_plan(Plan {
                        key,
                        counts,
                        own,
                        way: Way::PassOn,
                        row,
                        calls,
                        gain_seconds: 0.0,
                        bytes: 0,
                        refused_distance: None,
                    });
                }
            }
            Some(served)
        }
    }

    /// Leaves a call to the library while the calls on its communicator are too few and too short to attach it.
    /// Otherwise attaches the communicator, unless that has been done. All ranks do so at the same call, as they make
    /// the same calls on a communicator in the same order, of the same lengths.
    ///
    /// # Safety
    ///
    /// As MPI asks of the call; the state is that of its communicator.
    unsafe fn await_attachment(&self, state: *mut State, call: &RawCall) -> Option<ServedCall> {
        // SAFETY: the caller promises what MPI asks of the call, and that the state is that of its communicator;
        // `State::new` makes only intracommunicators of this world wait. While the communicator is attached, all states
        // are accessed, so nothing is borrowed.
        unsafe {
            if (*state).awaited == 0 {
                return None;
            }
            // Arguments that are not significant on this rank may differ between ranks.
            let (significant, _) = significant(*call, (*state).rank);
            let length = call_length(&significant, (*state).rank, (*state).ranks);
            let bytes = length.map_or(0, |length| length.unwrap_or(0));
            let more = bytes.saturating_add(BYTES_OF_A_CALL);
            (*state).awaited = (*state).awaited.saturating_sub(more);
            if (*state).awaited > 0 {
                let left = &mut (*state).left;
                return Some(self.leave_call(left, call.collective, FallbackReason::FirstCalls));
            }
            self.attach_state(state);
        }
        None
    }

    /// Has the library carry out what is left to it, adds up the time, and reports an error.
    ///
    /// # Safety
    ///
    /// As MPI asks of the call.
    #[inline(always)]
    unsafe fn finish_call(
        &self,
        served: ServedCall,
        communicator: MPI_Comm,
        call: impl Fn() -> RawCall,
        start: Option<Instant>,
    ) -> c_int {
        // SAFETY: the caller promises what MPI asks of the call, so the communicator is valid. An error handler may
        // free it with its state, so the state is not accessed after that.
        unsafe {
            let code = match served.outcome {
                None => call().forward(communicator),
                _ => 0,
            };
            if let Some(start) = start {
                let time = start.elapsed();
                let row = &mut lock(&self.summary).rows[served.row];
                row.time += time;
                row.expected_gain_seconds += served.gain_seconds;
            }
            match served.outcome {
                Some(Err(error)) => call_error_handler(communicator, &error),
                _ => code,
            }
        }
    }

    /// # Safety
    ///
    /// As MPI asks of the call; the plan is for such calls on this communicator.
    #[inline(always)]
    unsafe fn carry_out(
        &self,
        plan: &mut Plan,
        private: Option<&PrivateCommunicator>,
        used: &Cell<u64>,
        call: RawCall,
    ) -> ServedCall {
        plan.calls.count_call();
        let outcome = match (&mut plan.way, private) {
            (Way::PassOn, _) | (_, None) => None,
            (Way::Ours(ours), Some(private)) => {
                self.count_own_call(used);
                self.busy.set(true);
                // SAFETY: the caller promises what MPI asks of the call, so the buffers match its arguments and its
                // handles are valid, and that the plan is for such calls.
                let outcome = unsafe { ours.call(&private.communicator, call.send, call.recv) };
                self.busy.set(false);
                Some(outcome.map_err(Box::new))
            }
        };
        ServedCall {
            row: plan.row,
            gain_seconds: plan.gain_seconds,
            outcome,
        }
    }

    /// Handles a call that has not been seen before; `None` if it needs a private communicator, which all ranks must make
    /// first.
    ///
    /// # Safety
    ///
    /// As MPI asks of the call; the state is that of its communicator.
    unsafe fn run_new(&self, state: &mut State, call: RawCall) -> Option<ServedCall> {
        let passes_all = match &state.attached {
            Ok(attached) => attached.least_bytes(call.collective) == u64::MAX,
            Err(_) => true,
        };
        if passes_all {
            let reason = why_all_passed(&state.attached, call.collective);
            let row = self.passed_row(call.collective, reason);
            let known = self.register_passed(row, LeftElements::All);
            let served = left_to_library(row, &known.calls);
            state.passed[call.collective as usize] = Some(known);
            return Some(served);
        }
        // SAFETY: the caller promises what MPI asks of the call, so its handles are valid and `counts` has one count
        // per rank, and that the state is that of its communicator.
        unsafe {
            let (significant, key) = significant(call, state.rank);
            let counts = call.part_counts(state.ranks);
            let mut plan = match self.prepare_plan(state, &significant, key, counts) {
                Ok(Some(plan)) => plan,
                Ok(None) => return None,
                Err(error) => {
                    let row = self.summary_row(call.collective, "error", By::Table, Through::Mpi);
                    return Some(ServedCall {
                        outcome: Some(Err(Box::new(error))),
                        ..left_to_library(row, &self.row_counter(row))
                    });
                }
            };
            if let Way::PassOn = plan.way
                && let Some(elements) = self.passed_elements(state, &significant)
            {
                // To the shortest calls the time to find a plan matters most.
                let known = &mut state.passed[call.collective as usize];
                let earlier = known.as_ref().map(|passed| passed.elements);
                if earlier.is_none_or(|earlier| elements.are_as_short(earlier)) {
                    *known = Some(self.register_passed(plan.row, elements));
                }
            }
            if has_parts(call.collective) {
                let asked = asked_call(state, &call);
                plan.refused_distance = self.answers.refused_distance(asked, &self.attributes);
            }
            let Ok(attached) = &mut state.attached else {
                return Some(left_to_library(plan.row, &plan.calls));
            };
            let private = attached.private.as_ref();
            let served = self.carry_out(&mut plan, private, &attached.used, call);
            if let Some(counts) = counts.as_int()
                && let Ok(own) = UserHandles::from_call(&significant, &self.attributes.datatypes)
            {
                attached.plans.store_plan(Plan {
                    own,
                    counts,
                    ..plan
                });
            }
            Some(served)
        }
    }

    /// The numbers of elements, about that of a call, with which the rules leave all calls to the library, whatever the
    /// operator. `None` if calls are timed, since the summary then contains the reason of each.
    ///
    /// # Safety
    ///
    /// As for [`left_elements`].
    unsafe fn passed_elements(&self, state: &State, call: &RawCall) -> Option<LeftElements> {
        let attached = state.attached.as_ref().ok()?;
        if self.timed {
            return None;
        }
        // SAFETY: the caller promises the same.
        unsafe { left_elements(&attached.rules, state, call) }
    }

    /// Registers calls that are passed on immediately from now on, and counted for a row of the summary.
    fn register_passed(&self, row: usize, elements: LeftElements) -> PassedCalls {
        PassedCalls {
            elements,
            row,
            calls: self.row_counter(row),
        }
    }

    /// Decides about a call that has not been seen before; `None` if that needs a private communicator. The plan does not
    /// contain the parts of an `MPI_Reduce_scatter`.
    ///
    /// # Errors
    ///
    /// Errors that other ranks may not know about, so they may be about to carry out the call.
    ///
    /// # Safety
    ///
    /// The handles are valid where they are significant, and blank elsewhere, datatypes are committed, and `counts` has
    /// one count per rank where it is significant.
    unsafe fn prepare_plan(
        &self,
        state: &State,
        call: &RawCall,
        key: CallKey,
        counts: PartCounts<'_>,
    ) -> Result<Option<Plan>, ExecError> {
        // SAFETY: the caller promises valid handles and committed datatypes, and one count per rank where `counts` is
        // significant.
        let decided = unsafe { self.decide_call(state, call, &key, counts, CallForm::Blocking) };
        let (way, row, gain_seconds, bytes) = match decided {
            Ok(Decided {
                call: ours,
                name,
                by,
                through,
                gain_seconds,
                bytes,
            }) => {
                let row = self.summary_row(call.collective, &name, by, through);
                (Way::Ours(Box::new(ours)), row, gain_seconds, bytes)
            }
            Err(Refused::PassedOn(reason)) => {
                let row = self.passed_row(call.collective, reason);
                (Way::PassOn, row, 0.0, 0)
            }
            Err(Refused::Unprepared) => return Ok(None),
            Err(Refused::Failed(error)) => return Err(error),
        };
        Ok(Some(Plan {
            key,
            counts: Box::default(),
            own: None,
            way,
            row,
            calls: self.row_counter(row),
            gain_seconds,
            bytes,
            refused_distance: None,
        }))
    }

    /// Chooses an algorithm and prepares it. All messages of a nonblocking call go through MPI.
    ///
    /// # Safety
    ///
    /// As in [`Self::prepare_plan`].
    pub(crate) unsafe fn decide_call(
        &self,
        state: &State,
        call: &RawCall,
        key: &CallKey,
        counts: PartCounts<'_>,
        form: CallForm,
    ) -> Result<Decided, Refused> {
        let collective = call.collective;
        let attached = state.attached.as_ref();
        let attached = attached.map_err(|reasons| reasons[collective as usize])?;
        // SAFETY: the caller promises valid handles, and one count per rank where `counts` is significant.
        let length = unsafe { call_length(call, state.rank, state.ranks) };
        // The library reports wrong handles to the application.
        let bytes = length.map_err(|_| FallbackReason::Invalid)??;
        let class = operator_class(call)?;
        let (version, rules) = match form {
            CallForm::Blocking => (&*attached.version, &attached.rules),
            CallForm::Nonblocking => self
                .nonblocking_rules(attached, collective)
                .ok_or(FallbackReason::NoRules)?,
        };
        let asked = AskedRules {
            version,
            rules,
            collective,
            class,
            bytes,
        };
        let chosen = asked.find_algorithm(asked.choice())?;
        let counts: Vec<u64> = counts.iter().map(|count| count as u64).collect();
        // SAFETY: the caller promises valid handles and committed datatypes; a plan is used again only while the
        // program's own handles in it are there (`UserHandles`).
        let arguments = unsafe { executor_arguments(call, &counts)? };
        let Some(private) = &attached.private else {
            return Err(Refused::Unprepared);
        };
        let parameters = match form {
            CallForm::Blocking => Cow::Borrowed(chosen.parameters),
            CallForm::Nonblocking => Cow::Owned(Parameters {
                through: Through::Mpi,
                ..chosen.parameters.clone()
            }),
        };
        if let (Through::Shared, Some(reason)) = (parameters.through, private.lacking) {
            return Err(FallbackReason::NoChannels(reason).into());
        }
        // Nothing has been sent yet, so the library can still take over.
        let prepared = catch_unwind(AssertUnwindSafe(|| {
            ApplicationCall::new(
                chosen.algorithm,
                &parameters,
                &arguments,
                key.is_in_place(),
                &private.communicator,
                self.wait,
            )
        }));
        let ours = prepared.map_err(|_| FallbackReason::Unsuited)??;
        let (name, by) = chosen.describe();
        Ok(Decided {
            bytes: ours.kept_bytes(),
            call: ours,
            name,
            by,
            through: parameters.through,
            gain_seconds: chosen.gain_seconds(),
        })
    }

    pub(crate) fn summary_row(
        &self,
        collective: Collective,
        decision: &str,
        by: By,
        through: Through,
    ) -> usize {
        let mut summary = lock(&self.summary);
        summary.find_or_add_row(collective, decision, by, through)
    }

    pub(crate) fn passed_row(&self, collective: Collective, reason: FallbackReason) -> usize {
        if reason == FallbackReason::NoCommunicator {
            self.tell_of_lacking_communicator();
        }
        let by = By::Library(reason);
        self.summary_row(collective, &reason.to_string(), by, Through::Mpi)
    }
}

/// The form of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallForm {
    Blocking,
    Nonblocking,
}

/// A decision for one of our algorithms.
pub(crate) struct Decided {
    pub(crate) call: ApplicationCall,
    pub(crate) name: String,
    pub(crate) by: By,
    through: Through,
    gain_seconds: f64,
    bytes: u64,
}

/// The reason why none of our algorithms is used.
pub(crate) enum Refused {
    /// The call is left to the library, on all ranks.
    PassedOn(FallbackReason),
    /// All ranks must make a private communicator first.
    Unprepared,
    /// The call failed on this rank, and perhaps only here.
    Failed(ExecError),
}

impl From<FallbackReason> for Refused {
    fn from(reason: FallbackReason) -> Self {
        Self::PassedOn(reason)
    }
}

impl From<ExecError> for Refused {
    fn from(error: ExecError) -> Self {
        use ExecError::{
            CommunicatorLost, Extent, LeftToLibrary, Lengths, MessageLength, Mpi, NativeParameters,
            NoChannels, NoComponentReport, NoOperator, NoSuchNative, NoSuchOperation, NoVariable,
            NotForced, NotInPlace, NotNonblocking, NotServing, Packing, Scratch, Shadowed,
            TooLarge, Tool, UnknownAlgorithm, Unsupported,
        };
        match error {
            // The library failed, perhaps only here.
            Mpi { .. }
            // The ranks' arguments do not match.
            | Lengths { .. }
            // Ranks may describe equal data by different datatypes, of which only this one's is packed in this way.
            | Packing { .. }
            // Messages of this rank failed.
            | CommunicatorLost
            | MessageLength => Self::Failed(error),
            // The operator does not commute, on all ranks.
            Unsupported(schedule::Unsupported::Unordered { .. }) => {
                Self::PassedOn(FallbackReason::Unordered)
            }
            // The length and the datatype are equal on all ranks.
            TooLarge { .. } => Self::PassedOn(FallbackReason::TooLarge),
            Scratch { .. } => Self::PassedOn(FallbackReason::Scratch),
            Extent { .. } => Self::PassedOn(FallbackReason::Descending),
            // These follow from the table, the communicator, and arguments that are equal on all ranks: the algorithm
            // and its parameters,
            Unsupported(_)
            | UnknownAlgorithm(_)
            // the communicator's channels, which all ranks have or none,
            | NoChannels
            // the datatype and the operator.
            | NoSuchOperation { .. }
            | NoOperator
            // Only the library's own algorithms and mock-ups, which are not prepared here, have these errors.
            | NoSuchNative(_)
            | NativeParameters(_)
            | Shadowed(_)
            | NotForced { .. }
            | NotNonblocking(_)
            | LeftToLibrary
            | NotServing { .. }
            | NoComponentReport(_)
            | NoVariable(_)
            | Tool { .. }
            | NotInPlace(_) => Self::PassedOn(FallbackReason::Unsuited),
        }
    }
}

/// Whether ranks have parts of the input or the output of a collective that moves data.
#[inline(always)]
fn has_parts(collective: Collective) -> bool {
    matches!(
        collective,
        Collective::Gather | Collective::Scatter | Collective::Allgather
    )
}

/// The numbers of elements, about that of a call, with which rules leave all calls to the library, whatever the operator.
///
/// # Safety
///
/// The handles are valid, and `counts` has one count per rank where it is significant.
pub(crate) unsafe fn left_elements(
    rules: &CommunicatorRules,
    state: &State,
    call: &RawCall,
) -> Option<LeftElements> {
    // For the parts of an `MPI_Reduce_scatter` there is no immediate check.
    let is_checked = call.collective.has_data() && call.collective != Collective::ReduceScatter;
    if !is_checked {
        return None;
    }
    let (elements, datatype) = measured_elements(call, state.rank);
    // SAFETY: the caller promises valid handles, and one count per rank where `counts` is significant.
    let (bytes, is_named) = unsafe {
        let bytes = call_length(call, state.rank, state.ranks).ok()?.ok()?;
        (bytes, is_named(datatype).ok()?)
    };
    let left = rules.left_sizes(call.collective, bytes)?;
    // The size is a multiple of the number of elements, which calls without data do not have.
    let bytes_of_element = bytes.checked_div(u64::try_from(elements).ok()?)?;
    let first = left.start().div_ceil(bytes_of_element.max(1)).max(1);
    // Calls that are too large have a reason of their own.
    let parts = if call.collective.is_sized_by_part() {
        u64::try_from(state.ranks).ok()?
    } else {
        1
    };
    let most_bytes = i32::MAX as u64 / parts;
    let last = most_bytes.min(*left.end()) / bytes_of_element.max(1);
    Some(LeftElements::Some {
        datatype,
        first: i64::try_from(first).ok()?,
        last: i64::try_from(last).ok()?,
    })
    .filter(|_| is_named)
}

/// A call on a communicator.
pub(crate) fn asked_call<'a>(state: &State, call: &'a RawCall) -> AskedCall<'a> {
    AskedCall {
        call,
        rank: state.rank,
        ranks: state.ranks,
    }
}

/// Counts a call, and leaves it to the library unless the caller sets an outcome.
#[inline(always)]
pub(crate) fn left_to_library(row: usize, calls: &CallCounter) -> ServedCall {
    calls.count_call();
    ServedCall {
        row,
        gain_seconds: 0.0,
        outcome: None,
    }
}

/// The reason why all calls of a collective on a communicator are passed on.
#[cold]
pub(crate) fn why_all_passed(
    attached: &Result<Attached, Reasons>,
    collective: Collective,
) -> FallbackReason {
    match attached {
        Ok(Attached { version, rules, .. }) => {
            version.why_all_default(rules, collective, FallbackReason::Default)
        }
        Err(reasons) => reasons[collective as usize],
    }
}

fn operator_class(call: &RawCall) -> Result<OperatorClass, Refused> {
    if !call.collective.is_reduction() {
        return Ok(OperatorClass::Commutative);
    }
    // SAFETY: the caller of the collective promises a valid operator, as MPI asks of a reduction.
    let operator = unsafe { OperatorHandle::new(call.operator) };
    let operator = operator.map_err(|_| FallbackReason::Invalid)?;
    Ok(OperatorClass::from_commutes(operator.is_commutative()))
}

/// Calls the communicator's error handler (MPI 4.0, section 9.3) and returns the error code.
///
/// # Safety
///
/// The communicator is valid.
#[cold]
#[inline(never)]
pub(crate) unsafe fn call_error_handler(communicator: MPI_Comm, error: &ExecError) -> c_int {
    let code = match error {
        ExecError::Mpi { code, .. } => *code,
        ExecError::Lengths { .. } | ExecError::MessageLength => ffi::MPI_ERR_TRUNCATE as c_int,
        _ => ffi::MPI_ERR_OTHER as c_int,
    };
    // SAFETY: the caller promises that the communicator is valid.
    unsafe { ffi::PMPI_Comm_call_errhandler(communicator, code) };
    code
}
