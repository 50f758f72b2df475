//! What a rank does at once.

use std::fmt;

use crate::{Rank, Span};

/// One step of a rank's program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Sends the span's data. May block until the receive is posted.
    Send {
        /// The receiver.
        to: Rank,
        /// What is read.
        span: Span,
    },
    /// Receives as many units as the span holds.
    Recv {
        /// The sender.
        from: Rank,
        /// What is written.
        span: Span,
    },
    /// `into := left o right`, element by element. `into` is `left`, `right`, or disjoint from
    /// both.
    Combine {
        /// The operand of the lower ranks.
        left: Span,
        /// The operand of the higher ranks.
        right: Span,
        /// What is written.
        into: Span,
    },
    /// `into := from`.
    Copy {
        /// What is read.
        from: Span,
        /// What is written.
        into: Span,
    },
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send { to, span } => write!(f, "send {span} to {to}"),
            Self::Recv { from, span } => write!(f, "recv {span} from {from}"),
            Self::Combine { left, right, into } => {
                write!(f, "combine {left} o {right} into {into}")
            }
            Self::Copy { from, into } => write!(f, "copy {from} into {into}"),
        }
    }
}

/// Actions that are independent of each other; the round ends when all have ended.
///
/// A round is filled by [`crate::Program::round`] and reused, so pulling rounds does not allocate
/// once it has grown to the program's widest round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Round {
    actions: Vec<Action>,
}

impl Round {
    /// The actions, in the order in which messages of one pair are matched.
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// Forgets all actions and keeps the memory.
    pub fn clear(&mut self) {
        self.actions.clear();
    }

    /// Adds an action.
    pub fn push(&mut self, action: Action) {
        self.actions.push(action);
    }

    /// Adds a send.
    pub fn send(&mut self, to: Rank, span: Span) {
        self.push(Action::Send { to, span });
    }

    /// Adds a receive.
    pub fn recv(&mut self, from: Rank, span: Span) {
        self.push(Action::Recv { from, span });
    }

    /// Adds a combination.
    pub fn combine(&mut self, left: Span, right: Span, into: Span) {
        self.push(Action::Combine { left, right, into });
    }

    /// Adds a copy.
    pub fn copy(&mut self, from: Span, into: Span) {
        self.push(Action::Copy { from, into });
    }

    /// Gives mutable access to tools that change programs.
    pub fn actions_mut(&mut self) -> &mut Vec<Action> {
        &mut self.actions
    }
}
