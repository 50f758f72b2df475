//! What the simulated library does by default.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use vocabulary::{Candidate, Cell, Parameters};

/// The rules, as a file.
const TEXT: &str = include_str!("library.yaml");

/// A library's own choices: for each collective the first rule that holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Rules(BTreeMap<String, Vec<Rule>>);

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    /// Holds for vectors of fewer bytes.
    below: Option<String>,
    /// Holds for fewer ranks.
    fewer_ranks: Option<u32>,
    /// Holds for powers of two only.
    #[serde(default)]
    power_of_two: bool,
    /// Holds for vectors of fewer elements than the largest power of two among the numbers of ranks.
    #[serde(default)]
    short: bool,
    /// What is used: an id without its collective.
    algorithm: String,
}

/// Rules that make no sense.
#[derive(Debug, Error)]
pub enum RulesError {
    /// Not YAML, or unknown keys.
    #[error("the rules of the simulated library cannot be read: {0}")]
    Form(#[from] serde_yaml::Error),
    /// No rule holds.
    #[error("the simulated library has no rule for {0}")]
    NoRule(Box<Cell>),
    /// A threshold that is no size.
    #[error("in the rules of the simulated library: {0}")]
    Size(#[from] vocabulary::units::UnitError),
}

impl Rules {
    /// The rules that this crate carries.
    pub(crate) fn published() -> Result<Self, RulesError> {
        Ok(serde_yaml::from_str(TEXT)?)
    }

    /// What the library uses in a cell.
    pub(crate) fn choice(&self, cell: &Cell) -> Result<Candidate, RulesError> {
        let none = || RulesError::NoRule(Box::new(*cell));
        let collective = cell.collective.name();
        for rule in self.0.get(collective).ok_or_else(none)? {
            if rule.holds(cell)? {
                return Ok(Candidate::Ours {
                    algorithm: format!("{collective}/{}", rule.algorithm),
                    parameters: Parameters::default(),
                });
            }
        }
        Err(none())
    }
}

impl Rule {
    fn holds(&self, cell: &Cell) -> Result<bool, RulesError> {
        let ranks = cell.shape.ranks();
        let elements = cell.vector_bytes() / cell.datatype.size_bytes();
        let below = self.below.as_deref().map(vocabulary::units::parse_bytes);
        let below = below.transpose()?;
        Ok(below.is_none_or(|bytes| cell.vector_bytes() < bytes)
            && self.fewer_ranks.is_none_or(|most| ranks < most)
            && (!self.power_of_two || ranks.is_power_of_two())
            && (!self.short || elements < 1 << ranks.max(1).ilog2()))
    }
}

#[cfg(test)]
mod tests {
    use schedule::{Collective, Schedule};
    use vocabulary::{CommShape, Datatype, Operator};

    use super::*;

    fn cell(collective: Collective, (nodes, ppn): (u32, u32), bytes: u64) -> Cell {
        let reduces = collective.is_reduction();
        Cell {
            collective,
            shape: CommShape { nodes, ppn },
            bytes,
            datatype: if reduces {
                Datatype::Float64
            } else {
                Datatype::Byte
            },
            operator: reduces.then_some(Operator::Sum),
        }
    }

    #[test]
    fn every_call_has_a_choice_that_can_serve_it() {
        let rules = Rules::published().expect("rules");
        for collective in Collective::ALL {
            for shape in [(1, 2), (1, 7), (2, 8), (3, 5), (8, 8), (9, 7)] {
                for bytes in [8, 256, 4 << 10, 64 << 10, 1 << 20] {
                    let cell = cell(collective, shape, bytes);
                    let choice = rules.choice(&cell).expect("a rule");
                    let algorithm = schedule::find(choice.algorithm()).expect("registered");
                    let parameters = choice.parameters();
                    let made = Schedule::new(algorithm, &cell.request(&parameters));
                    assert!(made.is_ok(), "{choice} in {cell}");
                }
            }
        }
    }

    #[test]
    fn thresholds_are_those_of_the_whole_vector() {
        let rules = Rules::published().expect("rules");
        let check = |collective, shape, bytes, expected: &str| {
            let choice = rules
                .choice(&cell(collective, shape, bytes))
                .expect("a rule");
            assert_eq!(choice.to_string(), expected);
        };
        use Collective::{Allgather, Allreduce, Bcast, Reduce, ReduceScatterBlock};
        check(Bcast, (1, 8), 12287, "bcast/binomial");
        check(Bcast, (1, 8), 12288, "bcast/scatter_allgather");
        check(Bcast, (1, 7), 12288, "bcast/binomial");
        check(Bcast, (3, 3), 12288, "bcast/scatter_allgather_ring");
        check(Bcast, (1, 8), (512 << 10) - 1, "bcast/scatter_allgather");
        check(Bcast, (1, 8), 512 << 10, "bcast/scatter_allgather_ring");
        check(Allreduce, (4, 4), 2048, "allreduce/recursive_doubling");
        check(Allreduce, (4, 4), 2056, "allreduce/rabenseifner");
        // 512 elements can be divided among 512 of 600 ranks, but not among 2048.
        check(Allreduce, (30, 20), 4096, "allreduce/rabenseifner");
        check(Allreduce, (64, 32), 4096, "allreduce/recursive_doubling");
        check(Reduce, (64, 32), 4096, "reduce/binomial");
        check(Allgather, (4, 4), 32 << 10, "allgather/ring");
        check(Allgather, (4, 4), 31 << 10, "allgather/recursive_doubling");
        check(Allgather, (5, 4), 1024, "allgather/bruck");
        check(
            ReduceScatterBlock,
            (4, 4),
            32 << 10,
            "reduce_scatter_block/pairwise",
        );
    }
}
