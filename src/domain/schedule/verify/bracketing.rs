//! How the contributions to an element of a result are bracketed.
//!
//! Most operators on floating-point numbers round, so that `(a + b) + c` and `a + (b + c)` differ in their last bits. The
//! bits of a result therefore depend on the tree of combinations alone, and two calls give the same bits if their trees
//! are the same. The order of the two operands of a combination makes no difference: an algorithm that is not ordered
//! serves only operators that commute, and an ordered one always has the lower ranks on the left.
//!
//! The rounding error of a sum is at most about `depth * epsilon` times the sum of the absolute values (Higham, Accuracy
//! and Stability of Numerical Algorithms, 2002, section 4.2).

use crate::Rank;

/// The trees of combinations of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bracketing {
    /// The most combinations that a contribution takes part in, one after the other, on its way to a result.
    pub depth: u32,
    /// A fingerprint of the trees of all elements of all results. Two calls with the same ranks, elements and fingerprint
    /// have the same trees, but for a collision of 64 bits.
    pub of_all: u64,
    /// A fingerprint of the tree of one element, if all elements of a rank's result have the same one.
    pub of_each: Option<u64>,
}

/// The shape of one tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Brackets {
    depth: u32,
    fingerprint: u64,
}

impl Brackets {
    /// A single contribution.
    pub(super) fn of_rank(rank: Rank) -> Self {
        Self {
            depth: 0,
            fingerprint: mix_bits(rank.into()),
        }
    }

    /// The combination of two, in any order.
    pub(super) fn join(self, other: Self) -> Self {
        let [low, high] = [
            self.fingerprint.min(other.fingerprint),
            self.fingerprint.max(other.fingerprint),
        ];
        Self {
            depth: 1 + self.depth.max(other.depth),
            fingerprint: mix_bits(mix_bits(low) ^ high.rotate_left(32)),
        }
    }
}

/// What is known of the results of the ranks so far.
#[derive(Default)]
pub(super) struct BracketingRecord {
    depth: u32,
    of_all: u64,
    /// The trees of the results, each once.
    of_each: u64,
    /// The tree that all elements of the present result must have.
    expected: Option<u64>,
    has_several: bool,
}

impl BracketingRecord {
    /// Begins a result that may have other trees than those before: in a scan, that of each rank.
    pub(super) fn begin_result(&mut self) {
        self.expected = None;
    }

    /// Adds an element of a result.
    pub(super) fn add_element(&mut self, element: u64, brackets: Brackets) {
        self.depth = self.depth.max(brackets.depth);
        let placed = mix_bits(element) ^ brackets.fingerprint;
        self.of_all = mix_bits(self.of_all ^ mix_bits(placed));
        match self.expected {
            None => {
                self.expected = Some(brackets.fingerprint);
                self.of_each = mix_bits(self.of_each ^ brackets.fingerprint);
            }
            Some(expected) => self.has_several |= expected != brackets.fingerprint,
        }
    }

    /// The trees of all results; `None` if nothing was combined.
    pub(super) fn to_bracketing(&self) -> Option<Bracketing> {
        (self.depth > 0).then_some(Bracketing {
            depth: self.depth,
            of_all: self.of_all,
            of_each: (!self.has_several).then_some(self.of_each),
        })
    }
}

/// Spreads the bits of a number (the finaliser of SplitMix64: Steele, Lea, Flood 2014).
fn mix_bits(bits: u64) -> u64 {
    let bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
