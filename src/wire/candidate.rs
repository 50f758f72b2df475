//! What can be measured and chosen.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::units::format_bytes;

/// One way to carry out a collective.
///
/// Its full name, [`Candidate`]'s `Display`, is `default` or `collective/id` followed by the
/// parameters in brackets, as in `allreduce/dual_root[block_bytes=64K]`; it is unique within a
/// cell and what people read.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Candidate {
    /// Whatever the library would do by itself.
    Default,
    /// A registered algorithm of ours.
    Ours {
        /// `collective/id`.
        algorithm: String,
        /// The parameters that the algorithm takes; absent ones have the registry's defaults.
        #[serde(default, skip_serializing_if = "Parameters::is_empty")]
        parameters: Parameters,
    },
}

impl Candidate {
    /// `collective/id`, or `default`.
    pub fn algorithm(&self) -> &str {
        match self {
            Self::Default => "default",
            Self::Ours { algorithm, .. } => algorithm,
        }
    }

    /// The id without its collective, or `default`.
    pub fn id(&self) -> &str {
        let name = self.algorithm();
        name.split_once('/').map_or(name, |(_, id)| id)
    }

    /// The parameters; empty for the library's default.
    pub fn parameters(&self) -> Parameters {
        match self {
            Self::Default => Parameters::default(),
            Self::Ours { parameters, .. } => parameters.clone(),
        }
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.pad("default"),
            Self::Ours {
                algorithm,
                parameters,
            } => f.pad(&format!("{algorithm}{parameters}")),
        }
    }
}

/// The parameters of one of our algorithms, in the units that people write.
///
/// At most one of `block_bytes` and `blocks` may be given. The registry in `schedule` says which
/// parameters an algorithm takes.
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
}

impl Parameters {
    /// Whether no parameter is given.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
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
        }
    }
}

impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given: Vec<String> = [
            self.block_bytes
                .map(|b| format!("block_bytes={}", format_bytes(b))),
            self.blocks.map(|b| format!("blocks={b}")),
            self.radix.map(|k| format!("radix={k}")),
            self.reduce.as_ref().map(|id| format!("reduce={id}")),
            self.bcast.as_ref().map(|id| format!("bcast={id}")),
        ]
        .into_iter()
        .flatten()
        .collect();
        if given.is_empty() {
            Ok(())
        } else {
            write!(f, "[{}]", given.join(","))
        }
    }
}
