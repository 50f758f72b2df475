//! Rounds with their spans resolved to bytes, and the MPI call that fits each.

use std::ffi::c_int;

use schedule::{Action, Buffer, Round, Schedule, Span};

use crate::ExecError;
use crate::api::count;

/// A piece of one of the executor's buffers, in bytes; [`Resolver`] has checked its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Which buffer, see [`slot`].
    pub(crate) slot: usize,
    pub(crate) start: usize,
    pub(crate) length: usize,
}

impl Place {
    fn overlaps(&self, other: &Self) -> bool {
        self.slot == other.slot
            && self.start < other.start + other.length
            && other.start < self.start + self.length
    }
}

/// The place of a buffer in the executor's list: input, output, then the scratch buffers.
fn slot(buffer: Buffer) -> usize {
    match buffer {
        Buffer::Input => INPUT,
        Buffer::Output => OUTPUT,
        Buffer::Scratch(index) => SCRATCH + usize::from(index),
    }
}

pub(crate) const INPUT: usize = 0;
pub(crate) const OUTPUT: usize = 1;
pub(crate) const SCRATCH: usize = 2;

/// One end of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    pub(crate) peer: c_int,
    pub(crate) place: Place,
    pub(crate) count: c_int,
}

/// Local work.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    Combine {
        left: Place,
        right: Place,
        into: Place,
    },
    Copy {
        from: Place,
        into: Place,
    },
}

/// What one round of a program becomes. Transfers and work that move nothing are left out.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Send(Transfer),
    Recv(Transfer),
    Exchange {
        send: Transfer,
        recv: Transfer,
    },
    Work(Work),
    Mixed {
        sends: Vec<Transfer>,
        recvs: Vec<Transfer>,
        work: Vec<Work>,
    },
}

/// Resolves rounds of one schedule.
#[derive(Debug)]
pub(crate) struct Resolver {
    schedule: Schedule,
    unit_bytes: u64,
}

impl Resolver {
    pub(crate) fn new(schedule: Schedule, unit_bytes: u64) -> Self {
        Self {
            schedule,
            unit_bytes,
        }
    }

    /// The bytes of a span.
    ///
    /// # Panics
    ///
    /// If the span leaves its buffer, which no verified schedule does.
    fn place(&self, span: &Span) -> Place {
        let range = self.schedule.locate(span);
        let capacity = match span.buffer {
            Buffer::Input | Buffer::Output => self.schedule.units(),
            Buffer::Scratch(index) => {
                self.schedule.scratch()[usize::from(index)].capacity(self.schedule.units())
            }
        };
        assert!(range.end <= capacity, "{span} leaves its buffer");
        Place {
            slot: slot(span.buffer),
            start: (range.start * self.unit_bytes) as usize,
            length: ((range.end - range.start) * self.unit_bytes) as usize,
        }
    }

    fn transfer(&self, peer: u32, span: &Span) -> Result<Transfer, ExecError> {
        let place = self.place(span);
        Ok(Transfer {
            peer: peer as c_int,
            place,
            count: count(place.length as u64)?,
        })
    }

    /// # Panics
    ///
    /// If operands and target overlap in part, which no verified schedule does.
    fn combine(&self, left: &Span, right: &Span, into: &Span) -> Work {
        let [left, right, into] = [left, right, into].map(|span| self.place(span));
        for operand in [left, right] {
            assert!(
                operand == into || !operand.overlaps(&into),
                "operands overlap in part"
            );
            assert_eq!(operand.length, into.length, "operands differ in length");
        }
        Work::Combine { left, right, into }
    }

    fn copy(&self, from: &Span, into: &Span) -> Work {
        let [from, into] = [from, into].map(|span| self.place(span));
        assert!(
            !from.overlaps(&into) && from.length == into.length,
            "a copy onto itself"
        );
        Work::Copy { from, into }
    }

    /// The step of a round, or nothing if the round moves no data.
    pub(crate) fn step(&self, round: &Round) -> Result<Option<Step>, ExecError> {
        // Rounds of a long program are resolved while it is timed: no memory for the common ones.
        match round.actions() {
            [] => Ok(None),
            [action] => self.single(action),
            [first, second] => Ok(match (self.single(first)?, self.single(second)?) {
                (only, None) | (None, only) => only,
                (Some(Step::Send(send)), Some(Step::Recv(recv)))
                | (Some(Step::Recv(recv)), Some(Step::Send(send))) => {
                    Some(Step::Exchange { send, recv })
                }
                _ => self.collect(round)?,
            }),
            _ => self.collect(round),
        }
    }

    fn collect(&self, round: &Round) -> Result<Option<Step>, ExecError> {
        let (mut sends, mut recvs, mut work) = (Vec::new(), Vec::new(), Vec::new());
        for action in round.actions() {
            match self.single(action)? {
                Some(Step::Send(transfer)) => sends.push(transfer),
                Some(Step::Recv(transfer)) => recvs.push(transfer),
                Some(Step::Work(local)) => work.push(local),
                _ => {}
            }
        }
        Ok(match (&sends[..], &recvs[..], &work[..]) {
            ([], [], []) => None,
            ([send], [], []) => Some(Step::Send(*send)),
            ([], [recv], []) => Some(Step::Recv(*recv)),
            ([send], [recv], []) => Some(Step::Exchange {
                send: *send,
                recv: *recv,
            }),
            ([], [], [local]) => Some(Step::Work(*local)),
            _ => Some(Step::Mixed { sends, recvs, work }),
        })
    }

    fn single(&self, action: &Action) -> Result<Option<Step>, ExecError> {
        let step = match action {
            Action::Send { to, span } => Step::Send(self.transfer(*to, span)?),
            Action::Recv { from, span } => Step::Recv(self.transfer(*from, span)?),
            Action::Combine { left, right, into } => Step::Work(self.combine(left, right, into)),
            Action::Copy { from, into } => Step::Work(self.copy(from, into)),
        };
        let moves = match &step {
            Step::Send(transfer) | Step::Recv(transfer) => transfer.count > 0,
            Step::Work(Work::Combine { into, .. } | Work::Copy { into, .. }) => into.length > 0,
            Step::Exchange { .. } | Step::Mixed { .. } => true,
        };
        Ok(moves.then_some(step))
    }
}
