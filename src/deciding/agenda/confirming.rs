//! Confirming launches: the trials to make, and the samples made.

mod afford;
mod cost;

use std::collections::BTreeMap;

use campaign::{Campaign, ConfirmationMode};
use fit::{
    DecideOptions, Exploration, FitError, FreshMeasurements, Stake, Trial, summarise_samples,
};
use vocabulary::{Candidate, Cell, Library, Pattern, Sample, Subject};

use self::afford::{RemainingNeed, affordable_cells};
use self::cost::TurnCosts;
use crate::coverage::Coverage;
use crate::spending::{LaunchWork, confirming_slice_seconds, starting_seconds, unspent_seconds};
use crate::{CampaignScope, History};

/// The choices left to confirm.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Confirming {
    /// The open trials of the sweep.
    pub(crate) trials: Vec<Trial>,
    /// The trials for which the rest of the budget suffices: all, or those with most at stake.
    pub(crate) affordable: Vec<Trial>,
    /// The estimated time of all trials, in seconds.
    pub(crate) seconds: f64,
    /// The number of launches of a trial in which the candidate is always faster.
    pub(crate) launches: u32,
    /// The number of measurements, each of a cell in a launch, of cells that are in no trial any more.
    pub(crate) finished_measurements: u64,
    /// The number of turns in a launch of the whole sweep.
    pub(crate) turns: usize,
    /// The patterns of calls; trials refer to them by index.
    patterns: Vec<Pattern>,
    /// The number of launches, of any purpose, that measured the cells of trials in their patterns.
    rounds: BTreeMap<(Cell, usize), u32>,
}

/// Whether choices are to be confirmed. In a store that was begun before launches had a purpose, exploring launches
/// decide.
pub fn confirms_choices(campaign: &Campaign, history: &History) -> bool {
    campaign.confirmation == ConfirmationMode::On && !history.has_launch_without_purpose
}

/// The options of decisions that a campaign asks for.
pub fn decide_options(campaign: &Campaign) -> DecideOptions {
    DecideOptions {
        materiality: campaign.materiality,
        max_regret: campaign.max_regret,
        confidence: campaign.confidence,
        launches: campaign.launches,
        ..DecideOptions::default()
    }
}

impl Confirming {
    /// Finds the choices that are to be confirmed by the measurements so far.
    pub(crate) fn from_history(
        campaign: &Campaign,
        history: &History,
        library: &Library,
        scope: &CampaignScope,
        coverage: &Coverage,
    ) -> Result<Self, FitError> {
        let mut summaries = summarise_samples(&history.explored, campaign.pattern)?;
        summaries.retain(|summary| scope.asks_for(&summary.subject, &summary.candidate));
        let options = decide_options(campaign);
        let fresh = FreshMeasurements::from_samples(
            &confirming_samples(campaign, history, scope),
            &history.failures,
            &options,
        )?;
        let explored = Exploration {
            library: &library.name,
            summaries: &summaries,
            failures: &history.failures,
            machine: None,
            options: &options,
            grid: &scope.grid(),
        };
        let confirmation = fit::Confirmation::from_fresh_launches(explored, &fresh);
        let rounds = |trial: &Trial| {
            fresh.launches_of_cell(trial.pattern, &trial.cell)
                + coverage.launches_of(Subject::Cell(trial.cell), &Candidate::Default)
        };
        let trials = confirmation.open.clone();
        let patterns = campaign.confirming_patterns();
        let (seconds, affordable) =
            estimate_trials(campaign, history, library, &patterns, &confirmation, &fresh);
        Ok(Self {
            rounds: trials
                .iter()
                .map(|trial| ((trial.cell, trial.pattern), rounds(trial)))
                .collect(),
            trials,
            affordable,
            seconds,
            launches: fresh.launches,
            finished_measurements: confirmation.finished_measurements,
            turns: confirmation.turns,
            patterns,
        })
    }

    /// The pattern of calls of a trial.
    pub(crate) fn trial_pattern(&self, trial: &Trial) -> Pattern {
        self.patterns[trial.pattern]
    }

    /// Whether the rest of the budget does not suffice for all trials.
    pub(crate) fn is_short_of_time(&self) -> bool {
        self.affordable.len() < self.trials.len()
    }

    /// The number of launches that measured the cell of a trial, from which random draws are seeded.
    pub(crate) fn trial_round(&self, trial: &Trial) -> u32 {
        let rounds = self.rounds.get(&(trial.cell, trial.pattern));
        rounds.copied().unwrap_or(0)
    }
}

/// The estimated time of all open trials in seconds, and the trials for which the rest of the budget suffices: all, or
/// those with most at stake, which come first. A cell is measured in all patterns of calls or in none.
fn estimate_trials(
    campaign: &Campaign,
    history: &History,
    library: &Library,
    patterns: &[Pattern],
    confirmation: &fit::Confirmation<'_>,
    fresh: &FreshMeasurements,
) -> (f64, Vec<Trial>) {
    let (open, launches) = (&confirmation.open, fresh.launches);
    let left = unspent_seconds(history, campaign);
    let mut rests: BTreeMap<Cell, RemainingNeed> = BTreeMap::new();
    for trial in open {
        let rest = rests.entry(trial.cell).or_default();
        let of_cell = open.iter().filter(|other| other.cell == trial.cell);
        rest.is_begun |= trial.done > 0 || of_cell.count() < patterns.len();
        rest.launches = rest.launches.max(trial.wanted.saturating_sub(trial.done));
    }
    // If no new cell is begun, only begun cells need launches.
    let launches_left = |is_begun: bool| {
        let such = rests.values().filter(|rest| rest.is_begun || !is_begun);
        such.map(|rest| rest.launches).max().unwrap_or(0)
    };
    let slice = |among_launches: u32| {
        let work = LaunchWork {
            launches,
            turns: confirmation.turns,
            launches_left: among_launches,
        };
        confirming_slice_seconds(campaign, left, work)
    };
    let full = launches_left(false);
    let (slice_of_new, slice_of_begun) = (slice(full), slice(launches_left(true)));
    let stakes = weigh_stakes(confirmation.stakes(), campaign);
    let turns = TurnCosts::from_history(campaign, history, patterns, &stakes);
    for trial in open {
        if let Some(rest) = rests.get_mut(&trial.cell) {
            let slice_seconds = if rest.is_begun {
                slice_of_begun
            } else {
                slice_of_new
            };
            rest.seconds += turns.trial_seconds(trial, slice_seconds);
        }
    }
    let starting = starting_seconds(history, library);
    let measuring: f64 = rests.values().map(|rest| rest.seconds).sum();
    let all = starting * f64::from(full) + measuring;
    if all <= left {
        return (all, open.to_vec());
    }
    let cells = affordable_cells(&stakes, &rests, starting, left);
    let of_cell = |cell: Cell| open.iter().filter(move |trial| trial.cell == cell);
    let trials = cells.into_iter().flat_map(of_cell).cloned();
    (all, trials.collect())
}

/// Stakes by the share that calls like them have in the traffic that the campaign is for. The range between two sizes
/// counts as their mean.
fn weigh_stakes(mut stakes: Vec<Vec<Stake>>, campaign: &Campaign) -> Vec<Vec<Stake>> {
    for series in &mut stakes {
        let weights: Vec<f64> = series
            .iter()
            .map(|stake| campaign.stake_weight(&stake.cell))
            .collect();
        for (place, stake) in series.iter_mut().enumerate() {
            let here = weights[place];
            let next = weights.get(place + 1).copied().unwrap_or(here);
            stake.here *= here;
            stake.up_to_next *= f64::midpoint(here, next);
        }
    }
    stakes
}

/// The samples of confirming launches in a campaign's scope, by pattern of calls, the campaign's own first.
pub fn confirming_samples(
    campaign: &Campaign,
    history: &History,
    scope: &CampaignScope,
) -> Vec<(Pattern, Vec<Sample>)> {
    let in_scope = |sample: &&Sample| {
        let cell = sample.subject.cell();
        cell.is_some_and(|cell| scope.may_confirm(&cell, &sample.candidate))
    };
    let patterns = campaign.confirming_patterns().into_iter();
    let by_pattern = patterns.map(|pattern| {
        let confirmed = history.confirmed_in(pattern);
        let samples = confirmed.into_iter().flat_map(|known| &known.samples);
        (pattern, samples.filter(in_scope).cloned().collect())
    });
    by_pattern.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stakes_count_by_the_traffic_of_their_cells() {
        let text = "name: x\nlauncher: simulated\nshapes: 4x4\ncollectives: bcast\nsizes: [64, 1K, 16K]\n\
                    traffic:\n  - {collective: bcast, shape: 4x4, bytes: 1K, seconds: 3}\n  \
                    - {collective: bcast, shape: 4x4, bytes: 64, seconds: 1}\n";
        let campaign = Campaign::parse(text, "x.yaml".as_ref()).expect("valid");
        let stake = |cell: &Cell| Stake {
            cell: *cell,
            call_seconds: None,
            here: 1.0,
            up_to_next: 2.0,
        };
        let series = campaign.cells().iter().map(stake).collect();
        let weighed = weigh_stakes(vec![series], &campaign);
        let found: Vec<(u64, f64, f64)> = weighed[0]
            .iter()
            .map(|known| (known.cell.bytes, known.here, known.up_to_next))
            .collect();
        // No calls are like the last one, which counts as 2 %.
        assert_eq!(
            found,
            [(64, 0.25, 1.0), (1024, 0.75, 0.77), (16384, 0.02, 0.04)]
        );
    }
}
