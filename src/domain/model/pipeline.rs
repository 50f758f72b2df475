//! The pipelining lemma.

use schedule::PipelineCost;

use std::ops::Add;

/// A pipelined algorithm on a vector of a given size.
///
/// Cut into `b` equal blocks of the `m`-byte vector it takes
/// `T(b) = (c1 + c2 b)(alpha + beta m/b) + (g1 + g2 b) gamma m/b`
/// (Träff 2021). That is `fixed + slope b + fill / b`, so with positive `fill` the
/// best number of blocks balances the start-ups of more blocks against the filling of the
/// pipeline with larger ones: `b* = sqrt(fill / slope)`, `T* = fixed + 2 sqrt(slope fill)`.
/// `T` is convex there; otherwise it never falls, and one block is best.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pipeline {
    /// Seconds that do not depend on the number of blocks.
    fixed: f64,
    /// Seconds per block.
    slope: f64,
    /// Seconds to fill the pipeline with one block that is the whole vector.
    fill: f64,
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

    /// Work that is done once: it takes `start_up` seconds for a block, and `whole` for a block that is the whole
    /// vector.
    pub(crate) fn done_once(start_up: f64, whole: f64) -> Self {
        Self {
            fixed: start_up,
            slope: 0.0,
            fill: whole,
        }
    }

    /// The first block takes the time of this one for one block ([`Pipeline::done_once`]), each further block that of
    /// `other`: `T(b) = this(m / b) + (b - 1) other(m / b)`.
    pub(crate) fn with_further_blocks(self, other: Self) -> Self {
        Self {
            fixed: self.fixed - other.fixed + other.fill,
            slope: other.fixed,
            fill: self.fill - other.fill,
        }
    }

    /// Seconds that each further block takes even if it is empty.
    pub(crate) fn start_up(&self) -> f64 {
        self.slope
    }

    /// `T(b)`: the time in seconds with `blocks` blocks, at least 1.
    pub fn seconds(&self, blocks: f64) -> f64 {
        self.fixed + self.slope * blocks + self.fill / blocks
    }

    /// The best real number of blocks, at least 1, by the closed form; infinite if more blocks cost nothing.
    pub fn real_optimum(&self) -> f64 {
        if self.fill > 0.0 {
            (self.fill / self.slope).sqrt().max(1.0)
        } else {
            1.0
        }
    }

    /// The best whole number of blocks between 1 and `max_blocks` (0 counts as 1): one of the two neighbours of the
    /// real optimum, the smaller one of equals.
    pub fn best_blocks(&self, max_blocks: u32) -> u32 {
        let max_blocks = max_blocks.max(1);
        // The conversion saturates, as an infinite optimum requires.
        let below = (self.real_optimum().floor() as u32).clamp(1, max_blocks);
        let above = below.saturating_add(1).min(max_blocks);
        if self.seconds(above.into()) < self.seconds(below.into()) {
            above
        } else {
            below
        }
    }
}

/// The time of both, one after the other, with the same number of blocks.
impl Add for Pipeline {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            fixed: self.fixed + other.fixed,
            slope: self.slope + other.slope,
            fill: self.fill + other.fill,
        }
    }
}
