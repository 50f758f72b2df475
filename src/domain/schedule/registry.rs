//! The catalogue of algorithms, with a row for each.
//!
//! An algorithm is one file in its collective's folder and one row here; arithmetic of trees is in `tree/`. Nothing
//! else names an algorithm, which a test checks. Code that several algorithms share is beside them: the relays of
//! blocks, the collecting of parts, the folding to a power of two.
//!
//! Algorithms that can be derived from others are not written twice. Scatters are gathers read backwards. The ring and
//! the pairwise reduce-scatter are allgathers read backwards, combining where the allgather sends. The two-tree reduce
//! reads the timetable of the broadcast from its end. Both reduce-scatters have one definition, since parts of one size
//! are a special case; so have an irregular collective and its regular counterpart, if all spans are whole parts or if
//! every rank knows all counts.

use std::fmt;

use crate::program::{Names, Nothing, Program, Renamed};
use crate::{
    BracketedBy, Collective, Cost, Nodes, Parameter, Parameters, Phase, Rank, Room, Shape,
    Translation,
};
use crate::{
    allgather, allreduce, alltoall, barrier, bcast, exscan, gather, gatherv, reduce,
    reduce_scatter, scan, scatter, scatterv,
};

/// An algorithm with all of its properties.
#[derive(Clone, Copy)]
pub struct Algorithm {
    /// The collective that it carries out.
    pub collective: Collective,
    /// Its name within the collective.
    pub id: &'static str,
    /// Its id in files of older formats, if that was different.
    pub formerly: Option<&'static str>,
    /// A one-line summary.
    pub summary: &'static str,
    /// Its origin.
    pub source: &'static str,
    /// Its time as a formula for people: in `p` ranks, `L = ceil(log2 p)`, `m` bytes, `b` blocks, `H` the height of a
    /// tree, `alpha` for a message, `beta` for a byte moved, `gamma` for a byte combined. `m` is the size of the
    /// whole vector in broadcasts and reductions, and that of one rank's part otherwise; where parts differ in size, the
    /// mean.
    pub formula: &'static str,
    /// The parameters that it takes.
    pub parameters: &'static [Parameter],
    /// Whether it combines only adjacent ranges of ranks, lower ranks on the left, for every root
    /// and number of ranks: the condition for operators that are not commutative. A composition is
    /// ordered if its parts are, see [`crate::Schedule::is_ordered`].
    pub ordered: bool,
    /// Whether it combines in that order at least if the first or the last rank is the root.
    pub ordered_at_ends: bool,
    /// What its own combinations are bracketed by, besides nodes, see [`Algorithm::bracketed_by`].
    pub(crate) brackets_by: &'static [BracketedBy],
    /// Whether it supports only even numbers of ranks (and one rank).
    pub even_ranks: bool,
    /// Whether ranks are told sizes before any data, as in [`crate::SizeExchange`].
    pub tells_sizes: bool,
    /// Its phases within and between nodes, in order, if it knows nodes; at most [`Phase::MOST`].
    pub phases: &'static [Phase],
    /// Whether its own program, without phases, depends on which ranks share a node.
    pub knows_nodes_itself: bool,
    /// Whether it supports these nodes, in addition to what its phases need.
    pub(crate) serves_nodes: fn(&Nodes) -> bool,
    /// The renumberings of the ranks under which programs stay the same, if parts of the vector have one size; `None` if
    /// there are none, or none are known.
    pub(crate) translation: fn(&Shape) -> Option<Translation>,
    /// Whether its phases overlap: each works on a block while earlier phases work on the next ones.
    pub is_pipelined: bool,
    /// The closed form on this many ranks, at least 2, if there is one.
    pub(crate) cost: fn(ranks: u32) -> Option<Cost>,
    /// The number of pieces into which it divides the whole vector by itself; blocks are parts of these.
    pub(crate) pieces: fn(ranks: u32) -> u32,
    /// The scratch buffers of a rank, for at least two ranks.
    pub(crate) scratch: fn(&Shape, Rank) -> Vec<Room>,
    /// The definition, for at least two ranks.
    pub(crate) program: fn(&Shape, Rank) -> Box<dyn Program>,
}

/// All algorithms, by collective.
pub static ALGORITHMS: &[Algorithm] = &[
    bcast::linear::ALGORITHM,
    bcast::linear_nonblocking::ALGORITHM,
    bcast::mst::ALGORITHM,
    bcast::binomial::ALGORITHM,
    bcast::knomial::ALGORITHM,
    bcast::bine::ALGORITHM,
    bcast::chain::ALGORITHM,
    bcast::binary_pipelined::ALGORITHM,
    bcast::scatter_allgather::ALGORITHM,
    bcast::scatter_allgather_ring::ALGORITHM,
    bcast::two_tree::ALGORITHM,
    bcast::split_binary::ALGORITHM,
    bcast::circulant::ALGORITHM,
    bcast::leaders::ALGORITHM,
    bcast::leaders_pipelined::ALGORITHM,
    bcast::lanes::ALGORITHM,
    reduce::linear::ALGORITHM,
    reduce::mst::ALGORITHM,
    reduce::binomial::ALGORITHM,
    reduce::knomial::ALGORITHM,
    reduce::bine::ALGORITHM,
    reduce::fibonacci::ALGORITHM,
    reduce::binary::ALGORITHM,
    reduce::chain::ALGORITHM,
    reduce::binary_pipelined::ALGORITHM,
    reduce::fibonacci_pipelined::ALGORITHM,
    reduce::rabenseifner::ALGORITHM,
    reduce::rabenseifner_unbalanced::ALGORITHM,
    reduce::reduce_scatter_gather_ring::ALGORITHM,
    reduce::two_tree::ALGORITHM,
    reduce::circulant::ALGORITHM,
    reduce::leaders::ALGORITHM,
    reduce::leaders_pipelined::ALGORITHM,
    reduce::lanes::ALGORITHM,
    allreduce::recursive_doubling::ALGORITHM,
    allreduce::recursive_multiplying::ALGORITHM,
    allreduce::ring::ALGORITHM,
    allreduce::ring_segmented::ALGORITHM,
    allreduce::rabenseifner::ALGORITHM,
    allreduce::bine::ALGORITHM,
    allreduce::reduce_broadcast::ALGORITHM,
    allreduce::pipelined_tree::ALGORITHM,
    allreduce::doubly_pipelined_tree::ALGORITHM,
    allreduce::dual_root::ALGORITHM,
    allreduce::two_tree::ALGORITHM,
    allreduce::circulant::ALGORITHM,
    allreduce::leaders::ALGORITHM,
    allreduce::leaders_pipelined::ALGORITHM,
    allreduce::lanes::ALGORITHM,
    gather::linear::ALGORITHM,
    gather::linear_nonblocking::ALGORITHM,
    gather::linear_sync::ALGORITHM,
    gather::ring::ALGORITHM,
    gather::ring_blocking::ALGORITHM,
    gather::ring_accumulate::ALGORITHM,
    gather::binary::ALGORITHM,
    gather::binary_chunked::ALGORITHM,
    gather::binary_repeated::ALGORITHM,
    gather::binary_streamed::ALGORITHM,
    gather::binomial::ALGORITHM,
    gather::knomial::ALGORITHM,
    gather::mst::ALGORITHM,
    gather::leaders::ALGORITHM,
    scatter::linear::ALGORITHM,
    scatter::linear_nonblocking::ALGORITHM,
    scatter::binomial::ALGORITHM,
    scatter::knomial::ALGORITHM,
    scatter::mst::ALGORITHM,
    scatter::binary::ALGORITHM,
    scatter::leaders::ALGORITHM,
    allgather::ring::ALGORITHM,
    allgather::recursive_doubling::ALGORITHM,
    allgather::bruck::ALGORITHM,
    allgather::neighbor_exchange::ALGORITHM,
    allgather::gather_broadcast::ALGORITHM,
    allgather::linear::ALGORITHM,
    allgather::circulant::ALGORITHM,
    allgather::k_circulant::ALGORITHM,
    allgather::bine::ALGORITHM,
    allgather::leaders::ALGORITHM,
    allgather::lanes::ALGORITHM,
    reduce_scatter::ring::ALGORITHM,
    reduce_scatter::recursive_halving::ALGORITHM,
    reduce_scatter::pairwise::ALGORITHM,
    reduce_scatter::reduce_scatter_by_reduce::ALGORITHM,
    reduce_scatter::recursive_doubling::ALGORITHM,
    reduce_scatter::butterfly::ALGORITHM,
    reduce_scatter::bine::ALGORITHM,
    reduce_scatter::circulant::ALGORITHM,
    reduce_scatter::k_circulant::ALGORITHM,
    reduce_scatter::leaders::ALGORITHM,
    reduce_scatter::ring::ALGORITHM.for_collective(Collective::ReduceScatterBlock),
    reduce_scatter::recursive_halving::ALGORITHM.for_collective(Collective::ReduceScatterBlock),
    reduce_scatter::pairwise::ALGORITHM.for_collective(Collective::ReduceScatterBlock),
    reduce_scatter::reduce_scatter_by_reduce::ALGORITHM
        .for_collective(Collective::ReduceScatterBlock),
    reduce_scatter::recursive_doubling::ALGORITHM.for_collective(Collective::ReduceScatterBlock),
    reduce_scatter::butterfly::ALGORITHM.for_collective(Collective::ReduceScatterBlock),
    reduce_scatter::bine::ALGORITHM.for_collective(Collective::ReduceScatterBlock),
    reduce_scatter::circulant::ALGORITHM.for_collective(Collective::ReduceScatterBlock),
    reduce_scatter::k_circulant::ALGORITHM.for_collective(Collective::ReduceScatterBlock),
    reduce_scatter::leaders::ALGORITHM.for_collective(Collective::ReduceScatterBlock),
    reduce_scatter::lanes::ALGORITHM,
    alltoall::linear::ALGORITHM,
    alltoall::batched::ALGORITHM,
    alltoall::pairwise::ALGORITHM,
    alltoall::bruck::ALGORITHM,
    alltoall::bruck_modified::ALGORITHM,
    alltoall::leaders::ALGORITHM,
    alltoall::lanes::ALGORITHM,
    barrier::linear::ALGORITHM,
    barrier::double_ring::ALGORITHM,
    barrier::binary::ALGORITHM,
    barrier::binomial::ALGORITHM,
    barrier::recursive_doubling::ALGORITHM,
    barrier::dissemination::ALGORITHM,
    barrier::leaders::ALGORITHM,
    scan::linear::ALGORITHM,
    scan::chain::ALGORITHM,
    scan::binomial::ALGORITHM,
    scan::recursive_doubling::ALGORITHM,
    scan::hillis_steele::ALGORITHM,
    scan::doubly_pipelined_tree::ALGORITHM,
    scan::leaders::ALGORITHM,
    exscan::linear::ALGORITHM,
    exscan::chain::ALGORITHM,
    exscan::binomial::ALGORITHM,
    exscan::recursive_doubling::ALGORITHM,
    exscan::doubling_123::ALGORITHM,
    exscan::doubly_pipelined_tree::ALGORITHM,
    exscan::leaders::ALGORITHM,
    alltoall::linear::ALGORITHM.for_collective(Collective::Alltoallv),
    alltoall::batched::ALGORITHM.for_collective(Collective::Alltoallv),
    alltoall::pairwise::ALGORITHM.for_collective(Collective::Alltoallv),
    alltoall::linear::ALGORITHM.for_collective(Collective::Alltoallw),
    alltoall::batched::ALGORITHM.for_collective(Collective::Alltoallw),
    alltoall::pairwise::ALGORITHM.for_collective(Collective::Alltoallw),
    allgather::ring::ALGORITHM.for_collective(Collective::Allgatherv),
    allgather::recursive_doubling::ALGORITHM.for_collective(Collective::Allgatherv),
    allgather::bruck::ALGORITHM.for_collective(Collective::Allgatherv),
    allgather::neighbor_exchange::ALGORITHM.for_collective(Collective::Allgatherv),
    allgather::gather_broadcast::ALGORITHM.for_collective(Collective::Allgatherv),
    allgather::linear::ALGORITHM.for_collective(Collective::Allgatherv),
    allgather::circulant::ALGORITHM.for_collective(Collective::Allgatherv),
    allgather::k_circulant::ALGORITHM.for_collective(Collective::Allgatherv),
    allgather::bine::ALGORITHM.for_collective(Collective::Allgatherv),
    allgather::leaders::ALGORITHM.for_collective(Collective::Allgatherv),
    gather::linear::ALGORITHM.for_collective(Collective::Gatherv),
    gather::linear_nonblocking::ALGORITHM.for_collective(Collective::Gatherv),
    gather::linear_sync::ALGORITHM.for_collective(Collective::Gatherv),
    gatherv::batched::ALGORITHM,
    gatherv::binomial::ALGORITHM,
    scatter::linear::ALGORITHM.for_collective(Collective::Scatterv),
    scatter::linear_nonblocking::ALGORITHM.for_collective(Collective::Scatterv),
    scatterv::batched::ALGORITHM,
    scatterv::binomial::ALGORITHM,
];

/// The algorithm with a full name such as `allreduce/dual_root`.
pub fn find_algorithm(name: &str) -> Option<&'static Algorithm> {
    let (collective, id) = name.split_once('/')?;
    algorithms_of(Collective::from_name(collective)?).find(|algorithm| algorithm.id == id)
}

/// The algorithm that formerly had this full name.
pub fn find_by_former_name(name: &str) -> Option<&'static Algorithm> {
    let (collective, id) = name.split_once('/')?;
    algorithms_of(Collective::from_name(collective)?)
        .find(|algorithm| algorithm.formerly == Some(id))
}

/// The algorithms of a collective.
pub fn algorithms_of(collective: Collective) -> impl Iterator<Item = &'static Algorithm> {
    ALGORITHMS
        .iter()
        .filter(move |algorithm| algorithm.collective == collective)
}

/// The algorithms of a collective that can be parts of compositions: all except those that know nodes, which are
/// compositions themselves.
pub fn part_algorithms_of(collective: Collective) -> impl Iterator<Item = &'static Algorithm> {
    algorithms_of(collective).filter(|algorithm| !algorithm.knows_nodes())
}

impl Algorithm {
    /// The full name, `collective/id`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.collective, self.id)
    }

    /// Whether it depends on which ranks share a node.
    pub fn knows_nodes(&self) -> bool {
        self.knows_nodes_itself || !self.phases.is_empty()
    }

    /// The ids of the recommended algorithms for a parameter that names one within or between nodes; the first one is
    /// the default.
    pub fn choices_for(&self, parameter: Parameter) -> impl Iterator<Item = &'static str> + use<> {
        let named = |phase: &&Phase| phase.named_by == Some(parameter);
        let phase = self.phases.iter().find(named);
        phase
            .into_iter()
            .flat_map(|phase| phase.choices)
            .map(|row| row.id)
    }

    /// The inner algorithms of a composition with these parameters, if there are any.
    pub fn inner_algorithms(
        &self,
        parameters: &Parameters<'_>,
    ) -> impl Iterator<Item = &'static Self> {
        let find_inner = |parameter, collective, id: Option<&str>| {
            let id = id.unwrap_or(Parameters::DEFAULT_PART);
            self.takes(parameter)
                .then(|| find_algorithm(&format!("{collective}/{id}")))?
        };
        let parts = [
            find_inner(Parameter::Reduce, Collective::Reduce, parameters.reduce),
            find_inner(Parameter::Bcast, Collective::Bcast, parameters.bcast),
        ];
        let phases = self.phases.iter().map(|phase| {
            let id = phase.algorithm_id(parameters);
            find_algorithm(&format!("{}/{id}", phase.collective))
        });
        let phases: Vec<_> = phases.collect();
        parts.into_iter().chain(phases).flatten()
    }

    /// Whether it takes a parameter.
    pub fn takes(&self, parameter: Parameter) -> bool {
        self.parameters.contains(&parameter)
    }

    /// Whether a parameter has an effect: in a composition, on one of the parts that the other parameters name.
    pub fn uses(&self, parameter: Parameter, given: &Parameters<'_>) -> bool {
        let mut parts = self.inner_algorithms(given).peekable();
        let is_whole = parts.peek().is_none();
        let is_own = is_whole || self.is_pipelined && parameter == Parameter::Blocks;
        self.takes(parameter) && (is_own || parts.any(|part| part.takes(parameter)))
    }

    /// The closed form for root 0 and parts of one size; `None` below 2 ranks or if none is known.
    pub fn cost(&self, ranks: u32) -> Option<Cost> {
        if ranks < 2 {
            return None;
        }
        match ((self.cost)(ranks)?, self.collective) {
            // The row belongs to `reduce_scatter`, where the length counts all parts together.
            (
                Cost::Fixed {
                    steps,
                    moved,
                    combined,
                    parts,
                },
                Collective::ReduceScatterBlock,
            ) => Some(Cost::Fixed {
                steps,
                moved: moved * u64::from(ranks),
                combined: combined * u64::from(ranks),
                parts,
            }),
            // The row belongs to the regular collective, where the length is that of one part.
            (
                Cost::Fixed {
                    steps,
                    moved,
                    combined,
                    parts,
                },
                Collective::Allgatherv | Collective::Gatherv | Collective::Scatterv,
            ) => Some(Cost::Fixed {
                steps,
                moved,
                combined,
                parts: parts * u64::from(ranks),
            }),
            (cost, _) => Some(cost),
        }
    }

    /// The number of pieces into which it divides the whole vector by itself; [`Parameter::Blocks`] determines the
    /// number of blocks in each.
    pub fn pieces(&self, ranks: u32) -> u32 {
        (self.pieces)(ranks)
    }

    /// The scratch buffers of a rank when the algorithm is part of another one, with root 0.
    pub(crate) fn part_scratch(&self, shape: &Shape, rank: Rank) -> Vec<Room> {
        (self.scratch)(&shape.of_part(self), rank)
    }

    /// The program of a rank when the algorithm is part of another one, with root 0.
    pub(crate) fn part_program(&self, shape: &Shape, rank: Rank, names: Names) -> Box<dyn Program> {
        let program = (self.program)(&shape.of_part(self), rank);
        Box::new(Renamed { program, names })
    }

    /// The same algorithm as a row of a collective with the same conditions.
    pub(crate) const fn for_collective(self, collective: Collective) -> Self {
        Self { collective, ..self }
    }
}

impl fmt::Debug for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name())
    }
}

/// Common values of most rows: no parameters, no scratch, one piece, any number of ranks, no closed form.
pub(crate) const PLAIN: Algorithm = Algorithm {
    collective: Collective::Bcast,
    id: "",
    formerly: None,
    summary: "",
    source: "",
    formula: "",
    parameters: &[],
    ordered: true,
    ordered_at_ends: true,
    brackets_by: &[],
    even_ranks: false,
    tells_sizes: false,
    phases: &[],
    knows_nodes_itself: false,
    serves_nodes: |_| true,
    translation: |_| None,
    is_pipelined: false,
    cost: |_| None,
    pieces: |_| 1,
    scratch: |_, _| Vec::new(),
    program: |_, _| Box::new(Nothing),
};
