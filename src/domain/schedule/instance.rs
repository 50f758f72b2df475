//! An algorithm bound to a call.
//!
//! [`Schedule::new`] is the only way to make a schedule, and refuses calls that the algorithm does not serve: above
//! all, an algorithm that combines out of rank order is never used for an operator that does not commute. Algorithms
//! are defined for at least two ranks; on one rank the schedule itself copies the contribution or does nothing.

use crate::counts::{BlockCounts, Distribution, OwnCounts, SizeExchange};
use crate::layout::Layout;
use crate::phases::{self, Phase};
use crate::program::{CopyOwn, Later, Nothing, Program, SIZE_ROUNDS};
use crate::shape::Parts;
use crate::vector::{PartSizes, Vector};
use crate::{
    Action, Algorithm, BlockRange, Blocks, Buffer, Collective, Held, Nodes, Parameter, Parameters,
    Partition, Placed, Rank, Round, Shape, Span, Translation, find_algorithm,
};
use thiserror::Error;

/// The call to make a schedule for.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Ranks in the communicator.
    pub ranks: u32,
    /// The root; ignored by collectives without one.
    pub root: Rank,
    /// Whether the call is in place; ignored if the collective does not allow that.
    pub in_place: bool,
    /// Whether the operator commutes; ignored in data movement.
    pub commutative: bool,
    /// Length of the call: elements in reductions, bytes elsewhere; of one rank's part where
    /// [`Collective::is_sized_by_part`], of the whole vector otherwise. Ignored without [`Collective::has_data`].
    pub units: u64,
    /// Where [`Collective::has_part_counts`], the length of each rank's part, `units` in all. Where
    /// [`Collective::has_block_counts`], those of all blocks, whatever `units` is: what rank 0 sends to each rank, then
    /// what rank 1 sends, and so on. If absent, they follow from `distribution`.
    pub counts: Option<&'a [u64]>,
    /// The distribution of data over parts or blocks whose counts are not given.
    pub distribution: Distribution,
    /// The parameters of the algorithm.
    pub parameters: Parameters<'a>,
    /// Which ranks share a node; ignored by most algorithms.
    pub placed: Placed<'a>,
}

impl Request<'_> {
    /// A call among `ranks` on one node with root 0, nothing in place, one unit and default parameters.
    pub fn among_ranks(ranks: u32) -> Self {
        Self {
            ranks,
            root: 0,
            in_place: false,
            commutative: true,
            units: 1,
            counts: None,
            distribution: Distribution::Uniform,
            parameters: Parameters::default(),
            placed: Placed::Together,
        }
    }
}

/// The reason why an algorithm cannot serve a request.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum Unsupported {
    /// A communicator has at least one rank.
    #[error("a communicator has at least one rank")]
    NoRanks,
    /// More ranks than any MPI library has: they are numbered by a C `int`.
    #[error("{ranks} ranks are more than MPI can number, which is {}", i32::MAX)]
    TooManyRanks { ranks: u32 },
    /// The root is not a rank.
    #[error("root {root} is not among ranks 0 to {}", ranks - 1)]
    NoSuchRoot { root: Rank, ranks: u32 },
    /// The algorithm does not take this parameter.
    #[error("{algorithm} does not take the parameter `{parameter}`")]
    Parameter {
        algorithm: String,
        parameter: Parameter,
    },
    /// The number or size of blocks is zero.
    #[error("the number and size of blocks must be at least 1")]
    ZeroBlocks,
    /// The radix is not one of [`Parameters::RADICES`].
    #[error(
        "the radix must be from {} to {}, not {radix}",
        Parameters::RADICES.start(),
        Parameters::RADICES.end()
    )]
    Radix { radix: u32 },
    /// The algorithm needs an even number of ranks.
    #[error("{algorithm} needs an even number of ranks, not {ranks}")]
    OddRanks { algorithm: String, ranks: u32 },
    /// There are no nodes, or they belong to another number of ranks.
    #[error("these are not the nodes of {ranks} ranks")]
    Nodes { ranks: u32 },
    /// The algorithm has no leaders on each node.
    #[error("the number of leaders must be at least 1")]
    ZeroLeaders,
    /// No message could be sent.
    #[error("the number of requests under way must be at least 1")]
    ZeroRequests,
    /// The smallest node has fewer ranks than the requested number of leaders.
    #[error("{leaders} leaders are more than the smallest node has ranks, which is {ranks}")]
    TooManyLeaders { leaders: u32, ranks: u32 },
    /// The algorithm needs the same number of ranks on each node, parts that are contiguous or at equal distances, or
    /// consecutive ranks on each node.
    #[error(
        "{algorithm} does not support these nodes: lanes need the same number of ranks on each node, and parts of ranks need block order, or cyclic order with the same number of ranks on each node; scans need consecutive ranks on each node"
    )]
    UnlikeNodes { algorithm: String },
    /// The algorithm, or the part that is named, combines out of rank order, and the operator does not commute.
    #[error(
        "{algorithm} combines out of rank order, which gives wrong results for operators that do not commute"
    )]
    Unordered { algorithm: String },
    /// There are counts or a distribution, but the collective has parts of one size.
    #[error(
        "the parts of a {collective} have one size; counts and distributions are for reduce_scatter, allgatherv, gatherv, scatterv, alltoallv and alltoallw"
    )]
    OneSize { collective: Collective },
    /// The number of counts is wrong, or their sum differs from `units`.
    #[error(
        "{given} counts do not fit: {collective} on {ranks} ranks needs {}",
        if collective.has_block_counts() {
            format!("{}, one for each pair of ranks, row by row", u64::from(*ranks).pow(2))
        } else {
            format!("{ranks}, one for each rank, and their sum must be the vector's length")
        }
    )]
    Counts {
        collective: Collective,
        ranks: u32,
        given: usize,
    },
    /// A block is not as long as the one that replaces it.
    #[error(
        "in place, the block from one rank to another must be as long as the one in the other direction"
    )]
    Asymmetric,
    /// The vector has more units than can be counted.
    #[error("the vector is longer than {MOST_UNITS} units")]
    TooLong,
    /// A part names an unknown algorithm of its collective.
    #[error("there is no {collective} algorithm `{id}`")]
    Part { collective: Collective, id: String },
}

/// An algorithm with its shape and the length of the vector.
#[derive(Clone, Debug)]
pub struct Schedule {
    algorithm: &'static Algorithm,
    shape: Shape,
    units: u64,
    /// That of the call; where blocks differ in length, one that is at least as long as that of every rank.
    vector: Vector,
    /// The lengths of blocks that differ.
    blocks: Option<BlockCounts>,
}

impl Schedule {
    /// Binds an algorithm to a call, or returns the reason why that is impossible.
    pub fn new(algorithm: &'static Algorithm, request: &Request<'_>) -> Result<Self, Unsupported> {
        let Request {
            ranks,
            root,
            units,
            parameters,
            ..
        } = *request;
        let collective = algorithm.collective;
        let name = || algorithm.name();
        if ranks == 0 {
            return Err(Unsupported::NoRanks);
        }
        if i32::try_from(ranks).is_err() {
            return Err(Unsupported::TooManyRanks { ranks });
        }
        let root = if collective.is_rooted() { root } else { 0 };
        if root >= ranks {
            return Err(Unsupported::NoSuchRoot { root, ranks });
        }
        if algorithm.even_ranks && ranks > 1 && !ranks.is_multiple_of(2) {
            return Err(Unsupported::OddRanks {
                algorithm: name(),
                ranks,
            });
        }
        if let Some(parameter) = parameters
            .given_kinds()
            .find(|given| !algorithm.takes(*given))
        {
            return Err(Unsupported::Parameter {
                algorithm: name(),
                parameter,
            });
        }
        let nodes = request.placed.resolve_nodes(ranks);
        let nodes = nodes.ok_or(Unsupported::Nodes { ranks })?;
        let (vector, block_counts) = divide_vector(collective, request, &nodes)?;
        let radix = parameters.radix.unwrap_or(Parameters::DEFAULT_RADIX);
        if !Parameters::RADICES.contains(&radix) {
            return Err(Unsupported::Radix { radix });
        }
        let leaders = match parameters.leaders {
            Some(0) => return Err(Unsupported::ZeroLeaders),
            leaders => phases::leaders_of_node(algorithm, leaders, &nodes),
        };
        let max_requests = match parameters.max_requests {
            Some(0) => return Err(Unsupported::ZeroRequests),
            given => given.unwrap_or(Parameters::DEFAULT_MAX_REQUESTS),
        };
        let parts = Parts {
            of: algorithm,
            reduce: find_part(Collective::Reduce, parameters.reduce)?,
            bcast: find_part(Collective::Bcast, parameters.bcast)?,
            phases: choose_phases(algorithm, &parameters, &nodes, leaders)?,
        };
        let mut shape = Shape {
            ranks,
            root,
            in_place: request.in_place && collective.allows_in_place(),
            blocks: 1,
            radix,
            parts,
            nodes,
            leaders,
            max_requests,
        };
        shape.blocks = match parameters.blocks {
            Some(Blocks::Count(0) | Blocks::Size(0)) => return Err(Unsupported::ZeroBlocks),
            Some(blocks) => {
                let pieces = vector_pieces(algorithm, &shape).into();
                blocks.block_count(vector.units.div_ceil(pieces))
            }
            None => 1,
        };
        let schedule = Self {
            algorithm,
            shape,
            units: if collective.has_data() { units } else { 0 },
            vector,
            blocks: block_counts,
        };
        match schedule.unordered_part() {
            Some(unordered) if collective.is_reduction() && !request.commutative => {
                Err(Unsupported::Unordered {
                    algorithm: unordered.name(),
                })
            }
            _ => Ok(schedule),
        }
    }

    /// The same schedule, in as many blocks, for a call of another length with parts of one size.
    pub(crate) fn with_units(&self, units: u64) -> Self {
        let is_sized_by_part = self.algorithm.collective.is_sized_by_part();
        let factor = if is_sized_by_part {
            self.shape.ranks
        } else {
            1
        };
        let vector = Vector {
            units: units.saturating_mul(factor.into()).min(MOST_UNITS),
            parts: None,
            ..self.vector.clone()
        };
        Self {
            units,
            vector,
            blocks: None,
            ..self.clone()
        }
    }

    /// The algorithm.
    pub fn algorithm(&self) -> &'static Algorithm {
        self.algorithm
    }

    /// The shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Length of the call, as in [`Request::units`].
    pub fn units(&self) -> u64 {
        self.units
    }

    /// The number of pieces into which the algorithm itself divides the whole vector; blocks are parts of these.
    pub fn pieces(&self) -> u32 {
        vector_pieces(self.algorithm, &self.shape)
    }

    /// Length of the whole vector; where blocks differ in length, at least that of every rank's blocks together.
    pub fn vector_units(&self) -> u64 {
        self.vector.units
    }

    /// Whether blocks differ in length, so that the vectors of ranks do.
    pub fn has_uneven_blocks(&self) -> bool {
        self.blocks.is_some()
    }

    /// The number of units in a span of a rank, in any memory; that of a message is the same at both ends.
    ///
    /// The span must be one of the rank's own rounds.
    #[inline]
    pub fn span_units(&self, rank: Rank, span: &Span) -> u64 {
        match &self.blocks {
            None => self.vector.span_length(span),
            Some(blocks) => self.block_units(blocks, rank, span),
        }
    }

    /// The same where blocks differ in length: every span is some of the blocks that the rank sends, or of those that it
    /// receives.
    fn block_units(&self, blocks: &BlockCounts, rank: Rank, span: &Span) -> u64 {
        let ranks = self.shape.ranks;
        let BlockRange { start, count } = span.blocks;
        let peers = (start..start + count).map(|block| (block % u64::from(ranks)) as Rank);
        let units = peers.map(|peer| match span.buffer {
            Buffer::Input => blocks.count(ranks, rank, peer),
            Buffer::Output | Buffer::Scratch(_) => blocks.count(ranks, peer, rank),
        });
        units.sum()
    }

    /// Whether two spans of one rank are disjoint because they name different buffers, or different blocks of a
    /// buffer that holds all of its blocks separately. Otherwise the layout decides.
    #[inline]
    pub fn are_apart(&self, a: &Span, b: &Span) -> bool {
        let is_scratch = |span: &Span| matches!(span.buffer, Buffer::Scratch(_));
        if a.buffer != b.buffer {
            return !self.shape.in_place || is_scratch(a) || is_scratch(b);
        }
        // The chunk's first block follows its last one.
        let is_plain = !matches!(a.partition, Partition::ByChunk { .. });
        !is_scratch(a) && is_plain && a.partition == b.partition && !a.shares_blocks(b)
    }

    /// Whether the schedule combines only adjacent ranges of ranks, lower ranks on the left.
    pub fn is_ordered(&self) -> bool {
        self.unordered_part().is_none()
    }

    /// Renumberings of the ranks under which the programs stay the same; `None` if there are none, or none are known.
    pub fn translation(&self) -> Option<Translation> {
        let collective = self.algorithm.collective;
        let has_equal_parts = (collective.is_sized_by_part() && !collective.has_block_counts())
            || !collective.has_data();
        (self.algorithm.translation)(&self.shape)
            .filter(|_| has_equal_parts && !collective.is_rooted() && self.shape.ranks > 1)
    }

    /// Combinations of whole vectors, one after the other, that a rank does between and after the phases of an algorithm
    /// that knows nodes.
    pub fn combinations_besides_phases(&self) -> u64 {
        phases::combinations_besides_phases(&self.shape)
    }

    /// The algorithm, or its part, that combines out of order.
    fn unordered_part(&self) -> Option<&'static Algorithm> {
        let Shape {
            ranks,
            root,
            parts,
            ref nodes,
            ..
        } = self.shape;
        let root_at_end = root == 0 || root + 1 == ranks;
        let is_ordered = |algorithm: &Algorithm, at_end: bool| {
            algorithm.ordered || algorithm.ordered_at_ends && at_end
        };
        let by_nodes = self.algorithm.knows_nodes() && self.algorithm.collective.is_reduction();
        if !is_ordered(self.algorithm, root_at_end) || by_nodes && !nodes.are_consecutive() {
            return Some(self.algorithm);
        }
        // Reduces inside compositions have root 0.
        let combines = self.algorithm.takes(Parameter::Reduce);
        let reduce = combines.then_some((parts.reduce, true));
        let phases = parts
            .phases()
            .filter(|(phase, _)| phase.collective.is_reduction());
        let phases = phases.filter(|(phase, _)| phase.largest_team(&self.shape) > 1);
        let phases = phases.map(|(phase, part)| (part, phase.has_root_at_end(&self.shape)));
        let mut inner = reduce.into_iter().chain(phases);
        let unordered = inner.find(|(part, at_end)| !is_ordered(part, *at_end));
        unordered.map(|(part, _)| part)
    }

    /// The layout of a rank's memory.
    pub fn layout(&self, rank: Rank) -> Layout {
        let ranks = self.shape.ranks;
        let Some(blocks) = &self.blocks else {
            return self.layout_of_vectors(rank, None, self.vector.clone());
        };
        // The sums do not overflow: no rank has more units than `vector`.
        let of_parts = |parts: Option<PartSizes>| {
            parts.map_or_else(|| self.vector.clone(), |parts| self.vector.of_parts(parts))
        };
        let sent = of_parts(blocks.sent_by(ranks, rank));
        let received = of_parts(blocks.received_by(ranks, rank));
        self.layout_of_vectors(rank, Some(sent), received)
    }

    /// The layout of a rank's memory from what that rank alone knows. All spans of its program have the same places as
    /// with all counts, so a schedule without counts serves all calls on a communicator.
    ///
    /// `None` if the collective has no such counts, if there is not one for each rank, or if there are too many units.
    pub fn layout_with_counts(&self, rank: Rank, counts: OwnCounts<'_>) -> Option<Layout> {
        let collective = self.algorithm.collective;
        let of_parts = |parts: PartSizes| {
            let fits = parts.total_units() <= MOST_UNITS;
            fits.then(|| self.vector.of_parts(parts))
        };
        let listed = |all: &[u64]| {
            let is_complete = all.len() == self.shape.ranks as usize;
            of_parts(PartSizes::new(all.iter().copied()).filter(|_| is_complete)?)
        };
        match counts {
            OwnCounts::Parts(all) if collective.has_part_counts() => {
                Some(self.layout_of_vectors(rank, None, listed(all)?))
            }
            OwnCounts::Part(units) if collective.has_part_counts() => {
                let own = of_parts(PartSizes::Only { rank, units })?;
                Some(self.layout_of_vectors(rank, None, own))
            }
            OwnCounts::Told { own, others } if self.algorithm.tells_sizes => {
                let mut parts = vec![0; self.shape.ranks as usize];
                *parts.get_mut(rank as usize)? = own;
                for (other, units) in others {
                    *parts.get_mut(*other as usize)? = *units;
                }
                Some(self.layout_of_vectors(rank, None, of_parts(PartSizes::new(parts)?)?))
            }
            OwnCounts::Blocks { sent, received } if collective.has_block_counts() => {
                Some(self.layout_of_vectors(rank, Some(listed(sent)?), listed(received)?))
            }
            _ => None,
        }
    }

    /// The units of a rank's part.
    pub(crate) fn part_units(&self, rank: Rank) -> u64 {
        let rank = u64::from(rank);
        self.vector.part_start(rank + 1) - self.vector.part_start(rank)
    }

    /// The messages in which a rank is told sizes; `None` if the algorithm tells none.
    pub fn size_exchange(&self, rank: Rank) -> Option<SizeExchange> {
        if !self.algorithm.tells_sizes {
            return None;
        }
        let program = self.program(rank);
        let mut exchange = SizeExchange::default();
        let mut round = Round::default();
        for index in 0..program.rounds().min(self.size_rounds()) {
            program.round(index, &mut round);
        }
        for action in round.actions() {
            match *action {
                Action::Await { from } => exchange.from.push(from),
                Action::Signal { to } => exchange.to = Some(to),
                _ => {}
            }
        }
        Some(exchange)
    }

    /// A rank's program without the messages of [`Self::size_exchange`].
    pub fn program_after_sizes(&self, rank: Rank) -> Box<dyn Program> {
        Box::new(Later {
            program: self.program(rank),
            skipped: self.size_rounds(),
        })
    }

    /// The first rounds of every program, in which sizes are told.
    fn size_rounds(&self) -> u64 {
        if self.algorithm.tells_sizes && self.shape.ranks > 1 {
            SIZE_ROUNDS
        } else {
            0
        }
    }

    /// The units of a rank's scratch memory; saturates instead of overflowing.
    pub fn scratch_units(&self, rank: Rank) -> u64 {
        let layout = self.layout(rank);
        let rooms = 0..layout.scratch_rooms().len();
        let units = rooms.map(|index| layout.capacity(Buffer::Scratch(index as u8)));
        units.fold(0, u64::saturating_add)
    }

    fn layout_of_vectors(&self, rank: Rank, input: Option<Vector>, vector: Vector) -> Layout {
        let collective = self.algorithm.collective;
        let buffers = collective.buffer_regions(&self.shape, &vector, rank);
        let scratch = match self.shape.ranks {
            1 => Vec::new(),
            _ => (self.algorithm.scratch)(&self.shape, rank),
        };
        let (holds, held) = collective.precondition(&self.shape, rank);
        let output_is_input = holds == Buffer::Output && held != Held::Undefined;
        Layout::new((input, vector), buffers, scratch, output_is_input)
    }

    /// A rank's program; takes at most O(log² p) time. With a single rank there is at most its contribution to copy,
    /// for every algorithm.
    pub fn program(&self, rank: Rank) -> Box<dyn Program> {
        match (self.shape.ranks, self.algorithm.collective) {
            (1, Collective::Bcast | Collective::Barrier | Collective::Exscan) => Box::new(Nothing),
            (1, _) => Box::new(CopyOwn),
            _ => (self.algorithm.program)(&self.shape, rank),
        }
    }
}

/// The vector of a call and its division among the ranks, and the lengths of blocks that differ.
fn divide_vector(
    collective: Collective,
    request: &Request<'_>,
    nodes: &Nodes,
) -> Result<(Vector, Option<BlockCounts>), Unsupported> {
    let Request {
        ranks,
        units,
        distribution,
        ..
    } = *request;
    let has_counts = request.counts.is_some() || distribution != Distribution::Uniform;
    if has_counts && !collective.has_part_counts() && !collective.has_block_counts() {
        return Err(Unsupported::OneSize { collective });
    }
    let vector = |all, parts| Vector {
        units: all,
        ranks,
        parts,
        nodes: nodes.clone(),
    };
    if has_counts && collective.has_block_counts() {
        let blocks = block_counts(collective, request)?;
        let most = blocks.most_units(ranks);
        let most = most.filter(|total| *total <= MOST_UNITS);
        return Ok((
            vector(most.ok_or(Unsupported::TooLong)?, None),
            Some(blocks),
        ));
    }
    let factor = if !collective.has_data() {
        0
    } else if collective.is_sized_by_part() {
        ranks
    } else {
        1
    };
    let all = units
        .checked_mul(factor.into())
        .filter(|units| *units <= MOST_UNITS)
        .ok_or(Unsupported::TooLong)?;
    let parts = match request.counts {
        None if distribution == Distribution::Uniform => None,
        None => PartSizes::new(distribution.part_counts(all, ranks)),
        Some(counts) => {
            let sizes = PartSizes::new(counts.iter().copied()).ok_or(Unsupported::TooLong)?;
            if counts.len() != ranks as usize || sizes.total_units() != units {
                return Err(Unsupported::Counts {
                    collective,
                    ranks,
                    given: counts.len(),
                });
            }
            Some(sizes)
        }
    };
    Ok((vector(all, parts), None))
}

/// The lengths of the blocks of a call.
fn block_counts(collective: Collective, request: &Request<'_>) -> Result<BlockCounts, Unsupported> {
    let ranks = request.ranks;
    let Some(counts) = request.counts else {
        return Ok(BlockCounts::Distributed {
            distribution: request.distribution,
            mean: request.units,
        });
    };
    if counts.len() as u64 != u64::from(ranks) * u64::from(ranks) {
        return Err(Unsupported::Counts {
            collective,
            ranks,
            given: counts.len(),
        });
    }
    let blocks = BlockCounts::Listed(counts.into());
    if request.in_place && !blocks.are_symmetric(ranks) {
        return Err(Unsupported::Asymmetric);
    }
    Ok(blocks)
}

/// Longer vectors are refused, because the size of scratch memory, a multiple of the length, must not overflow.
const MOST_UNITS: u64 = 1 << 60;

fn vector_pieces(algorithm: &Algorithm, shape: &Shape) -> u32 {
    match algorithm.phases {
        [] => algorithm.pieces(shape.ranks),
        _ => phases::most_pieces(shape),
    }
}

type Phases = [Option<(&'static Phase, &'static Algorithm)>; Phase::MOST];

/// The phases of an algorithm that knows nodes, and the algorithms of the registry that carry them out.
fn choose_phases(
    algorithm: &'static Algorithm,
    parameters: &Parameters<'_>,
    nodes: &Nodes,
    leaders_per_node: u32,
) -> Result<Phases, Unsupported> {
    if !(algorithm.serves_nodes)(nodes) {
        return Err(Unsupported::UnlikeNodes {
            algorithm: algorithm.name(),
        });
    }
    let mut phases = [None; Phase::MOST];
    // A scan on one node ends there: nothing comes from others.
    let ends_on_node = algorithm.collective.is_prefix_reduction() && nodes.node_count() == 1;
    let all = if ends_on_node {
        &algorithm.phases[..algorithm.phases.len().min(1)]
    } else {
        algorithm.phases
    };
    for (place, phase) in phases.iter_mut().zip(all) {
        if let Some(leaders) = parameters
            .leaders
            .filter(|leaders| nodes.smallest_node_size() < *leaders)
        {
            let ranks = nodes.smallest_node_size();
            return Err(Unsupported::TooManyLeaders { leaders, ranks });
        }
        if nodes.smallest_node_size() < leaders_per_node
            || !phase.serves_nodes(nodes, algorithm.collective)
        {
            let algorithm = algorithm.name();
            return Err(Unsupported::UnlikeNodes { algorithm });
        }
        let part = find_part(phase.collective, Some(phase.algorithm_id(parameters)))?;
        if !phase.admits_algorithm(part) {
            return Err(Unsupported::Part {
                collective: phase.collective,
                id: part.id.to_owned(),
            });
        }
        *place = Some((phase, part));
    }
    Ok(phases)
}

/// The algorithm for a part of a composition; a binomial tree by default.
fn find_part(collective: Collective, id: Option<&str>) -> Result<&'static Algorithm, Unsupported> {
    let id = id.unwrap_or(Parameters::DEFAULT_PART);
    let part = find_algorithm(&format!("{collective}/{id}")).filter(|part| !part.knows_nodes());
    part.ok_or_else(|| Unsupported::Part {
        collective,
        id: id.to_owned(),
    })
}
