//! The arrivals of ranks at skewed calls.

use fastrand::Rng;

/// The number of orders of arrival; calls take them in turn.
pub(crate) const ORDERS: usize = 3;

/// The number of draws of each order before they repeat.
const DRAWS: usize = 8;

/// The arrivals of ranks at the skewed calls of one task.
///
/// Calls alternate between three orders: one rank arrives last and all others at the start; ranks arrive in ascending
/// order at equal intervals; each arrives at random, uniformly distributed. The late rank and the random numbers are
/// drawn eight times in a task and then repeat, so that all candidates meet the same arrivals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrivals {
    /// The latest arrival of the last rank, in seconds after the start.
    pub longest_seconds: f64,
    /// The seed of the task, the same on all ranks.
    pub seed: u64,
}

impl Arrivals {
    /// The number of calls after which the arrivals repeat.
    pub const PERIOD: usize = ORDERS * DRAWS;

    /// The arrival in seconds after the start of `rank` of `ranks` at call number `place`.
    pub fn offset_seconds(&self, place: usize, rank: u32, ranks: u32) -> f64 {
        let draw = (place / ORDERS % DRAWS) as u64;
        // So far apart that no two ranks or draws share a seed.
        let random =
            |seed_rank: u32| Rng::with_seed(self.seed ^ draw << 56 ^ u64::from(seed_rank) << 24);
        let share = match place % ORDERS {
            0 => f64::from(u8::from(rank == random(u32::MAX).u32(0..ranks.max(1)))),
            1 => f64::from(rank) / f64::from(ranks.saturating_sub(1).max(1)),
            _ => random(rank).f64(),
        };
        self.longest_seconds * share
    }
}
