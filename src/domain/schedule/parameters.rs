//! Parameters of algorithms.

use std::fmt;
use std::ops::RangeInclusive;

/// The kinds of parameters; the registry says which an algorithm takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Parameter {
    /// Number or size of the pipeline blocks.
    Blocks,
    /// Radix of a tree or an exchange: on each level a rank has up to radix - 1 children or partners.
    Radix,
    /// The inner reduce of a composition.
    Reduce,
    /// The inner broadcast of a composition.
    Bcast,
    /// The algorithms within nodes, of an algorithm that knows nodes.
    Node,
    /// The algorithm between nodes, of an algorithm that knows nodes.
    Network,
    /// The number of ranks of each node that exchange data with other nodes, of an algorithm that knows nodes.
    Leaders,
    /// The number of messages that a rank sends, and of those that it receives, at the same time.
    MaxRequests,
}

impl Parameter {
    /// Every kind.
    pub const ALL: [Self; 8] = [
        Self::Blocks,
        Self::Radix,
        Self::Reduce,
        Self::Bcast,
        Self::Node,
        Self::Network,
        Self::Leaders,
        Self::MaxRequests,
    ];
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Blocks => "blocks",
            Self::Radix => "radix",
            Self::Reduce => "reduce",
            Self::Bcast => "bcast",
            Self::Node => "node",
            Self::Network => "network",
            Self::Leaders => "leaders_per_node",
            Self::MaxRequests => "max_requests",
        })
    }
}

/// The division of a vector for pipelining.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Blocks {
    /// A number of blocks.
    Count(u32),
    /// The fewest blocks of at most this many units each.
    Size(u64),
}

impl Blocks {
    /// The number of blocks for a vector of `units`, at least 1.
    pub fn block_count(self, units: u64) -> u32 {
        match self {
            Self::Count(count) => count.max(1),
            Self::Size(size) => u32::try_from(units.div_ceil(size.max(1)))
                .unwrap_or(u32::MAX)
                .max(1),
        }
    }
}

/// Values of parameters. An absent one has the algorithm's default: one block, radix 4, binomial trees, the first of
/// [`crate::Phase::choices`] within and between nodes, one leader a node, and
/// [`Parameters::DEFAULT_MAX_REQUESTS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Parameters<'a> {
    /// The division of the vector.
    pub blocks: Option<Blocks>,
    /// Radix of a tree or an exchange, one of [`Parameters::RADICES`].
    pub radix: Option<u32>,
    /// Id of the inner reduce.
    pub reduce: Option<&'a str>,
    /// Id of the inner broadcast.
    pub bcast: Option<&'a str>,
    /// Id of the algorithms within nodes.
    pub node: Option<&'a str>,
    /// Id of the algorithm between nodes.
    pub network: Option<&'a str>,
    /// Leaders of each node, at most as many as the smallest node has ranks.
    pub leaders: Option<u32>,
    /// At most this many sends, and as many receives, of a rank are under way at the same time; at least 1.
    pub max_requests: Option<u32>,
}

impl Parameters<'_> {
    /// The radices that a tree may have. On real communicators wider trees are linear.
    pub const RADICES: RangeInclusive<u32> = 2..=64;

    /// The radix of a tree for which none is given.
    pub const DEFAULT_RADIX: u32 = 4;

    /// The requests of each kind that a rank has under way if no number is given: those of MPICH's scattered alltoall
    /// (`MPIR_CVAR_ALLTOALL_THROTTLE`).
    pub const DEFAULT_MAX_REQUESTS: u32 = 32;

    /// The default of the inner reduce or broadcast.
    pub const DEFAULT_PART: &'static str = "binomial";

    /// Parameters with only a number of blocks.
    pub fn with_blocks(count: u32) -> Self {
        Self {
            blocks: Some(Blocks::Count(count)),
            ..Self::default()
        }
    }

    /// The kinds of parameters that have values.
    pub fn given_kinds(&self) -> impl Iterator<Item = Parameter> {
        [
            self.blocks.map(|_| Parameter::Blocks),
            self.radix.map(|_| Parameter::Radix),
            self.reduce.map(|_| Parameter::Reduce),
            self.bcast.map(|_| Parameter::Bcast),
            self.node.map(|_| Parameter::Node),
            self.network.map(|_| Parameter::Network),
            self.leaders.map(|_| Parameter::Leaders),
            self.max_requests.map(|_| Parameter::MaxRequests),
        ]
        .into_iter()
        .flatten()
    }
}
