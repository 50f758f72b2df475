//! Runs all programs of a schedule against each other, over any kind of values.
//!
//! The engine is strict where MPI is lenient: a send waits for its receive, messages of a pair
//! match in order and must be of equal length, actions of a round must not touch each other's
//! memory, and nothing outside the collective's buffers may be read or written. The verifier and
//! the in-memory reading differ only in the [`Domain`] of the values.

use std::collections::{HashMap, VecDeque};

use crate::fault::{Fault, Misdeed, Misstep};
use crate::independence::{Access, Independence, length};
use crate::program::Program;
use crate::storage::Memory;
use crate::{Action, Rank, Round, Schedule, Span};

/// The values that units of memory hold.
pub(crate) trait Domain {
    type Value: Clone;

    /// The initial value of unit `unit`, the contribution of `rank`.
    fn initial(&self, rank: Rank, unit: u64) -> Self::Value;

    /// `left o right`.
    fn combine(&mut self, left: &Self::Value, right: &Self::Value) -> Result<Self::Value, Misstep>;
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
    /// Length of the longest chain of combinations if only these take time.
    pub combinations: u64,
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
    /// The same if messages take no time and combinations take one step.
    combined_began: u64,
    combined_ends: u64,
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
                    combined_began: 0,
                    combined_ends: 0,
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
            combinations: most(|p| p.combined_ends).unwrap_or(0),
        }
    }

    /// Starts the rank's next round and does its local work; false at the program's end.
    fn begin_round(&mut self, rank: Rank) -> Result<bool, Fault> {
        let process = &mut self.processes[rank as usize];
        if process.next == process.rounds {
            return Ok(false);
        }
        process.began = process.ends;
        process.combined_began = process.combined_ends;
        process.round.clear();
        process.program.round(process.next, &mut process.round);
        process.next += 1;
        let process = &self.processes[rank as usize];
        let independence = Independence {
            schedule: self.schedule,
            memory: &process.memory,
            rank,
            actions: process.round.actions(),
        };
        independence
            .check(&mut self.accesses)
            .map_err(|(action, why)| self.fault(rank, &action, why))?;
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
                let process = &mut self.processes[rank as usize];
                process.combined += combined.len() as u64;
                process.combined_ends += u64::from(!combined.is_empty());
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
        let [sender, receiver] =
            [from, to].map(|rank| self.processes[rank as usize].combined_began);
        let combined_end = sender.max(receiver);
        for rank in [from, to] {
            let process = &mut self.processes[rank as usize];
            process.ends = process.ends.max(end);
            process.combined_ends = process.combined_ends.max(combined_end);
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
