//! Runs all programs of a schedule against each other, over any kind of values.
//!
//! The engine is strict where MPI is lenient: a send waits for its receive, messages of a pair
//! match in order and must be of equal length, actions of a round must not touch each other's
//! memory, and nothing outside the collective's buffers may be read or written. The verifier and
//! the in-memory reading differ only in the [`Domain`] of the values.

use std::collections::{HashMap, VecDeque};
use std::fmt;

use crate::program::Program;
use crate::{Action, Buffer, Held, Rank, Round, Schedule, Span};

/// The values that units of memory hold.
pub(crate) trait Domain {
    type Value: Clone;

    /// The initial value of unit `unit`, the contribution of `rank`.
    fn initial(&self, rank: Rank, unit: u64) -> Self::Value;

    /// `left o right`.
    fn combine(&mut self, left: &Self::Value, right: &Self::Value) -> Result<Self::Value, Misstep>;
}

/// A combination that a [`Domain`] refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Misstep {
    /// A contribution is in both operands.
    Doubled(Rank),
    /// The operands belong to different units of the vector.
    Mixed(u64, u64),
    /// The operands are not adjacent, lower ranks on the left, as the registry promises.
    Misordered(Rank, Rank),
}

/// What is wrong with a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// Nothing more can happen, yet these ranks wait: rank, round, and what for.
    Deadlock(Vec<(Rank, u64, String)>),
    /// Both ends of a message name different lengths.
    LengthMismatch {
        /// The sender.
        from: Rank,
        /// The receiver.
        to: Rank,
        /// Units sent.
        sent: u64,
        /// Units expected.
        expected: u64,
    },
    /// A fault at one rank's action.
    At {
        /// The rank.
        rank: Rank,
        /// The round.
        round: u64,
        /// The action, as text.
        action: String,
        /// What is wrong with it.
        why: Misdeed,
    },
    /// A rank's result is not what the collective promises.
    WrongResult {
        /// The rank.
        rank: Rank,
        /// The unit of the vector.
        unit: u64,
        /// What the unit holds instead.
        found: String,
    },
}

/// What is wrong with one action.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misdeed {
    /// The peer is not another rank of the communicator.
    BadPeer,
    /// The span lies outside its buffer, or the buffer is not there.
    OutOfBounds,
    /// The action reads a unit that nothing has been written to.
    ReadsUndefined,
    /// The action writes a buffer that is not the algorithm's to write.
    Forbidden,
    /// Another action of the round reads or writes what this one writes.
    Conflict,
    /// Operands or source and target differ in length, or the target overlaps an operand in part.
    ShapeMismatch,
    /// The contribution of this rank would count twice.
    Doubled(Rank),
    /// Data of two different units would be combined.
    Mixed(u64, u64),
    /// The left operand ends with the first rank, the right one begins with the second.
    Misordered(Rank, Rank),
}

impl fmt::Display for Misdeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadPeer => f.write_str("the peer is not another rank of the communicator"),
            Self::OutOfBounds => f.write_str("the span lies outside the buffer"),
            Self::ReadsUndefined => f.write_str("reads memory that was never written"),
            Self::Forbidden => f.write_str("writes a buffer that must not be written"),
            Self::Conflict => f.write_str("conflicts with another action of its round"),
            Self::ShapeMismatch => f.write_str("operands and target do not fit"),
            Self::Doubled(rank) => write!(f, "counts the contribution of rank {rank} twice"),
            Self::Mixed(left, right) => write!(f, "combines unit {left} with unit {right}"),
            Self::Misordered(left, right) => {
                write!(
                    f,
                    "combines ranks up to {left} with ranks from {right}: out of order"
                )
            }
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deadlock(waiting) => {
                write!(f, "deadlock:")?;
                for (rank, round, action) in waiting.iter().take(4) {
                    write!(f, " rank {rank} waits in round {round} ({action});")?;
                }
                write!(f, " {} ranks in all", waiting.len())
            }
            Self::LengthMismatch {
                from,
                to,
                sent,
                expected,
            } => {
                write!(f, "{from} sends {sent} units where {to} expects {expected}")
            }
            Self::At {
                rank,
                round,
                action,
                why,
            } => {
                write!(f, "rank {rank}, round {round}, {action}: {why}")
            }
            Self::WrongResult { rank, unit, found } => {
                write!(
                    f,
                    "rank {rank} ends with {found} in unit {unit} of its output"
                )
            }
        }
    }
}

impl std::error::Error for Fault {}

impl From<Misstep> for Misdeed {
    fn from(misstep: Misstep) -> Self {
        match misstep {
            Misstep::Doubled(rank) => Self::Doubled(rank),
            Misstep::Mixed(left, right) => Self::Mixed(left, right),
            Misstep::Misordered(left, right) => Self::Misordered(left, right),
        }
    }
}

/// What a schedule does in total and on its busiest rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Messages of at least one unit.
    pub messages: u64,
    /// Units that the busiest sender sends.
    pub most_sent: u64,
    /// Units that the busiest receiver receives.
    pub most_received: u64,
    /// Units that the busiest rank combines.
    pub most_combined: u64,
    /// Rounds of the longest program.
    pub rounds: u64,
    /// Length of the longest chain of messages if each takes one step once both ends are ready.
    pub steps: u64,
}

/// Memory of one rank, a value a unit.
struct Memory<V> {
    input: Vec<Option<V>>,
    output: Vec<Option<V>>,
    scratch: Vec<Vec<Option<V>>>,
    output_exists: bool,
}

/// A rank in the middle of its program.
struct Process<V> {
    program: Box<dyn Program>,
    rounds: u64,
    next: u64,
    round: Round,
    /// Transfers of the current round that have not ended.
    waiting: usize,
    /// Steps at which the current round began and at which its last ended transfer ended.
    began: u64,
    ends: u64,
    memory: Memory<V>,
    sent: u64,
    received: u64,
    combined: u64,
}

/// Posted transfers of one sender and one receiver that have not met their other end.
struct Pair<V> {
    sends: VecDeque<Vec<V>>,
    recvs: VecDeque<Span>,
}

/// The programs under way.
pub(crate) struct Engine<'a, D: Domain> {
    schedule: &'a Schedule,
    domain: D,
    processes: Vec<Process<D::Value>>,
    pairs: HashMap<(Rank, Rank), Pair<D::Value>>,
    runnable: Vec<Rank>,
    messages: u64,
    accesses: Vec<Access>,
}

/// Memory that an action of the round reads or writes, in units of its buffer.
#[derive(Clone, Copy)]
struct Access {
    buffer: Buffer,
    start: u64,
    end: u64,
    writes: bool,
    action: usize,
}

impl<'a, D: Domain> Engine<'a, D> {
    /// Puts every rank at the start of its program, with the memory of the pre-condition.
    pub(crate) fn new(
        schedule: &'a Schedule,
        domain: D,
        program: &dyn Fn(Rank) -> Box<dyn Program>,
    ) -> Self {
        let ranks = schedule.shape().ranks;
        let processes = (0..ranks)
            .map(|rank| {
                let program = program(rank);
                Process {
                    rounds: program.rounds(),
                    program,
                    next: 0,
                    round: Round::default(),
                    waiting: 0,
                    began: 0,
                    ends: 0,
                    memory: Memory::new(schedule, &domain, rank),
                    sent: 0,
                    received: 0,
                    combined: 0,
                }
            })
            .collect();
        Self {
            schedule,
            domain,
            processes,
            pairs: HashMap::new(),
            runnable: (0..ranks).rev().collect(),
            messages: 0,
            accesses: Vec::new(),
        }
    }

    /// Runs all programs to their ends.
    pub(crate) fn run(&mut self) -> Result<Tally, Fault> {
        while let Some(rank) = self.runnable.pop() {
            while self.processes[rank as usize].waiting == 0 && self.begin_round(rank)? {}
        }
        let waiting: Vec<_> = (0..self.schedule.shape().ranks)
            .filter(|rank| self.processes[*rank as usize].waiting > 0)
            .map(|rank| {
                let process = &self.processes[rank as usize];
                let transfers: Vec<_> = process
                    .round
                    .actions()
                    .iter()
                    .map(Action::to_string)
                    .collect();
                (rank, process.next - 1, transfers.join(", "))
            })
            .collect();
        if !waiting.is_empty() {
            return Err(Fault::Deadlock(waiting));
        }
        Ok(self.tally())
    }

    /// A rank's output, `None` where it was never written.
    pub(crate) fn output(&self, rank: Rank) -> &[Option<D::Value>] {
        &self.processes[rank as usize].memory.output
    }

    pub(crate) fn into_domain(self) -> D {
        self.domain
    }

    fn tally(&self) -> Tally {
        let most = |of: fn(&Process<D::Value>) -> u64| self.processes.iter().map(of).max();
        Tally {
            messages: self.messages,
            most_sent: most(|p| p.sent).unwrap_or(0),
            most_received: most(|p| p.received).unwrap_or(0),
            most_combined: most(|p| p.combined).unwrap_or(0),
            rounds: most(|p| p.rounds).unwrap_or(0),
            steps: most(|p| p.ends).unwrap_or(0),
        }
    }

    /// Starts the rank's next round and does its local work; false at the program's end.
    fn begin_round(&mut self, rank: Rank) -> Result<bool, Fault> {
        let process = &mut self.processes[rank as usize];
        if process.next == process.rounds {
            return Ok(false);
        }
        process.began = process.ends;
        process.round.clear();
        process.program.round(process.next, &mut process.round);
        process.next += 1;
        self.check_round(rank)?;
        let actions = std::mem::take(self.processes[rank as usize].round.actions_mut());
        for action in &actions {
            self.post(rank, action)
                .map_err(|why| self.fault(rank, action, why))??;
        }
        *self.processes[rank as usize].round.actions_mut() = actions;
        Ok(true)
    }

    fn fault(&self, rank: Rank, action: &Action, why: Misdeed) -> Fault {
        let round = self.processes[rank as usize].next - 1;
        Fault::At {
            rank,
            round,
            action: action.to_string(),
            why,
        }
    }

    /// Checks peers, bounds and independence of the round's actions.
    fn check_round(&mut self, rank: Rank) -> Result<(), Fault> {
        let mut accesses = std::mem::take(&mut self.accesses);
        accesses.clear();
        let process = &self.processes[rank as usize];
        for (index, action) in process.round.actions().iter().enumerate() {
            self.check_action(rank, action, index, &mut accesses)
                .map_err(|why| self.fault(rank, action, why))?;
        }
        accesses.sort_by_key(|a| (a.buffer, a.start));
        // Sorted by start, so what has ended before this one begins touches none of the later.
        let mut open: Vec<Access> = Vec::new();
        for access in &accesses {
            open.retain(|other| other.buffer == access.buffer && access.start < other.end);
            let conflicts =
                |other: &Access| other.action != access.action && (other.writes || access.writes);
            if open.iter().any(conflicts) {
                let action = &process.round.actions()[access.action];
                return Err(self.fault(rank, action, Misdeed::Conflict));
            }
            open.push(*access);
        }
        self.accesses = accesses;
        Ok(())
    }

    fn check_action(
        &self,
        rank: Rank,
        action: &Action,
        index: usize,
        accesses: &mut Vec<Access>,
    ) -> Result<(), Misdeed> {
        let shape = self.schedule.shape();
        let mut access = |span: &Span, writes: bool| {
            let range = self.schedule.locate(span);
            let memory = &self.processes[rank as usize].memory;
            let length = memory
                .buffer(span.buffer)
                .ok_or(Misdeed::OutOfBounds)?
                .len() as u64;
            if span.blocks.end > span.partition.blocks() || range.end > length {
                return Err(Misdeed::OutOfBounds);
            }
            if writes && !memory.may_write(span.buffer) {
                return Err(Misdeed::Forbidden);
            }
            if !range.is_empty() {
                let (start, end) = (range.start, range.end);
                let buffer = span.buffer;
                accesses.push(Access {
                    buffer,
                    start,
                    end,
                    writes,
                    action: index,
                });
            }
            Ok(range)
        };
        match action {
            Action::Send { to: peer, span } | Action::Recv { from: peer, span } => {
                if *peer == rank || *peer >= shape.ranks {
                    return Err(Misdeed::BadPeer);
                }
                access(span, matches!(action, Action::Recv { .. })).map(|_| ())
            }
            Action::Copy { from, into } => {
                let (from_range, into_range) = (access(from, false)?, access(into, true)?);
                let overlap = from.buffer == into.buffer && overlaps(&from_range, &into_range);
                let fits = length(&from_range) == length(&into_range) && !overlap;
                if fits {
                    Ok(())
                } else {
                    Err(Misdeed::ShapeMismatch)
                }
            }
            Action::Combine { left, right, into } => {
                let target = access(into, true)?;
                for operand in [left, right] {
                    let range = access(operand, false)?;
                    let same = operand.buffer == into.buffer && range == target;
                    let partly =
                        operand.buffer == into.buffer && overlaps(&range, &target) && !same;
                    if length(&range) != length(&target) || partly {
                        return Err(Misdeed::ShapeMismatch);
                    }
                }
                Ok(())
            }
        }
    }

    /// Does local work, or puts a transfer forward and carries out what it completes.
    fn post(&mut self, rank: Rank, action: &Action) -> Result<Result<(), Fault>, Misdeed> {
        match *action {
            Action::Send { to, span } => {
                let values = self.read(rank, &span)?;
                if values.is_empty() {
                    return Ok(Ok(()));
                }
                self.pair(rank, to).sends.push_back(values);
                self.processes[rank as usize].waiting += 1;
                Ok(self.match_pair(rank, to))
            }
            Action::Recv { from, span } => {
                if self.schedule.locate(&span).is_empty() {
                    return Ok(Ok(()));
                }
                self.pair(from, rank).recvs.push_back(span);
                self.processes[rank as usize].waiting += 1;
                Ok(self.match_pair(from, rank))
            }
            Action::Copy { from, into } => {
                let values = self.read(rank, &from)?;
                self.write(rank, &into, values);
                Ok(Ok(()))
            }
            Action::Combine { left, right, into } => {
                let (left, right) = (self.read(rank, &left)?, self.read(rank, &right)?);
                let combined = left
                    .iter()
                    .zip(&right)
                    .map(|(left, right)| self.domain.combine(left, right))
                    .collect::<Result<Vec<_>, _>>()?;
                self.processes[rank as usize].combined += combined.len() as u64;
                self.write(rank, &into, combined);
                Ok(Ok(()))
            }
        }
    }

    fn pair(&mut self, from: Rank, to: Rank) -> &mut Pair<D::Value> {
        self.pairs.entry((from, to)).or_insert_with(|| Pair {
            sends: VecDeque::new(),
            recvs: VecDeque::new(),
        })
    }

    /// Moves the data of the pair's first send if its receive is posted too.
    fn match_pair(&mut self, from: Rank, to: Rank) -> Result<(), Fault> {
        let pair = self.pair(from, to);
        if pair.sends.is_empty() {
            return Ok(());
        }
        let Some(span) = pair.recvs.pop_front() else {
            return Ok(());
        };
        let values = pair.sends.pop_front().unwrap_or_default();
        let (sent, expected) = (values.len() as u64, length(&self.schedule.locate(&span)));
        if sent != expected {
            return Err(Fault::LengthMismatch {
                from,
                to,
                sent,
                expected,
            });
        }
        self.write(to, &span, values);
        self.messages += 1;
        let [sender, receiver] = [from, to].map(|rank| self.processes[rank as usize].began);
        let end = sender.max(receiver) + 1;
        for rank in [from, to] {
            let process = &mut self.processes[rank as usize];
            process.ends = process.ends.max(end);
            process.waiting -= 1;
            if process.waiting == 0 {
                self.runnable.push(rank);
            }
        }
        self.processes[from as usize].sent += sent;
        self.processes[to as usize].received += sent;
        Ok(())
    }

    fn read(&self, rank: Rank, span: &Span) -> Result<Vec<D::Value>, Misdeed> {
        let range = self.schedule.locate(span);
        let memory = &self.processes[rank as usize].memory;
        let buffer = memory.buffer(span.buffer).ok_or(Misdeed::OutOfBounds)?;
        buffer[range.start as usize..range.end as usize]
            .iter()
            .map(|value| value.clone().ok_or(Misdeed::ReadsUndefined))
            .collect()
    }

    /// Writes a span that [`Engine::check_action`] has found to be in bounds.
    fn write(&mut self, rank: Rank, span: &Span, values: Vec<D::Value>) {
        let start = self.schedule.locate(span).start as usize;
        let memory = &mut self.processes[rank as usize].memory;
        for (slot, value) in memory.buffer_mut(span.buffer)[start..]
            .iter_mut()
            .zip(values)
        {
            *slot = Some(value);
        }
    }
}

impl<V: Clone> Memory<V> {
    fn new<D: Domain<Value = V>>(schedule: &Schedule, domain: &D, rank: Rank) -> Self {
        let collective = schedule.algorithm().collective;
        let fill = |buffer| match collective.before(schedule.shape(), rank, buffer) {
            Held::Absent => None,
            Held::Undefined => Some(vec![None; schedule.units() as usize]),
            Held::Ranks(owner, _) => Some(
                (0..schedule.units())
                    .map(|unit| Some(domain.initial(owner, unit)))
                    .collect(),
            ),
        };
        let output = fill(Buffer::Output);
        Self {
            input: fill(Buffer::Input).unwrap_or_default(),
            output_exists: output.is_some(),
            output: output.unwrap_or_default(),
            scratch: schedule
                .scratch()
                .iter()
                .map(|scratch| vec![None; scratch.capacity(schedule.units()) as usize])
                .collect(),
        }
    }

    fn buffer(&self, buffer: Buffer) -> Option<&[Option<V>]> {
        match buffer {
            Buffer::Input => Some(&self.input),
            Buffer::Output => Some(&self.output),
            Buffer::Scratch(index) => self.scratch.get(usize::from(index)).map(Vec::as_slice),
        }
    }

    fn buffer_mut(&mut self, buffer: Buffer) -> &mut [Option<V>] {
        match buffer {
            Buffer::Input => &mut self.input,
            Buffer::Output => &mut self.output,
            Buffer::Scratch(index) => &mut self.scratch[usize::from(index)],
        }
    }

    fn may_write(&self, buffer: Buffer) -> bool {
        match buffer {
            Buffer::Input => false,
            Buffer::Output => self.output_exists,
            Buffer::Scratch(_) => true,
        }
    }
}

fn length(range: &std::ops::Range<u64>) -> u64 {
    range.end - range.start
}

fn overlaps(a: &std::ops::Range<u64>, b: &std::ops::Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}
