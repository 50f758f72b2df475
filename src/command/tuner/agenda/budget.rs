//! The spent and remaining parts of a campaign's budget, and the time slices of turns.

use campaign::{Campaign, LauncherConfig, TimeSlice};
use search::FIRST_LOOK_MINIMUM;
use store::{Store, StoreError};
use vocabulary::{Library, Purpose, Repetition};
use wire::PlannedTask;

use super::{Agenda, Coverage};
use crate::TunerError;
use crate::confirming::Confirming;

/// The precision of a first look's median, as a share; enough to recognise candidates that are far behind.
const FIRST_LOOK_PRECISION: f64 = 0.1;

/// The smallest rest of the budget with which exploring continues on this machine: about the time that programs take to
/// start.
const LEAST_EXPLORING_SECONDS: f64 = 1.0;

/// The same for batch jobs, which take longer to start.
pub(crate) const LITTLE_BUDGET_SECONDS: f64 = 30.0;

/// The rule for ending repetitions, chosen so that the rest of the budget suffices for the rest of the agenda.
pub(crate) fn repetition_rule(
    campaign: &Campaign,
    agenda: &Agenda,
    coverage: &Coverage,
    tasks: &[PlannedTask],
    left_seconds: f64,
) -> Repetition {
    let mut repetition = campaign.repetition_for_turns(agenda.launch_turns());
    if agenda.is_first_look(tasks) {
        repetition.minimum = repetition.minimum.min(FIRST_LOOK_MINIMUM);
        repetition.precision = repetition.precision.max(FIRST_LOOK_PRECISION);
    }
    if campaign.repetitions.slice != TimeSlice::Auto {
        return repetition;
    }
    let planned_seconds = match (&agenda.confirming, agenda.keeps_time) {
        (Some(_), _) => confirming_seconds(campaign),
        (None, true) => campaign.exploring_seconds(),
        (None, false) => campaign.budget_seconds,
    };
    let (launches, turns) = match &agenda.confirming {
        None => (agenda.launches, agenda.launch_turns()),
        Some(confirming) => (confirming.launches, confirming.turns),
    };
    let work = LaunchWork {
        launches,
        turns,
        launches_left: agenda.launches_left(coverage),
    };
    let budget = WorkBudget {
        planned_seconds,
        left_seconds,
    };
    repetition.slice_seconds = remaining_slice_seconds(campaign, budget, work);
    repetition
}

/// The time for some work.
#[derive(Clone, Copy)]
struct WorkBudget {
    /// The time planned for the whole work.
    planned_seconds: f64,
    /// The time that is left; negative if more was spent than planned.
    left_seconds: f64,
}

/// The launches that share some time.
#[derive(Clone, Copy)]
pub(crate) struct LaunchWork {
    /// The planned launches.
    pub(crate) launches: u32,
    /// The turns of each, one per candidate of a cell.
    pub(crate) turns: usize,
    /// The launches that are still to be made.
    pub(crate) launches_left: u32,
}

/// The time slice of a turn: the remaining time is divided between the launches that are left, so that it makes up for
/// launches which took more or less than planned.
fn remaining_slice_seconds(campaign: &Campaign, budget: WorkBudget, work: LaunchWork) -> f64 {
    // A simulation must not depend on where it was interrupted.
    let (seconds, launches) = if campaign.is_simulated() {
        (budget.planned_seconds, work.launches)
    } else {
        (budget.left_seconds.max(0.0), work.launches_left.max(1))
    };
    Campaign::even_slice_seconds(seconds, launches, work.turns)
}

/// The time slice of a confirming turn, in seconds, if `left_seconds` of the budget are left.
pub(crate) fn confirming_slice_seconds(
    campaign: &Campaign,
    left_seconds: f64,
    work: LaunchWork,
) -> f64 {
    match campaign.repetitions.slice {
        TimeSlice::Seconds(seconds) => seconds,
        TimeSlice::Auto => {
            let budget = WorkBudget {
                planned_seconds: confirming_seconds(campaign),
                left_seconds,
            };
            remaining_slice_seconds(campaign, budget, work)
        }
    }
}

/// The part of the budget that is kept for confirming choices, in seconds.
fn confirming_seconds(campaign: &Campaign) -> f64 {
    campaign.budget_seconds - campaign.exploring_seconds()
}

/// The average time of a library's launch without its tasks, in seconds; 0 on simulated machines.
pub(crate) fn starting_seconds(store: &Store, library: &Library) -> Result<f64, StoreError> {
    let launches = store.measured_launches(library)?.len().max(1);
    Ok(launching_seconds(store, library)? / launches as f64)
}

/// The time of a library's launches without their tasks, in seconds; 0 on simulated machines.
pub(crate) fn launching_seconds(store: &Store, library: &Library) -> Result<f64, StoreError> {
    if library.is_simulated() {
        return Ok(0.0);
    }
    let beside = store.spent_seconds(library, None)? - store.measuring_seconds(library, None)?;
    Ok(beside.max(0.0))
}

/// The time left for launches of the agenda's purpose, in seconds.
pub(crate) fn purpose_seconds_left(
    store: &Store,
    campaign: &Campaign,
    library: &Library,
    agenda: &Agenda,
) -> Result<f64, StoreError> {
    let left = unspent_seconds(store, campaign, library)?;
    match agenda.next_purpose() {
        Purpose::Exploring if agenda.keeps_time => {
            Ok(left.min(exploring_seconds_left(store, campaign, library)?))
        }
        _ => Ok(left),
    }
}

/// The rest of a campaign's budget for all launches, in seconds.
pub(crate) fn unspent_seconds(
    store: &Store,
    campaign: &Campaign,
    library: &Library,
) -> Result<f64, StoreError> {
    Ok(campaign.budget_seconds - spent_seconds(store, campaign, library, None)?)
}

/// The spent part of a campaign's budget, in seconds of wall-clock or simulated time; with a `purpose`, that of
/// launches for it.
pub(crate) fn spent_seconds(
    store: &Store,
    campaign: &Campaign,
    library: &Library,
    purpose: Option<Purpose>,
) -> Result<f64, StoreError> {
    if campaign.is_simulated() {
        store.measuring_seconds(library, purpose)
    } else {
        store.spent_seconds(library, purpose)
    }
}

impl Agenda {
    /// The smallest budget that suffices to confirm everything, estimated from the times so far, in seconds; `None` if
    /// nothing is left to confirm.
    pub(crate) fn needed_budget(
        &self,
        campaign: &Campaign,
        store: &Store,
        library: &Library,
    ) -> Result<Option<f64>, TunerError> {
        let open = |confirming: &&Confirming| !confirming.trials.is_empty();
        let Some(confirming) = self.confirming.as_ref().filter(open) else {
            return Ok(None);
        };
        let spent = |purpose| spent_seconds(store, campaign, library, purpose);
        let needed = spent(None)? + confirming.seconds;
        let coverage = Coverage::from_store(store, library, self.pattern)?;
        if self.is_explored(&coverage) {
            return Ok(Some(needed));
        }
        // Exploring takes its share of a larger budget.
        let confirmed = spent(Some(Purpose::Confirming))? + confirming.seconds;
        let share = confirming_seconds(campaign) / campaign.budget_seconds;
        Ok(Some(needed.max(confirmed / share)))
    }
}

/// Whether too little of the budget is left for exploring.
pub(super) fn has_no_exploring_time(
    store: &Store,
    campaign: &Campaign,
    library: &Library,
) -> Result<bool, StoreError> {
    let left = exploring_seconds_left(store, campaign, library)?;
    Ok(left <= least_exploring_seconds(campaign))
}

/// The rest of the budget with which nothing more is explored, in seconds.
pub(crate) fn least_exploring_seconds(campaign: &Campaign) -> f64 {
    match &campaign.launcher {
        LauncherConfig::Simulated(_) => 0.0,
        LauncherConfig::Local(_) => LEAST_EXPLORING_SECONDS,
        LauncherConfig::Batch(_) => LITTLE_BUDGET_SECONDS,
    }
}

/// The time left for exploring, in seconds.
fn exploring_seconds_left(
    store: &Store,
    campaign: &Campaign,
    library: &Library,
) -> Result<f64, StoreError> {
    let spent = spent_seconds(store, campaign, library, Some(Purpose::Exploring))?;
    Ok(campaign.exploring_seconds() - spent)
}
