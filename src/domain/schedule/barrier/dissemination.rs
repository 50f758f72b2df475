//! Dissemination: in every round a rank signals the ranks at growing distances.

use crate::program::Program;
use crate::registry::{Algorithm, PLAIN};
use crate::{Collective, Parameter, Rank, Round, Translation};

/// `ceil(log_k p)` rounds of up to `k - 1` signals at once, for every p. After `j` rounds a rank has heard of the
/// `k^j - 1` ranks before it. With radix 2 each round has one signal.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Barrier,
    id: "dissemination",
    summary: "signals to up to k-1 ranks at once at distances 1, k, k^2, ..., for any p",
    source: "Hensgen, Finkel, Manber 1988; n-way: Hoefler et al. 2006; \
             radix 2: MPICH's dissemination, Open MPI's bruck",
    formula: "ceil(log_k p) (alpha + (k-2) o), o the overhead of a message",
    parameters: &[Parameter::Radix],
    translation: |_| Some(Translation::Ranks),
    program: |shape, rank| {
        Box::new(Dissemination {
            rank,
            ranks: shape.ranks,
            radix: shape.radix.into(),
        })
    },
    ..PLAIN
};

struct Dissemination {
    rank: Rank,
    ranks: u32,
    radix: u64,
}

impl Program for Dissemination {
    fn rounds(&self) -> u64 {
        let reached = |rounds: &u32| self.radix.saturating_pow(*rounds) < self.ranks.into();
        (0..).take_while(reached).count() as u64
    }

    fn round(&self, index: u64, round: &mut Round) {
        let nearest = self.radix.pow(index as u32);
        let distances = (1..self.radix).map(|place| place * nearest);
        for distance in distances.take_while(|distance| *distance < self.ranks.into()) {
            let distance = distance as u32;
            round.signal((self.rank + distance) % self.ranks);
            round.wait_for((self.rank + (self.ranks - distance)) % self.ranks);
        }
    }
}
