//! The components of a library that carry out collectives.

use schedule::Collective;

/// A component of a library that carries out some collectives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Serving {
    /// Its name in the library.
    pub component: String,
    /// The collectives, in the order of [`Collective::MEASURED`].
    pub collectives: Vec<Collective>,
    /// Whether this holds only for communicators on several nodes.
    pub over_nodes: bool,
    /// The environment variable, with its value, that makes it leave these collectives to the component that reads
    /// rules files; `None` for that component itself.
    pub remedy: Option<String>,
}

impl Serving {
    /// The names of the collectives.
    pub fn names(&self) -> Vec<&'static str> {
        self.collectives.iter().map(|of| of.name()).collect()
    }

    /// Adds the collectives to those of the same component, or as a new entry.
    pub(crate) fn add(all: &mut Vec<Self>, other: Self) {
        let same = |known: &&mut Self| {
            known.component == other.component && known.over_nodes == other.over_nodes
        };
        match all.iter_mut().find(same) {
            Some(known) => known.collectives.extend(other.collectives),
            None => all.push(other),
        }
    }
}
