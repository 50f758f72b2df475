//! Rounds with spans that are resolved to bytes of memory.

use std::ffi::c_int;
use std::ops::Range;
use std::rc::Rc;

use channel::{LINE, MessageSize};
use mpi::ffi;
use schedule::{Action, Buffer, Layout, Round, Run, Span};
use vocabulary::is_posted_ahead;

use crate::block_steps::BlockBuffers;
use crate::communicator::library_rank;
use crate::derived::DerivedDatatype;
use crate::fused::Arrival;
use crate::unit::Unit;
use crate::{Communicator, ExecError, NodeChannels};

/// A piece of one of the executor's memories, in bytes; [`Resolver`] has checked its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryPlace {
    /// The number of the memory, see [`Buffer::index`].
    pub(crate) slot: usize,
    pub(crate) start: usize,
    pub(crate) length: usize,
}

impl MemoryPlace {
    /// The rest without the first bytes; `None` if nothing is left.
    fn without_first(self, bytes: usize) -> Option<Self> {
        (self.length > bytes).then(|| Self {
            start: self.start + bytes,
            length: self.length - bytes,
            ..self
        })
    }

    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.slot == other.slot
            && self.start < other.start + other.length
            && other.start < self.start + self.length
    }

    pub(crate) fn as_run(&self) -> (usize, Run) {
        let bytes = self.start as u64..(self.start + self.length) as u64;
        (self.slot, Run::from(bytes))
    }

    pub(crate) fn overlaps_run(&self, (slot, run): &(usize, Run)) -> bool {
        let (own_slot, own) = self.as_run();
        own_slot == *slot && run.overlaps(own)
    }
}

pub(crate) const INPUT: usize = Buffer::Input.index();
pub(crate) const OUTPUT: usize = Buffer::Output.index();
pub(crate) const SCRATCH: usize = Buffer::Scratch(0).index();

/// One end of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    /// The peer's rank in the library's communicator.
    pub(crate) peer: c_int,
    /// The peer's index on this rank's node, if the message goes through a channel.
    pub(crate) place: Option<u32>,
    /// The number of the memory, see [`Buffer::index`].
    pub(crate) slot: usize,
    /// The moved bytes of memory; the second run is empty unless the message wraps around.
    pub(crate) runs: [Run; 2],
    /// The start of the message in its memory.
    pub(crate) start: usize,
    pub(crate) count: c_int,
    /// The unit's datatype, or one that [`Steps`] owns.
    pub(crate) datatype: ffi::MPI_Datatype,
    /// Whether it is sent through a channel and has the same data as the previous message through a channel in its
    /// round.
    pub(crate) is_repeated: bool,
    /// The way it is combined on arrival, if it is received through a channel and not stored.
    pub(crate) arrival: Option<Arrival>,
    /// Its size as a message through a channel.
    pub(crate) message: MessageSize,
}

impl Transfer {
    /// The same as a message of a round of [`Ways::Packet`], which always goes through a channel; `None` if it does
    /// not.
    #[inline(always)]
    fn as_packet(&self) -> Option<PacketMessage> {
        Some(PacketMessage {
            peer: self.place? as usize,
            length: self.message.length(),
            slot: self.slot,
            start: self.start,
            arrival: self.arrival,
        })
    }

    pub(crate) fn moved_bytes(&self) -> usize {
        self.runs.iter().map(|run| run.units() as usize).sum()
    }

    /// The moved bytes, with their memory.
    fn touched_runs(&self) -> impl Iterator<Item = (usize, Run)> + Clone {
        let slot = self.slot;
        self.runs.into_iter().map(move |run| (slot, run))
    }
}

/// Local work.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    Combine {
        left: MemoryPlace,
        right: MemoryPlace,
        into: MemoryPlace,
    },
    Copy {
        from: MemoryPlace,
        into: MemoryPlace,
    },
    /// Done by an [`Arrival`].
    Nothing,
}

impl Work {
    /// The bytes that are read and written, with their memories.
    fn touched_runs(&self) -> impl Iterator<Item = (usize, Run)> {
        let places = match self {
            Self::Combine { left, right, into } => [Some(left), Some(right), Some(into)],
            Self::Copy { from, into } => [Some(from), Some(into), None],
            Self::Nothing => [None; 3],
        };
        places.into_iter().flatten().map(MemoryPlace::as_run)
    }
}

/// The resolved rounds of a program. Rounds, transfers and work without data are left out.
///
/// Keeps its memory when it is cleared, so that rounds can be resolved without allocating.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    rounds: Vec<RoundRanges>,
    pub(crate) sends: Vec<Transfer>,
    pub(crate) recvs: Vec<Transfer>,
    pub(crate) work: Vec<Work>,
    pub(crate) derived: DerivedDatatypes,
}

/// The datatypes that we have made for messages, and room for the pieces of another one.
#[derive(Debug, Default)]
pub(crate) struct DerivedDatatypes {
    pub(crate) made: Vec<DerivedDatatype>,
    pub(crate) lengths: Vec<c_int>,
    pub(crate) starts: Vec<ffi::MPI_Aint>,
    /// The offset after the last piece.
    pub(crate) end: isize,
}

#[derive(Debug)]
struct RoundRanges {
    sends: Range<usize>,
    recvs: Range<usize>,
    work: Range<usize>,
    ways: Ways,
    is_posted_ahead: bool,
}

/// The transports of a round's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ways {
    /// MPI only, or no messages.
    Mpi,
    /// MPI and channels.
    Mixed,
    /// Channels only.
    Channels,
    /// Channels only, with at most one message each way, in one piece of memory and one packet.
    Packet,
}

impl Ways {
    pub(crate) fn for_messages(sends: &[Transfer], recvs: &[Transfer], unit: &Unit) -> Self {
        let is_packet = |message: &Transfer| {
            let [run, rest] = message.runs;
            let is_whole = run.count <= 1 && rest.is_empty() && unit.sparse.is_none();
            is_whole && message.message.is_packet()
        };
        let messages = || sends.iter().chain(recvs);
        let through_channels = messages().filter(|message| message.place.is_some());
        match through_channels.count() {
            0 => Self::Mpi,
            count if count < sends.len() + recvs.len() => Self::Mixed,
            _ if sends.len() < 2 && recvs.len() < 2 && messages().all(is_packet) => Self::Packet,
            _ => Self::Channels,
        }
    }
}

/// One round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step<'a> {
    pub(crate) sends: &'a [Transfer],
    pub(crate) recvs: &'a [Transfer],
    pub(crate) work: &'a [Work],
    pub(crate) ways: Ways,
    /// Whether its receives from MPI are posted together with those of the previous round.
    pub(crate) is_posted_ahead: bool,
}

/// A message of a round of [`Ways::Packet`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketMessage {
    /// The peer's index on this rank's node.
    pub(crate) peer: usize,
    pub(crate) length: usize,
    /// The number of the memory.
    pub(crate) slot: usize,
    /// The start of the message in its memory.
    pub(crate) start: usize,
    pub(crate) arrival: Option<Arrival>,
}

/// A round of [`Ways::Packet`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketRound {
    pub(crate) send: Option<PacketMessage>,
    pub(crate) recv: Option<PacketMessage>,
    /// Whether it has local work.
    pub(crate) has_work: bool,
}

impl Step<'_> {
    /// The same as a round of packets, if it is one.
    #[inline(always)]
    pub(crate) fn packet_round(&self) -> Option<PacketRound> {
        (self.ways == Ways::Packet).then(|| PacketRound {
            send: self.sends.first().and_then(Transfer::as_packet),
            recv: self.recvs.first().and_then(Transfer::as_packet),
            has_work: !self.work.is_empty(),
        })
    }

    /// Its receives from MPI.
    fn mpi_recvs(&self) -> impl Iterator<Item = &Transfer> + Clone {
        self.recvs.iter().filter(|recv| recv.place.is_none())
    }

    /// The data that is combined on arrival.
    pub(crate) fn arrivals(&self) -> impl Iterator<Item = &Arrival> {
        self.recvs.iter().filter_map(|recv| recv.arrival.as_ref())
    }

    /// Whether the receives of the next round may be posted together with those of this one. Receives through
    /// channels are not posted.
    pub(crate) fn can_post_ahead(&self, next: &Step<'_>) -> bool {
        let transfers = self.sends.iter().chain(self.recvs);
        let work = self.work.iter().flat_map(Work::touched_runs);
        let arrivals = self.arrivals().flat_map(Arrival::touched_runs);
        let used = transfers
            .flat_map(Transfer::touched_runs)
            .chain(work)
            .chain(arrivals);
        let bytes: usize = next.mpi_recvs().map(Transfer::moved_bytes).sum();
        let arriving = next.mpi_recvs().flat_map(Transfer::touched_runs);
        is_posted_ahead(bytes as u64, used, arriving, |a, b| {
            a.0 == b.0 && a.1.overlaps(b.1)
        })
    }
}

impl Steps {
    /// Removes all rounds but keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.rounds.clear();
        self.sends.clear();
        self.recvs.clear();
        self.work.clear();
        self.derived.made.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.rounds.len()
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<Step<'_>> {
        let round = self.rounds.get(index)?;
        Some(Step {
            sends: &self.sends[round.sends.clone()],
            recvs: &self.recvs[round.recvs.clone()],
            work: &self.work[round.work.clone()],
            ways: round.ways,
            is_posted_ahead: round.is_posted_ahead,
        })
    }

    /// Fetches the description of a round that follows soon into the cache. In long programs the data of the messages
    /// have displaced it since the last call.
    #[inline]
    pub(crate) fn prefetch_round(&self, index: usize) {
        /// The lead in rounds with which the round itself, with the indices of its transfers and work, is fetched.
        const LEAD: usize = 2;
        if let Some(round) = self.rounds.get(index + LEAD) {
            prefetch_whole(round);
        }
        let Some(round) = self.rounds.get(index) else {
            return;
        };
        for transfer in [
            self.sends.get(round.sends.start),
            self.recvs.get(round.recvs.start),
        ] {
            transfer.map(prefetch_whole);
        }
        self.work.get(round.work.start).map(prefetch_whole);
    }

    /// Lists the rounds of packets, each at its index, with `None` for all others. There are none if there are no rounds
    /// of packets.
    pub(crate) fn list_packet_rounds(&self, into: &mut Vec<Option<PacketRound>>) {
        into.clear();
        let rounds = (0..self.len()).map(|index| self.get(index)?.packet_round());
        if rounds.clone().any(|round| round.is_some()) {
            into.extend(rounds);
        }
    }

    /// The local work of a round of packets, the one with this index.
    #[inline(always)]
    pub(crate) fn work_of(&self, round: &PacketRound, index: usize) -> &[Work] {
        if round.has_work {
            &self.work[self.work_range(index)]
        } else {
            &[]
        }
    }

    /// The range of a round's work among all work.
    pub(crate) fn work_range(&self, index: usize) -> Range<usize> {
        self.rounds[index].work.clone()
    }

    pub(crate) fn work_at(&self, work: usize) -> Option<&Work> {
        self.work.get(work)
    }

    /// The range of a round's receives among all receives.
    pub(crate) fn recv_range(&self, index: usize) -> Range<usize> {
        self.rounds[index].recvs.clone()
    }

    /// Combines a receive on arrival instead of later.
    pub(crate) fn combine_on_arrival(&mut self, recv: usize, arrival: Arrival, work: usize) {
        self.recvs[recv].arrival = Some(arrival);
        self.work[work] = Work::Nothing;
    }

    /// Removes rounds that have become empty.
    pub(crate) fn leave_out_empty(&mut self) {
        let work = &self.work;
        self.rounds.retain(|round| {
            let is_nothing = |piece: &Work| matches!(piece, Work::Nothing);
            let has_messages = !(round.sends.is_empty() && round.recvs.is_empty());
            has_messages || !work[round.work.clone()].iter().all(is_nothing)
        });
    }

    /// Marks the rounds with receives that are posted together with the previous round.
    pub(crate) fn post_all_ahead(&mut self) {
        for next in 1..self.len() {
            if let (Some(step), Some(following)) = (self.get(next - 1), self.get(next))
                && step.can_post_ahead(&following)
            {
                self.post_ahead(next);
            }
        }
    }

    /// The round, if its receives are posted with the previous round.
    #[inline]
    pub(crate) fn posted_ahead(&self, index: usize) -> Option<Step<'_>> {
        match self.rounds.get(index) {
            Some(round) if round.is_posted_ahead => self.get(index),
            _ => None,
        }
    }

    /// Marks a round with receives that are posted with the previous round, which then has not only packets.
    pub(crate) fn post_ahead(&mut self, index: usize) {
        self.rounds[index].is_posted_ahead = true;
        let before = index
            .checked_sub(1)
            .map(|before| &mut self.rounds[before].ways);
        if let Some(ways @ Ways::Packet) = before {
            *ways = Ways::Channels;
        }
    }
}

/// Prefetches all cache lines of a value.
#[inline]
fn prefetch_whole<T>(value: &T) {
    let start = std::ptr::from_ref(value);
    for byte in (0..size_of::<T>())
        .step_by(LINE)
        .chain([size_of::<T>() - 1])
    {
        channel::prefetch(start.wrapping_byte_add(byte));
    }
}

/// Marks consecutive messages of a round that send the same data to several ranks.
pub(crate) fn mark_repeated(sends: &mut [Transfer]) {
    let mut last = None;
    for send in sends.iter_mut().filter(|send| send.place.is_some()) {
        let data = (send.slot, send.runs);
        send.is_repeated = last == Some(data);
        last = Some(data);
    }
}

/// The pieces of some bytes of a memory, none of them empty.
fn memory_pieces(slot: usize, runs: [Run; 2]) -> impl Iterator<Item = MemoryPlace> {
    let pieces = runs.into_iter().flat_map(Run::pieces);
    let places = pieces.map(move |bytes| MemoryPlace {
        slot,
        start: bytes.start as usize,
        length: (bytes.end - bytes.start) as usize,
    });
    places.filter(|place| place.length > 0)
}

/// Resolves rounds of one rank's program.
#[derive(Debug)]
pub(crate) struct Resolver {
    pub(crate) layout: Layout,
    pub(crate) unit: Unit,
    channels: Option<Rc<NodeChannels>>,
    /// As in [`Communicator::members`].
    members: Option<Rc<[c_int]>>,
    /// This rank.
    pub(crate) rank: u32,
    /// The blocks of the buffers in an irregular call.
    pub(crate) blocks: Option<Box<BlockBuffers>>,
}

impl Resolver {
    /// For calls on a communicator. `channels` carry the messages to the ranks that they reach.
    pub(crate) fn new(
        layout: Layout,
        unit: Unit,
        communicator: &Communicator,
        channels: Option<Rc<NodeChannels>>,
    ) -> Self {
        Self {
            layout,
            unit,
            channels,
            members: communicator.members().cloned(),
            rank: communicator.rank(),
            blocks: None,
        }
    }

    /// A peer's rank in the library's communicator.
    pub(crate) fn library_rank_of(&self, peer: u32) -> c_int {
        library_rank(self.members.as_ref(), peer)
    }

    /// The index of a peer that is reached through a channel.
    pub(crate) fn place_of(&self, peer: u32) -> Option<u32> {
        *self.channels.as_ref()?.places().get(peer as usize)?
    }

    /// Adds the step of a round; nothing if the round moves no data.
    ///
    /// # Errors
    ///
    /// If a message is too large, or the library refuses a datatype. The steps must then not be used.
    ///
    /// # Panics
    ///
    /// If a span exceeds its buffer, or operands overlap partly, which no verified schedule does.
    pub(crate) fn resolve_round(&self, round: &Round, steps: &mut Steps) -> Result<(), ExecError> {
        let before = [steps.sends.len(), steps.recvs.len(), steps.work.len()];
        for action in round.actions() {
            match (action, &self.blocks) {
                (
                    Action::Send { to: peer, span } | Action::Recv { from: peer, span },
                    Some(blocks),
                ) => {
                    if let Some(transfer) =
                        self.block_transfer(blocks, *peer, span, &mut steps.derived)?
                    {
                        let is_sent = matches!(action, Action::Send { .. });
                        let transfers = if is_sent {
                            &mut steps.sends
                        } else {
                            &mut steps.recvs
                        };
                        transfers.push(transfer);
                    }
                }
                (Action::Copy { from, into }, Some(blocks)) => {
                    self.add_block_copies(blocks, from, into, steps)?;
                }
                _ => self.resolve_action(action, steps)?,
            }
        }
        self.finish_round(before, steps);
        Ok(())
    }

    /// Adds what an action of a regular collective does, and any other action than messages and copies of another one.
    fn resolve_action(&self, action: &Action, steps: &mut Steps) -> Result<(), ExecError> {
        match action {
            Action::Send { to, span } => {
                self.add_transfer(*to, span, &mut steps.sends, &mut steps.derived.made)?;
            }
            Action::Recv { from, span } => {
                self.add_transfer(*from, span, &mut steps.recvs, &mut steps.derived.made)?;
            }
            Action::Signal { to } => steps.sends.push(self.signal_transfer(*to)),
            Action::Await { from } => steps.recvs.push(self.signal_transfer(*from)),
            Action::Combine { left, right, into } => {
                self.add_combination(left, right, into, &mut steps.work);
            }
            Action::Copy { from, into } => self.add_copy(from, into, &mut steps.work),
        }
        Ok(())
    }

    /// Adds the round of what has been added since there were `before` sends, receives and pieces of work.
    fn finish_round(&self, before: [usize; 3], steps: &mut Steps) {
        mark_repeated(&mut steps.sends[before[0]..]);
        let after = [steps.sends.len(), steps.recvs.len(), steps.work.len()];
        if before != after {
            steps.rounds.push(RoundRanges {
                sends: before[0]..after[0],
                recvs: before[1]..after[1],
                work: before[2]..after[2],
                ways: Ways::for_messages(
                    &steps.sends[before[0]..],
                    &steps.recvs[before[1]..],
                    &self.unit,
                ),
                is_posted_ahead: false,
            });
        }
    }

    /// The memory and the byte ranges of a span.
    pub(crate) fn locate_span(&self, span: &Span) -> (usize, [Run; 2]) {
        let place = self.layout.locate(span);
        let Some(place) = place else {
            panic!("{span} leaves its buffer");
        };
        let stride = self.unit.stride as u64;
        let runs = place.runs.map(|run| run.in_smaller_units(stride));
        (place.memory.index(), runs)
    }

    fn locate_contiguous(&self, span: &Span) -> MemoryPlace {
        let (slot, [run, rest]) = self.locate_span(span);
        assert!(rest.is_empty() && run.count <= 1, "{span} is in pieces");
        MemoryPlace {
            slot,
            start: run.start as usize,
            length: run.length as usize,
        }
    }

    fn add_transfer(
        &self,
        peer: u32,
        span: &Span,
        transfers: &mut Vec<Transfer>,
        derived: &mut Vec<DerivedDatatype>,
    ) -> Result<(), ExecError> {
        let (slot, runs) = self.locate_span(span);
        let [first, second] = runs;
        let count = self
            .unit
            .message_count((first.units() + second.units()) as usize)?;
        if count == 0 {
            return Ok(());
        }
        let mut transfer = Transfer {
            peer: self.library_rank_of(peer),
            place: self.place_of(peer),
            slot,
            runs,
            start: first.start as usize,
            count,
            datatype: self.unit.datatype,
            is_repeated: false,
            arrival: None,
            message: self.unit.message_size(&runs),
        };
        if transfer.place.is_none() && (first.count > 1 || !second.is_empty()) {
            let datatype = DerivedDatatype::from_runs(&self.unit, runs)?;
            transfer.start = 0;
            transfer.count = 1;
            transfer.datatype = datatype.raw();
            derived.push(datatype);
        }
        transfers.push(transfer);
        Ok(())
    }

    fn signal_transfer(&self, peer: u32) -> Transfer {
        Transfer {
            peer: self.library_rank_of(peer),
            place: self.place_of(peer),
            slot: OUTPUT,
            runs: [Run::default(); 2],
            start: 0,
            count: 0,
            datatype: self.unit.datatype,
            is_repeated: false,
            arrival: None,
            message: self.unit.message_size(&[]),
        }
    }

    fn add_combination(&self, left: &Span, right: &Span, into: &Span, work: &mut Vec<Work>) {
        let [left, right, into] = [left, right, into].map(|span| self.locate_contiguous(span));
        for operand in [left, right] {
            assert!(
                operand == into || !operand.overlaps(&into),
                "operands overlap in part"
            );
            assert_eq!(operand.length, into.length, "operands differ in length");
        }
        if into.length > 0 {
            work.push(Work::Combine { left, right, into });
        }
    }

    pub(crate) fn add_copy(&self, from: &Span, into: &Span, work: &mut Vec<Work>) {
        let located = [from, into].map(|span| self.locate_span(span));
        let [(from_slot, from_runs), (into_slot, into_runs)] = located;
        if located[0] == located[1] {
            return;
        }
        // All of one place with all of the other: a piece may meet another one than its counterpart.
        let meets = |run: &Run| into_runs.iter().any(|other| run.overlaps(*other));
        assert!(
            from_slot != into_slot || !from_runs.iter().any(meets),
            "a copy onto itself in part"
        );
        let [mut sources, mut targets] = located.map(|(slot, runs)| memory_pieces(slot, runs));
        let [mut source, mut target] = [sources.next(), targets.next()];
        // The pieces of both spans may end at different bytes.
        while let (Some(read), Some(written)) = (source, target) {
            let length = read.length.min(written.length);
            work.push(Work::Copy {
                from: MemoryPlace { length, ..read },
                into: MemoryPlace { length, ..written },
            });
            source = read.without_first(length).or_else(|| sources.next());
            target = written.without_first(length).or_else(|| targets.next());
        }
        assert!(source == target, "a copy of another length");
    }
}
