//! What of a campaign's budget is spent, and how long a launch may measure.

use campaign::{Campaign, LauncherConfig, TimeSlice};
use store::{Store, StoreError};
use vocabulary::{Library, Purpose, Repetition};
use wire::PlannedTask;

use super::{Agenda, Coverage};
use crate::TunerError;
use crate::confirming::Confirming;

/// Repetitions of a candidate in a first look, at least.
const FIRST_LOOK_MINIMUM: u32 = 5;
/// How precise the median of a first look need be, as a share: a candidate far behind is not looked at again.
const FIRST_LOOK_PRECISION: f64 = 0.1;

/// If less of the budget is left than this, nothing more is explored on this machine: programs take that long to
/// start.
const LEAST_EXPLORING_SECONDS: f64 = 1.0;

/// The same in jobs, which need some time before they measure.
pub(crate) const LITTLE_BUDGET_SECONDS: f64 = 30.0;

/// When to stop repeating, such that what is left of the budget suffices for what is left to do.
pub(crate) fn repetition(
    campaign: &Campaign,
    agenda: &Agenda,
    stock: &Coverage,
    tasks: &[PlannedTask],
    left_seconds: f64,
) -> Repetition {
    let mut repetition = campaign.repetition(agenda.turns());
    if agenda.is_first_look(tasks) {
        repetition.minimum = repetition.minimum.min(FIRST_LOOK_MINIMUM);
        repetition.precision = repetition.precision.max(FIRST_LOOK_PRECISION);
    }
    if campaign.repetitions.slice != TimeSlice::Auto {
        return repetition;
    }
    let whole = match (&agenda.confirming, agenda.keeps_time) {
        (Some(_), _) => confirming_seconds(campaign),
        (None, true) => campaign.exploring_seconds(),
        (None, false) => campaign.budget_seconds,
    };
    let (launches, turns) = match &agenda.confirming {
        None => (agenda.launches, agenda.turns()),
        Some(confirming) => (confirming.launches, confirming.turns),
    };
    let launches_left = agenda.launches_left(stock);
    let work = (launches, turns, launches_left);
    repetition.slice_seconds = slice_seconds(campaign, whole, left_seconds, work);
    repetition
}

/// The slice of a turn, if `whole` seconds are for `launches` launches of `turns` turns, and `left` of them for
/// `launches_left`.
fn slice_seconds(
    campaign: &Campaign,
    whole: f64,
    left: f64,
    (launches, turns, launches_left): (u32, usize, u32),
) -> f64 {
    let slice = Campaign::slice_seconds(whole, launches, turns);
    // A simulation is not to depend on where it was interrupted.
    match campaign.is_simulated() {
        true => slice,
        false => {
            let share = left.max(0.0) / whole;
            slice * share * f64::from(launches) / f64::from(launches_left.max(1))
        }
    }
}

/// The slice of a turn that confirms choices.
pub(crate) fn confirming_slice(campaign: &Campaign, left: f64, work: (u32, usize, u32)) -> f64 {
    match campaign.repetitions.slice {
        TimeSlice::Seconds(seconds) => seconds,
        TimeSlice::Auto => slice_seconds(campaign, confirming_seconds(campaign), left, work),
    }
}

/// The part of the budget that is kept for confirming choices, in seconds.
fn confirming_seconds(campaign: &Campaign) -> f64 {
    campaign.budget_seconds - campaign.exploring_seconds()
}

/// The seconds that a launch of a library takes beside its tasks, on average; none on simulated machines.
pub(crate) fn starting_seconds(
    store: &Store,
    campaign: &Campaign,
    library: &Library,
) -> Result<f64, StoreError> {
    if campaign.is_simulated() {
        return Ok(0.0);
    }
    let launches = store.measured_launches(library)?.len().max(1);
    let beside = store.spent_seconds(library, None)? - store.measuring_seconds(library, None)?;
    Ok(beside.max(0.0) / launches as f64)
}

/// What is left for launches of a purpose, in seconds.
pub(crate) fn left_seconds(
    store: &Store,
    campaign: &Campaign,
    library: &Library,
    agenda: &Agenda,
) -> Result<f64, StoreError> {
    let left = unspent_seconds(store, campaign, library)?;
    match agenda.purpose() {
        Purpose::Exploring if agenda.keeps_time => {
            Ok(left.min(exploring_seconds_left(store, campaign, library)?))
        }
        _ => Ok(left),
    }
}

/// What is left of a campaign's budget for all launches, in seconds.
pub(crate) fn unspent_seconds(
    store: &Store,
    campaign: &Campaign,
    library: &Library,
) -> Result<f64, StoreError> {
    Ok(campaign.budget_seconds - spent_seconds(store, campaign, library, None)?)
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

impl Agenda {
    /// The least budget that would suffice to confirm everything, estimated by what measuring has taken so far;
    /// absent if nothing is left to confirm.
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
        let stock = Coverage::of(store, library, self.pattern)?;
        if self.is_explored(&stock) {
            return Ok(Some(needed));
        }
        // Exploring has its share of a larger budget too.
        let confirmed = spent(Some(Purpose::Confirming))? + confirming.seconds;
        let share = confirming_seconds(campaign) / campaign.budget_seconds;
        Ok(Some(needed.max(confirmed / share)))
    }
}

/// Whether too little of the budget is left for exploring.
pub(super) fn has_no_time(
    store: &Store,
    campaign: &Campaign,
    library: &Library,
) -> Result<bool, StoreError> {
    let least = match &campaign.launcher {
        LauncherConfig::Simulated(_) => 0.0,
        LauncherConfig::Local(_) => LEAST_EXPLORING_SECONDS,
        LauncherConfig::Batch(_) => LITTLE_BUDGET_SECONDS,
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
