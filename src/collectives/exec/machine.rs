//! One rank's memory, and the execution of rounds on it.

use std::rc::Rc;

use schedule::{Buffer, Layout};

use crate::combiner::Combiner;
use crate::copier::Copier;
use crate::exchange::{ChannelExchange, Memories};
use crate::kernel::Addresses;
use crate::messages::Message;
use crate::requests::{Requests, Wait};
use crate::steps::{INPUT, MemoryPlace, OUTPUT, PacketRound, SCRATCH, Step, Transfer, Ways, Work};
use crate::unit::Unit;
use crate::{Bytes, Communicator, ExecError, NodeChannels};

/// The memory that steps refer to, and everything needed to work on it.
///
/// The pointers are sound for these reasons. Input and output are borrowed for a whole call and are as long as the
/// layout says. [`crate::steps::Resolver`] has checked that places are inside their memories and that targets and
/// operands do not overlap. The verifier has proved that no schedule writes the input or accesses a place twice in a
/// round. Receives that are posted a round ahead access nothing that the round uses. No call returns, with or without
/// an error, before MPI has completed all requests. No call returns without an error before other ranks have read what
/// this rank has offered them; after an error they get what the memory then contains.
pub(crate) struct Machine {
    bases: Vec<*mut u8>,
    /// Owns the memory of the scratch bases, which is accessed only through these.
    scratch: Vec<Bytes>,
    current: Requests,
    /// Receives of the next round.
    ahead: Requests,
    pub(crate) combiner: Option<Box<Combiner>>,
    copier: Copier,
    wait: Wait,
    /// The messages that go through channels.
    exchange: Option<Box<ChannelExchange>>,
}

/// Local work on less than this many bytes is done before the messages and not in between, since it takes less time
/// than the additional calls of nonblocking messages.
const BESIDE_BYTES: usize = 1 << 10;

impl Machine {
    pub(crate) fn new(
        layout: &Layout,
        unit: &Unit,
        combiner: Option<Combiner>,
        wait: Wait,
        channels: Option<Rc<NodeChannels>>,
    ) -> Result<Self, ExecError> {
        let mut machine = Self::without_scratch(unit, combiner, wait, channels);
        for index in 0..layout.scratch_rooms().len() {
            let units = layout.capacity(Buffer::Scratch(index as u8));
            let (memory, base) = unit.allocate_units(units)?;
            machine.bases.push(base);
            machine.scratch.push(memory);
        }
        Ok(machine)
    }

    /// Makes the scratch memory as large as the layout of the next calls needs, and not much larger.
    pub(crate) fn fit_scratch(&mut self, layout: &Layout, unit: &Unit) -> Result<(), ExecError> {
        for (index, memory) in self.scratch.iter_mut().enumerate() {
            let needed = layout.capacity(Buffer::Scratch(index as u8));
            let length = memory.as_slice().len() as u64;
            let is_fit = length / 2 <= needed && needed <= length;
            if !is_fit {
                (*memory, self.bases[SCRATCH + index]) = unit.allocate_units(needed)?;
            }
        }
        Ok(())
    }

    /// A machine for rounds that use only the caller's buffers.
    pub(crate) fn without_scratch(
        unit: &Unit,
        combiner: Option<Combiner>,
        wait: Wait,
        channels: Option<Rc<NodeChannels>>,
    ) -> Self {
        Self {
            bases: vec![std::ptr::null_mut(); SCRATCH],
            scratch: Vec::new(),
            current: Requests::default(),
            ahead: Requests::default(),
            combiner: combiner.map(Box::new),
            copier: Copier::new(*unit),
            wait,
            exchange: channels.map(ChannelExchange::new).map(Box::new),
        }
    }

    /// The size of the scratch memory in bytes.
    pub(crate) fn kept_bytes(&self) -> u64 {
        self.scratch
            .iter()
            .map(|memory| memory.as_slice().len() as u64)
            .sum()
    }

    /// Sets the call's buffers.
    #[inline(always)]
    pub(crate) fn lend_buffers(&mut self, input: *const u8, output: *mut u8) {
        self.bases[INPUT] = input.cast_mut();
        self.bases[OUTPUT] = output;
    }

    #[inline]
    fn make_message(&self, transfer: &Transfer) -> Message {
        let base = self.bases[transfer.slot];
        Message {
            data: base.wrapping_add(transfer.start).cast(),
            count: transfer.count,
            datatype: transfer.datatype,
            peer: transfer.peer,
        }
    }

    /// Carries out a round, and posts the receives of the next one if it is marked for that.
    #[inline(always)]
    pub(crate) fn carry_out(
        &mut self,
        step: Step<'_>,
        next: Option<Step<'_>>,
        communicator: &Communicator,
    ) -> Result<(), ExecError> {
        let next = next.filter(|next| next.is_posted_ahead);
        if step.ways != Ways::Mpi {
            if let (Some(round), None) = (step.packet_round(), next)
                && self.exchange_packets(&round, step.work, communicator)?
            {
                return Ok(());
            }
            return self.exchange_round(step, next, communicator);
        }
        if self.wait == Wait::Yield || step.is_posted_ahead || next.is_some() {
            return self.start_and_finish(step, next, communicator);
        }
        // SAFETY: in bounds and disjoint, see `Machine`.
        unsafe {
            match (step.sends, step.recvs, step.work) {
                ([send], [], []) => communicator.send(self.make_message(send)),
                ([], [recv], []) => communicator.recv(self.make_message(recv)),
                ([send], [recv], []) => {
                    communicator.exchange(self.make_message(send), self.make_message(recv))
                }
                ([], [], [work]) => self.do_work(work),
                ([], [recv], [work]) if recv.moved_bytes() < BESIDE_BYTES => {
                    self.do_work(work)?;
                    communicator.recv(self.make_message(recv))
                }
                ([send], [recv], [copy @ Work::Copy { into, .. }])
                    if into.length.max(send.moved_bytes()).max(recv.moved_bytes())
                        < BESIDE_BYTES =>
                {
                    self.do_work(copy)?;
                    communicator.exchange(self.make_message(send), self.make_message(recv))
                }
                _ => self.start_and_finish(step, next, communicator),
            }
        }
    }

    /// The same with nonblocking messages and the work in between.
    // Kept out of the short paths, which are inlined: this matters in calls of a few bytes.
    #[inline(never)]
    fn start_and_finish(
        &mut self,
        step: Step<'_>,
        next: Option<Step<'_>>,
        communicator: &Communicator,
    ) -> Result<(), ExecError> {
        // Two frequent rounds of pipelined reductions start no messages of their own: a receive that was posted ahead,
        // and local work while the receives of the next round are under way.
        match (step.sends, step.recvs, step.work, next) {
            ([], [_], [], None) if step.is_posted_ahead => {
                return self.ahead.finish_or_cancel(Ok(()), self.wait);
            }
            ([], [], work, Some(next)) => {
                self.reserve_requests(next.recvs.len());
                let outcome = self.start_recvs(next.recvs, communicator);
                return Ok(outcome.and(self.memories().work_all(work))?);
            }
            _ => {}
        }
        let mut outcome = self.start_all_recvs(step, next, communicator);
        match step.sends {
            // All receives have been posted, so a blocking send cannot deadlock.
            [send] if self.wait == Wait::Block && step.work.is_empty() => {
                // SAFETY: in bounds, and read only, see `Machine`.
                let sent = unsafe { communicator.send(self.make_message(send)) };
                outcome = outcome.and(sent.map_err(Box::new));
            }
            sends => outcome = outcome.and(self.start_sends(sends, communicator)),
        }
        outcome = outcome.and(self.memories().work_all(step.work));
        self.current.finish_or_cancel(outcome, self.wait)
    }

    /// Starts the messages of a round, all of them through MPI, and posts the receives of the next one if it is marked for
    /// that. Does the local work. [`Self::has_round_ended`] says when the messages have arrived.
    pub(crate) fn start_round(
        &mut self,
        step: Step<'_>,
        next: Option<Step<'_>>,
        communicator: &Communicator,
    ) -> Result<(), Box<ExecError>> {
        let next = next.filter(|next| next.is_posted_ahead);
        let mut outcome = self.start_all_recvs(step, next, communicator);
        outcome = outcome.and(self.start_sends(step.sends, communicator));
        outcome.and(self.memories().work_all(step.work))
    }

    /// Whether the messages of the round that was started last have ended. Does not wait.
    pub(crate) fn has_round_ended(&mut self) -> Result<bool, Box<ExecError>> {
        if self.current.is_empty() {
            return Ok(true);
        }
        self.current.test_all()
    }

    /// Cancels all messages that were started by [`Self::start_round`].
    pub(crate) fn cancel_rounds(&mut self) {
        self.current.cancel_all();
        self.ahead.cancel_all();
    }

    /// Reserves memory for requests, both of this round and of the next one: the two lists are swapped in many rounds.
    fn reserve_requests(&mut self, requests: usize) {
        // The same in both, as each is the other one in the next call if there is an odd number of swaps.
        let most = self.current.len().max(self.ahead.len()) + requests;
        for list in [&mut self.current, &mut self.ahead] {
            list.reserve_in_all(most);
        }
    }

    /// Posts the receives of a round, unless the previous round has done so, and those of the next one.
    fn start_all_recvs(
        &mut self,
        step: Step<'_>,
        next: Option<Step<'_>>,
        communicator: &Communicator,
    ) -> Result<(), Box<ExecError>> {
        let ahead = next.map_or(0, |next| next.recvs.len());
        self.reserve_requests(ahead.max(step.recvs.len()) + step.sends.len());
        // Even after an error, start everything that can be started, as peers may be waiting for it.
        let mut outcome = Ok(());
        if !step.is_posted_ahead {
            outcome = self.start_recvs(step.recvs, communicator);
        }
        std::mem::swap(&mut self.current, &mut self.ahead);
        if let Some(next) = next {
            outcome = outcome.and(self.start_recvs(next.recvs, communicator));
        }
        outcome
    }

    /// Carries out a round of [`Ways::Packet`] with its local work. Returns false without doing anything if no slot is
    /// free for its packet.
    ///
    /// The error is boxed, since moving a larger result would take a noticeable part of a short call's time.
    #[inline(always)]
    pub(crate) fn exchange_packets(
        &mut self,
        round: &PacketRound,
        work: &[Work],
        communicator: &Communicator,
    ) -> Result<bool, Box<ExecError>> {
        let mut memories = Memories {
            bases: &self.bases,
            copier: &mut self.copier,
            combiner: self.combiner.as_deref(),
        };
        let Some(exchange) = self.exchange.as_deref() else {
            return Ok(false);
        };
        let Some(mut channels) = exchange.channels().borrow() else {
            return Ok(false);
        };
        if let Some(send) = &round.send {
            // SAFETY: in bounds, and read only, see `Machine`.
            let is_sent = unsafe { memories.send_packet(channels.peer(send.peer), send) };
            if !is_sent {
                return Ok(false);
            }
        }
        let outcome = memories.work_all(work);
        if let Some(recv) = &round.recv {
            let mut peer = channels.peer(recv.peer);
            let mut looks = 0;
            // SAFETY: in bounds and disjoint, see `Machine`.
            while !unsafe { memories.receive_packet(&mut peer, recv)? } {
                looks += 1;
                let paused = exchange.pause_between_polls(looks, communicator, &mut self.current);
                paused.map_err(Box::new)?;
            }
        }
        outcome.map(|()| true)
    }

    /// Carries out a round with messages through channels, and perhaps others.
    fn exchange_round(
        &mut self,
        step: Step<'_>,
        next: Option<Step<'_>>,
        communicator: &Communicator,
    ) -> Result<(), ExecError> {
        let Some(mut exchange) = self.exchange.take() else {
            return Ok(());
        };
        let outcome = self.exchange_with(&mut exchange, step, next, communicator);
        self.exchange = Some(exchange);
        outcome
    }

    fn exchange_with(
        &mut self,
        exchange: &mut ChannelExchange,
        step: Step<'_>,
        next: Option<Step<'_>>,
        communicator: &Communicator,
    ) -> Result<(), ExecError> {
        let has_others = step.ways == Ways::Mixed || next.is_some();
        let mut outcome = Ok(());
        if has_others {
            outcome = self.start_all_recvs(step, next, communicator);
            outcome = outcome.and(self.start_sends(step.sends, communicator));
        }
        // SAFETY: in bounds and disjoint, see `Machine`; the messages are carried out below.
        unsafe { exchange.begin_round(step, &self.memories()) };
        // Send first, as peers wait for that.
        let mut has_ended = self.advance_exchange(exchange, step);
        outcome = outcome.and(self.memories().work_all(step.work));
        let mut looks = 0;
        while let Ok(false) = has_ended {
            looks += 1;
            let paused = exchange.pause_between_polls(looks, communicator, &mut self.current);
            has_ended = paused.and_then(|()| self.advance_exchange(exchange, step));
        }
        outcome = outcome.and(has_ended.map(drop).map_err(Box::new));
        if has_others {
            self.current.finish_or_cancel(outcome, self.wait)
        } else {
            Ok(outcome?)
        }
    }

    /// Moves all messages of a round. Returns whether those through channels have ended.
    #[inline]
    fn advance_exchange(
        &mut self,
        exchange: &mut ChannelExchange,
        step: Step<'_>,
    ) -> Result<bool, ExecError> {
        // SAFETY: in bounds and disjoint, see `Machine`.
        unsafe { exchange.advance_messages(step, self.memories()) }
    }

    fn start_sends(
        &mut self,
        sends: &[Transfer],
        communicator: &Communicator,
    ) -> Result<(), Box<ExecError>> {
        let mut outcome = Ok(());
        for send in sends.iter().filter(|send| send.place.is_none()) {
            // SAFETY: in bounds, and read only, see `Machine`; all paths lead to `finish_or_cancel`.
            let request = unsafe { communicator.start_send(self.make_message(send)) };
            outcome = outcome.and(request.map(|request| self.current.push(request)));
        }
        outcome
    }

    /// Posts receives, which are completed with the next round.
    fn start_recvs(
        &mut self,
        recvs: &[Transfer],
        communicator: &Communicator,
    ) -> Result<(), Box<ExecError>> {
        let mut outcome = Ok(());
        for recv in recvs.iter().filter(|recv| recv.place.is_none()) {
            // SAFETY: in bounds and not touched before `finish_or_cancel` or `cancel_all`, see `Machine`.
            let request = unsafe { communicator.start_recv(self.make_message(recv)) };
            outcome = outcome.and(request.map(|request| self.ahead.push(request)));
        }
        outcome
    }

    /// After an error: cancels receives that were posted ahead, and abandons the communicator.
    pub(crate) fn abandon(&mut self, communicator: &Communicator) {
        self.ahead.cancel_all();
        communicator.mark_lost();
    }

    fn memories(&mut self) -> Memories<'_> {
        Memories {
            bases: &self.bases,
            copier: &mut self.copier,
            combiner: self.combiner.as_deref(),
        }
    }

    fn do_work(&mut self, work: &Work) -> Result<(), ExecError> {
        self.memories().do_work(work)
    }
}

impl Memories<'_> {
    fn place_address(&self, place: &MemoryPlace) -> *mut u8 {
        self.bases[place.slot].wrapping_add(place.start)
    }

    /// Carries out all work, after an error as well.
    #[inline(always)]
    fn work_all(&mut self, work: &[Work]) -> Result<(), Box<ExecError>> {
        let mut outcome = Ok(());
        for piece in work {
            if let Err(error) = self.do_work(piece) {
                outcome = outcome.and(Err(Box::new(error)));
            }
        }
        outcome
    }

    fn do_work(&mut self, work: &Work) -> Result<(), ExecError> {
        match work {
            Work::Nothing => Ok(()),
            Work::Copy { from, into } => {
                let addresses = (self.place_address(from), self.place_address(into));
                // SAFETY: in bounds and disjoint, see `Machine`.
                unsafe { self.copier.copy(addresses.0, addresses.1, into.length) }
            }
            Work::Combine { left, right, into } => {
                let addresses = Addresses {
                    left: self.place_address(left),
                    right: self.place_address(right),
                    into: self.place_address(into),
                };
                let Some(combiner) = self.combiner else {
                    return Err(ExecError::NoOperator);
                };
                // SAFETY: in bounds, and the operands are the target or disjoint, see `Machine`.
                unsafe { combiner.combine(addresses, into.length, self.copier) }
            }
        }
    }
}
