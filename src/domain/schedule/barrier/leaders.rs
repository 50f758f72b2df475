//! A barrier on every node, one among a rank of each, and one on every node again.

use crate::Collective;
use crate::phases::{PHASED, Phase};
use crate::registry::Algorithm;

/// Costs the sum of its parts: between nodes signals among as many ranks as there are nodes. The first barrier on a
/// node tells its leader that all have begun, the second one passes on what the leader knows.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Barrier,
    id: "leaders",
    summary: "a barrier on every node, one among one rank of each, and one on every node",
    source: "Graham, Shipman 2008",
    phases: &[
        Phase::of_group(CHOICES),
        Phase::between_nodes(CHOICES),
        Phase::of_group(CHOICES),
    ],
    ..PHASED
};

const CHOICES: &[Algorithm] = &[
    super::dissemination::ALGORITHM,
    super::recursive_doubling::ALGORITHM,
    super::binomial::ALGORITHM,
];
