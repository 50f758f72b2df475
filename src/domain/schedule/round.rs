//! Concurrent actions of a rank.
//!
//! A round is a set of independent actions: send, receive, combine, copy, and the empty messages signal and await. It
//! ends when all of them have ended. A combination writes its left operand, its right operand, or a third place, so
//! that the executor need not copy.
//!
//! Messages are matched first in, first out for each pair of ranks: by round, then by place in the round. A send may
//! block until its receive is posted.

use std::fmt;

use crate::{Rank, Span};

/// One step of a rank's program. Transfers and work on empty spans move nothing, at either end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Sends the span's data. May block until the receive is posted.
    Send {
        /// The receiver.
        to: Rank,
        /// The span to read.
        span: Span,
    },
    /// Receives as many units as the span holds.
    Recv {
        /// The sender.
        from: Rank,
        /// The span to write.
        span: Span,
    },
    /// Sends an empty message, which is matched like any other and lets the receiver continue.
    Signal {
        /// The receiver.
        to: Rank,
    },
    /// Receives an empty message.
    Await {
        /// The sender.
        from: Rank,
    },
    /// `into := left o right`, element by element. `into` is `left`, `right`, or disjoint from
    /// both; no span wraps around.
    Combine {
        /// The operand of the lower ranks.
        left: Span,
        /// The operand of the higher ranks.
        right: Span,
        /// The span to write.
        into: Span,
    },
    /// `into := from`, unless they are the same memory, as in calls in place.
    Copy {
        /// The span to read.
        from: Span,
        /// The span to write.
        into: Span,
    },
}

impl Action {
    /// Calls `change` on every span.
    #[inline]
    pub(crate) fn spans_mut(&mut self, mut change: impl FnMut(&mut Span)) {
        match self {
            Self::Send { span, .. } | Self::Recv { span, .. } => change(span),
            Self::Signal { .. } | Self::Await { .. } => {}
            Self::Copy { from, into } => [from, into].into_iter().for_each(change),
            Self::Combine { left, right, into } => {
                [left, right, into].into_iter().for_each(change);
            }
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send { to, span } => write!(f, "send {span} to {to}"),
            Self::Recv { from, span } => write!(f, "recv {span} from {from}"),
            Self::Signal { to } => write!(f, "signal {to}"),
            Self::Await { from } => write!(f, "await {from}"),
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
    #[inline]
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// Removes all actions but keeps the memory.
    #[inline]
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

    /// Adds an empty message.
    pub fn signal(&mut self, to: Rank) {
        self.push(Action::Signal { to });
    }

    /// Adds the receipt of an empty message.
    pub fn wait_for(&mut self, from: Rank) {
        self.push(Action::Await { from });
    }

    /// Adds a combination.
    pub fn combine(&mut self, left: Span, right: Span, into: Span) {
        self.push(Action::Combine { left, right, into });
    }

    /// Adds a combination of received data with the rank's own: received data are on the left if the sender's ranks
    /// are lower.
    pub fn combine_by_rank(&mut self, is_lower: bool, received: Span, own: Span, into: Span) {
        if is_lower {
            self.combine(received, own, into);
        } else {
            self.combine(own, received, into);
        }
    }

    /// Adds a copy.
    pub fn copy(&mut self, from: Span, into: Span) {
        self.push(Action::Copy { from, into });
    }

    /// The actions, mutable, for tools that change programs.
    pub fn actions_mut(&mut self) -> &mut Vec<Action> {
        &mut self.actions
    }
}
