//! Candidates: the ways to carry out a collective that can be measured and chosen.

use std::fmt;

use schedule::{Algorithm, Collective, Placed, Request};
use serde::{Deserialize, Serialize, Serializer};
use strum_macros::IntoStaticStr;

use crate::units::format_bytes;
use crate::{Cell, CommShape, RankOrder};

/// One way to carry out a collective.
///
/// Its full name, [`Candidate`]'s `Display`, is `default` or a name followed by the parameters in brackets, as in
/// `allreduce/dual_root[block_bytes=64K]`, and is unique within a cell. Our algorithms are called `collective/id`; all
/// other names begin with the kind of candidate.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Candidate {
    /// The library's own choice.
    Default,
    /// The default under another name. If its time differs from that of [`Candidate::Default`], the measurement is
    /// biased.
    Placebo,
    /// A registered algorithm of ours.
    Ours {
        /// `collective/id`.
        algorithm: String,
        /// The parameters that the algorithm takes; others have the registry's defaults.
        #[serde(default, skip_serializing_if = "Parameters::is_empty")]
        parameters: Parameters,
    },
    /// One of the measured library's own algorithms, forced.
    Native {
        /// `native:collective/id`, with the id in the library's spelling: [`NativeAlgorithm::full_name`].
        algorithm: String,
        /// The parameters that reach the algorithm; others are the library's choice.
        #[serde(default, skip_serializing_if = "Parameters::is_empty")]
        parameters: Parameters,
    },
    /// A collective made of the library's other collectives, with which a performance guideline compares it.
    Mockup {
        /// `mockup:collective/id`: [`crate::MOCKUPS`].
        algorithm: String,
    },
    /// An algorithm that was imported and cannot be measured here.
    Foreign {
        /// `source:collective/id`, in the spelling of the import.
        algorithm: String,
        /// Its parameters.
        #[serde(default, skip_serializing_if = "Parameters::is_empty")]
        parameters: Parameters,
    },
}

impl Candidate {
    /// The name of [`Candidate::Placebo`].
    pub const PLACEBO: &str = "placebo:default";
    /// The prefix of the names of native algorithms.
    pub const NATIVE: &str = "native:";
    /// The beginning of the ids of a library's components among its algorithms, as in `native:bcast/component_han`.
    pub const COMPONENT: &str = "component_";
    /// The prefix of the names of mock-ups.
    pub const MOCKUP: &str = "mockup:";

    /// The candidate with the current name of its algorithm, from files with older names.
    #[must_use]
    pub fn with_current_name(mut self) -> Self {
        if let Self::Ours { algorithm, .. } = &mut self
            && let Some(known) = schedule::find_by_former_name(algorithm)
        {
            *algorithm = known.name();
        }
        self
    }

    /// The full name without parameters: `collective/id`, `native:collective/id`, `default`.
    pub fn algorithm(&self) -> &str {
        match self {
            Self::Default => "default",
            Self::Placebo => Self::PLACEBO,
            Self::Ours { algorithm, .. }
            | Self::Native { algorithm, .. }
            | Self::Mockup { algorithm }
            | Self::Foreign { algorithm, .. } => algorithm,
        }
    }

    /// Whether it is a registered algorithm of ours.
    pub const fn is_ours(&self) -> bool {
        matches!(self, Self::Ours { .. })
    }

    /// Whether it is one of the library's own algorithms, forced.
    pub const fn is_native(&self) -> bool {
        matches!(self, Self::Native { .. })
    }

    /// The id without its collective, or `default`.
    pub fn id(&self) -> &str {
        let name = self.algorithm();
        name.split_once('/').map_or(name, |(_, id)| id)
    }

    /// The component of the library that carries it out, of a candidate that forces one.
    pub fn forced_component(&self) -> Option<&str> {
        let Self::Native { .. } = self else {
            return None;
        };
        // Settings follow the name.
        self.id().strip_prefix(Self::COMPONENT)?.split('_').next()
    }

    /// The size of its blocks in a cell, in bytes; for a single block, that of the data that is cut.
    pub fn block_bytes(&self, cell: &Cell) -> u64 {
        let size = self.parameters().block_bytes;
        size.unwrap_or_else(|| cell.vector_bytes().max(1))
    }

    /// The full name and the parameters of an algorithm of ours; `None` for all other candidates.
    pub fn as_ours(&self) -> Option<(&str, &Parameters)> {
        match self {
            Self::Ours {
                algorithm,
                parameters,
            } => Some((algorithm, parameters)),
            _ => None,
        }
    }

    /// The parameters; empty if there are none.
    pub fn parameters(&self) -> Parameters {
        match self {
            Self::Default | Self::Placebo | Self::Mockup { .. } => Parameters::default(),
            Self::Ours { parameters, .. }
            | Self::Native { parameters, .. }
            | Self::Foreign { parameters, .. } => parameters.clone(),
        }
    }

    /// What decides how it brackets contributions, besides the number of ranks and the parameters: names of
    /// [`schedule::BracketedBy`]. `None` if it combines nothing, or if it is the library's, which does not say.
    pub fn bracketed_by(&self) -> Option<Vec<&'static str>> {
        let (name, parameters) = self.as_ours()?;
        let algorithm = schedule::find_algorithm(name)?;
        // Blocks have the same effect whatever their size.
        let all = algorithm.bracketed_by(&parameters.in_units(1))?;
        Some(all.into_iter().map(schedule::BracketedBy::name).collect())
    }

    /// The most combinations, one after the other, that a contribution goes through on such ranks, whatever the length
    /// and with root 0: [`schedule::verify::observe_depth`]. Ranks of unknown order are in block order.
    ///
    /// `None` if nothing is combined, if the candidate is not ours or cannot serve such ranks, if there are too many of
    /// them to find out quickly, or if it depends on their order, which is neither of those that have a name.
    pub fn combining_depth(
        &self,
        shape: CommShape,
        order: RankOrder,
        commutes: bool,
    ) -> Option<u32> {
        let (name, parameters) = self.as_ours()?;
        let algorithm = schedule::find_algorithm(name)?;
        let placed = placed_on(algorithm, shape, order)?;
        let request = combining_request(parameters, shape, placed, commutes);
        schedule::verify::observe_depth(algorithm, &request)
    }

    /// A fingerprint of the tree by which all elements of all results are combined on this many ranks, whatever nodes they
    /// are on, the length and the root: [`schedule::verify::observe_tree`]. Candidates with one fingerprint give the same
    /// bits.
    ///
    /// `None` if one of these decides the tree, and where [`Candidate::combining_depth`] is not known.
    pub fn combining_tree(&self, ranks: u32, commutes: bool) -> Option<u64> {
        let (name, parameters) = self.as_ours()?;
        let algorithm = schedule::find_algorithm(name)?;
        if algorithm.knows_nodes() {
            return None;
        }
        let shape = CommShape {
            nodes: 1,
            ppn: ranks,
        };
        let request = combining_request(parameters, shape, Placed::Together, commutes);
        schedule::verify::observe_tree(algorithm, &request)
    }

    /// A candidate of ours without its blocks; any other as it is.
    #[must_use]
    pub fn without_blocks(&self) -> Self {
        match self {
            Self::Ours {
                algorithm,
                parameters,
            } => Self::Ours {
                algorithm: algorithm.clone(),
                parameters: parameters.without_blocks(),
            },
            other => other.clone(),
        }
    }

    /// Serializes `candidate`, the full name, `algorithm`, the id, and `parameters`. For `#[serde(flatten,
    /// serialize_with = "Candidate::in_parts")]`.
    ///
    /// # Errors
    /// The serializer's own.
    pub fn in_parts<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let parts = CandidateParts {
            candidate: self.to_string(),
            algorithm: self.id().to_owned(),
            parameters: self.parameters(),
        };
        parts.serialize(to)
    }
}

/// A candidate in parts.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Serialize)]
pub struct CandidateParts {
    /// Full name, with parameters, as in `allreduce/dual_root[block_bytes=8192]`.
    candidate: String,
    /// Bare id of the algorithm; `default` for the library's own choice.
    algorithm: String,
    /// The parameters given; an empty object if none.
    parameters: Parameters,
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}{}", self.algorithm(), self.parameters()))
    }
}

/// An algorithm that a library can be forced to use, as the library itself lists it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NativeAlgorithm {
    /// The collective; serialized by name.
    #[serde(with = "crate::cell::collective_name")]
    pub collective: Collective,
    /// Its name in the library.
    pub id: String,
    /// Whether it takes a segment size.
    pub takes_segments: bool,
    /// Whether it takes a fanout.
    pub takes_fanout: bool,
    /// Whether it takes a number of requests; drivers and stores before 0.3 do not say.
    #[serde(default)]
    pub takes_requests: bool,
    /// Whether it is right for noncommutative operators; true where nothing is combined.
    pub is_ordered: bool,
}

impl NativeAlgorithm {
    /// `native:collective/id`.
    pub fn full_name(&self) -> String {
        format!("{}{}/{}", Candidate::NATIVE, self.collective, self.id)
    }
}

/// The nodes of ranks in an order; `None` if the algorithm knows nodes and the order has no name.
fn placed_on(algorithm: &Algorithm, shape: CommShape, order: RankOrder) -> Option<Placed<'static>> {
    match order.on_shape(shape) {
        RankOrder::Other if algorithm.knows_nodes() => None,
        RankOrder::Cyclic => Some(Placed::Cyclic { nodes: shape.nodes }),
        _ => Some(Placed::Block {
            per_node: shape.ppn,
        }),
    }
}

/// A call on such ranks, of any length.
fn combining_request<'a>(
    parameters: &'a Parameters,
    shape: CommShape,
    placed: Placed<'a>,
    commutes: bool,
) -> Request<'a> {
    Request {
        parameters: parameters.in_units(1),
        commutative: commutes,
        placed,
        ..Request::among_ranks(shape.ranks())
    }
}

/// The parameters of an algorithm, in the units of files.
///
/// At most one of `block_bytes` and `blocks` may be given. The registry in `schedule` lists the parameters of each
/// algorithm of ours; `segment_bytes`, `fanout` and `max_requests` are those of native ones. Every algorithm of ours can
/// run `through` shared memory.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Size of a pipeline block in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_bytes: Option<u64>,
    /// Number of pipeline blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<u32>,
    /// Radix of a tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub radix: Option<u32>,
    /// Id of the inner reduce of a composed algorithm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reduce: Option<String>,
    /// Id of the inner broadcast of a composed algorithm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bcast: Option<String>,
    /// Id of the phase within nodes of an algorithm that knows nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Id of its phase between nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// Ranks of each node that exchange data with other nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaders_per_node: Option<u32>,
    /// Sends, and receives, of a rank that may be under way at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_requests: Option<u32>,
    /// Size of a native algorithm's pipeline segment in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment_bytes: Option<u64>,
    /// Children of a node of a native algorithm's tree, or its number of chains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fanout: Option<u32>,
    /// The transport of the messages of an algorithm of ours between ranks of one node.
    #[serde(default, skip_serializing_if = "Through::is_mpi")]
    pub through: Through,
}

/// The transport of messages between ranks of one node. Messages between nodes always go through MPI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Through {
    /// MPI, which is omitted in names.
    #[default]
    Mpi,
    /// Shared memory.
    Shared,
}

impl Through {
    /// All transports, by name.
    pub const ALL: [(&str, Self); 2] = [("mpi", Self::Mpi), ("shared", Self::Shared)];

    /// The name in files.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether messages within a node go through MPI too.
    pub const fn is_mpi(&self) -> bool {
        matches!(self, Self::Mpi)
    }
}

impl Parameters {
    /// Whether no parameter is given.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The parameters without those of blocks.
    #[must_use]
    pub fn without_blocks(&self) -> Self {
        Self {
            block_bytes: None,
            blocks: None,
            ..self.clone()
        }
    }

    /// The given parameters, by name, as in files.
    pub fn given_parameters(&self) -> impl Iterator<Item = (&'static str, String)> {
        let number = |number: u32| number.to_string();
        let through = (!self.through.is_mpi()).then_some(self.through);
        let all = [
            ("block_bytes", self.block_bytes.map(format_bytes)),
            ("blocks", self.blocks.map(number)),
            ("radix", self.radix.map(number)),
            ("reduce", self.reduce.clone()),
            ("bcast", self.bcast.clone()),
            ("node", self.node.clone()),
            ("network", self.network.clone()),
            ("leaders_per_node", self.leaders_per_node.map(number)),
            ("max_requests", self.max_requests.map(number)),
            ("segment_bytes", self.segment_bytes.map(format_bytes)),
            ("fanout", self.fanout.map(number)),
            ("through", through.map(|through| through.name().to_owned())),
        ];
        all.into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
    }

    /// The parameters in the schedule's units of `unit_bytes` each; a block holds at least one.
    pub fn in_units(&self, unit_bytes: u64) -> schedule::Parameters<'_> {
        let size = |bytes: u64| schedule::Blocks::Size((bytes / unit_bytes.max(1)).max(1));
        schedule::Parameters {
            blocks: self
                .blocks
                .map(schedule::Blocks::Count)
                .or(self.block_bytes.map(size)),
            radix: self.radix,
            reduce: self.reduce.as_deref(),
            bcast: self.bcast.as_deref(),
            node: self.node.as_deref(),
            network: self.network.as_deref(),
            leaders: self.leaders_per_node,
            max_requests: self.max_requests,
        }
    }
}

impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return Ok(());
        }
        let given = self
            .given_parameters()
            .map(|(name, value)| format!("{name}={value}"));
        write!(f, "[{}]", given.collect::<Vec<_>>().join(","))
    }
}
