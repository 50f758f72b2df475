//! The questions and their answers: sentences with computed numbers, and tables.

pub(crate) mod blocks;
pub(crate) mod cluster;
pub(crate) mod combining;
pub(crate) mod contestants;
pub(crate) mod placement;
pub(crate) mod published;
pub(crate) mod sharing;
pub(crate) mod table;
pub(crate) mod wording;

use std::error::Error;

use model::Machine;

/// Everything that can go wrong is the fault of the study.
pub(crate) type Fallible<T> = Result<T, Box<dyn Error>>;

/// The file of the machine on which the paper measured.
const HYDRA: &str = include_str!("../../../../../../tuning/machines/hydra.yaml");

/// One question's part of the report.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) question: &'static str,
    /// The sentence for the top of the report.
    pub(crate) summary: String,
    /// Two or three sentences.
    pub(crate) sentences: String,
    /// Tables, and the explanations needed to read them.
    pub(crate) body: String,
}

/// The paper's machine.
pub(crate) fn hydra() -> Fallible<Machine> {
    Ok(Machine::from_yaml(HYDRA)?)
}

/// A machine on which a single rank nearly fills its node's link.
pub(crate) fn reference() -> Fallible<Machine> {
    Ok(Machine::from_yaml(Machine::REFERENCE)?)
}
