//! Collectives made of other collectives.

use schedule::Collective;

use crate::Candidate;

/// A composition of other collectives that a collective should not be slower than: the self-consistent performance
/// guidelines of Träff, Gropp and Thakur (2010).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mockup {
    /// The collective.
    pub collective: Collective,
    /// The collectives that are called instead, one after the other, joined by `+`.
    pub id: &'static str,
}

impl Mockup {
    /// `mockup:collective/id`.
    pub fn full_name(&self) -> String {
        format!("{}{}/{}", Candidate::MOCKUP, self.collective, self.id)
    }
}

const fn mockup_row(collective: Collective, id: &'static str) -> Mockup {
    Mockup { collective, id }
}

/// All measured mock-ups, in the order of collectives.
pub const MOCKUPS: [Mockup; 9] = [
    mockup_row(Collective::Bcast, "scatter+allgather"),
    mockup_row(Collective::Reduce, "allreduce"),
    mockup_row(Collective::Allreduce, "reduce+bcast"),
    mockup_row(Collective::Allreduce, "reduce_scatter_block+allgather"),
    mockup_row(Collective::Gather, "allgather"),
    mockup_row(Collective::Gather, "reduce"),
    mockup_row(Collective::Scatter, "bcast"),
    mockup_row(Collective::Allgather, "gather+bcast"),
    mockup_row(Collective::ReduceScatter, "reduce+scatterv"),
];
