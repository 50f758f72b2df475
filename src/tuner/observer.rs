//! What happens while measuring, told as it happens.

use std::path::Path;

use table::Provenance;
use vocabulary::{Candidate, Subject};
use wire::FailureKind;

use crate::Progress;

/// Something worth telling.
#[derive(Clone, Debug)]
pub enum Event<'a> {
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
        progress: Progress,
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
        /// On which nodes, if that is known.
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
        progress: Progress,
    },
    /// A candidate failed and is left out from now on.
    Failed {
        /// Where.
        subject: &'a Subject,
        /// Which.
        candidate: &'a Candidate,
        /// In which way.
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
        path: &'a Path,
        /// What it was made for.
        provenance: &'a Provenance,
    },
    /// The budget is spent with launches left to do.
    BudgetSpent {
        /// What is done and what is to do.
        progress: Progress,
    },
}

/// A receiver of events.
pub trait Observer {
    /// Takes notice of an event; must not block.
    fn notice(&mut self, event: Event<'_>);
}

/// An observer that does not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn notice(&mut self, _: Event<'_>) {}
}
