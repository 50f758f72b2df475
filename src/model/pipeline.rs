//! The pipelining lemma, in the one place where it is written.

use std::ops::RangeInclusive;

use schedule::PipelineCost;

/// A pipelined algorithm on a vector of a given size.
///
/// Cut into `b` equal blocks of the `m`-byte vector it takes
/// `T(b) = (c1 + c2 b)(alpha + beta m/b) + (g1 + g2 b) gamma m/b`
/// (Träff 2021, section 2). That is `fixed + slope b + fill / b`, so with positive `fill` the
/// best number of blocks balances the start-ups of more blocks against the filling of the
/// pipeline with larger ones: `b* = sqrt(fill / slope)`, `T* = fixed + 2 sqrt(slope fill)`.
/// `T` is convex there; otherwise it never falls, and one block is best.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pipeline {
    /// Seconds that do not depend on the number of blocks.
    fixed: f64,
    /// Seconds a block.
    slope: f64,
    /// Seconds for filling the pipeline with one block that is the whole vector.
    fill: f64,
}

/// The best point of the closed form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Optimum {
    /// The number of blocks, at least 1; not a whole number in general, and infinite where more
    /// blocks cost nothing.
    pub blocks: f64,
    /// The time with that number.
    pub seconds: f64,
}

impl Pipeline {
    /// The lemma for constants `cost`, a start-up time of `alpha` seconds, `beta` seconds per byte
    /// sent, `gamma` seconds per byte combined (none of them negative), and a vector of `bytes`.
    pub fn new(cost: PipelineCost, alpha: f64, beta: f64, gamma: f64, bytes: u64) -> Self {
        let PipelineCost { c1, c2, g1, g2 } = cost;
        let [c1, c2, g1, g2] = [c1, c2, g1, g2].map(|steps| steps as f64);
        let bytes = bytes as f64;
        Self {
            fixed: c1 * alpha + (c2 * beta + g2 * gamma) * bytes,
            slope: c2 * alpha,
            fill: (c1 * beta + g1 * gamma) * bytes,
        }
    }

    /// `T(b)`: the time in seconds with `blocks` blocks, at least 1.
    pub fn seconds(&self, blocks: f64) -> f64 {
        self.fixed + self.slope * blocks + self.fill / blocks
    }

    /// The closed form of the optimum over real numbers of blocks from 1 on.
    pub fn optimum(&self) -> Optimum {
        if self.fill <= 0.0 {
            return Optimum {
                blocks: 1.0,
                seconds: self.seconds(1.0),
            };
        }
        let blocks = (self.fill / self.slope).sqrt();
        if blocks < 1.0 {
            return Optimum {
                blocks: 1.0,
                seconds: self.seconds(1.0),
            };
        }
        Optimum {
            blocks,
            seconds: self.fixed + 2.0 * (self.slope * self.fill).sqrt(),
        }
    }

    /// The best whole number of blocks between 1 and `max_blocks` (0 counts as 1): one of the two
    /// neighbours of the real optimum, the smaller one if they are equally good.
    pub fn best_blocks(&self, max_blocks: u32) -> u32 {
        let max_blocks = max_blocks.max(1);
        // The conversion saturates, which is what an infinite optimum needs.
        let below = (self.optimum().blocks.floor() as u32).clamp(1, max_blocks);
        let above = below.saturating_add(1).min(max_blocks);
        if self.seconds(above.into()) < self.seconds(below.into()) {
            above
        } else {
            below
        }
    }

    /// The numbers of blocks up to `max_blocks` whose time is within `slack` (as in 0.02) of the
    /// best one's. They follow each other, as `T` is convex, and include the best.
    pub fn near_best_blocks(&self, max_blocks: u32, slack: f64) -> RangeInclusive<u32> {
        let max_blocks = max_blocks.max(1);
        let best = self.best_blocks(max_blocks);
        let limit = self.seconds(best.into()) * (1.0 + slack);
        let within = |blocks: u32| self.seconds(blocks.into()) <= limit;
        let first = first_where(1, best, |blocks| blocks == best || within(blocks));
        let last = if best == max_blocks || within(max_blocks) {
            max_blocks
        } else {
            first_where(best + 1, max_blocks, |blocks| !within(blocks)) - 1
        };
        first..=last
    }
}

/// The smallest of `low..=high` where a condition holds that stays true once it is, as it is at
/// `high`.
fn first_where(low: u32, high: u32, holds: impl Fn(u32) -> bool) -> u32 {
    let (mut low, mut high) = (low, high);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}
