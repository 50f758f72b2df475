//! Runs the programs of a schedule against each other's clocks.
//!
//! A rank whose round has begun is suspended until its last transfer has ended. Where a sender has
//! one message to send in its round and the receiver one to receive, both ports are free when both
//! are there, because the transfers of earlier rounds have ended. Such messages are carried at once,
//! in whatever order the ranks come up: clocks are maxima and sums along dependencies, and no port is
//! wanted twice ([`Order::Dependency`]). All others wait in the agenda until nothing else can go on.
//! Then the one that can start first starts: whatever becomes ready later does so after it.
//!
//! Eager messages, and ports that the ranks of a node share, are in the way of messages of other
//! rounds. Then all messages go through the agenda ([`Order::Time`]).

use std::collections::HashMap;

use schedule::{Action, Rank, Round, Schedule, Span};

use super::agenda::Agenda;
use super::carrying::NodePorts;
use super::offers::{Earlies, Offers};
use super::ports::{Due, Port, Queue};
use super::prices::Prices;
use super::process::Process;
use super::trace::{Labour, Observer, Work};
use super::{Simulation, SimulationError};

/// Which messages start without waiting for others to be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Those whose ports nobody else can want.
    Dependency,
    /// None.
    Time,
}

/// Why the engine stopped before the end.
pub(super) enum Halt {
    /// An eager message in the order of dependencies.
    Eager,
    /// The schedule cannot be simulated.
    Error(SimulationError),
}

impl From<SimulationError> for Halt {
    fn from(error: SimulationError) -> Self {
        Self::Error(error)
    }
}

/// The programs under way.
pub(super) struct Engine<'a, O> {
    pub(super) schedule: &'a Schedule,
    pub(super) prices: &'a Prices,
    pub(super) order: Order,
    pub(super) processes: Vec<Process>,
    pub(super) nodes: Vec<NodePorts>,
    pub(super) runnable: Vec<Rank>,
    pub(super) agenda: Agenda<Due>,
    /// Messages that are ready and wait for a port.
    pub(super) queues: HashMap<Port, Queue>,
    pub(super) offers: Offers,
    pub(super) earlies: Earlies,
    pub(super) messages: u64,
    pub(super) round: Round,
    pub(super) lengths: Vec<u64>,
    pub(super) observer: O,
}

impl<'a, O: Observer> Engine<'a, O> {
    pub(super) fn new(
        schedule: &'a Schedule,
        prices: &'a Prices,
        order: Order,
        observer: O,
    ) -> Self {
        let ranks = schedule.shape().ranks;
        let nodes = match prices.shares_ports_of_nodes() {
            true => prices.nodes() as usize,
            false => 0,
        };
        Self {
            schedule,
            prices,
            order,
            processes: (0..ranks)
                .map(|rank| Process::new(schedule.program(rank)))
                .collect(),
            nodes: vec![NodePorts::default(); nodes],
            runnable: (0..ranks).rev().collect(),
            agenda: Agenda::new(),
            queues: HashMap::new(),
            offers: Offers::default(),
            earlies: Earlies::default(),
            messages: 0,
            round: Round::default(),
            lengths: Vec::new(),
            observer,
        }
    }

    pub(super) fn into_observer(self) -> O {
        self.observer
    }

    /// Runs all programs to their ends.
    pub(super) fn run(&mut self) -> Result<Simulation, Halt> {
        let mut due = Vec::new();
        loop {
            while let Some(rank) = self.runnable.pop() {
                self.go_on(rank)?;
            }
            let Some(now) = self.agenda.take_next(&mut due) else {
                break;
            };
            self.grant(now, &mut due)?;
        }
        if let Some(rank) = self.processes.iter().position(|p| p.waiting > 0) {
            let round = self.processes[rank].next - 1;
            let rank = rank as Rank;
            return Err(SimulationError::Stuck { rank, round }.into());
        }
        let finished: Vec<f64> = self.processes.iter().map(|p| p.ends).collect();
        Ok(Simulation {
            seconds: finished.iter().copied().fold(0.0, f64::max),
            finished,
            messages: self.messages,
        })
    }

    pub(super) fn process(&mut self, rank: Rank) -> &mut Process {
        &mut self.processes[rank as usize]
    }

    /// Begins rounds until one of them has to wait for others.
    fn go_on(&mut self, rank: Rank) -> Result<(), Halt> {
        let mut round = std::mem::take(&mut self.round);
        loop {
            let process = self.process(rank);
            if process.next > 0 {
                let (index, end) = (process.next - 1, process.ends);
                self.observer.round(rank, index, end);
            }
            let process = self.process(rank);
            if process.next == process.rounds {
                break;
            }
            round.clear();
            process.program.round(process.next, &mut round);
            process.next += 1;
            process.began = process.ends;
            self.measure(rank, round.actions())?;
            self.post(rank, round.actions())?;
            let process = self.process(rank);
            process.waiting -= 1;
            if process.waiting > 0 {
                break;
            }
        }
        self.round = round;
        Ok(())
    }

    /// Takes the lengths of the messages of a round, and does its local work.
    fn measure(&mut self, rank: Rank, actions: &[Action]) -> Result<(), Halt> {
        self.lengths.clear();
        let (mut sends, mut recvs) = (0, 0);
        let mut processor = self.process(rank).began;
        for action in actions {
            let bytes = |span: &Span| self.prices.bytes(self.schedule, span);
            let length = match action {
                Action::Send { span, .. } | Action::Recv { span, .. } => bytes(span),
                Action::Combine { into, .. } => {
                    let bytes = bytes(into);
                    let seconds = self.prices.combine(bytes)?;
                    processor = self.work(rank, Labour::Combine, bytes, processor, seconds)?;
                    continue;
                }
                Action::Copy { from, into } => {
                    let bytes = bytes(into);
                    let seconds = self.copy_seconds(rank, from, into, bytes);
                    processor = self.work(rank, Labour::Copy, bytes, processor, seconds)?;
                    continue;
                }
                Action::Signal { .. } | Action::Await { .. } => 0,
            };
            match action {
                Action::Send { .. } if length > 0 => sends += 1,
                Action::Recv { .. } if length > 0 => recvs += 1,
                Action::Signal { .. } => sends += 1,
                Action::Await { .. } => recvs += 1,
                _ => {}
            }
            self.lengths.push(length);
        }
        let process = self.process(rank);
        process.sends = sends;
        process.recvs = recvs;
        // One more: nothing of it is over before all of it is put forward.
        process.waiting = sends + recvs + 1;
        process.ends = processor;
        Ok(())
    }

    /// The time for a copy, which moves nothing where both of its ends are the same memory.
    fn copy_seconds(&self, rank: Rank, from: &Span, into: &Span, bytes: u64) -> f64 {
        let seconds = self.prices.copy(bytes);
        if seconds == 0.0 || from == into {
            return 0.0;
        }
        let layout = self.schedule.layout(rank);
        match layout.locate(from) == layout.locate(into) {
            true => 0.0,
            false => seconds,
        }
    }

    /// Does local work from `start`; returns its end. What takes no time is nothing to see.
    fn work(
        &mut self,
        rank: Rank,
        labour: Labour,
        bytes: u64,
        start: f64,
        seconds: f64,
    ) -> Result<f64, Halt> {
        if seconds == 0.0 {
            return Ok(start);
        }
        let end = start + seconds;
        let round = self.process(rank).next - 1;
        self.observer.work(Work {
            rank,
            round,
            labour,
            bytes,
            start,
            end,
        })?;
        Ok(end)
    }

    /// Puts the transfers of a round forward.
    fn post(&mut self, rank: Rank, actions: &[Action]) -> Result<(), Halt> {
        let mut place = 0;
        for action in actions {
            let is_transfer = !matches!(action, Action::Combine { .. } | Action::Copy { .. });
            let length = match is_transfer {
                true => self.lengths[place],
                false => continue,
            };
            place += 1;
            match *action {
                Action::Send { to, .. } if length > 0 => self.send(rank, to, length)?,
                Action::Recv { from, .. } if length > 0 => self.receive(from, rank)?,
                Action::Signal { to } => self.send(rank, to, 0)?,
                Action::Await { from } => self.receive(from, rank)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// One of the transfers of a rank's round ends.
    pub(super) fn ends(&mut self, rank: Rank, time: f64) {
        let process = self.process(rank);
        process.ends = process.ends.max(time);
        process.waiting -= 1;
        if process.waiting == 0 {
            self.runnable.push(rank);
        }
    }
}
