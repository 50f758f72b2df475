//! One rank's part in a schedule.

use crate::round::{Action, Round};
use crate::span::{Buffer, Span};

/// The rounds of one rank, each computed when it is asked for.
///
/// A program is a function of the round's number and holds no position: it can be pulled by many
/// readers, suspended by keeping a number, and reversed. Producing a round costs time
/// proportional to its actions.
pub trait Program: Send + Sync {
    /// How many rounds there are. Rounds may be empty.
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

/// A single round that copies the own contribution to the output: a reduction among one.
pub(crate) struct CopyOwn;

impl Program for CopyOwn {
    fn rounds(&self) -> u64 {
        1
    }

    fn round(&self, _: u64, round: &mut Round) {
        round.copy(Span::whole(Buffer::Input), Span::whole(Buffer::Output));
    }
}

/// The program of a reduction's only rank.
pub(crate) fn alone(in_place: bool) -> Box<dyn Program> {
    if in_place {
        Box::new(Nothing)
    } else {
        Box::new(CopyOwn)
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

/// A program with its buffers renamed, to stand inside another.
pub(crate) struct Renamed {
    pub(crate) program: Box<dyn Program>,
    /// What the inner program's input is outside.
    pub(crate) input: Buffer,
    /// How many scratch buffers stand before the inner program's.
    pub(crate) scratch_before: u8,
}

impl Renamed {
    fn rename(&self, span: &mut Span) {
        span.buffer = match span.buffer {
            Buffer::Input => self.input,
            Buffer::Output => Buffer::Output,
            Buffer::Scratch(index) => Buffer::Scratch(index + self.scratch_before),
        };
    }
}

impl Program for Renamed {
    fn rounds(&self) -> u64 {
        self.program.rounds()
    }

    fn round(&self, index: u64, round: &mut Round) {
        let outer = round.actions().len();
        self.program.round(index, round);
        for action in &mut round.actions_mut()[outer..] {
            match action {
                Action::Send { span, .. } | Action::Recv { span, .. } => self.rename(span),
                Action::Copy { from, into } => {
                    self.rename(from);
                    self.rename(into);
                }
                Action::Combine { left, right, into } => {
                    self.rename(left);
                    self.rename(right);
                    self.rename(into);
                }
            }
        }
    }
}
