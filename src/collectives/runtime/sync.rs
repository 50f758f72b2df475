//! Synchronisation primitives of lookups without a lock. The tests replace them by loom's.

pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
