//! Confirming launches: the trials to make, and the samples made.

mod afford;
mod cost;

use std::collections::BTreeMap;

use campaign::{Campaign, ConfirmationMode};
use fit::{Exploration, FreshMeasurements, Trial, summarise_samples};
use store::Store;
use vocabulary::{Candidate, Cell, Library, Pattern, Sample, Subject};

use self::afford::{RemainingNeed, affordable_cells};
use self::cost::TurnCosts;
use crate::agenda::{LaunchWork, confirming_slice_seconds, starting_seconds, unspent_seconds};
use crate::analysis::stored::decide_options;
use crate::{Agenda, TunerError};

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

/// Whether choices from a store are to be confirmed. In a store that was begun before launches had a purpose, exploring
/// launches decide.
pub(crate) fn confirms_choices(
    campaign: &Campaign,
    store: &Store,
    library: &Library,
) -> Result<bool, TunerError> {
    if campaign.confirmation == ConfirmationMode::Off {
        return Ok(false);
    }
    let launches = store.launches()?;
    let mut of_library = launches.iter().filter(|launch| launch.library == *library);
    Ok(of_library.all(|launch| launch.purpose.is_some()))
}

impl Confirming {
    /// Finds the choices that are to be confirmed by the store's measurements so far.
    pub(crate) fn from_store(
        campaign: &Campaign,
        store: &Store,
        library: &Library,
        agenda: &Agenda,
    ) -> Result<Self, TunerError> {
        let mut summaries =
            summarise_samples(&store.samples(library, campaign.pattern)?, campaign.pattern)?;
        summaries.retain(|summary| agenda.asks_for(&summary.subject, &summary.candidate));
        let failures: Vec<(Subject, Candidate)> = store
            .failures(library)?
            .into_iter()
            .map(|failure| (failure.subject, failure.candidate))
            .collect();
        let options = decide_options(campaign);
        let fresh = FreshMeasurements::from_samples(
            &confirming_samples_of(campaign, store, library, agenda)?,
            &failures,
            &options,
        )?;
        let explored = Exploration {
            library: &library.name,
            summaries: &summaries,
            failures: &failures,
            machine: None,
            options: &options,
            grid: &agenda.grid(),
        };
        let confirmation = fit::Confirmation::from_fresh_launches(explored, &fresh);
        let explored_launches = store.launch_counts(library, campaign.pattern)?;
        let rounds = |trial: &Trial| {
            let key = (Subject::Cell(trial.cell), Candidate::Default);
            fresh.launches_of_cell(trial.pattern, &trial.cell)
                + explored_launches.get(&key).copied().unwrap_or(0)
        };
        let trials = confirmation.open.clone();
        let patterns = campaign.confirming_patterns();
        let (seconds, affordable) =
            estimate_trials(campaign, store, library, &patterns, &confirmation, &fresh)?;
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
    store: &Store,
    library: &Library,
    patterns: &[Pattern],
    confirmation: &fit::Confirmation<'_>,
    fresh: &FreshMeasurements,
) -> Result<(f64, Vec<Trial>), TunerError> {
    let (open, launches) = (&confirmation.open, fresh.launches);
    let left = unspent_seconds(store, campaign, library)?;
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
    let stakes = confirmation.stakes();
    let turns = TurnCosts::from_store(campaign, store, library, patterns, &stakes)?;
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
    let starting = starting_seconds(store, library)?;
    let measuring: f64 = rests.values().map(|rest| rest.seconds).sum();
    let all = starting * f64::from(full) + measuring;
    if all <= left {
        return Ok((all, open.to_vec()));
    }
    let cells = affordable_cells(&stakes, &rests, starting, left);
    let of_cell = |cell: Cell| open.iter().filter(move |trial| trial.cell == cell);
    let trials = cells.into_iter().flat_map(of_cell).cloned();
    Ok((all, trials.collect()))
}

/// The confirming samples that an agenda asks for, by pattern of calls.
pub(crate) fn confirming_samples_of(
    campaign: &Campaign,
    store: &Store,
    library: &Library,
    agenda: &Agenda,
) -> Result<Vec<(Pattern, Vec<Sample>)>, TunerError> {
    let of_pattern = |pattern| {
        let mut samples = store.confirming_samples(library, pattern)?;
        samples.retain(|sample| {
            let cell = sample.subject.cell();
            cell.is_some_and(|cell| agenda.may_confirm(&cell, &sample.candidate))
        });
        Ok((pattern, samples))
    };
    campaign
        .confirming_patterns()
        .into_iter()
        .map(of_pattern)
        .collect()
}
