//! What happened in a simulation, and what its end had to wait for.

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
    /// The receiver's round; absent if it was eager and was not received.
    pub to_round: Option<u64>,
    /// The receiver's round with which its receive was posted; absent if it is eager and did not wait for that.
    pub(super) posted_round: Option<u64>,
    /// What it is priced as.
    pub level: Level,
    /// Its length; 0 if it is a signal.
    pub bytes: u64,
    /// When the sender had reached its round, and the receive was posted unless it is eager.
    pub ready: f64,
    /// When it started.
    pub start: f64,
    /// When both ports were free again, and the sender was done.
    pub freed: f64,
    /// When the receiver had the data.
    pub delivered: f64,
}

/// What a rank's processor does.
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
    /// Which kind.
    pub labour: Labour,
    /// What is written.
    pub bytes: u64,
    /// When it began.
    pub start: f64,
    /// When it ended.
    pub end: f64,
}

/// Everything that happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Every message, in the order in which they were carried: those that one rank sends, and those that it receives,
    /// by time.
    pub messages: Vec<Message>,
    /// Every combination and copy; those of one rank by time.
    pub work: Vec<Work>,
    /// When each round of each rank ended.
    pub rounds: Vec<Vec<f64>>,
    limit: usize,
}

/// A step of a critical path: it ends when the next one starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// When it starts.
    pub start: f64,
    /// When what waits for it goes on.
    pub end: f64,
    /// What takes the time.
    pub event: Event,
}

/// What a segment consists of, as an index into the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// One of the trace's messages.
    Message(usize),
    /// One of its pieces of work.
    Work(usize),
}

/// Where the way back from the end has come to.
#[derive(Clone, Copy)]
enum Back {
    /// To the end of a rank's round; before the first one if absent.
    Round(Rank, Option<u64>),
    /// To the end of an event that something waited for on the spot: for a port or the processor.
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

    /// When a rank's round began.
    pub fn began(&self, rank: Rank, round: u64) -> f64 {
        match round.checked_sub(1) {
            Some(before) => self.rounds[rank as usize][before as usize],
            None => 0.0,
        }
    }

    /// What the last rank had to wait for, from the common start to the end without a gap: messages
    /// and work, each of which began when the one before it ended.
    pub fn critical_path(&self) -> Vec<Segment> {
        let by_round = self.by_round();
        let ends = self.rounds.iter().map(|ends| ends.last().copied());
        let last = (0..)
            .zip(ends)
            .max_by(|a, b| a.1.unwrap_or(0.0).total_cmp(&b.1.unwrap_or(0.0)));
        let Some((rank, Some(_))) = last else {
            return Vec::new();
        };
        let rounds = self.rounds[rank as usize].len() as u64;
        let mut back = Back::Round(rank, rounds.checked_sub(1));
        let mut path = Vec::new();
        while let Some(segment) = self.before(&mut back, &by_round) {
            path.push(segment);
        }
        path.reverse();
        path
    }

    /// What is over in which round.
    fn by_round(&self) -> HashMap<(Rank, u64), Vec<Event>> {
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

    /// The segment that ends where the way has come to; goes on to its beginning.
    ///
    /// Times are compared for equality: each is the maximum of others.
    fn before(
        &self,
        back: &mut Back,
        by_round: &HashMap<(Rank, u64), Vec<Event>>,
    ) -> Option<Segment> {
        loop {
            let (rank, round) = match *back {
                Back::Round(_, None) => return None,
                Back::Round(rank, Some(round)) => (rank, round),
                Back::Event(event) => {
                    *back = self.cause(event);
                    let (start, end) = match event {
                        Event::Message(index) => {
                            (self.messages[index].start, self.messages[index].freed)
                        }
                        Event::Work(index) => (self.work[index].start, self.work[index].end),
                    };
                    return Some(Segment { start, end, event });
                }
            };
            let end = self.rounds[rank as usize][round as usize];
            let events = by_round.get(&(rank, round)).map_or(&[][..], Vec::as_slice);
            let last = events
                .iter()
                .find(|event| self.held(**event, rank).1 == end);
            match last {
                Some(event) if end > self.began(rank, round) => {
                    *back = self.cause(*event);
                    let (start, end) = self.held(*event, rank);
                    let event = *event;
                    return Some(Segment { start, end, event });
                }
                _ => *back = Back::Round(rank, round.checked_sub(1)),
            }
        }
    }

    /// From when to when an event keeps a rank in its round.
    fn held(&self, event: Event, rank: Rank) -> (f64, f64) {
        match event {
            Event::Message(index) => {
                let message = &self.messages[index];
                match message.from == rank {
                    true => (message.start, message.freed),
                    false => (message.start, message.delivered),
                }
            }
            Event::Work(index) => (self.work[index].start, self.work[index].end),
        }
    }

    /// What an event waited for before it started.
    fn cause(&self, event: Event) -> Back {
        match event {
            Event::Message(index) => self.cause_of_message(index),
            Event::Work(index) => {
                let work = &self.work[index];
                let busy = |other: &Work| {
                    other.rank == work.rank && other.round == work.round && other.end == work.start
                };
                match self.work[..index].iter().rposition(busy) {
                    Some(before) if work.start > self.began(work.rank, work.round) => {
                        Back::Event(Event::Work(before))
                    }
                    _ => Back::Round(work.rank, work.round.checked_sub(1)),
                }
            }
        }
    }

    fn cause_of_message(&self, index: usize) -> Back {
        let message = &self.messages[index];
        let round = |rank: Rank, round: u64| {
            let is_last = self.began(rank, round) == message.start;
            is_last.then_some(Back::Round(rank, round.checked_sub(1)))
        };
        let sender = || round(message.from, message.from_round);
        let receiver = || round(message.to, message.posted_round?);
        let port = || {
            let before = self.messages[..index].iter().rposition(|other| {
                let shares = other.from == message.from || other.to == message.to;
                shares && other.freed == message.start
            });
            before.map(|index| Back::Event(Event::Message(index)))
        };
        let first = Back::Round(message.from, message.from_round.checked_sub(1));
        sender().or_else(receiver).or_else(port).unwrap_or(first)
    }
}

/// Is told what happens, and may look away, which costs nothing.
pub(super) trait Observer {
    /// A rank's round has ended.
    fn round(&mut self, _rank: Rank, _round: u64, _end: f64) {}

    /// A piece of work is done.
    fn work(&mut self, _work: Work) -> Result<(), SimulationError> {
        Ok(())
    }

    /// A message starts; gives it a number.
    fn message(&mut self, _message: Message) -> Result<usize, SimulationError> {
        Ok(0)
    }

    /// A message is received that did not wait for its receiver.
    fn received(&mut self, _number: usize, _round: u64) {}
}

impl Observer for Trace {
    fn round(&mut self, rank: Rank, _: u64, end: f64) {
        self.rounds[rank as usize].push(end);
    }

    fn work(&mut self, work: Work) -> Result<(), SimulationError> {
        self.work.push(work);
        self.check()
    }

    fn message(&mut self, message: Message) -> Result<usize, SimulationError> {
        self.messages.push(message);
        self.check()?;
        Ok(self.messages.len() - 1)
    }

    fn received(&mut self, number: usize, round: u64) {
        self.messages[number].to_round = Some(round);
    }
}

impl Trace {
    fn check(&self) -> Result<(), SimulationError> {
        let limit = self.limit;
        match self.messages.len() + self.work.len() > limit {
            true => Err(SimulationError::TooMuch { limit }),
            false => Ok(()),
        }
    }
}

/// Sees nothing.
pub(super) struct Unobserved;

impl Observer for Unobserved {}
