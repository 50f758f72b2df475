//! Programs written out by hand.

use schedule::{Action, Buffer, Fault, Misdeed, Partition, Program, Rank, Round, Span};

/// A rank's rounds, action by action.
#[derive(Clone, Debug)]
pub(crate) struct Script(pub(crate) Vec<Vec<Action>>);

impl Program for Script {
    fn rounds(&self) -> u64 {
        self.0.len() as u64
    }

    fn round(&self, index: u64, round: &mut Round) {
        for action in &self.0[index as usize] {
            round.push(*action);
        }
    }
}

pub(crate) const INPUT: Buffer = Buffer::Input;
pub(crate) const OUTPUT: Buffer = Buffer::Output;
pub(crate) const SCRATCH: Buffer = Buffer::Scratch(0);

/// The whole vector.
pub(crate) fn all(buffer: Buffer) -> Span {
    Span::whole(buffer)
}

/// `count` even blocks of `blocks`, from `start`.
pub(crate) fn some(buffer: Buffer, start: u64, count: u64, blocks: u32) -> Span {
    Span::blocks(buffer, Partition::Even(blocks), start, count)
}

/// The parts of `count` of two ranks.
pub(crate) fn parts(buffer: Buffer, start: u64, count: u64) -> Span {
    Span::blocks(buffer, Partition::parts(2), start, count)
}

pub(crate) fn send(to: Rank, span: Span) -> Action {
    Action::Send { to, span }
}

pub(crate) fn recv(from: Rank, span: Span) -> Action {
    Action::Recv { from, span }
}

pub(crate) fn combine(left: Span, right: Span, into: Span) -> Action {
    Action::Combine { left, right, into }
}

pub(crate) fn copy(from: Span, into: Span) -> Action {
    Action::Copy { from, into }
}

/// The fault of one action.
pub(crate) fn at(rank: Rank, round: u64, action: Action, why: Misdeed) -> Fault {
    Fault::At {
        rank,
        round,
        action: action.to_string(),
        why,
    }
}
