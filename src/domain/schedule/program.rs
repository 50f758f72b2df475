//! One rank's part in a schedule.
//!
//! A program computes its rounds when they are asked for. So a pipeline of a million blocks needs no more memory than
//! one of a single block, and many algorithms are others read from their end. Starting a program takes at most O(log²
//! p).

use crate::Rank;
use crate::round::{Action, Round};
use crate::span::{Buffer, Partition, Span};

/// The rounds of one rank, computed on demand.
///
/// A program is a function of the round's number and has no state: several readers can read it, it can be suspended
/// by storing a number, and it can be reversed. Producing a round takes time proportional to its actions.
pub trait Program: Send + Sync {
    /// The number of rounds. Rounds may be empty.
    fn rounds(&self) -> u64;

    /// Adds the actions of round `index`, which is below [`Program::rounds`].
    fn round(&self, index: u64, round: &mut Round);
}

/// A program without rounds.
pub(crate) struct Nothing;

impl Program for Nothing {
    fn rounds(&self) -> u64 {
        0
    }

    fn round(&self, _: u64, _: &mut Round) {}
}

/// A single round that copies the rank's own contribution to the output, which is all that most collectives do on one
/// rank.
pub(crate) struct CopyOwn;

impl Program for CopyOwn {
    fn rounds(&self) -> u64 {
        1
    }

    fn round(&self, _: u64, round: &mut Round) {
        // The only part.
        let own = |buffer| Span::block(buffer, Partition::parts(1), 0);
        round.copy(own(Buffer::Input), own(Buffer::Output));
    }
}

/// One program after another.
pub(crate) struct Sequence(pub(crate) Box<dyn Program>, pub(crate) Box<dyn Program>);

impl Program for Sequence {
    fn rounds(&self) -> u64 {
        self.0.rounds() + self.1.rounds()
    }

    fn round(&self, index: u64, round: &mut Round) {
        match index.checked_sub(self.0.rounds()) {
            None => self.0.round(index, round),
            Some(index) => self.1.round(index, round),
        }
    }
}

/// The number of rounds at the start of a program in which sizes are told.
pub(crate) const SIZE_ROUNDS: u64 = 2;

/// A program after the rounds in which the rank is told sizes, and tells its own together with them.
pub(crate) struct SizesFirst {
    pub(crate) program: Box<dyn Program>,
    /// The ranks that tell this one sizes.
    pub(crate) from: Vec<Rank>,
    /// The rank that is told the sum.
    pub(crate) to: Option<Rank>,
}

impl Program for SizesFirst {
    fn rounds(&self) -> u64 {
        SIZE_ROUNDS + self.program.rounds()
    }

    fn round(&self, index: u64, round: &mut Round) {
        match index {
            0 => self.from.iter().for_each(|from| round.wait_for(*from)),
            1 => self.to.iter().for_each(|to| round.signal(*to)),
            _ => self.program.round(index - SIZE_ROUNDS, round),
        }
    }
}

/// A program without its first rounds.
pub(crate) struct Later {
    pub(crate) program: Box<dyn Program>,
    pub(crate) skipped: u64,
}

impl Program for Later {
    fn rounds(&self) -> u64 {
        self.program.rounds().saturating_sub(self.skipped)
    }

    fn round(&self, index: u64, round: &mut Round) {
        self.program.round(index + self.skipped, round);
    }
}

/// The names of an inner program's buffers in the outer one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names {
    pub(crate) input: Buffer,
    pub(crate) output: Buffer,
    pub(crate) scratch: ScratchNames,
}

impl Names {
    /// The call's own input and output, and scratch buffers that start after `others` others.
    pub(crate) fn own_after(others: usize) -> Self {
        Self {
            input: Buffer::Input,
            output: Buffer::Output,
            scratch: ScratchNames::After(others as u8),
        }
    }

    /// The outer name of a buffer of the inner program.
    pub(crate) fn outer_name(&self, buffer: Buffer) -> Buffer {
        match (buffer, self.scratch) {
            (Buffer::Input, _) => self.input,
            (Buffer::Output, _) => self.output,
            (Buffer::Scratch(index), ScratchNames::After(others)) => {
                Buffer::Scratch(index + others)
            }
            (Buffer::Scratch(_), ScratchNames::Are(buffer)) => buffer,
        }
    }
}

/// The outer names of an inner program's scratch buffers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ScratchNames {
    /// Scratch buffers after this many others.
    After(u8),
    /// A single buffer, which holds every block at its own place.
    Are(Buffer),
}

/// A program with renamed buffers, for use inside another one.
pub(crate) struct Renamed {
    pub(crate) program: Box<dyn Program>,
    pub(crate) names: Names,
}

impl Program for Renamed {
    fn rounds(&self) -> u64 {
        self.program.rounds()
    }

    fn round(&self, index: u64, round: &mut Round) {
        let outer = round.actions().len();
        self.program.round(index, round);
        for action in &mut round.actions_mut()[outer..] {
            action.spans_mut(|span| span.buffer = self.names.outer_name(span.buffer));
        }
    }
}

/// A program that moves data, without what one rank, which has all of it, would receive. That rank's memory is not
/// written.
pub(crate) struct Sparing {
    pub(crate) program: Box<dyn Program>,
    pub(crate) rank: Rank,
    /// The rank that has all data.
    pub(crate) owner: Rank,
}

impl Program for Sparing {
    fn rounds(&self) -> u64 {
        self.program.rounds()
    }

    fn round(&self, index: u64, round: &mut Round) {
        let outer = round.actions().len();
        self.program.round(index, round);
        let mut place = 0;
        round.actions_mut().retain(|action| {
            place += 1;
            place <= outer || !self.is_needless(action)
        });
    }
}

impl Sparing {
    fn is_needless(&self, action: &Action) -> bool {
        match *action {
            Action::Recv { .. } => self.rank == self.owner,
            Action::Send { to, .. } => to == self.owner,
            _ => false,
        }
    }
}

/// A program that moves data, run backwards: its dual.
///
/// The rounds and their actions are in reverse order, and sends and receives are exchanged, as are input and output.
/// A gather becomes a scatter.
pub(crate) struct Reversed(pub(crate) Box<dyn Program>);

impl Program for Reversed {
    fn rounds(&self) -> u64 {
        self.0.rounds()
    }

    fn round(&self, index: u64, round: &mut Round) {
        let outer = round.actions().len();
        self.0.round(self.0.rounds() - 1 - index, round);
        let actions = &mut round.actions_mut()[outer..];
        actions.reverse();
        for action in actions {
            *action = match *action {
                Action::Send { to: from, span } => Action::Recv { from, span },
                Action::Recv { from: to, span } => Action::Send { to, span },
                Action::Signal { to: from } => Action::Await { from },
                Action::Await { from: to } => Action::Signal { to },
                Action::Copy { from, into } => Action::Copy {
                    from: into,
                    into: from,
                },
                Action::Combine { .. } => unreachable!("data movement combines nothing"),
            };
            action.spans_mut(|span| {
                span.buffer = match span.buffer {
                    Buffer::Input => Buffer::Output,
                    Buffer::Output => Buffer::Input,
                    scratch => scratch,
                }
            });
        }
    }
}
