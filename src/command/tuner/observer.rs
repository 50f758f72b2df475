//! Events while measuring.

use std::path::Path;

use serde::{Serialize, Serializer};
use table::Provenance;
use vocabulary::{Candidate, Subject};
use wire::FailureKind;

use crate::CampaignProgress;

/// An event while measuring. In JSON its name is under `event`, as in
/// `{"event":"stored","progress":{"done":3,"total":12}}`; subjects, candidates and libraries are texts.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum TuningEvent<'a> {
    /// Launches of a killed colltune were found, and their measurements were stored.
    Recovered {
        /// The number of launches.
        launches: usize,
    },
    /// A launch begins.
    Launch {
        /// Its number.
        number: u32,
        /// The progress so far.
        progress: CampaignProgress,
        /// The rest of the budget in seconds of wall-clock time; absent in simulations.
        left_seconds: Option<f64>,
    },
    /// A launch set aside rules that its site has deployed.
    SetAside {
        /// [`wire::Environment::set_aside`].
        what: &'a [String],
    },
    /// A job waits in the queue, or its reason for waiting has changed.
    Queued {
        /// The launch's number.
        number: u32,
        /// The batch system's id of the job.
        id: &'a str,
        /// The reason in the scheduler's words, if it gives one.
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
        /// The progress so far.
        progress: CampaignProgress,
    },
    /// A candidate failed and is left out from now on.
    Failed {
        /// The cell or experiment.
        #[serde(serialize_with = "results::by_name")]
        subject: &'a Subject,
        /// The candidate.
        #[serde(serialize_with = "results::by_name")]
        candidate: &'a Candidate,
        /// The kind of failure.
        kind: FailureKind,
        /// The failure's message.
        message: &'a str,
    },
    /// A launch ended before its plan was done; measuring continues if possible.
    Died {
        /// Its number.
        number: u32,
        /// The reason.
        message: &'a str,
    },
    /// The new table replaces one of another library or campaign.
    Replaces {
        /// The table's file.
        #[serde(serialize_with = "serialize_path")]
        path: &'a Path,
        /// The provenance of the table that is replaced.
        #[serde(rename = "library", serialize_with = "serialize_library")]
        provenance: &'a Provenance,
    },
    /// The budget is spent with launches left to do.
    BudgetSpent {
        /// The progress so far.
        progress: CampaignProgress,
        /// The rest of the budget in seconds, if it is more than a twentieth; it does not suffice for what is left.
        left_seconds: Option<f64>,
        /// The smallest budget, in seconds, that is expected to suffice to confirm all choices, if that is known.
        needed_budget_seconds: Option<f64>,
    },
}

/// Serializes a path as text, even if it is not UTF-8.
fn serialize_path<S: Serializer>(path: &&Path, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&path.display())
}

fn serialize_library<S: Serializer>(made_for: &&Provenance, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&made_for.library)
}

/// A receiver of events.
pub trait Observer {
    /// Receives an event; must not block.
    fn notice(&mut self, event: TuningEvent<'_>);
}

/// An observer that ignores all events.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn notice(&mut self, _: TuningEvent<'_>) {}
}
