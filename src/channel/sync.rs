//! What the protocol is written over. The tests put loom's types in the place of these.

use std::cell;
pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Where packets are counted from.
pub(crate) const SENT_BEFORE: u64 = 0;

/// How often a message is kept waiting for a buffer before it goes on in slots.
pub(crate) const PATIENCE: u32 = 64;

/// Memory that one rank writes and another reads, never at the same time.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct UnsafeCell<T>(cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    pub(crate) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    pub(crate) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}
