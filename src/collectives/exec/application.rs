//! Collectives as applications call them: on any memory, with any datatype and operator.

use std::ffi::c_void;

use schedule::{Algorithm, Distribution, Placed, Request, Schedule};
use vocabulary::Parameters;
use vocabulary::bounds::MOST_SCRATCH_BYTES;

use crate::combiner::Combiner;
use crate::executor::ProgramPlace;
use crate::staging::StagedBuffer;
use crate::unit::Unit;
use crate::{Arguments, Communicator, ExecError, ScheduleExecutor, Wait};

/// An algorithm bound to an application's call.
///
/// In reductions, the schedule's unit is an element, and elements stay in the application's buffers: dense ones are
/// sent as bytes, others with their own datatype. Numbers are combined by our own loops, everything else by
/// `MPI_Reduce_local`. In data movement, ranks may describe equal data by different datatypes, so the unit is a
/// packed byte: dense buffers are used directly, others are packed before the call and unpacked after it.
///
/// Only the output's elements are written, not the gaps between them. A second call does not allocate.
#[derive(Debug)]
pub struct ApplicationCall {
    executor: ScheduleExecutor,
    /// The input and the output, if the call moves elements with gaps.
    sides: Option<Box<[Option<StagedBuffer>; 2]>>,
    /// Whether there is nothing to do, since no rank has any data. A barrier has work without data.
    is_empty: bool,
}

impl ApplicationCall {
    /// Prepares this rank's part. All ranks must name the same algorithm and parameters, and pass matching arguments,
    /// as MPI requires.
    ///
    /// `in_place` says whether this rank passes `MPI_IN_PLACE`; ranks other than the root need not know whether the
    /// root does.
    ///
    /// # Errors
    ///
    /// If the algorithm cannot serve the call (for instance, it is not ordered and the operator does not commute), if
    /// the arguments contradict each other, if a message would be too large, if some rank would need too much memory, or if the
    /// parameters need channels and the communicator has none.
    pub fn new(
        algorithm: &'static Algorithm,
        parameters: &Parameters,
        arguments: &Arguments<'_>,
        in_place: bool,
        communicator: &Communicator,
        wait: Wait,
    ) -> Result<Self, ExecError> {
        let (rank, ranks) = (communicator.rank(), communicator.size());
        if algorithm.collective != arguments.collective() {
            return Err(ExecError::UnknownAlgorithm(algorithm.name()));
        }
        let reduction = arguments.reduction();
        let unit = match &reduction {
            Some((datatype, _)) if datatype.size() > 0 => Unit::of_element(datatype)?,
            _ => Unit::of_bytes(1),
        };
        let combiner = match reduction {
            Some((datatype, operator)) if datatype.size() > 0 => {
                Some(Combiner::for_handles(datatype, operator)?)
            }
            _ => None,
        };
        let unit_bytes = reduction.map_or(1, |(datatype, _)| datatype.size() as u64);
        let is_root = rank == arguments.root();
        let request = Request {
            ranks,
            root: arguments.root(),
            in_place,
            commutative: reduction.is_none_or(|(_, operator)| operator.is_commutative()),
            units: arguments.length_in_units(is_root, in_place)?,
            counts: match arguments {
                Arguments::ReduceScatter { counts, .. } => Some(counts),
                _ => None,
            },
            distribution: Distribution::Uniform,
            parameters: parameters.in_units(unit_bytes),
            placed: Placed::On(communicator.nodes()),
        };
        let schedule = Schedule::new(algorithm, &request)?;
        check_scratch(&schedule, unit_bytes)?;
        let sides = StagedBuffer::for_arguments(arguments, rank, ranks, in_place)?;
        let has_sides = sides.iter().any(Option::is_some);
        let has_data = unit_bytes > 0 && schedule.vector_units() > 0;
        Ok(Self {
            is_empty: algorithm.collective.has_data() && !has_data,
            sides: has_sides.then(|| Box::new(sides)),
            executor: ScheduleExecutor::with_unit(
                &schedule,
                unit,
                combiner,
                communicator,
                parameters.through,
                wait,
            )?,
        })
    }

    /// Carries it out step by step on a communicator of its own, see [`StartedCall::advance`]. Nothing is sent yet. The
    /// parameters that it was made with send all messages through MPI.
    ///
    /// # Safety
    ///
    /// As for [`Self::call`], until the call has ended or has been dropped.
    ///
    /// # Errors
    ///
    /// If the library refuses to pack the input.
    pub unsafe fn start(
        mut self: Box<Self>,
        communicator: Communicator,
        send: *const c_void,
        recv: *mut c_void,
    ) -> Result<StartedCall, ExecError> {
        let (mut input, mut output) = (send.cast::<u8>(), recv.cast::<u8>());
        if let Some(sides) = self.sides.as_deref_mut().filter(|_| !self.is_empty) {
            // SAFETY: the caller promises that the buffers match the arguments, and that all handles are valid.
            unsafe {
                if let Some(side) = &mut sides[0] {
                    input = side.pack_input(input)?;
                }
                if let Some(side) = &mut sides[1] {
                    output = side.pack_input(output)?;
                }
            }
        }
        // SAFETY: the caller promises that the buffers match the arguments and stay valid until the call has ended or been
        // dropped; packed copies are owned by the call.
        unsafe { self.executor.lend_buffers(input, output) };
        Ok(StartedCall {
            call: Some(self),
            communicator,
            output: recv.cast(),
            place: ProgramPlace::default(),
            has_ended: false,
        })
    }

    /// The size in bytes of the buffers that it keeps between calls.
    pub fn kept_bytes(&self) -> u64 {
        let sides = self.sides.iter().flat_map(|sides| sides.iter().flatten());
        self.executor.kept_bytes() + sides.map(StagedBuffer::kept_bytes).sum::<u64>()
    }

    /// Carries out the collective on this rank's buffers; a broadcast has only `recv`, a barrier has none. A buffer for
    /// which `MPI_IN_PLACE` is passed, or that the rank does not have, is not accessed.
    ///
    /// # Safety
    ///
    /// The buffers match the arguments, the output is writable, the buffers do not overlap, and all handles are still
    /// valid.
    ///
    /// # Errors
    ///
    /// As in [`ScheduleExecutor::call`].
    // Inlined, since it is on the path of short calls, as is `ScheduleExecutor::run_unchecked`.
    #[inline(always)]
    pub unsafe fn call(
        &mut self,
        communicator: &Communicator,
        send: *const c_void,
        recv: *mut c_void,
    ) -> Result<(), ExecError> {
        if self.is_empty {
            return Ok(());
        }
        // SAFETY: the caller promises that the buffers match the arguments, that the output is writable, that the
        // buffers do not overlap, and that all handles are still valid; the executor uses no buffer that the rank does
        // not have.
        unsafe {
            match self.sides {
                None => self
                    .executor
                    .run_unchecked(communicator, send.cast(), recv.cast()),
                Some(_) => self.call_packed(communicator, send.cast(), recv.cast()),
            }
        }
    }

    /// # Safety
    ///
    /// As in [`Self::call`].
    #[inline(never)]
    unsafe fn call_packed(
        &mut self,
        communicator: &Communicator,
        mut input: *const u8,
        output: *mut u8,
    ) -> Result<(), ExecError> {
        let mut packed = output;
        let [first, mut second] = match &mut self.sides {
            Some(sides) => sides.each_mut().map(Option::as_mut),
            None => [None, None],
        };
        // SAFETY: by the contract of `call`, the buffers match the arguments, the output is writable, the buffers do
        // not overlap, and all handles are still valid.
        unsafe {
            if let Some(side) = first {
                input = side.pack_input(input)?;
            }
            if let Some(side) = &mut second {
                packed = side.pack_input(packed)?;
            }
            self.executor.run_unchecked(communicator, input, packed)?;
            match second {
                Some(side) => side.unpack_output(output),
                None => Ok(()),
            }
        }
    }
}

/// A call of an application that is carried out step by step, so that it never waits.
///
/// Several may be under way at the same time, each on a [`Communicator`] with a tag of its own, on which all ranks carry
/// out the same calls one after the other. Dropping a call that has not ended cancels its messages.
#[derive(Debug)]
pub struct StartedCall {
    /// Present until it has been taken back.
    call: Option<Box<ApplicationCall>>,
    communicator: Communicator,
    /// The application's output.
    output: *mut u8,
    place: ProgramPlace,
    has_ended: bool,
}

impl StartedCall {
    /// Whether the messages of another call could be taken for its own.
    pub fn shares_tag_with(&self, other: &Self) -> bool {
        let [own, others] = [self, other].map(|call| &call.communicator);
        own.shares_with(others) && own.tag() == others.tag()
    }

    /// Starts the messages of the first round, and does not look whether any have arrived. Returns whether the call has ended,
    /// since it needs none.
    ///
    /// # Errors
    ///
    /// As in [`Self::advance`].
    pub fn start_first_round(&mut self) -> Result<bool, Box<ExecError>> {
        self.take_step(ScheduleExecutor::start_first_round)
    }

    /// Carries out all rounds whose messages have arrived, and starts those of the next one. Returns whether the call has
    /// ended.
    ///
    /// # Errors
    ///
    /// As in [`ScheduleExecutor::call`]. The call has ended then.
    pub fn advance(&mut self) -> Result<bool, Box<ExecError>> {
        self.take_step(ScheduleExecutor::advance)
    }

    #[inline(always)]
    fn take_step(
        &mut self,
        step: impl FnOnce(
            &mut ScheduleExecutor,
            &mut ProgramPlace,
            &Communicator,
        ) -> Result<bool, Box<ExecError>>,
    ) -> Result<bool, Box<ExecError>> {
        let Some(call) = self.call.as_deref_mut().filter(|_| !self.has_ended) else {
            return Ok(true);
        };
        if call.is_empty {
            self.has_ended = true;
            return Ok(true);
        }
        let advanced = step(&mut call.executor, &mut self.place, &self.communicator);
        self.has_ended = !matches!(advanced, Ok(false));
        if advanced? && let Some([_, Some(side)]) = call.sides.as_deref_mut() {
            // SAFETY: the caller of `ApplicationCall::start` promised that the output is writable until the call ends, and
            // that its handles are valid.
            unsafe { side.unpack_output(self.output)? };
        }
        Ok(self.has_ended)
    }

    /// What carries out the next call like this one; `None` if this one has not ended.
    pub fn take_back(mut self) -> Option<Box<ApplicationCall>> {
        self.call.take_if(|_| self.has_ended)
    }
}

impl Drop for StartedCall {
    fn drop(&mut self) {
        if let Some(call) = self.call.as_deref_mut().filter(|_| !self.has_ended) {
            call.executor.cancel();
        }
    }
}

/// Refuses an algorithm that knows nodes if it needs too much scratch memory on some rank. Others need about as much as the
/// call's own buffers.
fn check_scratch(schedule: &Schedule, unit_bytes: u64) -> Result<(), ExecError> {
    let ranks = schedule.shape().ranks;
    // No algorithm keeps more on a rank than four times the vectors of all ranks: usually that says enough.
    let vectors = schedule.vector_units().saturating_mul(unit_bytes);
    let may_exceed = vectors.saturating_mul(u64::from(ranks)) > MOST_SCRATCH_BYTES / 4;
    if !schedule.algorithm().knows_nodes() || !may_exceed {
        return Ok(());
    }
    let units = (0..ranks).map(|rank| schedule.scratch_units(rank)).max();
    let bytes = units.unwrap_or(0).saturating_mul(unit_bytes);
    if bytes > MOST_SCRATCH_BYTES {
        return Err(ExecError::Scratch { bytes });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use schedule::{Distribution, Placed, Request, Schedule};
    use vocabulary::Parameters;
    use vocabulary::bounds::MOST_SCRATCH_BYTES;

    use super::check_scratch;
    use crate::ExecError;

    /// The outcome for blocks of this size between eight ranks on nodes of four.
    fn check(algorithm: &str, block_bytes: u64) -> Result<(), ExecError> {
        let plain = Parameters::default();
        let request = Request {
            ranks: 8,
            root: 0,
            in_place: false,
            commutative: true,
            units: block_bytes,
            counts: None,
            distribution: Distribution::Uniform,
            parameters: plain.in_units(1),
            placed: Placed::Block { per_node: 4 },
        };
        let found = schedule::find_algorithm(algorithm).expect("an algorithm");
        let schedule = Schedule::new(found, &request).expect("it serves the call");
        check_scratch(&schedule, 1)
    }

    #[test]
    fn a_leader_does_not_keep_more_than_is_measured() {
        // The leader has two copies of the vectors of its four ranks, each of eight blocks.
        let most = MOST_SCRATCH_BYTES / 64;
        for bytes in [8, most] {
            assert!(check("alltoall/leaders", bytes).is_ok(), "{bytes}");
        }
        let refused = check("alltoall/leaders", most + 1);
        assert!(
            matches!(refused, Err(ExecError::Scratch { .. })),
            "{refused:?}"
        );
        // What does not know nodes keeps no more than the call itself.
        assert!(check("alltoall/bruck", most + 1).is_ok());
    }
}
