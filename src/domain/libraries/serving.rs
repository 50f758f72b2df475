//! The components of a library that carry out collectives.

use schedule::Collective;
use serde::{Serialize, Serializer};

/// A component of a library that carries out some collectives.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Serving {
    /// Its name in the library.
    pub component: String,
    /// The collectives, in the order in which all commands list them.
    #[serde(serialize_with = "by_name")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub collectives: Vec<Collective>,
    /// Whether this holds only for communicators on several nodes.
    pub over_nodes: bool,
    /// The environment variable, with its value, that makes it leave these collectives to the component that reads
    /// rules files; null for that component itself.
    pub remedy: Option<String>,
}

fn by_name<S: Serializer>(collectives: &[Collective], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(collectives.iter().map(|of| of.name()))
}

impl Serving {
    /// The names of the collectives.
    pub fn collective_names(&self) -> Vec<&'static str> {
        self.collectives.iter().map(|of| of.name()).collect()
    }

    /// Adds the collectives to those of the same component, or as a new entry.
    pub(crate) fn add_to(all: &mut Vec<Self>, other: Self) {
        let same = |known: &&mut Self| {
            known.component == other.component && known.over_nodes == other.over_nodes
        };
        match all.iter_mut().find(same) {
            Some(known) => known.collectives.extend(other.collectives),
            None => all.push(other),
        }
    }
}
