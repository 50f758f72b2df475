//! Finds schedules of one call that are carried out in the same way, whatever their algorithms are called.
//!
//! On two ranks a linear, a binomial and a chained broadcast are the same message. Schedules are compared as an
//! executor reads them: for every rank, round by round, the messages to be sent, those to be received, and the local
//! work, each in order, with peers and places in memory. Actions without data are left out, and scratch buffers are
//! numbered in the order in which a rank names them. For two equal schedules an executor makes the same calls with
//! the same lengths in the same order, posts the same receives ahead, and combines and copies the same units from and
//! to the same places.

use rustc_hash::FxHashMap;

use crate::layout::Place;
use crate::program::Program;
use crate::{Action, Buffer, Layout, Rank, Round, Schedule, Span};

/// The most rounds of a program that an executor resolves in advance; longer programs are resolved as they run, so
/// that memory does not grow with the number of blocks. A program below this limit is carried out differently from
/// one above it.
pub const RESOLVED_ROUNDS: u64 = 2048;

/// The most actions and rounds that are compared; a longer schedule counts as different from all others.
const MOST_STEPS: u64 = 16 << 10;

/// The number of actions that take as much time as starting a rank's program.
const STEPS_A_RANK: u64 = 8;

/// For each of several schedules of one call, the index of the first one that is carried out in the same way; its own
/// index if there is no earlier one.
///
/// The schedules have the same collective, ranks, root and vector. All are read in parallel, and each is read only
/// until it differs from all others, which is mostly in the first rounds.
pub fn first_alike(schedules: &[Schedule]) -> Vec<usize> {
    let mut firsts: Vec<usize> = (0..schedules.len()).collect();
    let all = schedules.iter().enumerate();
    let mut groups: Vec<Vec<ScheduleReader<'_>>> = vec![all.map(ScheduleReader::new).collect()];
    while let Some(group) = groups.pop() {
        let mut parts: FxHashMap<ReadItem, Vec<ScheduleReader<'_>>> = FxHashMap::default();
        for mut reader in group {
            if let Some(reading) = reader.next_item() {
                parts.entry(reading).or_default().push(reader);
            }
        }
        for (reading, part) in parts.into_iter().filter(|(_, part)| part.len() > 1) {
            match reading {
                ReadItem::End => {
                    let first = part.iter().map(|reader| reader.place).min();
                    for reader in &part {
                        firsts[reader.place] = first.unwrap_or(reader.place);
                    }
                }
                ReadItem::Rank { .. } | ReadItem::Round(_) => groups.push(part),
            }
        }
    }
    firsts
}

/// The next item of a schedule.
#[derive(PartialEq, Eq, Hash)]
enum ReadItem {
    /// The program of the next rank.
    Rank { is_resolved: bool },
    /// A round with data: sends, receives, then work.
    Round(Vec<ResolvedStep>),
    /// The end of the last rank's program.
    End,
}

/// An action with its spans resolved to places.
#[derive(PartialEq, Eq, Hash)]
enum ResolvedStep {
    /// The place is absent if the message is empty.
    Send(Rank, Option<Place>),
    Recv(Rank, Option<Place>),
    Combine([Place; 3]),
    Copy([Place; 2]),
}

/// A schedule being read, from its first rank's first round to its last rank's last.
struct ScheduleReader<'a> {
    /// Its position among the schedules.
    place: usize,
    schedule: &'a Schedule,
    /// The number of ranks with programs that have been begun.
    ranks: Rank,
    program: Box<dyn Program>,
    layout: Layout,
    /// The next round of the last rank.
    next: u64,
    round: Round,
    /// The rank's scratch buffers in the order in which they are named.
    scratch: Vec<Buffer>,
    /// The number of actions and rounds so far, including the costs of starting the ranks' programs.
    steps: u64,
}

impl<'a> ScheduleReader<'a> {
    fn new((place, schedule): (usize, &'a Schedule)) -> Self {
        Self {
            place,
            schedule,
            ranks: 0,
            program: Box::new(crate::program::Nothing),
            layout: schedule.layout(0),
            next: 0,
            round: Round::default(),
            scratch: Vec::new(),
            steps: STEPS_A_RANK * u64::from(schedule.shape().ranks),
        }
    }

    /// The next item; `None` if the schedule is too long to be compared.
    fn next_item(&mut self) -> Option<ReadItem> {
        while self.next < self.program.rounds() {
            self.round.clear();
            self.program.round(self.next, &mut self.round);
            self.next += 1;
            self.count_steps(1 + self.round.actions().len() as u64)?;
            let steps = self.resolve_steps()?;
            if !steps.is_empty() {
                return Some(ReadItem::Round(steps));
            }
        }
        if self.ranks == self.schedule.shape().ranks {
            return Some(ReadItem::End);
        }
        self.count_steps(0)?;
        self.program = self.schedule.program(self.ranks);
        self.layout = self.schedule.layout(self.ranks);
        self.ranks += 1;
        self.next = 0;
        self.scratch.clear();
        let is_resolved = self.program.rounds() <= RESOLVED_ROUNDS;
        Some(ReadItem::Rank { is_resolved })
    }

    fn count_steps(&mut self, steps: u64) -> Option<()> {
        self.steps += steps;
        (self.steps <= MOST_STEPS).then_some(())
    }

    /// The round's sends, receives and work; `None` if a span exceeds its buffer.
    fn resolve_steps(&mut self) -> Option<Vec<ResolvedStep>> {
        let [mut steps, mut recvs, mut work] = [const { Vec::new() }; 3];
        let round = std::mem::take(&mut self.round);
        for action in round.actions() {
            match action {
                Action::Send { to, span } => {
                    let place = self.numbered_place(span)?;
                    if !place.is_empty() {
                        steps.push(ResolvedStep::Send(*to, Some(place)));
                    }
                }
                Action::Recv { from, span } => {
                    let place = self.numbered_place(span)?;
                    if !place.is_empty() {
                        recvs.push(ResolvedStep::Recv(*from, Some(place)));
                    }
                }
                Action::Signal { to } => steps.push(ResolvedStep::Send(*to, None)),
                Action::Await { from } => recvs.push(ResolvedStep::Recv(*from, None)),
                Action::Combine { left, right, into } => {
                    let places = [
                        self.numbered_place(left)?,
                        self.numbered_place(right)?,
                        self.numbered_place(into)?,
                    ];
                    if !places[2].is_empty() {
                        work.push(ResolvedStep::Combine(places));
                    }
                }
                Action::Copy { from, into } => {
                    let places = [self.numbered_place(from)?, self.numbered_place(into)?];
                    if places[0] != places[1] && !places[1].is_empty() {
                        work.push(ResolvedStep::Copy(places));
                    }
                }
            }
        }
        self.round = round;
        steps.append(&mut recvs);
        steps.append(&mut work);
        Some(steps)
    }

    /// The place of a span, with scratch buffers numbered in the order in which they are named.
    fn numbered_place(&mut self, span: &Span) -> Option<Place> {
        let mut place = self.layout.locate(span)?;
        if let Buffer::Scratch(_) = place.memory {
            let known = self.scratch.iter().position(|name| *name == place.memory);
            let number = known.unwrap_or_else(|| {
                self.scratch.push(place.memory);
                self.scratch.len() - 1
            });
            place.memory = Buffer::Scratch(number as u8);
        }
        Some(place)
    }
}
