//! Pairs of words that one thread changes while others read them without a lock.
//!
//! A sequence lock (Lameter 2005; Boehm, Can seqlocks get along with programming language memory models?, MSPC 2012): a
//! reader takes the pair only if it has not been changed meanwhile, and otherwise does without it. The tests compile this
//! module a second time, over loom's atomics, and try all interleavings.

use super::sync::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

/// A key and a value that are read together.
#[derive(Debug)]
pub(crate) struct SteadyPair {
    /// The number of changes that have begun and ended; odd during a change.
    changes: AtomicU32,
    key: AtomicU64,
    value: AtomicUsize,
}

impl SteadyPair {
    pub(crate) fn new(key: u64, value: usize) -> Self {
        Self {
            changes: AtomicU32::new(0),
            key: AtomicU64::new(key),
            value: AtomicUsize::new(value),
        }
    }

    /// The value, if the pair has this key and is not being changed.
    #[inline(always)]
    pub(crate) fn find_value(&self, key: u64) -> Option<usize> {
        let before = self.changes.load(Ordering::Acquire);
        if self.key.load(Ordering::Relaxed) != key {
            return None;
        }
        let value = self.value.load(Ordering::Relaxed);
        // The words have been read before the number of changes is read again. A word that a change has written makes its
        // number visible.
        fence(Ordering::Acquire);
        let after = self.changes.load(Ordering::Relaxed);
        (before == after && before.is_multiple_of(2)).then_some(value)
    }

    /// The key and the value. No other thread changes the pair meanwhile.
    pub(crate) fn current(&self) -> (u64, usize) {
        let key = self.key.load(Ordering::Relaxed);
        (key, self.value.load(Ordering::Relaxed))
    }

    /// Changes both. No other thread changes the pair meanwhile.
    pub(crate) fn replace(&self, key: u64, value: usize) {
        let before = self.changes.load(Ordering::Relaxed);
        self.changes
            .store(before.wrapping_add(1), Ordering::Relaxed);
        // A reader that sees one of the words sees that a change has begun.
        fence(Ordering::Release);
        self.key.store(key, Ordering::Relaxed);
        self.value.store(value, Ordering::Relaxed);
        self.changes
            .store(before.wrapping_add(2), Ordering::Release);
    }
}
