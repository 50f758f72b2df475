//! What decides how an algorithm brackets the contributions to a result.
//!
//! The trees themselves are observed by [`crate::verify`]; here stands what a row of the registry says about all of them.
//! Tests compare both on a grid of calls.

use std::fmt;

use crate::{Algorithm, Parameter, Parameters, Schedule};

/// A property of a call that decides how contributions are bracketed, besides the number of ranks and the algorithm
/// with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BracketedBy {
    /// The element's place in the vector, and so also the vector's length and the number of blocks: elements of one
    /// result have different trees.
    Element,
    /// The root.
    Root,
    /// Which ranks share a node, and their order.
    Nodes,
}

impl BracketedBy {
    /// The name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Element => "element",
            Self::Root => "root",
            Self::Nodes => "nodes",
        }
    }
}

impl fmt::Display for BracketedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Algorithm {
    /// What decides how contributions are bracketed if it has these parameters, in the order of [`BracketedBy`]; `None`
    /// if it combines nothing.
    ///
    /// An empty list says that the bracketing follows from the number of ranks alone, for every element of a vector of
    /// any length and in any number of blocks.
    pub fn bracketed_by(&self, parameters: &Parameters<'_>) -> Option<Vec<BracketedBy>> {
        self.bracketed_by_parts(self.inner_algorithms(parameters))
    }

    /// The same for given parts.
    fn bracketed_by_parts(
        &self,
        parts: impl Iterator<Item = &'static Self>,
    ) -> Option<Vec<BracketedBy>> {
        if !self.collective.is_reduction() {
            return None;
        }
        let mut all = self.brackets_by.to_vec();
        if self.knows_nodes() {
            all.push(BracketedBy::Nodes);
        }
        for part in parts.filter(|part| part.collective.is_reduction()) {
            // The root of a part is a fixed rank, unless the whole has a root.
            let is_passed_on =
                |by: &&BracketedBy| **by != BracketedBy::Root || self.collective.is_rooted();
            all.extend(part.brackets_by.iter().filter(is_passed_on));
        }
        all.sort();
        all.dedup();
        Some(all)
    }
}

impl Schedule {
    /// What decides how contributions are bracketed, as in [`Algorithm::bracketed_by`].
    pub fn bracketed_by(&self) -> Option<Vec<BracketedBy>> {
        let (algorithm, parts) = (self.algorithm(), &self.shape().parts);
        let reduce = algorithm.takes(Parameter::Reduce).then_some(parts.reduce);
        let phases = parts.phases().map(|(_, part)| part);
        algorithm.bracketed_by_parts(reduce.into_iter().chain(phases))
    }
}
