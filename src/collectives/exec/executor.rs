//! Carries out one rank's program on MPI.
//!
//! Rounds are resolved to byte offsets and to the cheapest MPI call that fits: a lone send is `MPI_Send`, a send with a
//! receive `MPI_Sendrecv`, local work a loop over slices. Only rounds with more messages are posted nonblocking. A
//! message that wraps around is one derived datatype of two pieces. Receives of 8 KiB or more from MPI are posted a
//! round ahead if they touch nothing that the round before them uses, also where messages of these rounds go through
//! channels.
//!
//! Programs of up to 2048 rounds are resolved once, longer ones as they run, two rounds at a time. So a million blocks
//! take no more memory than two thousand, and a second call allocates nothing. Bounds and overlaps are checked when
//! rounds are resolved, so that running needs no checks.

use std::rc::Rc;

use schedule::{Buffer, Layout, Program, RESOLVED_ROUNDS, Round, Schedule};
use vocabulary::Through;

use crate::block_steps::BlockBuffers;
use crate::combiner::Combiner;
use crate::machine::Machine;
use crate::requests::Wait;
use crate::steps::{PacketRound, Resolver, Steps};
use crate::unit::Unit;
use crate::{Call, Communicator, ExecError, NodeChannels};

/// The number of rounds by which a round's description is fetched into the cache in advance: more than one, since a
/// round may take less time than the fetch.
const PREFETCH_LEAD: usize = 3;

/// The round that is carried out next, or is under way, in a program that is carried out step by step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ProgramPlace {
    round: u64,
    /// Whether the messages of the round have been started.
    is_started: bool,
}

/// One rank's part in a schedule, with its scratch memory. A second call does not allocate.
pub struct ScheduleExecutor {
    resolver: Resolver,
    program: Box<dyn Program>,
    /// All rounds; empty if the program is too long.
    steps: Steps,
    /// The rounds of packets among `steps`, see [`Steps::list_packet_rounds`]. Finding their messages in `steps` would take
    /// a noticeable part of a short call's time.
    packet_rounds: Vec<Option<PacketRound>>,
    is_resolved: bool,
    round: Round,
    /// The current round of a long program, and the next one.
    window: [Steps; 2],
    /// The sizes of the input and the output in bytes.
    lengths: [usize; 2],
    machine: Machine,
}

impl std::fmt::Debug for ScheduleExecutor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Executor")
            .field("resolver", &self.resolver)
            .finish_non_exhaustive()
    }
}

impl ScheduleExecutor {
    /// Prepares this rank's part. `through` selects the transport within nodes.
    ///
    /// # Errors
    ///
    /// If a message would be too large for MPI, a reduction has no operator, or the communicator no channels.
    pub fn new(
        schedule: &Schedule,
        call: &Call,
        communicator: &Communicator,
        through: Through,
        wait: Wait,
    ) -> Result<Self, ExecError> {
        let unit = Unit::of_bytes(call.unit_bytes() as usize);
        let combiner = Combiner::for_call(call)?;
        Self::with_unit(schedule, unit, combiner, communicator, through, wait)
    }

    /// The same for any kind of unit.
    pub(crate) fn with_unit(
        schedule: &Schedule,
        unit: Unit,
        combiner: Option<Combiner>,
        communicator: &Communicator,
        through: Through,
        wait: Wait,
    ) -> Result<Self, ExecError> {
        let rank = communicator.rank();
        let channels = match through {
            Through::Mpi => None,
            Through::Shared => Some(communicator.channels().ok_or(ExecError::NoChannels)?),
        };
        let layout = schedule.layout(rank);
        let program = schedule.program(rank);
        let mut executor = Self {
            is_resolved: program.rounds() <= RESOLVED_ROUNDS,
            program,
            steps: Steps::default(),
            packet_rounds: Vec::new(),
            round: Round::default(),
            window: [Steps::default(), Steps::default()],
            lengths: buffer_lengths(&layout, &unit)?,
            machine: Machine::new(&layout, &unit, combiner, wait, channels.cloned())?,
            resolver: Resolver::new(layout, unit, communicator, channels.cloned()),
        };
        if executor.is_resolved {
            executor.resolve_all()?;
            let is_whole = |opened: &Rc<NodeChannels>| unit.stride <= opened.largest_unit();
            if unit.sparse.is_none() && channels.is_some_and(is_whole) {
                executor.steps.fuse_arrivals();
            }
            executor.finish_steps();
        } else if unit
            .message_count((schedule.vector_units() as usize).saturating_mul(unit.stride))
            .is_err()
        {
            // A message that is too large must be found before others are under way.
            executor.try_all()?;
        }
        Ok(executor)
    }

    /// The same for calls of an irregular collective, of which each has its own blocks ([`Self::bind_call`]). Sizes are told
    /// before that.
    pub(crate) fn for_blocks(
        schedule: &Schedule,
        communicator: &Communicator,
        through: Through,
        wait: Wait,
    ) -> Result<Self, ExecError> {
        let rank = communicator.rank();
        let channels = match through {
            Through::Mpi => None,
            Through::Shared => Some(communicator.channels().ok_or(ExecError::NoChannels)?),
        };
        let (layout, program, unit) = (
            schedule.layout(rank),
            schedule.program_after_sizes(rank),
            Unit::of_bytes(1),
        );
        let mut executor = Self {
            is_resolved: program.rounds() <= RESOLVED_ROUNDS,
            program,
            steps: Steps::default(),
            packet_rounds: Vec::new(),
            round: Round::default(),
            window: [Steps::default(), Steps::default()],
            // Buffers are passed with the blocks.
            lengths: [0; 2],
            machine: Machine::new(&layout, &unit, None, wait, channels.cloned())?,
            resolver: Resolver::new(layout, unit, communicator, channels.cloned()),
        };
        executor.resolver.blocks = Some(Box::default());
        Ok(executor)
    }

    /// The blocks of an irregular collective's call. After a change the call must be bound.
    pub(crate) fn blocks_mut(&mut self) -> Option<&mut BlockBuffers> {
        self.resolver.blocks.as_deref_mut()
    }

    /// Resolves the rounds for the blocks of a call. `layout` is that of the call, unless it is still the same.
    ///
    /// Allocates only what calls before did not need.
    ///
    /// # Errors
    ///
    /// If the library refuses a datatype, or there is not enough memory. The call must then not be carried out.
    pub(crate) fn bind_call(&mut self, layout: Option<Layout>) -> Result<(), ExecError> {
        if let Some(layout) = layout {
            self.machine.fit_scratch(&layout, &self.resolver.unit)?;
            self.resolver.layout = layout;
        }
        if self.is_resolved {
            self.steps.clear();
            self.resolve_all()?;
            self.finish_steps();
        }
        Ok(())
    }

    /// Prepares resolved rounds for being carried out.
    fn finish_steps(&mut self) {
        self.steps.post_all_ahead();
        self.steps.list_packet_rounds(&mut self.packet_rounds);
    }

    /// The size of the scratch memory in bytes.
    pub(crate) fn kept_bytes(&self) -> u64 {
        self.machine.kept_bytes()
    }

    fn resolve_all(&mut self) -> Result<(), ExecError> {
        for index in 0..self.program.rounds() {
            self.round.clear();
            self.program.round(index, &mut self.round);
            self.resolver.resolve_round(&self.round, &mut self.steps)?;
        }
        Ok(())
    }

    fn try_all(&mut self) -> Result<(), ExecError> {
        for index in 0..self.program.rounds() {
            self.round.clear();
            self.program.round(index, &mut self.round);
            self.window[0].clear();
            self.resolver
                .resolve_round(&self.round, &mut self.window[0])?;
        }
        Ok(())
    }

    /// Carries out the program. `input` and `output` hold what [`Call::input_bytes`] and
    /// [`Call::output_bytes`] say; in a reduction they are aligned to the size of the datatype, as
    /// [`crate::Bytes`] always are.
    ///
    /// # Errors
    ///
    /// If MPI reports an error, or messages have other lengths than expected. All later calls on the communicator then
    /// fail with [`ExecError::CommunicatorLost`].
    ///
    /// # Panics
    ///
    /// If a buffer is too short or not aligned.
    pub fn call(
        &mut self,
        communicator: &Communicator,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), ExecError> {
        // Everything that could panic must do so now, before messages are under way.
        let combiner = self.machine.combiner.as_ref();
        let mask = combiner.map_or(0, |combiner| combiner.alignment_mask());
        for (buffer, length) in [input, &*output].into_iter().zip(self.lengths) {
            let is_aligned = length == 0 || buffer.as_ptr().addr() & mask == 0;
            assert!(buffer.len() >= length && is_aligned);
        }
        // SAFETY: the buffers are as long as they must be and borrowed until the end.
        unsafe { self.run_unchecked(communicator, input.as_ptr(), output.as_mut_ptr()) }
    }

    /// Carries out the program on memory of any kind.
    ///
    /// # Safety
    ///
    /// `input` and `output` point to as many units as the layout's capacities, where these are not
    /// zero. The input may be read and the output written, and they do not overlap.
    #[inline(always)]
    pub(crate) unsafe fn run_unchecked(
        &mut self,
        communicator: &Communicator,
        input: *const u8,
        output: *mut u8,
    ) -> Result<(), ExecError> {
        communicator.check_usable()?;
        self.machine.lend_buffers(input, output);
        let outcome = if self.is_resolved {
            self.run_resolved(communicator)
        } else {
            self.run_long(communicator)
        };
        // Not returned as a whole: moving a value with room for an error costs measurable time in calls of a few
        // bytes.
        match outcome {
            Ok(()) => Ok(()),
            Err(error) => Err(self.abandon_after(error, communicator)),
        }
    }

    /// Sets the buffers of a call that [`Self::advance`] carries out.
    ///
    /// # Safety
    ///
    /// As for [`Self::run_unchecked`], until the call has ended or [`Self::cancel`] has returned.
    pub(crate) unsafe fn lend_buffers(&mut self, input: *const u8, output: *mut u8) {
        self.machine.lend_buffers(input, output);
    }

    /// Starts the first round of a program that [`Self::advance`] carries out. Returns whether it has ended, as it has no round.
    ///
    /// # Errors
    ///
    /// As in [`Self::advance`].
    pub(crate) fn start_first_round(
        &mut self,
        place: &mut ProgramPlace,
        communicator: &Communicator,
    ) -> Result<bool, Box<ExecError>> {
        let usable = communicator.check_usable().map_err(Box::new);
        let outcome = usable.and_then(|()| self.start_round(place, communicator));
        self.cancel_after_error(&outcome, communicator);
        place.is_started = outcome?;
        Ok(!place.is_started)
    }

    /// Carries out a program, whose messages all go through MPI, from a place as far as messages have arrived, and without
    /// waiting. Returns whether it has ended. The first place is the default one.
    ///
    /// # Errors
    ///
    /// As in [`Self::call`]; nothing is under way then.
    pub(crate) fn advance(
        &mut self,
        place: &mut ProgramPlace,
        communicator: &Communicator,
    ) -> Result<bool, Box<ExecError>> {
        let usable = communicator.check_usable().map_err(Box::new);
        let outcome = usable.and_then(|()| self.advance_rounds(place, communicator));
        self.cancel_after_error(&outcome, communicator);
        outcome
    }

    fn cancel_after_error<T>(
        &mut self,
        outcome: &Result<T, Box<ExecError>>,
        communicator: &Communicator,
    ) {
        if outcome.is_err() {
            self.machine.cancel_rounds();
            self.machine.abandon(communicator);
        }
    }

    fn advance_rounds(
        &mut self,
        place: &mut ProgramPlace,
        communicator: &Communicator,
    ) -> Result<bool, Box<ExecError>> {
        loop {
            if place.is_started {
                if !self.machine.has_round_ended()? {
                    return Ok(false);
                }
                place.is_started = false;
                place.round += 1;
            }
            if !self.start_round(place, communicator)? {
                return Ok(true);
            }
            place.is_started = true;
        }
    }

    /// Starts the round at a place, or the next one with data. Returns false if there is none.
    fn start_round(
        &mut self,
        place: &mut ProgramPlace,
        communicator: &Communicator,
    ) -> Result<bool, Box<ExecError>> {
        if self.is_resolved {
            let index = place.round as usize;
            let Some(step) = self.steps.get(index) else {
                return Ok(false);
            };
            let next = self.steps.posted_ahead(index + 1);
            self.machine.start_round(step, next, communicator)?;
            return Ok(true);
        }
        // Rounds of long programs are resolved one by one, so none is posted ahead.
        while place.round < self.program.rounds() {
            let steps = &mut self.window[0];
            steps.clear();
            self.round.clear();
            self.program.round(place.round, &mut self.round);
            self.resolver.resolve_round(&self.round, steps)?;
            if let Some(step) = steps.get(0) {
                self.machine.start_round(step, None, communicator)?;
                return Ok(true);
            }
            place.round += 1;
        }
        Ok(false)
    }

    /// Ends a call that [`Self::advance`] has not ended.
    pub(crate) fn cancel(&mut self) {
        self.machine.cancel_rounds();
    }

    #[cold]
    fn abandon_after(&mut self, error: ExecError, communicator: &Communicator) -> ExecError {
        self.machine.abandon(communicator);
        error
    }

    #[inline(always)]
    fn run_resolved(&mut self, communicator: &Communicator) -> Result<(), ExecError> {
        for index in 0..self.steps.len() {
            if let Some(Some(round)) = self.packet_rounds.get(index) {
                let work = self.steps.work_of(round, index);
                let exchanged = self.machine.exchange_packets(round, work, communicator);
                if exchanged? {
                    continue;
                }
            }
            self.run_round(index, communicator)?;
        }
        Ok(())
    }

    // Apart from rounds of packets: the registers that it needs would be saved in each call of a few bytes.
    #[inline(never)]
    fn run_round(&mut self, index: usize, communicator: &Communicator) -> Result<(), ExecError> {
        let Some(step) = self.steps.get(index) else {
            return Ok(());
        };
        self.steps.prefetch_round(index + PREFETCH_LEAD);
        let next = self.steps.posted_ahead(index + 1);
        self.machine.carry_out(step, next, communicator)
    }

    #[inline(never)]
    fn run_long(&mut self, communicator: &Communicator) -> Result<(), ExecError> {
        let [first, second] = &mut self.window;
        let (mut current, mut next) = (first, second);
        current.clear();
        for index in 0..self.program.rounds() {
            next.clear();
            self.round.clear();
            self.program.round(index, &mut self.round);
            self.resolver.resolve_round(&self.round, next)?;
            if next.len() == 0 {
                continue;
            }
            if let (Some(step), Some(following)) = (current.get(0), next.get(0)) {
                if step.can_post_ahead(&following) {
                    next.post_ahead(0);
                }
                self.machine.carry_out(step, next.get(0), communicator)?;
            }
            std::mem::swap(&mut current, &mut next);
        }
        match current.get(0) {
            Some(step) => self.machine.carry_out(step, None, communicator),
            None => Ok(()),
        }
    }
}

/// The sizes of the input and the output in bytes.
fn buffer_lengths(layout: &Layout, unit: &Unit) -> Result<[usize; 2], ExecError> {
    let bytes = |buffer| {
        let units = layout.capacity(buffer);
        let bytes = units.checked_mul(unit.stride as u64);
        bytes
            .and_then(|bytes| usize::try_from(bytes).ok())
            .ok_or(ExecError::TooLarge { bytes: u64::MAX })
    };
    Ok([bytes(Buffer::Input)?, bytes(Buffer::Output)?])
}
