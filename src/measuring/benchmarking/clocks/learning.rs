//! The synchronisation of one clock with another.

use super::{Clock, Exchange, Offset};

/// One synchronisation: batches of exchanges over some time, until there is a clock.
///
/// ```
/// use benchmarking::clocks::{ClockLearning, Exchange};
///
/// let mut learning = ClockLearning::default();
/// let mut now = 0;
/// while learning.is_unfinished() {
///     // The other clock is one second ahead.
///     let exchange = Exchange { sent: now, answered: now + 1_000_000_400, received: now + 800 };
///     learning.add_batch(&[exchange]);
///     now += 20_000_000;
/// }
/// let clock = learning.learned_clock().expect("there were exchanges");
/// assert_eq!(clock.offset_seconds(now), 1.0);
/// ```
#[derive(Clone, Debug, Default)]
pub struct ClockLearning {
    offsets: Vec<Offset>,
}

impl ClockLearning {
    /// The number of batches, unless both clocks are the same.
    pub const BATCHES: usize = 12;

    /// Adds a batch of exchanges with the other clock.
    pub fn add_batch(&mut self, exchanges: &[Exchange]) {
        self.offsets.extend(Offset::by_shortest(exchanges));
    }

    /// Whether another batch is needed, some milliseconds later. One batch is enough if both clocks seem to be the
    /// same: a chance agreement within microseconds is very unlikely, and a later divergence would be noticed.
    pub fn is_unfinished(&self) -> bool {
        self.offsets.len() < Self::BATCHES && self.shared_clock().is_none()
    }

    /// The other clock as a function of this one; `None` without exchanges.
    pub fn learned_clock(&self) -> Option<Clock> {
        self.shared_clock()
            .or_else(|| Clock::fit_line(&self.offsets))
    }

    fn shared_clock(&self) -> Option<Clock> {
        let is_shared = self.offsets.iter().all(Offset::may_be_none);
        self.offsets
            .first()
            .filter(|_| is_shared)
            .map(Clock::shared_with)
    }
}
