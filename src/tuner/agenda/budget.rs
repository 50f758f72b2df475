//! What of a campaign's budget is spent, and how long a launch may measure.

use campaign::{Campaign, Launching, Slice};
use store::{Store, StoreError};
use vocabulary::{Library, Purpose, Repetition};
use wire::Task;

use super::{Agenda, Stock};

/// Repetitions of a candidate in a first look, at least.
const FIRST_LOOK_MINIMUM: u32 = 5;
/// How precise the median of a first look need be, as a share: who is far behind is not looked at again.
const FIRST_LOOK_PRECISION: f64 = 0.1;

/// With less of the budget left than this nothing more is explored on this machine: programs take that long to
/// start.
const LEAST_EXPLORING_SECONDS: f64 = 1.0;

/// The same in jobs, which need some time before they measure.
pub(crate) const LITTLE_BUDGET_SECONDS: f64 = 30.0;

/// When to stop repeating, such that what is left of the budget suffices for what is left to do.
pub(crate) fn repetition(
    campaign: &Campaign,
    agenda: &Agenda,
    stock: &Stock,
    tasks: &[Task],
    left_seconds: f64,
) -> Repetition {
    let mut repetition = campaign.repetition(agenda.turns());
    if agenda.is_first_look(tasks) {
        repetition.minimum = repetition.minimum.min(FIRST_LOOK_MINIMUM);
        repetition.precision = repetition.precision.max(FIRST_LOOK_PRECISION);
    }
    if campaign.repetitions.slice != Slice::Auto {
        return repetition;
    }
    let (whole, launches, turns) = match &agenda.confirming {
        None if !agenda.keeps_time => (campaign.budget_seconds, agenda.launches, agenda.turns()),
        None => (
            campaign.exploring_seconds(),
            agenda.launches,
            agenda.turns(),
        ),
        Some(confirming) => (
            campaign.budget_seconds - campaign.exploring_seconds(),
            confirming.launches,
            confirming.turns,
        ),
    };
    repetition.slice_seconds = Campaign::slice_seconds(whole, launches, turns);
    // A simulation is not to depend on where it was interrupted.
    if !campaign.is_simulated() {
        let share = left_seconds.max(0.0) / whole;
        let left = agenda.launches_left(stock).max(1);
        repetition.slice_seconds *= share * f64::from(launches) / f64::from(left);
    }
    repetition
}

/// What is left for launches of a purpose, in seconds.
pub(crate) fn left_seconds(
    store: &Store,
    campaign: &Campaign,
    library: &Library,
    agenda: &Agenda,
) -> Result<f64, StoreError> {
    let left = campaign.budget_seconds - spent_seconds(store, campaign, library, None)?;
    match agenda.purpose() {
        Purpose::Exploring if agenda.keeps_time => {
            Ok(left.min(exploring_seconds_left(store, campaign, library)?))
        }
        _ => Ok(left),
    }
}

/// What of a campaign's budget is spent: time on the clock, or that of the simulated machine; `purpose`
/// leaves out launches for another.
pub(crate) fn spent_seconds(
    store: &Store,
    campaign: &Campaign,
    library: &Library,
    purpose: Option<Purpose>,
) -> Result<f64, StoreError> {
    match campaign.is_simulated() {
        true => store.measuring_seconds(library, purpose),
        false => store.spent_seconds(library, purpose),
    }
}

/// Whether too little of the budget is left for exploring.
pub(super) fn has_no_time(
    store: &Store,
    campaign: &Campaign,
    library: &Library,
) -> Result<bool, StoreError> {
    let least = match &campaign.launcher {
        Launching::Simulated(_) => 0.0,
        Launching::Local(_) => LEAST_EXPLORING_SECONDS,
        Launching::Batch(_) => LITTLE_BUDGET_SECONDS,
    };
    Ok(exploring_seconds_left(store, campaign, library)? <= least)
}

/// What is left of the time for exploring, in seconds.
fn exploring_seconds_left(
    store: &Store,
    campaign: &Campaign,
    library: &Library,
) -> Result<f64, StoreError> {
    let spent = spent_seconds(store, campaign, library, Some(Purpose::Exploring))?;
    Ok(campaign.exploring_seconds() - spent)
}
