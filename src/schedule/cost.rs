//! What an algorithm costs, in whole numbers.

/// The constants of the pipelining lemma for one algorithm on a given number of ranks.
///
/// With `b` equal blocks of an `m`-byte vector the algorithm takes
/// `(c1 + c2 b)(alpha + beta m/b) + (g1 + g2 b) gamma m/b`: `c1 + c2 b` communication steps one
/// after the other on the critical path and `g1 + g2 b` combinations (Träff 2021, section 2).
/// Negative `c1` and `g1` occur where little has to be filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PipelineCost {
    /// Communication steps that do not depend on the number of blocks.
    pub c1: i64,
    /// Communication steps a block.
    pub c2: i64,
    /// Combinations that do not depend on the number of blocks.
    pub g1: i64,
    /// Combinations a block.
    pub g2: i64,
}
