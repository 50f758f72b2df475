//! Measurements as stored.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Candidate, Cell, CommShape, Elimination, Experiment, Through};

/// The subject of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Subject {
    /// A collective in a cell.
    Cell(Cell),
    /// An experiment on the machine.
    Experiment(Experiment),
}

impl Subject {
    /// The cell; `None` for an experiment.
    pub const fn cell(&self) -> Option<Cell> {
        match self {
            Self::Cell(cell) => Some(*cell),
            Self::Experiment(_) => None,
        }
    }

    /// The ranks that took part.
    pub fn shape(&self) -> CommShape {
        match self {
            Self::Cell(cell) => cell.shape,
            Self::Experiment(experiment) => experiment.shape,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cell(cell) => write!(f, "{cell}"),
            Self::Experiment(Experiment {
                kind,
                shape,
                bytes,
                through,
            }) => {
                write!(f, "experiment {} {shape} {bytes} bytes", kind.name())?;
                match through {
                    Through::Mpi => Ok(()),
                    Through::Shared => f.write_str(" through shared memory"),
                }
            }
        }
    }
}

/// All repetitions that one launch took of one candidate of one subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Number of the launch, the statistical unit, within the store.
    pub launch: u32,
    /// The measured subject.
    pub subject: Subject,
    /// The candidate; [`Candidate::Default`] for experiments.
    pub candidate: Candidate,
    /// Calls in a repetition.
    pub batch: u32,
    /// Seconds per call, one entry per valid repetition, in the order they were taken.
    pub seconds: Vec<f64>,
    /// The number of further repetitions that are not valid: `invalid` of the record.
    pub invalid: u32,
    /// The largest disagreement of the ranks' clocks; `None` without a global clock.
    pub residual_seconds: Option<f64>,
    /// Set if the candidate left early.
    pub left: Option<Elimination>,
}
