//! What happens while measuring, told as it happens.

use std::fmt::Display;
use std::path::Path;

use serde::{Serialize, Serializer};
use table::Provenance;
use vocabulary::{Candidate, Subject};
use wire::FailureKind;

use crate::CampaignProgress;

/// Something worth telling. Serialized, its name stands under `event`, as in
/// `{"event":"stored","progress":{"done":3,"total":12}}`; subjects, candidates and libraries are texts.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum TuningEvent<'a> {
    /// Launches of a killed colltune were found, and what they had measured was stored.
    Recovered {
        /// How many.
        launches: usize,
    },
    /// A launch begins.
    Launch {
        /// Its number.
        number: u32,
        /// What is done and what is to do.
        progress: CampaignProgress,
        /// What is left of the budget, in seconds; absent where that is no time on the clock, as in simulations.
        left_seconds: Option<f64>,
    },
    /// A launch set aside what its site has deployed.
    SetAside {
        /// [`wire::Environment::set_aside`].
        what: &'a [String],
    },
    /// A job waits for nodes, or for another reason than before.
    Queued {
        /// The launch's number.
        number: u32,
        /// The batch system's id of the job.
        id: &'a str,
        /// Why, in the scheduler's words, if it says.
        reason: Option<&'a str>,
    },
    /// A job runs.
    Running {
        /// The launch's number.
        number: u32,
        /// The batch system's id of the job.
        id: &'a str,
        /// The names of the nodes, if they are known.
        nodes: &'a [String],
    },
    /// A launch stopped before its job's wall time was over; another one follows.
    WallTime {
        /// Its number.
        number: u32,
    },
    /// A task is stored.
    Stored {
        /// What is done and what is to do.
        progress: CampaignProgress,
    },
    /// A candidate failed and is left out from now on.
    Failed {
        /// Where.
        #[serde(serialize_with = "as_text")]
        subject: &'a Subject,
        /// Which.
        #[serde(serialize_with = "as_text")]
        candidate: &'a Candidate,
        /// The kind of failure.
        kind: FailureKind,
        /// What was seen.
        message: &'a str,
    },
    /// A launch ended before its plan was done; measuring goes on if it can.
    Died {
        /// Its number.
        number: u32,
        /// How.
        message: &'a str,
    },
    /// A table of another library or campaign stands where the table is about to be written.
    Replaces {
        /// The table.
        #[serde(serialize_with = "shown")]
        path: &'a Path,
        /// What it was made for.
        #[serde(rename = "library", serialize_with = "library_of")]
        provenance: &'a Provenance,
    },
    /// The budget is spent with launches left to do.
    BudgetSpent {
        /// What is done and what is to do.
        progress: CampaignProgress,
    },
}

fn as_text<S: Serializer>(value: &impl Display, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(value)
}

/// A path that is not UTF-8 has no JSON; what is shown of it has.
fn shown<S: Serializer>(path: &&Path, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&path.display())
}

fn library_of<S: Serializer>(made_for: &&Provenance, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&made_for.library)
}

/// A receiver of events.
pub trait Observer {
    /// Takes notice of an event; must not block.
    fn notice(&mut self, event: TuningEvent<'_>);
}

/// An observer that does not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn notice(&mut self, _: TuningEvent<'_>) {}
}
