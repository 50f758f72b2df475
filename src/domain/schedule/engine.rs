//! Runs all programs of a schedule against each other, over any kind of values.
//!
//! The engine is strict where MPI is lenient: a send waits for its receive, messages of a pair
//! match in order and must be of equal length, actions of a round must not touch each other's
//! memory, nothing outside the collective's buffers may be read or written, and nothing may be read
//! that was never written. It deadlocks where MPI might buffer a message. The verifier and the
//! in-memory reading differ only in the [`Domain`] of the values.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::fault::{Fault, Misdeed};
use crate::independence::{Access, Independence};
use crate::program::Program;
use crate::storage::Memory;
use crate::{Action, Buffer, Layout, Place, Rank, Round, Schedule, Span};

/// The values that units of memory hold.
pub(crate) trait Domain {
    type Value: Clone;

    /// The initial value of unit `unit`, the contribution of `rank`.
    fn initial_value(&self, rank: Rank, unit: u64) -> Self::Value;

    /// `left o right`.
    fn combine_values(
        &mut self,
        left: &Self::Value,
        right: &Self::Value,
    ) -> Result<Self::Value, Misdeed>;
}

/// The totals of a schedule, and those of its busiest rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Messages, including empty ones that signal.
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
    /// The same if each takes as many steps as it has units.
    pub moved: u64,
    /// Units combined along the longest chain of messages; the maximum over chains of the same length.
    pub combined: u64,
}

/// A rank in the middle of its program.
struct Process<V> {
    program: Box<dyn Program>,
    rounds: u64,
    next: u64,
    round: Round,
    /// Transfers of the current round that have not ended.
    waiting: usize,
    /// The start of the current round, and the end of the last of its transfers that have ended.
    began: Clocks,
    ends: Clocks,
    memory: Memory<V>,
    /// The ranks that are known to have begun, now and at the start of the current round.
    heard: Heard,
    heard_before: Heard,
    sent: u64,
    received: u64,
    combined: u64,
}

/// A set of ranks from which a chain of messages has reached a rank; kept only where that is the whole result of the
/// collective. The word `n` has ranks `64 n` to `64 n + 63`.
#[derive(Clone, Default)]
struct Heard(Vec<u64>);

impl Heard {
    /// What a rank knows when it begins.
    fn of_itself(schedule: &Schedule, rank: Rank) -> Self {
        if schedule.algorithm().collective.has_data() {
            return Self::default();
        }
        let mut words = vec![0; schedule.shape().ranks.div_ceil(64) as usize];
        words[(rank / 64) as usize] |= 1 << (rank % 64);
        Self(words)
    }

    fn add(&mut self, other: &Self) {
        for (word, others) in self.0.iter_mut().zip(&other.0) {
            *word |= others;
        }
    }

    fn includes(&self, rank: Rank) -> bool {
        let word = self.0.get((rank / 64) as usize);
        word.is_some_and(|word| word >> (rank % 64) & 1 == 1)
    }
}

/// Time under two cost models.
#[derive(Clone, Copy, Default)]
struct Clocks {
    /// One step per message; ties are decided by the number of combined units, as combining takes much less time.
    steps: (u64, u64),
    /// One step per moved unit.
    moved: u64,
}

impl Clocks {
    fn max(self, other: Self) -> Self {
        Self {
            steps: self.steps.max(other.steps),
            moved: self.moved.max(other.moved),
        }
    }
}

/// Posted transfers between one sender and one receiver that have not been matched.
struct PostedPair<V> {
    sends: VecDeque<Vec<V>>,
    /// The destination of the data; `None` for an awaited empty message.
    recvs: VecDeque<Option<Place>>,
}

/// The programs under way.
pub(crate) struct Engine<'a, D: Domain> {
    schedule: &'a Schedule,
    domain: D,
    processes: Vec<Process<D::Value>>,
    pairs: FxHashMap<(Rank, Rank), PostedPair<D::Value>>,
    runnable: Vec<Rank>,
    messages: u64,
    accesses: Vec<Access>,
}

impl<'a, D: Domain> Engine<'a, D> {
    /// Places every rank at the start of its program, with the memory of the pre-condition.
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
                    began: Clocks::default(),
                    ends: Clocks::default(),
                    memory: Memory::new(schedule, &domain, rank),
                    heard: Heard::of_itself(schedule, rank),
                    heard_before: Heard::default(),
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
            pairs: FxHashMap::default(),
            runnable: (0..ranks).rev().collect(),
            messages: 0,
            accesses: Vec::new(),
        }
    }

    /// Runs all programs to their ends.
    pub(crate) fn run_programs(&mut self) -> Result<Tally, Fault> {
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
        Ok(self.tally_totals())
    }

    /// The content of a rank's output, with the unit of the vector; `None` for units that were never written.
    pub(crate) fn output_values(
        &self,
        rank: Rank,
    ) -> impl Iterator<Item = (u64, Option<&D::Value>)> {
        let memory = &self.processes[rank as usize].memory;
        let held = memory.layout.vector_units(Buffer::Output);
        let values = held.map(|(units, place)| {
            let home = memory
                .layout
                .buffer_region(Buffer::Output)
                .map(|region| region.home);
            let values = memory.buffer_values(home.unwrap_or(Buffer::Output));
            units.zip(
                values[place.start as usize..place.end as usize]
                    .iter()
                    .map(Option::as_ref),
            )
        });
        values.into_iter().flatten()
    }

    /// The layout of a rank's memory.
    pub(crate) fn layout(&self, rank: Rank) -> &Layout {
        &self.processes[rank as usize].memory.layout
    }

    /// The first rank from which no chain of messages has reached this one.
    pub(crate) fn first_unheard(&self, rank: Rank) -> Option<Rank> {
        let heard = &self.processes[rank as usize].heard;
        (0..self.schedule.shape().ranks).find(|other| !heard.includes(*other))
    }

    pub(crate) fn domain(&self) -> &D {
        &self.domain
    }

    fn tally_totals(&self) -> Tally {
        let most = |of: fn(&Process<D::Value>) -> u64| self.processes.iter().map(of).max();
        let ends = self.processes.iter().map(|p| p.ends);
        let longest = ends.fold(Clocks::default(), Clocks::max);
        Tally {
            messages: self.messages,
            most_sent: most(|p| p.sent).unwrap_or(0),
            most_received: most(|p| p.received).unwrap_or(0),
            most_combined: most(|p| p.combined).unwrap_or(0),
            rounds: most(|p| p.rounds).unwrap_or(0),
            steps: longest.steps.0,
            moved: longest.moved,
            combined: longest.steps.1,
        }
    }

    /// Starts the rank's next round and does its local work. Returns false at the end of the program.
    fn begin_round(&mut self, rank: Rank) -> Result<bool, Fault> {
        let process = &mut self.processes[rank as usize];
        if process.next == process.rounds {
            return Ok(false);
        }
        process.began = process.ends;
        process.heard_before.clone_from(&process.heard);
        process.round.clear();
        process.program.round(process.next, &mut process.round);
        process.next += 1;
        let begun = &self.processes[rank as usize];
        let independence = Independence {
            memory: &begun.memory,
            rank,
            ranks: self.schedule.shape().ranks,
            actions: begun.round.actions(),
        };
        independence
            .check_round(&mut self.accesses)
            .map_err(|(action, why)| {
                self.fault_of_action(rank, &begun.round.actions()[action], why)
            })?;
        let actions = std::mem::take(self.processes[rank as usize].round.actions_mut());
        for action in &actions {
            self.post_action(rank, action)
                .map_err(|why| self.fault_of_action(rank, action, why))??;
        }
        *self.processes[rank as usize].round.actions_mut() = actions;
        Ok(true)
    }

    fn fault_of_action(&self, rank: Rank, action: &Action, why: Misdeed) -> Fault {
        let round = self.processes[rank as usize].next - 1;
        Fault::At {
            rank,
            round,
            action: action.to_string(),
            why,
        }
    }

    /// Does local work, or posts a transfer and carries out a message that becomes complete.
    fn post_action(&mut self, rank: Rank, action: &Action) -> Result<Result<(), Fault>, Misdeed> {
        match *action {
            Action::Send { to, span } => {
                let values = self.read_span(rank, &span)?;
                if values.is_empty() {
                    return Ok(Ok(()));
                }
                Ok(self.post_send(rank, to, values))
            }
            Action::Recv { from, span } => {
                let place = self.locate_span(rank, &span)?;
                if place.is_empty() {
                    return Ok(Ok(()));
                }
                Ok(self.post_receive(from, rank, Some(place)))
            }
            Action::Signal { to } => Ok(self.post_send(rank, to, Vec::new())),
            Action::Await { from } => Ok(self.post_receive(from, rank, None)),
            Action::Copy { from, into } => {
                let place = self.locate_span(rank, &into)?;
                if self.locate_span(rank, &from)? != place {
                    let values = self.read_span(rank, &from)?;
                    self.processes[rank as usize]
                        .memory
                        .write_place(&place, values);
                }
                Ok(Ok(()))
            }
            Action::Combine { left, right, into } => {
                let place = self.locate_span(rank, &into)?;
                let (left, right) = (self.read_span(rank, &left)?, self.read_span(rank, &right)?);
                let combined = left
                    .iter()
                    .zip(&right)
                    .map(|(left, right)| self.domain.combine_values(left, right))
                    .collect::<Result<Vec<_>, _>>()?;
                let process = &mut self.processes[rank as usize];
                process.combined += combined.len() as u64;
                process.ends.steps.1 += combined.len() as u64;
                process.memory.write_place(&place, combined);
                Ok(Ok(()))
            }
        }
    }

    fn post_send(&mut self, from: Rank, to: Rank, values: Vec<D::Value>) -> Result<(), Fault> {
        self.pair_mut(from, to).sends.push_back(values);
        self.processes[from as usize].waiting += 1;
        self.match_pair(from, to)
    }

    fn post_receive(&mut self, from: Rank, to: Rank, place: Option<Place>) -> Result<(), Fault> {
        self.pair_mut(from, to).recvs.push_back(place);
        self.processes[to as usize].waiting += 1;
        self.match_pair(from, to)
    }

    fn pair_mut(&mut self, from: Rank, to: Rank) -> &mut PostedPair<D::Value> {
        self.pairs.entry((from, to)).or_insert_with(|| PostedPair {
            sends: VecDeque::new(),
            recvs: VecDeque::new(),
        })
    }

    /// Carries out the pair's first message if both ends are posted.
    fn match_pair(&mut self, from: Rank, to: Rank) -> Result<(), Fault> {
        let pair = self.pair_mut(from, to);
        if pair.sends.is_empty() {
            return Ok(());
        }
        let Some(place) = pair.recvs.pop_front() else {
            return Ok(());
        };
        let values = pair.sends.pop_front().unwrap_or_default();
        let sent = values.len() as u64;
        let expected = place.as_ref().map_or(0, Place::units);
        if sent != expected {
            return Err(Fault::LengthMismatch {
                from,
                to,
                sent,
                expected,
            });
        }
        if let Some(place) = place {
            self.processes[to as usize]
                .memory
                .write_place(&place, values);
        }
        self.messages += 1;
        // Messages of a round are sent when it begins.
        let heard = std::mem::take(&mut self.processes[from as usize].heard_before);
        self.processes[to as usize].heard.add(&heard);
        self.processes[from as usize].heard_before = heard;
        let [sender, receiver] = [from, to].map(|rank| self.processes[rank as usize].began);
        let began = sender.max(receiver);
        let end = Clocks {
            steps: (began.steps.0 + 1, began.steps.1),
            moved: began.moved + sent,
        };
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

    fn locate_span(&self, rank: Rank, span: &Span) -> Result<Place, Misdeed> {
        let layout = &self.processes[rank as usize].memory.layout;
        layout.locate(span).ok_or(Misdeed::OutOfBounds)
    }

    fn read_span(&self, rank: Rank, span: &Span) -> Result<Vec<D::Value>, Misdeed> {
        let place = self.locate_span(rank, span)?;
        let mut values = Vec::with_capacity(place.units() as usize);
        for value in self.processes[rank as usize].memory.read_place(&place) {
            values.push(value.ok_or(Misdeed::ReadsUndefined)?.clone());
        }
        Ok(values)
    }
}
