//! Exports schedules as traces for other simulators.
//!
//! Both formats describe one rank at a time. Messages of a pair have the tags 0, 1, 2, ..., so they are matched as
//! here under any matching rules, and the requests of one round can be distinguished. Transfers of empty spans are
//! left out, copies cost nothing, and signals have one byte, because both simulators interpret the length 0
//! differently.

use std::collections::HashMap;

use thiserror::Error;

use crate::{Action, Layout, Rank, Round, Schedule, Span};

mod goal;
mod simgrid;

/// The units of the simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Bytes of a unit.
    pub unit_bytes: u64,
    /// The cost of combining a byte, in the simulator's measure of work.
    pub combine_cost: u64,
}

/// A message is longer than the simulators can count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "the message of {bytes} bytes between ranks {rank} and {peer} is longer than the {} bytes that simulators can count",
    Self::LIMIT
)]
pub struct TooLong {
    /// The rank whose action has the message.
    pub rank: Rank,
    /// The other end.
    pub peer: Rank,
    /// Length of the message.
    pub bytes: u64,
}

impl TooLong {
    /// Both simulators keep lengths in 32 bits, SimGrid with a sign.
    pub const LIMIT: u64 = i32::MAX as u64;
}

/// A schedule in the units of a simulator, as text in GOAL or as time-independent traces.
#[derive(Clone, Copy, Debug)]
pub struct ScheduleExport<'a> {
    schedule: &'a Schedule,
    scale: Scale,
}

impl<'a> ScheduleExport<'a> {
    /// Checks that both simulators can count the bytes of all messages.
    ///
    /// # Errors
    /// If a message is too long.
    pub fn new(schedule: &'a Schedule, scale: Scale) -> Result<Self, TooLong> {
        check_lengths(schedule, scale)?;
        Ok(Self { schedule, scale })
    }
}

/// The words before the number of units, which is that of no rank if blocks differ in length.
fn most_if_uneven(schedule: &Schedule) -> &'static str {
    if schedule.has_uneven_blocks() {
        "on each rank at most "
    } else {
        ""
    }
}

/// One end of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Transfer {
    peer: Rank,
    bytes: u64,
    tag: u64,
}

/// The actions of a rank in one round, without the empty ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Step {
    sends: Vec<Transfer>,
    recvs: Vec<Transfer>,
    /// The work of all combinations; `None` if there are none.
    work: Option<u64>,
}

impl Step {
    fn is_empty(&self) -> bool {
        self.sends.is_empty() && self.recvs.is_empty() && self.work.is_none()
    }
}

/// Converts a rank's rounds to steps.
struct Stepper {
    scale: Scale,
    layout: Layout,
    sent: HashMap<Rank, u64>,
    received: HashMap<Rank, u64>,
}

/// Checks that the simulators can represent the length of every message.
fn check_lengths(schedule: &Schedule, scale: Scale) -> Result<(), TooLong> {
    // No message is longer than the whole vector, so most calls need no check of individual messages.
    let vector = schedule.vector_units().saturating_mul(scale.unit_bytes);
    if vector <= TooLong::LIMIT {
        return Ok(());
    }
    for rank in 0..schedule.shape().ranks {
        let mut longest: Option<Transfer> = None;
        for_each_step(schedule, scale, rank, |step| {
            let transfers = step.sends.iter().chain(&step.recvs).copied();
            longest = transfers
                .chain(longest)
                .max_by_key(|transfer| transfer.bytes);
        });
        if let Some(Transfer { peer, bytes, .. }) = longest
            && bytes > TooLong::LIMIT
        {
            return Err(TooLong { rank, peer, bytes });
        }
    }
    Ok(())
}

/// Calls `each` with the steps of one rank, in order.
fn for_each_step(schedule: &Schedule, scale: Scale, rank: Rank, mut each: impl FnMut(&Step)) {
    let mut stepper = Stepper {
        scale,
        layout: schedule.layout(rank),
        sent: HashMap::new(),
        received: HashMap::new(),
    };
    let program = schedule.program(rank);
    let mut round = Round::default();
    for index in 0..program.rounds() {
        round.clear();
        program.round(index, &mut round);
        let step = stepper.step_of_round(&round);
        if !step.is_empty() {
            each(&step);
        }
    }
}

impl Stepper {
    fn step_of_round(&mut self, round: &Round) -> Step {
        let mut step = Step::default();
        for action in round.actions() {
            match action {
                Action::Send { to, span } => {
                    let bytes = self.span_bytes(span);
                    step.sends.extend(next_transfer(&mut self.sent, *to, bytes));
                }
                Action::Recv { from, span } => {
                    let bytes = self.span_bytes(span);
                    step.recvs
                        .extend(next_transfer(&mut self.received, *from, bytes));
                }
                Action::Signal { to } => step.sends.extend(next_transfer(&mut self.sent, *to, 1)),
                Action::Await { from } => {
                    step.recvs
                        .extend(next_transfer(&mut self.received, *from, 1));
                }
                Action::Combine { into, .. } => {
                    let work = self
                        .span_bytes(into)
                        .saturating_mul(self.scale.combine_cost);
                    if work > 0 {
                        step.work = Some(step.work.unwrap_or(0).saturating_add(work));
                    }
                }
                Action::Copy { .. } => {}
            }
        }
        step
    }

    fn span_bytes(&self, span: &Span) -> u64 {
        let place = self.layout.locate(span);
        let units = place.map_or(0, |place| place.units());
        units.saturating_mul(self.scale.unit_bytes)
    }
}

/// The next message to or from a peer; `None` if it is empty.
fn next_transfer(tags: &mut HashMap<Rank, u64>, peer: Rank, bytes: u64) -> Option<Transfer> {
    if bytes == 0 {
        return None;
    }
    let next = tags.entry(peer).or_default();
    let tag = *next;
    *next += 1;
    Some(Transfer { peer, bytes, tag })
}
