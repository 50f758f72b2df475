//! Synchronisation primitives of the protocol. The tests replace them by loom's.

use std::cell;
pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The number at which the count of packets starts.
pub(crate) const SENT_BEFORE: u64 = 0;

/// The number of times that a message waits for a buffer before it continues in slots.
pub(crate) const PATIENCE: u32 = 64;

/// The least length of a message that may be offered, in bytes.
pub(crate) const LEAST_OFFERED: usize = 256 << 10;

/// Memory that one rank writes and another one reads, never at the same time.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct UnsafeCell<T>(cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    #[inline(always)]
    pub(crate) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    #[inline(always)]
    pub(crate) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}
