//! The time by which schedules act.

use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;

/// The system's clock, or a time that a test has set.
#[derive(Debug)]
pub(crate) struct Clock {
    /// Milliseconds since 1970; [`SYSTEM`] for the system's clock.
    fixed: AtomicI64,
}

/// The value of a clock that is not set.
const SYSTEM: i64 = i64::MIN;

impl Default for Clock {
    fn default() -> Self {
        Self {
            fixed: AtomicI64::new(SYSTEM),
        }
    }
}

impl Clock {
    /// The time now.
    pub(crate) fn now(&self) -> Timestamp {
        let fixed = self.fixed.load(Ordering::Relaxed);
        if fixed == SYSTEM {
            return Timestamp::now();
        }
        Timestamp::from_millisecond(fixed).unwrap_or_else(|_| Timestamp::now())
    }

    /// Stops the clock at a time.
    pub(crate) fn stop_at(&self, time: Timestamp) {
        self.fixed.store(time.as_millisecond(), Ordering::Relaxed);
    }
}
