//! Versions of the defaults of campaign files.

use glob::Pattern;
use schedule::Collective;
use vocabulary::Through;

use crate::{Campaign, Family};

/// A version of the defaults of campaign files. A campaign in a store keeps the defaults that it was measured with; its
/// digest begins with their version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DefaultsVersion {
    /// Messages go through MPI, candidates are colltune's algorithms, and those that know nodes take part only where a
    /// pattern names them. Digests of version 1 have these defaults, too.
    V2,
    /// Whatever a deployment can use takes part: colltune's algorithms, those that know nodes among them, through MPI
    /// and through shared memory, and the library's own.
    V3,
}

impl DefaultsVersion {
    /// The version of campaign files.
    pub const CURRENT: Self = Self::V3;

    /// The version of a digest, which may be of any version of colltune.
    pub fn of_digest(digest: &str) -> Self {
        match digest.split_once('-') {
            None | Some(("v2", _)) => Self::V2,
            Some(_) => Self::V3,
        }
    }

    /// The version as it begins digests.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::V2 => "v2",
            Self::V3 => "v3",
        }
    }

    /// The patterns of candidates that take part by default.
    pub(crate) fn included_patterns(self) -> Vec<Pattern> {
        let texts: &[&str] = match self {
            Self::V2 => &["*"],
            Self::V3 => &["*", "native:*"],
        };
        let patterns = texts.iter().map(|text| Pattern::new(text));
        patterns.collect::<Result<_, _>>().expect("valid patterns")
    }

    /// The transports by default.
    pub(crate) fn default_transports(self) -> &'static [Through] {
        match self {
            Self::V2 => &[Through::Mpi],
            Self::V3 => &[Through::Mpi, Through::Shared],
        }
    }
}

impl Campaign {
    /// This campaign with the defaults of another version, as if its file had been read by that version of colltune.
    #[must_use]
    pub fn with_defaults(mut self, version: DefaultsVersion) -> Self {
        self.defaults = version;
        self.selection.defaults = version;
        if self.selection.is_default {
            self.selection.include = version.included_patterns();
        }
        if !self.names_collectives {
            let (selection, is_simulated) = (&self.selection, self.is_simulated());
            let takes_part = |of: &Collective| selection.takes_part_by_default(*of, is_simulated);
            let sizes = self.sizes.into_iter();
            self.sizes = sizes.filter(|(of, _)| takes_part(of)).collect();
        }
        self
    }

    /// Whether this campaign, read with the defaults of a digest's version, has that digest.
    pub fn has_digest(&self, digest: &str) -> bool {
        let version = DefaultsVersion::of_digest(digest);
        self.clone().with_defaults(version).digest() == digest
    }

    /// Whether the same candidates can take part with the defaults of another version.
    pub fn has_same_candidates(&self, version: DefaultsVersion) -> bool {
        let other = self.clone().with_defaults(version);
        let families = |campaign: &Self| -> Vec<Vec<Family>> {
            let cells = self.cells();
            cells.iter().map(|cell| campaign.families(cell)).collect()
        };
        let natives =
            |campaign: &Self| !campaign.is_simulated() && campaign.selection.selects_natives();
        natives(self) == natives(&other) && families(self) == families(&other)
    }

    /// This campaign on a machine whose ranks have no memory in common: by default, messages then go through MPI alone.
    #[must_use]
    pub fn without_shared_memory(mut self) -> Self {
        self.has_shared_memory = false;
        self
    }

    /// Whether the file leaves the transports of messages within nodes to the machine.
    pub fn has_default_transports(&self) -> bool {
        self.parameters.through.is_none()
    }

    /// The transports of our algorithms' messages within nodes.
    pub fn transports(&self) -> &[Through] {
        match &self.parameters.through {
            Some(named) => named,
            None if self.has_shared_memory => self.defaults.default_transports(),
            None => &[Through::Mpi],
        }
    }
}
