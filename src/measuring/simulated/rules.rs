//! The defaults of the simulated library.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use vocabulary::{Candidate, Cell, Parameters};

/// The rules, as a file.
const TEXT: &str = include_str!("library.yaml");

/// A library's own choices: for each collective, the first rule that holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Rules(pub(crate) BTreeMap<String, Vec<Rule>>);

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    /// The rule holds for vectors of fewer bytes.
    below: Option<String>,
    /// The rule holds if a rank's part of the vector has fewer bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    block_below: Option<u64>,
    /// The rule holds for fewer ranks.
    fewer_ranks: Option<u32>,
    /// The rule holds only for powers of two.
    #[serde(default)]
    power_of_two: bool,
    /// The rule holds for vectors of fewer elements than the largest power of two that is at most the number of ranks.
    #[serde(default)]
    short: bool,
    /// The algorithm: an id without its collective.
    algorithm: String,
    /// Its radix, if it takes one.
    #[serde(skip_serializing_if = "Option::is_none")]
    radix: Option<u32>,
}

/// An error in the rules.
#[derive(Debug, Error)]
pub enum RulesError {
    /// The text is not YAML, or has unknown keys.
    #[error("the rules of the simulated library cannot be read: {0}")]
    Form(#[from] serde_yaml::Error),
    /// No rule holds.
    #[error("the simulated library has no rule for {0}")]
    NoRule(Box<Cell>),
    /// An invalid threshold.
    #[error("in the rules of the simulated library: {0}")]
    Size(#[from] vocabulary::units::UnitError),
}

impl Rules {
    /// The built-in rules.
    pub(crate) fn built_in() -> Result<Self, RulesError> {
        Ok(serde_yaml::from_str(TEXT)?)
    }

    /// The library's choice in a cell.
    pub(crate) fn choose_candidate(&self, cell: &Cell) -> Result<Candidate, RulesError> {
        let none = || RulesError::NoRule(Box::new(*cell));
        let collective = cell.collective.name();
        for rule in self.0.get(collective).ok_or_else(none)? {
            if rule.holds_for_cell(cell)? {
                return Ok(Candidate::Ours {
                    algorithm: format!("{collective}/{}", rule.algorithm),
                    parameters: Parameters {
                        radix: rule.radix,
                        ..Parameters::default()
                    },
                });
            }
        }
        Err(none())
    }
}

impl Rule {
    fn holds_for_cell(&self, cell: &Cell) -> Result<bool, RulesError> {
        let ranks = cell.shape.ranks();
        let elements = cell.vector_bytes() / cell.datatype.size_bytes();
        let below = self.below.as_deref().map(vocabulary::units::parse_bytes);
        let below = below.transpose()?;
        Ok(below.is_none_or(|bytes| cell.vector_bytes() < bytes)
            && self.block_below.is_none_or(|bytes| cell.bytes < bytes)
            && self.fewer_ranks.is_none_or(|most| ranks < most)
            && (!self.power_of_two || ranks.is_power_of_two())
            && (!self.short || elements < 1 << ranks.max(1).ilog2()))
    }
}
