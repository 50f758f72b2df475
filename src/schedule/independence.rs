//! Whether the actions of a round are what they must be: within bounds, and independent.

use std::ops::Range;

use crate::fault::Misdeed;
use crate::storage::Memory;
use crate::{Action, Buffer, Rank, Schedule, Span};

/// Memory that an action of the round reads or writes, in units of its buffer.
#[derive(Clone, Copy)]
pub(crate) struct Access {
    buffer: Buffer,
    start: u64,
    end: u64,
    writes: bool,
    action: usize,
}

/// One rank's round, with the memory that it works on.
pub(crate) struct Independence<'a, V> {
    pub(crate) schedule: &'a Schedule,
    pub(crate) memory: &'a Memory<V>,
    pub(crate) rank: Rank,
    pub(crate) actions: &'a [Action],
}

impl<V: Clone> Independence<'_, V> {
    /// Checks peers, bounds and independence; names the first action that is at fault.
    /// `accesses` is working memory.
    pub(crate) fn check(&self, accesses: &mut Vec<Access>) -> Result<(), (Action, Misdeed)> {
        accesses.clear();
        for (index, action) in self.actions.iter().enumerate() {
            self.check_action(action, index, accesses)
                .map_err(|why| (*action, why))?;
        }
        accesses.sort_by_key(|a| (a.buffer, a.start));
        // Sorted by start, so what has ended before this one begins touches none of the later.
        let mut open: Vec<Access> = Vec::new();
        for access in accesses {
            open.retain(|other| other.buffer == access.buffer && access.start < other.end);
            let conflicts =
                |other: &Access| other.action != access.action && (other.writes || access.writes);
            if open.iter().any(conflicts) {
                return Err((self.actions[access.action], Misdeed::Conflict));
            }
            open.push(*access);
        }
        Ok(())
    }

    fn check_action(
        &self,
        action: &Action,
        index: usize,
        accesses: &mut Vec<Access>,
    ) -> Result<(), Misdeed> {
        let mut access = |span: &Span, writes: bool| self.access(span, writes, index, accesses);
        match action {
            Action::Send { to: peer, span } | Action::Recv { from: peer, span } => {
                if *peer == self.rank || *peer >= self.schedule.shape().ranks {
                    return Err(Misdeed::BadPeer);
                }
                access(span, matches!(action, Action::Recv { .. })).map(|_| ())
            }
            Action::Copy { from, into } => {
                let (from_range, into_range) = (access(from, false)?, access(into, true)?);
                let overlap = from.buffer == into.buffer && overlaps(&from_range, &into_range);
                let fits = length(&from_range) == length(&into_range) && !overlap;
                if fits {
                    Ok(())
                } else {
                    Err(Misdeed::ShapeMismatch)
                }
            }
            Action::Combine { left, right, into } => {
                let target = access(into, true)?;
                for operand in [left, right] {
                    let range = access(operand, false)?;
                    let same = operand.buffer == into.buffer && range == target;
                    let partly =
                        operand.buffer == into.buffer && overlaps(&range, &target) && !same;
                    if length(&range) != length(&target) || partly {
                        return Err(Misdeed::ShapeMismatch);
                    }
                }
                Ok(())
            }
        }
    }

    /// The units of a span, which must lie in its buffer and be allowed to be written.
    fn access(
        &self,
        span: &Span,
        writes: bool,
        action: usize,
        accesses: &mut Vec<Access>,
    ) -> Result<Range<u64>, Misdeed> {
        let range = self.schedule.locate(span);
        let buffer = self
            .memory
            .buffer(span.buffer)
            .ok_or(Misdeed::OutOfBounds)?;
        if span.blocks.end > span.partition.blocks() || range.end > buffer.len() as u64 {
            return Err(Misdeed::OutOfBounds);
        }
        if writes && !self.memory.may_write(span.buffer) {
            return Err(Misdeed::Forbidden);
        }
        if !range.is_empty() {
            let (start, end, buffer) = (range.start, range.end, span.buffer);
            accesses.push(Access {
                buffer,
                start,
                end,
                writes,
                action,
            });
        }
        Ok(range)
    }
}

pub(crate) fn length(range: &Range<u64>) -> u64 {
    range.end - range.start
}

fn overlaps(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}
