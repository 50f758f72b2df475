//! The handling of calls of irregular collectives.
//!
//! Ranks of an alltoallv, alltoallw, gatherv or scatterv see only their own counts and datatypes, and may describe equal
//! data by different ones. So nothing but the communicator, the collective and the root determines which algorithm
//! carries out a call. In an allgatherv every rank knows all counts, and describes the parts of all ranks by types with
//! the same signature (MPI 4.0, section 6.7), so that the size of all data is the same on all ranks: it decides there.
//!
//! A communicator keeps an algorithm ready for each root, not for each call: counts, displacements and types are those of
//! each call (`exec`, `irregular.rs`).

use std::ffi::c_int;
use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Instant;

use exec::constants::{MPI_Comm, MPI_Datatype};
use exec::{IrregularCall, IrregularShape, RawBlocks, RawIrregularCall, RawTypes};
use mpi::ffi;
use schedule::{Collective, Parameter};
use table::OperatorClass;
use table::dispatch::{Choice, CommunicatorRules};
use vocabulary::{Candidate, Through};

use crate::chosen::AskedRules;
use crate::plan::KEPT_BYTES;
use crate::predefined::PredefinedTypes;
use crate::serve::{Refused, ServedCall, call_error_handler, left_to_library, why_all_passed};
use crate::state::{LeftElements, PassedCalls, PrivateCommunicator, State};
use crate::threads::{CallCounter, lock};
use crate::versions::Version;
use crate::wrong::AskingRank;
use crate::{BYTES_OF_A_CALL, By, Dispatcher, FallbackReason, KnownCommunicator};

/// The most algorithms that a communicator keeps ready.
const MOST_READY: usize = 16;

/// The calls that a plan is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct IrregularKey {
    collective: Collective,
    root: c_int,
    is_in_place: bool,
    /// The choice among the communicator's rules, which do not move.
    choice: *const Choice,
    /// The size of all data, if the algorithm depends on it; 0 otherwise.
    total_bytes: u64,
}

/// A decision about calls of an irregular collective on a communicator.
#[derive(Debug)]
pub(crate) struct IrregularPlan {
    key: IrregularKey,
    /// `None` if the library carries them out.
    ours: Option<Box<IrregularCall>>,
    row: usize,
    calls: Arc<CallCounter>,
    /// The expected gain of a call of the size of the latest one.
    gain_seconds: f64,
    /// The size of the latest call, as all ranks know it.
    bytes: u64,
}

impl IrregularPlan {
    /// The size in bytes of the buffers that it keeps between calls.
    fn kept_bytes(&self) -> u64 {
        self.ours.as_ref().map_or(0, |ours| ours.kept_bytes())
    }
}

/// Calls of an allgatherv that the rules leave to the library, by the numbers of elements that they receive. They are
/// known before their other arguments are looked at, which takes longer than all else: whatever these are, the library
/// gets the call as it is.
#[derive(Debug)]
pub(crate) struct LeftTotals {
    /// The predefined type of the elements.
    datatype: MPI_Datatype,
    /// The elements of all ranks together.
    elements: RangeInclusive<i64>,
    row: usize,
    calls: Arc<CallCounter>,
}

impl LeftTotals {
    /// The calls like one that a plan leaves to the library, among those that the rules do not tell from it.
    fn like_call(
        call: &RawIrregularCall,
        plan: &IrregularPlan,
        rules: &CommunicatorRules,
        predefined: &mut PredefinedTypes,
    ) -> Option<Self> {
        let RawBlocks::OfRanks {
            datatypes: RawTypes::Same(datatype),
            ..
        } = call.received
        else {
            return None;
        };
        // SAFETY: the arguments of a call that has a plan are not wrong, so the type is valid.
        let type_bytes =
            unsafe { predefined.bytes_if_predefined(datatype) }.filter(|size| *size > 0)?;
        let choices = rules.choices(call.collective, OperatorClass::Commutative);
        let place = choices
            .iter()
            .position(|choice| std::ptr::eq(choice, plan.key.choice))?;
        // Calls without data, and longer ones than MPI's own counts allow, have reasons of their own.
        let first = choices[place].from_bytes.max(1);
        let next = choices.get(place + 1).map(|choice| choice.from_bytes);
        let last = next.map_or(u64::MAX, |next| next.saturating_sub(1));
        let last = last.min(i32::MAX as u64);
        let first = i64::try_from(first.div_ceil(type_bytes)).ok()?;
        let last = i64::try_from(last / type_bytes).ok()?;
        Some(Self {
            datatype,
            elements: first..=last,
            row: plan.row,
            calls: Arc::clone(&plan.calls),
        })
    }

    /// Whether a call on `ranks` ranks is one of these.
    ///
    /// # Safety
    ///
    /// An array of counts that is not missing has `ranks` readable entries.
    unsafe fn have_call(&self, call: &RawIrregularCall, ranks: c_int) -> bool {
        let RawBlocks::OfRanks {
            counts,
            datatypes: RawTypes::Same(datatype),
            ..
        } = &call.received
        else {
            return false;
        };
        if call.collective != Collective::Allgatherv
            || *datatype != self.datatype
            || counts.are_missing()
        {
            return false;
        }
        let total = (0..ranks as usize).fold(0_i64, |total, place| {
            // SAFETY: the caller promises as many readable entries.
            total.saturating_add(unsafe { counts.number_at(place) })
        });
        self.elements.contains(&total)
    }
}

/// Drops the plans with the largest buffers, apart from that of the latest call, while all together keep too much memory.
fn limit_memory(plans: &mut Vec<IrregularPlan>, latest: IrregularKey) {
    while plans.iter().map(IrregularPlan::kept_bytes).sum::<u64>() > KEPT_BYTES {
        let others = plans.iter().enumerate().filter(|(_, plan)| {
            // Without buffers it would be of no use to drop one.
            plan.key != latest && plan.kept_bytes() > 0
        });
        let Some((place, _)) = others.max_by_key(|(_, plan)| plan.kept_bytes()) else {
            return;
        };
        plans.remove(place);
    }
}

/// The reason why a call with this choice is not ours whatever its arguments are, the same on all ranks; `Unprepared` if
/// all ranks must make a private communicator first.
fn why_not_ours(choice: &Choice, private: Option<&PrivateCommunicator>) -> Option<Refused> {
    let Candidate::Ours { parameters, .. } = &choice.candidate else {
        return None;
    };
    let Some(private) = private else {
        return Some(Refused::Unprepared);
    };
    let lacking = private
        .lacking
        .filter(|_| parameters.through == Through::Shared)?;
    Some(Refused::PassedOn(FallbackReason::NoChannels(lacking)))
}

impl Dispatcher {
    /// Whether all calls of an irregular collective on a communicator are known to be left to the library. If so, the call
    /// is counted here, and the caller must call the library. Always false if calls are timed.
    ///
    /// # Safety
    ///
    /// The communicator is the call's.
    #[inline(always)]
    pub unsafe fn passes_on_all(&self, known: KnownCommunicator, collective: Collective) -> bool {
        if self.timed {
            return false;
        }
        // SAFETY: a state lives as long as its communicator, which the caller promises is the call's, and so is valid.
        match unsafe { (*known.state()).find_all_passed(collective) } {
            Some(passed) => {
                passed.calls.count_call();
                true
            }
            None => false,
        }
    }

    /// [`Self::call_irregular`] on a communicator that [`Self::find_communicator`] has found.
    ///
    /// # Safety
    ///
    /// As MPI asks of the call; the communicator is the call's, and no call of ours is under way.
    pub unsafe fn call_irregular_on(
        &self,
        known: KnownCommunicator,
        call: &RawIrregularCall,
    ) -> c_int {
        // SAFETY: the caller promises what MPI asks of the call, that `known` is its communicator, and that no call of ours
        // is under way.
        unsafe { self.serve_irregular(known.state(), call) }
    }

    /// Carries out a call of an irregular collective, by one of our algorithms or by the library. Returns MPI's error
    /// code; in case of an error the communicator's error handler has been called.
    ///
    /// # Safety
    ///
    /// As MPI asks of the call.
    #[inline(never)]
    pub unsafe fn call_irregular(&self, communicator: MPI_Comm, call: &RawIrregularCall) -> c_int {
        // An error handler or a datatype's function of the application may call collectives in the middle of another.
        let is_busy = self.busy.is_set();
        // SAFETY: the caller promises what MPI asks of the call, so the communicator is valid or null; the state is
        // that of this communicator, and is looked for only if no call of ours is under way.
        unsafe {
            let state = match self.find_communicator(communicator) {
                Some(known) => Some(known.state()),
                None if is_busy => None,
                None => self.state_of(communicator),
            };
            match state.and_then(NonNull::new) {
                Some(state) => self.serve_irregular(state.as_ptr(), call),
                None if self.timed && !is_busy && communicator == ffi::RSMPI_COMM_SELF => {
                    let start = Some(Instant::now());
                    let row = self.passed_row(call.collective, FallbackReason::Alone);
                    let served = left_to_library(row, &self.row_counter(row));
                    self.finish_irregular(served, communicator, call, start)
                }
                None => call.forward(communicator),
            }
        }
    }

    /// # Safety
    ///
    /// As in [`Self::call_irregular`]; the state is that of the call's communicator, and no call of ours is under way.
    unsafe fn serve_irregular(&self, state: *mut State, call: &RawIrregularCall) -> c_int {
        let start = self.timed.then(Instant::now);
        // SAFETY: the caller promises what MPI asks of the call, that the state is that of its communicator, and that no
        // call of ours is under way; no borrow of the state outlives one of these functions.
        unsafe {
            let communicator = (*state).communicator;
            let known = match self.find_left(&*state, call) {
                Some(served) => Some(served),
                None => self.pass_irregular(state, call),
            };
            let served = match known {
                Some(served) => served,
                None => loop {
                    if let Some(served) = self.run_irregular(&mut *state, call) {
                        break served;
                    }
                    self.give_private(state);
                },
            };
            self.finish_irregular(served, communicator, call, start)
        }
    }

    /// A call that is left to the library because of its size, like an earlier one; `None` if that is not known. Calls whose
    /// time is measured are not among these, since each size may have a reason of its own.
    ///
    /// # Safety
    ///
    /// As in [`Self::serve_irregular`].
    unsafe fn find_left(&self, state: &State, call: &RawIrregularCall) -> Option<ServedCall> {
        if self.timed {
            return None;
        }
        let left = state.attached.as_ref().ok()?.left_totals.as_ref()?;
        // SAFETY: the caller promises what MPI asks of the call, so its counts have one entry for each rank.
        unsafe { left.have_call(call, state.ranks) }.then(|| left_to_library(left.row, &left.calls))
    }

    /// Leaves a call to the library if that is known without rules: it is known of all such calls, this rank alone can
    /// prove that an argument is wrong, or the calls on the communicator are too few to attach it. Otherwise attaches the
    /// communicator, unless that has been done.
    ///
    /// # Safety
    ///
    /// As in [`Self::serve_irregular`].
    unsafe fn pass_irregular(
        &self,
        state: *mut State,
        call: &RawIrregularCall,
    ) -> Option<ServedCall> {
        let collective = call.collective;
        // SAFETY: the caller promises what MPI asks of the call, and that the state is that of its communicator. While the
        // communicator is attached, all states are accessed, so nothing is borrowed.
        unsafe {
            if let Some(passed) = &(*state).passed[collective as usize] {
                return Some(left_to_library(passed.row, &passed.calls));
            }
            // All calls on an intercommunicator, where roots have other meanings, are left to the library.
            let may_be_ours = (*state).attached.is_ok() || (*state).awaited > 0;
            let asking = AskingRank {
                rank: (*state).rank,
                ranks: (*state).ranks,
                predefined: &mut (*state).predefined,
            };
            if may_be_ours
                && self
                    .answers
                    .is_wrong_irregular(call, asking, &self.attributes)
            {
                let left = &mut (*state).left;
                return Some(self.leave_call(left, collective, FallbackReason::Invalid));
            }
            if (*state).awaited > 0 {
                let bytes = common_bytes(call, (*state).ranks, &mut (*state).predefined);
                let more = bytes.saturating_add(BYTES_OF_A_CALL);
                (*state).awaited = (*state).awaited.saturating_sub(more);
                if (*state).awaited > 0 {
                    let left = &mut (*state).left;
                    return Some(self.leave_call(left, collective, FallbackReason::FirstCalls));
                }
                self.attach_state(state);
            }
        }
        None
    }

    /// Carries out a call on a communicator that has been attached; `None` if it needs a private communicator, which all
    /// ranks must make first.
    ///
    /// # Safety
    ///
    /// As in [`Self::serve_irregular`].
    unsafe fn run_irregular(
        &self,
        state: &mut State,
        call: &RawIrregularCall,
    ) -> Option<ServedCall> {
        let collective = call.collective;
        let attached = match &mut state.attached {
            Ok(attached) if attached.least_bytes(collective) < u64::MAX => attached,
            attached => {
                let reason = why_all_passed(attached, collective);
                let row = self.passed_row(collective, reason);
                let calls = self.row_counter(row);
                let served = left_to_library(row, &calls);
                state.passed[collective as usize] = Some(PassedCalls {
                    elements: LeftElements::All,
                    row,
                    calls,
                });
                return Some(served);
            }
        };
        // SAFETY: the caller promises what MPI asks of the call.
        let bytes = unsafe { common_bytes(call, state.ranks, &mut state.predefined) };
        if let Some(reason) = size_refusal(collective, bytes) {
            return Some(self.leave_call(&mut state.left, collective, reason));
        }
        let choice = attached
            .rules
            .decide(collective, OperatorClass::Commutative, bytes);
        let key = IrregularKey {
            collective,
            root: call.root,
            is_in_place: call.significant_buffers(state.rank).is_in_place,
            choice,
            total_bytes: if depends_on_size(choice) { bytes } else { 0 },
        };
        // Which plans there are depends on this rank's earlier calls, so they must not decide.
        match why_not_ours(choice, attached.private.as_ref()) {
            Some(Refused::PassedOn(reason)) => {
                return Some(self.leave_call(&mut state.left, collective, reason));
            }
            Some(Refused::Unprepared) => return None,
            Some(Refused::Failed(_)) | None => {}
        }
        let known = attached.irregular.iter().position(|plan| plan.key == key);
        let place = match known {
            Some(place) => place,
            None => {
                let made = self.prepare_irregular(attached, key, choice, bytes);
                let (ours, row, gain_seconds) = match made {
                    Ok(prepared) => prepared,
                    Err(Refused::PassedOn(reason)) => {
                        (None, self.passed_row(collective, reason), 0.0)
                    }
                    Err(Refused::Unprepared) => return None,
                    Err(Refused::Failed(error)) => {
                        let row = self.summary_row(collective, "error", By::Table, Through::Mpi);
                        return Some(ServedCall {
                            outcome: Some(Err(Box::new(error))),
                            ..left_to_library(row, &self.row_counter(row))
                        });
                    }
                };
                if attached.irregular.len() == MOST_READY {
                    attached.irregular.remove(0);
                }
                attached.irregular.push(IrregularPlan {
                    key,
                    ours,
                    row,
                    calls: self.row_counter(row),
                    gain_seconds,
                    bytes,
                });
                attached.irregular.len() - 1
            }
        };
        let plan = &mut attached.irregular[place];
        // Only a summary needs the gain at this size.
        if self.timed && plan.bytes != bytes {
            self.update_plan(plan, &attached.version, &attached.rules, bytes);
        }
        plan.calls.count_call();
        let outcome = match (&mut plan.ours, &attached.private) {
            (Some(ours), Some(private)) => {
                self.count_own_call(&attached.used);
                self.busy.set(true);
                // SAFETY: the caller promises what MPI asks of the call; the plan is for this root and for calls that are
                // in place on this rank, or not, as this one.
                let outcome = unsafe { ours.call(&private.communicator, call) };
                self.busy.set(false);
                Some(outcome.map_err(Box::new))
            }
            _ => None,
        };
        // Where a rule of ours was refused, this rank's arguments may be the reason, which other ranks do not have.
        if !choice.candidate.is_ours() {
            attached.left_totals =
                LeftTotals::like_call(call, plan, &attached.rules, &mut state.predefined);
        }
        let served = ServedCall {
            row: plan.row,
            gain_seconds: plan.gain_seconds,
            outcome,
        };
        if plan.kept_bytes() > 0 {
            limit_memory(&mut attached.irregular, key);
        }
        Some(served)
    }

    /// Takes over the size of a call, on which the expected gain depends, or the reason why the default is chosen.
    fn update_plan(
        &self,
        plan: &mut IrregularPlan,
        version: &Version,
        rules: &CommunicatorRules,
        bytes: u64,
    ) {
        let (collective, class) = (plan.key.collective, OperatorClass::Commutative);
        plan.bytes = bytes;
        if plan.ours.is_some() {
            plan.gain_seconds = version.gain_seconds(rules, collective, class, bytes);
        } else if rules.decide(collective, class, bytes).candidate == Candidate::Default {
            let reason = version.why_default(rules, collective, class, bytes);
            plan.row = self.passed_row(collective, reason);
            plan.calls = self.row_counter(plan.row);
        }
    }

    /// One of our algorithms, with the row of the summary and the expected gain of a call.
    fn prepare_irregular(
        &self,
        attached: &crate::state::Attached,
        key: IrregularKey,
        choice: &Choice,
        bytes: u64,
    ) -> Result<(Option<Box<IrregularCall>>, usize, f64), Refused> {
        let asked = AskedRules {
            version: &attached.version,
            rules: &attached.rules,
            collective: key.collective,
            class: OperatorClass::Commutative,
            bytes,
        };
        let chosen = asked.find_algorithm(choice)?;
        let Some(private) = &attached.private else {
            return Err(Refused::Unprepared);
        };
        let shape = IrregularShape {
            root: key.root as u32,
            in_place: key.is_in_place,
            total_bytes: key.total_bytes,
        };
        // Nothing has been sent yet, so the library can still take over.
        let prepared = catch_unwind(AssertUnwindSafe(|| {
            IrregularCall::new(
                chosen.algorithm,
                chosen.parameters,
                shape,
                &private.communicator,
                self.wait,
            )
        }));
        let ours = prepared.map_err(|_| FallbackReason::Unsuited)??;
        let (name, by) = chosen.describe();
        let gain_seconds = if key.collective.decides_by_size() {
            chosen.gain_seconds()
        } else {
            0.0
        };
        let row = self.summary_row(key.collective, &name, by, chosen.parameters.through);
        Ok((Some(Box::new(ours)), row, gain_seconds))
    }

    /// Has the library carry out what is left to it, adds up the time, and reports an error.
    ///
    /// # Safety
    ///
    /// As MPI asks of the call.
    unsafe fn finish_irregular(
        &self,
        served: ServedCall,
        communicator: MPI_Comm,
        call: &RawIrregularCall,
        start: Option<Instant>,
    ) -> c_int {
        // SAFETY: the caller promises what MPI asks of the call, so the communicator is valid. An error handler may
        // free it with its state, so the state is not accessed after that.
        unsafe {
            let code = match served.outcome {
                None => call.forward(communicator),
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
}

/// Whether an algorithm's rounds depend on the size of all data.
fn depends_on_size(choice: &Choice) -> bool {
    // Without blocks, no algorithm is searched for in each call.
    choice.candidate.parameters().block_bytes.is_some()
        && schedule::find_algorithm(choice.candidate.algorithm())
            .is_some_and(|algorithm| algorithm.takes(Parameter::Blocks))
}

/// The reason why a call of this size, which all ranks know, is left to the library.
fn size_refusal(collective: Collective, bytes: u64) -> Option<FallbackReason> {
    if !collective.decides_by_size() {
        return None;
    }
    match bytes {
        0 => Some(FallbackReason::Empty),
        _ if bytes > i32::MAX as u64 => Some(FallbackReason::TooLarge),
        _ => None,
    }
}

/// The size of a call in bytes as all ranks know it: 0 where they do not.
///
/// # Safety
///
/// As MPI asks of the call, whose arguments are not wrong.
unsafe fn common_bytes(
    call: &RawIrregularCall,
    ranks: c_int,
    predefined: &mut PredefinedTypes,
) -> u64 {
    if !call.collective.decides_by_size() {
        return 0;
    }
    // SAFETY: the caller promises readable arrays with one entry for each rank where they are significant, as the
    // received blocks of an allgatherv are on all ranks, and valid types.
    unsafe {
        let bytes_of = |datatype| predefined.bytes_of(datatype);
        call.received.total_bytes(ranks, bytes_of)
    }
}
