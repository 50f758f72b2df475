//! What was found in single cells: what pictures and spreadsheets show.

use table::{Operators, RuleSource};
use vocabulary::{Candidate, Cell};

use crate::view::{Ratio, Verdict};

/// All that is known of one cell for one class of operators.
#[derive(Clone, Debug, PartialEq)]
pub struct CellResult {
    /// Where.
    pub cell: Cell,
    /// The operators that the choice holds for.
    pub operators: Operators,
    /// What the table chooses of all candidates.
    pub chosen: Candidate,
    /// What it chooses where only the library's own settings are to be had; absent where none of the
    /// library's own algorithms was measured.
    pub chosen_in_library: Option<Candidate>,
    /// What became of the best candidate beside the default.
    pub verdict: Verdict,
    /// Whether it was measured or is what the model expects.
    pub source: RuleSource,
    /// The candidates, the default among them, best first.
    pub candidates: Vec<Timed>,
}

/// The times of one candidate in one cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Timed {
    /// Which.
    pub candidate: Candidate,
    /// Median time over launches in seconds.
    pub seconds: f64,
    /// Ends in seconds of the interval of that median; absent if there is none, as of a single launch.
    pub interval: Option<[f64; 2]>,
    /// Launches that measured it; 0 where that is not known.
    pub launches: u32,
    /// Valid repetitions in all launches; 0 where that is not known.
    pub repetitions: u64,
    /// Time of the default divided by its time, paired inside launches; absent for the default.
    pub speedup: Option<Ratio>,
    /// What the model expects, in seconds.
    pub expected_seconds: Option<f64>,
}

impl CellResult {
    /// The times of a candidate.
    pub fn timed(&self, candidate: &Candidate) -> Option<&Timed> {
        let mut candidates = self.candidates.iter();
        candidates.find(|timed| timed.candidate == *candidate)
    }

    /// The times of the library's default.
    pub fn default(&self) -> Option<&Timed> {
        self.timed(&Candidate::Default)
    }

    /// How many times as long as a candidate the default takes: 1 for the default itself, nothing
    /// where that is not known.
    pub(crate) fn speedup_of(&self, candidate: &Candidate) -> Option<Ratio> {
        match candidate {
            Candidate::Default => Some(Ratio::ONE),
            other => self.timed(other)?.speedup,
        }
    }

    /// What the choice of the table gains.
    pub(crate) fn gain(&self) -> Option<Ratio> {
        self.speedup_of(&self.chosen)
    }

    /// Whether it was measured, and not taken from the model.
    pub(crate) fn is_measured(&self) -> bool {
        self.source == RuleSource::Measured
    }
}

/// One pipelined algorithm with one size of its blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockTime {
    /// Size of the largest block in bytes.
    pub block_bytes: u64,
    /// Measured time in seconds.
    pub seconds: f64,
    /// What the model expects, in seconds.
    pub expected_seconds: Option<f64>,
}

/// What a report rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The measurements of a store.
    Measurements,
    /// Nothing but a table: its rules, and the times that it shows for them.
    TableAlone,
}
