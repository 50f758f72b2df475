//! What fresh launches are asked for, and what they have measured.

mod afford;
mod cost;

use std::collections::BTreeMap;

use campaign::{Campaign, ConfirmationMode};
use fit::{Exploration, Fresh, Trial, summarise};
use store::Store;
use vocabulary::{Candidate, Cell, Library, Pattern, Sample, Subject};

use self::afford::{Rest, affordable};
use self::cost::Turns;
use crate::agenda::{confirming_slice, starting_seconds, unspent_seconds};
use crate::analysis::stored::decide_options;
use crate::{Agenda, TunerError};

/// What is left to confirm.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Confirming {
    /// What is still to be measured of the sweep.
    pub(crate) trials: Vec<Trial>,
    /// The trials that what is left of the budget suffices for: all, or those with most at stake.
    pub(crate) affordable: Vec<Trial>,
    /// About how long all trials take, in seconds.
    pub(crate) seconds: f64,
    /// The number of launches in which each trial is wanted.
    pub(crate) launches: u32,
    /// Launches of cells that need not be measured again, together.
    pub(crate) finished: u64,
    /// Turns of a launch that measures the whole sweep.
    pub(crate) turns: usize,
    /// The patterns of calls, by place.
    patterns: Vec<Pattern>,
    /// How many launches measured the cells of trials in their patterns, for whatever purpose.
    rounds: BTreeMap<(Cell, usize), u32>,
}

/// Whether choices from a store are to be confirmed. A store that was begun before launches had a purpose goes
/// on as it was begun: its exploring launches decide.
pub(crate) fn confirms(
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
    /// What the store leaves to confirm.
    pub(crate) fn of(
        campaign: &Campaign,
        store: &Store,
        library: &Library,
        agenda: &Agenda,
    ) -> Result<Self, TunerError> {
        let mut summaries =
            summarise(&store.samples(library, campaign.pattern)?, campaign.pattern)?;
        summaries.retain(|summary| agenda.asks_for(&summary.subject, &summary.candidate));
        let failures: Vec<(Subject, Candidate)> = store
            .failures(library)?
            .into_iter()
            .map(|failure| (failure.subject, failure.candidate))
            .collect();
        let options = decide_options(campaign);
        let fresh = Fresh::of(
            &samples(campaign, store, library, agenda)?,
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
        let confirmation = fit::Confirmation::of(explored, &fresh);
        let explored = store.counts(library, campaign.pattern)?;
        let rounds = |trial: &Trial| {
            let key = (Subject::Cell(trial.cell), Candidate::Default);
            fresh.rounds(trial.pattern, &trial.cell) + explored.get(&key).copied().unwrap_or(0)
        };
        let trials = confirmation.open().to_vec();
        let patterns = campaign.confirming_patterns();
        let (seconds, affordable) =
            budgeted(campaign, store, library, &patterns, &confirmation, &fresh)?;
        Ok(Self {
            rounds: trials
                .iter()
                .map(|trial| ((trial.cell, trial.pattern), rounds(trial)))
                .collect(),
            trials,
            affordable,
            seconds,
            launches: fresh.launches(),
            finished: confirmation.finished(),
            turns: confirmation.turns(),
            patterns,
        })
    }

    /// How calls follow each other in a trial.
    pub(crate) fn pattern(&self, trial: &Trial) -> Pattern {
        self.patterns[trial.pattern]
    }

    /// Whether what is left of the budget does not suffice for everything.
    pub(crate) fn is_short(&self) -> bool {
        self.affordable.len() < self.trials.len()
    }

    /// How many launches measured the cell of a trial: what chance is drawn from.
    pub(crate) fn round(&self, trial: &Trial) -> u32 {
        let rounds = self.rounds.get(&(trial.cell, trial.pattern));
        rounds.copied().unwrap_or(0)
    }
}

/// About how long all open trials take, in seconds, and the trials that what is left of the budget suffices for: all,
/// or those with most at stake, which come first. A cell is measured in all patterns of calls or in none.
fn budgeted(
    campaign: &Campaign,
    store: &Store,
    library: &Library,
    patterns: &[Pattern],
    confirmation: &fit::Confirmation<'_>,
    fresh: &Fresh,
) -> Result<(f64, Vec<Trial>), TunerError> {
    let (open, launches) = (confirmation.open(), fresh.launches());
    let left = unspent_seconds(store, campaign, library)?;
    let mut rests: BTreeMap<Cell, Rest> = BTreeMap::new();
    for trial in open {
        let rest = rests.entry(trial.cell).or_default();
        let of_cell = open.iter().filter(|other| other.cell == trial.cell);
        rest.is_begun |= trial.done > 0 || of_cell.count() < patterns.len();
        rest.launches = rest.launches.max(launches.saturating_sub(trial.done));
    }
    // Without anything new, only what is begun needs launches.
    let launches_left = |is_begun: bool| {
        let such = rests.values().filter(|rest| rest.is_begun || !is_begun);
        such.map(|rest| rest.launches).max().unwrap_or(0)
    };
    let slice = |is_begun: bool| {
        let work = (launches, confirmation.turns(), launches_left(is_begun));
        confirming_slice(campaign, left, work)
    };
    let slices = [slice(false), slice(true)];
    let full = launches_left(false);
    let stakes = confirmation.stakes();
    let turns = Turns::of(campaign, store, library, patterns, &stakes)?;
    for trial in open {
        if let Some(rest) = rests.get_mut(&trial.cell) {
            let slice = slices[usize::from(rest.is_begun)];
            rest.seconds += turns.seconds(trial, launches, slice);
        }
    }
    let starting = starting_seconds(store, campaign, library)?;
    let measuring: f64 = rests.values().map(|rest| rest.seconds).sum();
    let all = starting * f64::from(full) + measuring;
    if all <= left {
        return Ok((all, open.to_vec()));
    }
    let cells = affordable(&stakes, &rests, starting, left);
    let of_cell = |cell: Cell| open.iter().filter(move |trial| trial.cell == cell);
    let trials = cells.into_iter().flat_map(of_cell).cloned();
    Ok((all, trials.collect()))
}

/// What fresh launches have measured of what an agenda asks for, by pattern of calls.
pub(crate) fn samples(
    campaign: &Campaign,
    store: &Store,
    library: &Library,
    agenda: &Agenda,
) -> Result<Vec<(Pattern, Vec<Sample>)>, TunerError> {
    let of_pattern = |pattern| {
        let mut samples = store.confirming_samples(library, pattern)?;
        samples.retain(|sample| match &sample.subject {
            Subject::Cell(cell) => agenda.may_confirm(cell, &sample.candidate),
            Subject::Experiment(_) => false,
        });
        Ok((pattern, samples))
    };
    campaign
        .confirming_patterns()
        .into_iter()
        .map(of_pattern)
        .collect()
}
