//! What can be measured and chosen.

use std::fmt;

use schedule::Collective;
use serde::{Deserialize, Serialize, Serializer};

use crate::Cell;
use crate::units::format_bytes;

/// One way to carry out a collective.
///
/// Its full name, [`Candidate`]'s `Display`, is `default` or a name followed by the parameters in
/// brackets, as in `allreduce/dual_root[block_bytes=64K]`; it is unique within a cell and what people
/// read. Our algorithms are called `collective/id`; the names of all others begin with what they are.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Candidate {
    /// Whatever the library would do by itself.
    Default,
    /// The default under another name. Where it does not take as long as [`Candidate::Default`], the
    /// measurement is biased.
    Placebo,
    /// A registered algorithm of ours.
    Ours {
        /// `collective/id`.
        algorithm: String,
        /// The parameters that the algorithm takes; absent ones have the registry's defaults.
        #[serde(default, skip_serializing_if = "Parameters::is_empty")]
        parameters: Parameters,
    },
    /// One of the measured library's own algorithms, forced.
    Native {
        /// `native:collective/id`, the id as the library spells it: [`NativeAlgorithm::name`].
        algorithm: String,
        /// The parameters that reach the algorithm; absent ones are the library's choice.
        #[serde(default, skip_serializing_if = "Parameters::is_empty")]
        parameters: Parameters,
    },
    /// A collective made of the library's other collectives: what a performance guideline compares
    /// it with.
    Mockup {
        /// `mockup:collective/id`: [`crate::MOCKUPS`].
        algorithm: String,
    },
    /// An algorithm that was imported and cannot be measured here.
    Foreign {
        /// `source:collective/id`, in the words of the import.
        algorithm: String,
        /// Its parameters.
        #[serde(default, skip_serializing_if = "Parameters::is_empty")]
        parameters: Parameters,
    },
}

impl Candidate {
    /// The name of [`Candidate::Placebo`].
    pub const PLACEBO: &str = "placebo:default";
    /// What the names of native algorithms begin with.
    pub const NATIVE: &str = "native:";
    /// What the names of mock-ups begin with.
    pub const MOCKUP: &str = "mockup:";

    /// What a file means that was written before algorithms got the names that they have now.
    #[must_use]
    pub fn renamed(mut self) -> Self {
        if let Self::Ours { algorithm, .. } = &mut self
            && let Some(known) = schedule::formerly(algorithm)
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

    /// The id without its collective, or `default`.
    pub fn id(&self) -> &str {
        let name = self.algorithm();
        name.split_once('/').map_or(name, |(_, id)| id)
    }

    /// The size of its blocks in a cell, in bytes: that of what is cut, for a single block.
    pub fn block_bytes(&self, cell: &Cell) -> u64 {
        let size = self.parameters().block_bytes;
        size.unwrap_or_else(|| cell.vector_bytes().max(1))
    }

    /// The parameters; empty where there are none.
    pub fn parameters(&self) -> Parameters {
        match self {
            Self::Default | Self::Placebo | Self::Mockup { .. } => Parameters::default(),
            Self::Ours { parameters, .. }
            | Self::Native { parameters, .. }
            | Self::Foreign { parameters, .. } => parameters.clone(),
        }
    }

    /// Serializes what people and programs ask for: `candidate`, the full name, `algorithm`, the id, and
    /// `parameters`. For `#[serde(flatten, serialize_with = "Candidate::in_parts")]`.
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

/// A candidate, in parts.
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

/// An algorithm that a library lets one force, as the library itself lists it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NativeAlgorithm {
    /// The collective; serialized by name.
    #[serde(with = "crate::cell::collective_name")]
    pub collective: Collective,
    /// The library's name for it.
    pub id: String,
    /// Whether a segment size reaches it.
    pub takes_segments: bool,
    /// Whether a fanout reaches it.
    pub takes_fanout: bool,
    /// Whether it is right for operators that do not commute; true where nothing is combined.
    pub is_ordered: bool,
}

impl NativeAlgorithm {
    /// `native:collective/id`.
    pub fn name(&self) -> String {
        format!("{}{}/{}", Candidate::NATIVE, self.collective, self.id)
    }
}

/// The parameters of an algorithm, in the units that people write.
///
/// At most one of `block_bytes` and `blocks` may be given. The registry in `schedule` says which
/// parameters an algorithm of ours takes; `segment_bytes` and `fanout` are those of native ones. Any algorithm of ours
/// can be had `through` shared memory.
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
    /// Id of what an algorithm that knows nodes does within a node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Id of what it does between nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// Size of a native algorithm's pipeline segment in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment_bytes: Option<u64>,
    /// Children of a node of a native algorithm's tree, or its number of chains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fanout: Option<u32>,
    /// What carries the messages of an algorithm of ours between ranks of one node.
    #[serde(default, skip_serializing_if = "Through::is_mpi")]
    pub through: Through,
}

/// What carries messages between ranks of one node. Messages between nodes always go through MPI.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Through {
    /// MPI, which names do not mention.
    #[default]
    Mpi,
    /// Shared memory.
    Shared,
}

impl Through {
    /// All of them, by name.
    pub const ALL: [(&str, Self); 2] = [("mpi", Self::Mpi), ("shared", Self::Shared)];

    /// The name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mpi => "mpi",
            Self::Shared => "shared",
        }
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

    /// The parameters that are given, by name, as people write them.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, String)> {
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
        }
    }
}

impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return Ok(());
        }
        let given = self.given().map(|(name, value)| format!("{name}={value}"));
        write!(f, "[{}]", given.collect::<Vec<_>>().join(","))
    }
}
