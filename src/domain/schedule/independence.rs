//! Checks the actions of a round: they must be within bounds and independent.

use crate::fault::Misdeed;
use crate::storage::Memory;
use crate::{Action, Buffer, Place, Rank, Span};

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
    pub(crate) memory: &'a Memory<V>,
    pub(crate) rank: Rank,
    pub(crate) ranks: u32,
    pub(crate) actions: &'a [Action],
}

impl<V: Clone> Independence<'_, V> {
    /// Checks peers, bounds and independence. Returns the index of the first faulty action. `accesses` is working
    /// memory.
    pub(crate) fn check_round(&self, accesses: &mut Vec<Access>) -> Result<(), (usize, Misdeed)> {
        accesses.clear();
        for (index, action) in self.actions.iter().enumerate() {
            self.check_action(action, index, accesses)
                .map_err(|why| (index, why))?;
        }
        if self.actions.len() < 2 {
            return Ok(());
        }
        accesses.sort_by_key(|a| (a.buffer, a.start));
        // Sorted by start: an access overlaps an earlier one that ends after this one's start.
        let (mut reads, mut writes) = (Farthest::default(), Farthest::default());
        let mut buffer = None;
        for access in accesses {
            if buffer != Some(access.buffer) {
                (reads, writes) = (Farthest::default(), Farthest::default());
                buffer = Some(access.buffer);
            }
            if writes.meets_other_action(access)
                || access.writes && reads.meets_other_action(access)
            {
                return Err((access.action, Misdeed::Conflict));
            }
            let kind = if access.writes {
                &mut writes
            } else {
                &mut reads
            };
            kind.add_access(access);
        }
        Ok(())
    }

    fn check_action(
        &self,
        action: &Action,
        index: usize,
        accesses: &mut Vec<Access>,
    ) -> Result<(), Misdeed> {
        let layout = &self.memory.layout;
        let mut access =
            |span: &Span, writes: bool| self.record_access(span, writes, index, accesses);
        match action {
            Action::Send { to: peer, .. }
            | Action::Recv { from: peer, .. }
            | Action::Signal { to: peer }
            | Action::Await { from: peer }
                if *peer == self.rank || *peer >= self.ranks =>
            {
                Err(Misdeed::BadPeer)
            }
            Action::Signal { .. } | Action::Await { .. } => Ok(()),
            Action::Send { span, .. } => access(span, false).map(drop),
            Action::Recv { span, .. } => access(span, true).map(drop),
            Action::Copy { from, into } => {
                if layout.locate(from) == layout.locate(into) {
                    return access(from, false).map(drop);
                }
                let (from, into) = (access(from, false)?, access(into, true)?);
                let fits = from.units() == into.units() && !from.overlaps(&into);
                fits.then_some(()).ok_or(Misdeed::ShapeMismatch)
            }
            Action::Combine { left, right, into } => {
                let into = access(into, true)?;
                for operand in [left, right] {
                    let operand = access(operand, false)?;
                    let fits = operand.units() == into.units()
                        && (operand == into || !operand.overlaps(&into))
                        && [&operand, &into].into_iter().all(Place::is_one_piece);
                    if !fits {
                        return Err(Misdeed::ShapeMismatch);
                    }
                }
                Ok(())
            }
        }
    }

    /// The place of a span, which must lie in its buffer and be allowed to be written.
    fn record_access(
        &self,
        span: &Span,
        writes: bool,
        action: usize,
        accesses: &mut Vec<Access>,
    ) -> Result<Place, Misdeed> {
        let layout = &self.memory.layout;
        let place = layout.locate(span).ok_or(Misdeed::OutOfBounds)?;
        let capacity = self.memory.buffer_values(place.memory).len() as u64;
        if place.runs.iter().any(|run| run.end() > capacity) {
            return Err(Misdeed::OutOfBounds);
        }
        if writes && !layout.may_write(span.buffer) {
            return Err(Misdeed::Forbidden);
        }
        for range in place.pieces() {
            accesses.push(Access {
                buffer: place.memory,
                start: range.start,
                end: range.end,
                writes,
                action,
            });
        }
        Ok(place)
    }
}

/// The farthest end of the accesses of one kind, and the farthest of any other action.
#[derive(Default)]
struct Farthest([Option<Access>; 2]);

impl Farthest {
    fn add_access(&mut self, access: &Access) {
        let Self([first, second]) = self;
        match first {
            Some(known) if known.action == access.action => {
                known.end = known.end.max(access.end);
            }
            Some(known) if known.end >= access.end => {
                if second.is_none_or(|kept| kept.end < access.end) {
                    *second = Some(*access);
                }
            }
            _ => *second = first.replace(*access),
        }
    }

    /// Whether an access of another action ends after the start of this one.
    fn meets_other_action(&self, access: &Access) -> bool {
        let other = |known: &Access| known.action != access.action && known.end > access.start;
        self.0.iter().flatten().any(other)
    }
}
