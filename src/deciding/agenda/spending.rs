//! The spent and remaining parts of a campaign's budget, and the time slices of turns.

use campaign::{Campaign, LauncherConfig, TimeSlice};
use vocabulary::{Library, Purpose};

use crate::History;

/// The smallest rest of the budget with which exploring continues on this machine: about the time that programs take to
/// start.
const LEAST_EXPLORING_SECONDS: f64 = 1.0;

/// The same for batch jobs, which take longer to start.
pub const LITTLE_BUDGET_SECONDS: f64 = 30.0;

/// The time for some work.
#[derive(Clone, Copy)]
pub(crate) struct WorkBudget {
    /// The time planned for the whole work.
    pub(crate) planned_seconds: f64,
    /// The time that is left; negative if more was spent than planned.
    pub(crate) left_seconds: f64,
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
pub(crate) fn remaining_slice_seconds(
    campaign: &Campaign,
    budget: WorkBudget,
    work: LaunchWork,
) -> f64 {
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
pub(crate) fn confirming_seconds(campaign: &Campaign) -> f64 {
    campaign.budget_seconds - campaign.exploring_seconds()
}

/// The average time of a library's launch without its tasks, in seconds; 0 on simulated machines.
pub(crate) fn starting_seconds(history: &History, library: &Library) -> f64 {
    let launches = history.measured_launches.max(1);
    launching_seconds(history, library) / launches as f64
}

/// The time of a library's launches without their tasks, in seconds; 0 on simulated machines.
pub fn launching_seconds(history: &History, library: &Library) -> f64 {
    if library.is_simulated() {
        return 0.0;
    }
    let spent = history.spent;
    (spent.launch_seconds - spent.measuring_seconds).max(0.0)
}

/// The rest of a campaign's budget for all launches, in seconds.
pub fn unspent_seconds(history: &History, campaign: &Campaign) -> f64 {
    campaign.budget_seconds - spent_seconds(history, campaign, None)
}

/// The spent part of a campaign's budget, in seconds of wall-clock or simulated time; with a `purpose`, that of
/// launches for it.
pub fn spent_seconds(history: &History, campaign: &Campaign, purpose: Option<Purpose>) -> f64 {
    let spent = history.spent_for(purpose);
    if campaign.is_simulated() {
        spent.measuring_seconds
    } else {
        spent.launch_seconds
    }
}

/// Whether too little of the budget is left for exploring.
pub(crate) fn has_no_exploring_time(history: &History, campaign: &Campaign) -> bool {
    exploring_seconds_left(history, campaign) <= least_exploring_seconds(campaign)
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
pub(crate) fn exploring_seconds_left(history: &History, campaign: &Campaign) -> f64 {
    campaign.exploring_seconds() - spent_seconds(history, campaign, Some(Purpose::Exploring))
}
