//! The events of a simulation, and its critical path.

use std::collections::HashMap;

use schedule::Rank;

use super::SimulationError;
use crate::Level;

/// A message; times are seconds from the common start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Message {
    /// The sender.
    pub from: Rank,
    /// The receiver.
    pub to: Rank,
    /// The sender's round.
    pub from_round: u64,
    /// The receiver's round; `None` if it was eager and not received.
    pub to_round: Option<u64>,
    /// The receiver's round with which its receive was posted; `None` if it was eager and did not wait for that.
    pub(super) posted_round: Option<u64>,
    /// The level that determines its cost.
    pub level: Level,
    /// Its length; 0 for an empty message.
    pub bytes: u64,
    /// The time at which the sender had reached its round and, unless it is eager, the receive was posted.
    pub ready: f64,
    /// Its start.
    pub start: f64,
    /// The time at which both ports were free again, and the sender was done.
    pub freed: f64,
    /// The time at which the receiver had the data.
    pub delivered: f64,
}

/// The work of a rank's processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Labour {
    /// Combines.
    Combine,
    /// Copies.
    Copy,
}

/// A combination or a copy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// The rank that works.
    pub rank: Rank,
    /// In which round.
    pub round: u64,
    /// The kind of work.
    pub labour: Labour,
    /// The written buffer.
    pub bytes: u64,
    /// Its start.
    pub start: f64,
    /// Its end.
    pub end: f64,
}

/// All events of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Every message, in the order in which they were carried: those that one rank sends, and those that it receives,
    /// are in order of time.
    pub messages: Vec<Message>,
    /// Every combination and copy; those of one rank are in order of time.
    pub work: Vec<Work>,
    /// The end of each round of each rank.
    pub rounds: Vec<Vec<f64>>,
    limit: usize,
}

/// A step of a critical path, which ends when the next one starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// Its start.
    pub start: f64,
    /// The time at which the next step continues.
    pub end: f64,
    /// The activity in this time.
    pub event: Event,
}

/// The activity of a segment, as an index into the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// A message of the trace.
    Message(usize),
    /// A piece of work of the trace.
    Work(usize),
}

/// The current position on the way back from the end.
#[derive(Clone, Copy)]
enum PathPosition {
    /// The end of a rank's round; the start of the program if `None`.
    Round(Rank, Option<u64>),
    /// The end of an event that another one waited for directly: for a port or the processor.
    Event(Event),
}

impl Trace {
    pub(super) fn new(ranks: u32, limit: usize) -> Self {
        Self {
            messages: Vec::new(),
            work: Vec::new(),
            rounds: vec![Vec::new(); ranks as usize],
            limit,
        }
    }

    /// The start of a rank's round.
    pub fn round_start(&self, rank: Rank, round: u64) -> f64 {
        match round.checked_sub(1) {
            Some(before) => self.rounds[rank as usize][before as usize],
            None => 0.0,
        }
    }

    /// The critical path, from the common start to the end without a gap: messages and work, each of which began when
    /// the one before it ended.
    pub fn critical_path(&self) -> Vec<Segment> {
        let by_round = self.events_by_round();
        let ends = self.rounds.iter().map(|ends| ends.last().copied());
        let last = (0..)
            .zip(ends)
            .max_by(|a, b| a.1.unwrap_or(0.0).total_cmp(&b.1.unwrap_or(0.0)));
        let Some((rank, Some(_))) = last else {
            return Vec::new();
        };
        let rounds = self.rounds[rank as usize].len() as u64;
        let mut back = PathPosition::Round(rank, rounds.checked_sub(1));
        let mut path = Vec::new();
        while let Some(segment) = self.previous_segment(&mut back, &by_round) {
            path.push(segment);
        }
        path.reverse();
        path
    }

    /// The events that end in each round.
    fn events_by_round(&self) -> HashMap<(Rank, u64), Vec<Event>> {
        let mut by_round: HashMap<_, Vec<_>> = HashMap::new();
        for (index, message) in self.messages.iter().enumerate() {
            let mut ends = |rank, round| {
                let events = by_round.entry((rank, round)).or_default();
                events.push(Event::Message(index));
            };
            ends(message.from, message.from_round);
            if let Some(round) = message.to_round {
                ends(message.to, round);
            }
        }
        for (index, work) in self.work.iter().enumerate() {
            let events = by_round.entry((work.rank, work.round)).or_default();
            events.push(Event::Work(index));
        }
        by_round
    }

    /// The segment that ends at the current position, which moves to its beginning.
    ///
    /// Times are compared for equality: each is the maximum of others.
    fn previous_segment(
        &self,
        back: &mut PathPosition,
        by_round: &HashMap<(Rank, u64), Vec<Event>>,
    ) -> Option<Segment> {
        loop {
            let (rank, round) = match *back {
                PathPosition::Round(_, None) => return None,
                PathPosition::Round(rank, Some(round)) => (rank, round),
                PathPosition::Event(event) => {
                    *back = self.cause_of_event(event);
                    let (start, end) = match event {
                        Event::Message(index) => {
                            (self.messages[index].start, self.messages[index].freed)
                        }
                        Event::Work(index) => (self.work[index].start, self.work[index].end),
                    };
                    return Some(Segment { start, end, event });
                }
            };
            let round_end = self.rounds[rank as usize][round as usize];
            let events = by_round.get(&(rank, round)).map_or(&[][..], Vec::as_slice);
            let last = events
                .iter()
                .find(|event| self.holding_interval(**event, rank).1 == round_end);
            match last {
                Some(&event) if round_end > self.round_start(rank, round) => {
                    *back = self.cause_of_event(event);
                    let (start, end) = self.holding_interval(event, rank);
                    return Some(Segment { start, end, event });
                }
                _ => *back = PathPosition::Round(rank, round.checked_sub(1)),
            }
        }
    }

    /// The interval in which an event keeps a rank in its round.
    fn holding_interval(&self, event: Event, rank: Rank) -> (f64, f64) {
        match event {
            Event::Message(index) => {
                let message = &self.messages[index];
                if message.from == rank {
                    (message.start, message.freed)
                } else {
                    (message.start, message.delivered)
                }
            }
            Event::Work(index) => (self.work[index].start, self.work[index].end),
        }
    }

    /// The event that another one waited for before it started.
    fn cause_of_event(&self, event: Event) -> PathPosition {
        match event {
            Event::Message(index) => self.cause_of_message(index),
            Event::Work(index) => {
                let work = &self.work[index];
                let busy = |other: &Work| {
                    other.rank == work.rank && other.round == work.round && other.end == work.start
                };
                match self.work[..index].iter().rposition(busy) {
                    Some(before) if work.start > self.round_start(work.rank, work.round) => {
                        PathPosition::Event(Event::Work(before))
                    }
                    _ => PathPosition::Round(work.rank, work.round.checked_sub(1)),
                }
            }
        }
    }

    fn cause_of_message(&self, index: usize) -> PathPosition {
        let message = &self.messages[index];
        let round = |rank: Rank, round: u64| {
            let is_last = self.round_start(rank, round) == message.start;
            is_last.then_some(PathPosition::Round(rank, round.checked_sub(1)))
        };
        let sender = || round(message.from, message.from_round);
        let receiver = || round(message.to, message.posted_round?);
        let port = || {
            let before = self.messages[..index].iter().rposition(|other| {
                let shares = other.from == message.from || other.to == message.to;
                shares && other.freed == message.start
            });
            before.map(|earlier| PathPosition::Event(Event::Message(earlier)))
        };
        let first = PathPosition::Round(message.from, message.from_round.checked_sub(1));
        sender().or_else(receiver).or_else(port).unwrap_or(first)
    }
}

/// An observer of the simulation; one that ignores events costs nothing.
pub(super) trait Observer {
    /// Whether it observes messages; then all ranks must be simulated, even if groups of them are alike.
    const OBSERVES_MESSAGES: bool = false;

    /// A rank's round has ended.
    fn round_ended(&mut self, _rank: Rank, _round: u64, _end: f64) {}

    /// A piece of work has ended.
    fn work_ended(&mut self, _work: Work) -> Result<(), SimulationError> {
        Ok(())
    }

    /// A message starts, if it observes messages; returns its number.
    fn message_started(&mut self, _message: Message) -> Result<usize, SimulationError> {
        Ok(0)
    }

    /// A message that did not wait for its receiver is received.
    fn message_received(&mut self, _number: usize, _round: u64) {}
}

impl Observer for Trace {
    const OBSERVES_MESSAGES: bool = true;

    fn round_ended(&mut self, rank: Rank, _: u64, end: f64) {
        self.rounds[rank as usize].push(end);
    }

    fn work_ended(&mut self, work: Work) -> Result<(), SimulationError> {
        self.work.push(work);
        self.check_limit()
    }

    fn message_started(&mut self, message: Message) -> Result<usize, SimulationError> {
        self.messages.push(message);
        self.check_limit()?;
        Ok(self.messages.len() - 1)
    }

    fn message_received(&mut self, number: usize, round: u64) {
        self.messages[number].to_round = Some(round);
    }
}

impl Trace {
    fn check_limit(&self) -> Result<(), SimulationError> {
        let limit = self.limit;
        if self.messages.len() + self.work.len() > limit {
            Err(SimulationError::TooMuch { limit })
        } else {
            Ok(())
        }
    }
}

/// An observer that ignores all events.
pub(super) struct Unobserved;

impl Observer for Unobserved {}
