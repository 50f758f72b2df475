//! Recursive doubling: partners at distances 1, 2, 4, ... exchange the totals of their groups.

use crate::Collective;
use crate::registry::{Algorithm, PLAIN};
use crate::scan::recursive_doubling::{Extent, program, scratch};

/// `L` steps, with up to two combinations each: as the inclusive scan, but what arrives first from lower ranks is the
/// result so far.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Exscan,
    id: "recursive_doubling",
    summary: "totals of groups exchanged at distances 1, 2, 4, ..., for any number of ranks",
    source: "MPICH's and Open MPI's recursive doubling",
    formula: "L (alpha + beta m) + (2L-2) gamma m, at most unless p = 2^L",
    scratch,
    program: |shape, rank| program(Extent::Exclusive, shape, rank),
    ..PLAIN
};
