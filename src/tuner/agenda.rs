//! What a campaign asks for, and what of it is left to do.

use std::collections::{BTreeMap, BTreeSet};

use campaign::Campaign;
use fit::MachineFit;
use model::{Call, predict_best};
use schedule::Algorithm;
use store::{Store, StoreError};
use wire::{
    Candidate, Cell, Experiment, Library, NativeAlgorithm, Parameters, Repetition, Sample, Subject,
    Task, Work,
};

use crate::TunerError;

/// Everything that a campaign measures.
#[derive(Clone, Debug, PartialEq)]
pub struct Agenda {
    /// The experiments on the machine.
    pub experiments: Vec<Experiment>,
    /// The cells with their candidates; block sizes are predicted once the experiments are made.
    pub cells: Vec<(Cell, Vec<Candidate>)>,
    /// Launches that everything is measured in.
    pub launches: u32,
}

/// How much of an agenda is done, in measurements of one subject in one launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Done.
    pub done: u64,
    /// To be done in all.
    pub total: u64,
}

/// What a store has of a library.
#[derive(Debug, Default)]
pub(crate) struct Stock {
    counts: BTreeMap<(Subject, Candidate), u32>,
    failed: BTreeSet<(Subject, Candidate)>,
}

impl Stock {
    pub(crate) fn of(store: &Store, library: &Library) -> Result<Self, TunerError> {
        let failures = store.failures(library)?.into_iter();
        Ok(Self {
            counts: store.counts(library)?,
            failed: failures
                .map(|failure| (failure.subject, failure.candidate))
                .collect(),
        })
    }

    /// Launches that measured the subject with all the candidates that have not failed; nothing
    /// if there is nobody left to compare.
    fn launches(&self, subject: Subject, candidates: &[Candidate]) -> Option<u32> {
        let able = self.able(subject, candidates);
        let default_failed = self.failed.contains(&(subject, Candidate::Default));
        let counts = able.map(|c| self.counts.get(&(subject, c.clone())).copied().unwrap_or(0));
        counts.min().filter(|_| !default_failed)
    }

    /// Launches that measured the subject with any of the candidates.
    fn rounds(&self, subject: Subject, candidates: &[Candidate]) -> u32 {
        let counts = candidates
            .iter()
            .filter_map(|c| self.counts.get(&(subject, c.clone())));
        counts.copied().max().unwrap_or(0)
    }

    fn able<'a>(
        &'a self,
        subject: Subject,
        candidates: &'a [Candidate],
    ) -> impl Iterator<Item = &'a Candidate> {
        candidates
            .iter()
            .filter(move |c| !self.failed.contains(&(subject, (*c).clone())))
    }
}

impl Agenda {
    /// The agenda of a campaign on a library that lets one force these algorithms. Block sizes are
    /// predicted from the first measurement of each experiment in the store, so that the agenda
    /// does not change while more are made; without a store none are predicted.
    ///
    /// # Errors
    /// If the experiments in the store cannot be fitted or read.
    pub fn new(
        campaign: &Campaign,
        store: Option<&Store>,
        library: &Library,
        natives: &[NativeAlgorithm],
    ) -> Result<Self, TunerError> {
        let experiments = campaign.experiments();
        let first = match store {
            Some(store) => first_measurements(store.experiment_samples(library)?),
            None => Vec::new(),
        };
        let machine = fit::fit_machine(&campaign.name, &fit::summarise(&first)?)?;
        let cells = campaign
            .cells()
            .into_iter()
            .map(|cell| {
                let predicted = |algorithm: &'static Algorithm, parameters: &Parameters| {
                    predicted_block(&machine, &cell, algorithm, parameters)
                };
                let mut candidates = campaign.candidates(&cell, &predicted);
                candidates.extend(campaign.foreign_candidates(&cell, library, natives));
                (cell, candidates)
            })
            .collect();
        Ok(Self {
            experiments,
            cells,
            launches: campaign.launches,
        })
    }

    /// Candidates of all cells together.
    pub fn candidates(&self) -> usize {
        self.cells
            .iter()
            .map(|(_, candidates)| candidates.len())
            .sum()
    }

    /// Whether a subject with a candidate is on the agenda.
    pub(crate) fn asks_for(&self, subject: &Subject, candidate: &Candidate) -> bool {
        match subject {
            Subject::Experiment(experiment) => self.experiments.contains(experiment),
            Subject::Cell(cell) => self
                .cells
                .iter()
                .any(|(known, candidates)| known == cell && candidates.contains(candidate)),
        }
    }

    /// How often one launch measures something: one turn an experiment, one a candidate.
    pub(crate) fn turns(&self) -> usize {
        self.experiments.len() + self.candidates()
    }

    fn subjects(&self) -> impl Iterator<Item = (Subject, &[Candidate])> {
        const ALONE: &[Candidate] = &[Candidate::Default];
        let experiments = self
            .experiments
            .iter()
            .map(|e| (Subject::Experiment(*e), ALONE));
        let cells = self
            .cells
            .iter()
            .map(|(cell, candidates)| (Subject::Cell(*cell), &candidates[..]));
        experiments.chain(cells)
    }

    /// How much is done.
    pub(crate) fn progress(&self, stock: &Stock) -> Progress {
        let mut progress = Progress::default();
        for (subject, candidates) in self.subjects() {
            if let Some(launches) = stock.launches(subject, candidates) {
                progress.done += u64::from(launches.min(self.launches));
                progress.total += u64::from(self.launches);
            }
        }
        progress
    }

    /// The tasks of the next launch: whatever has been measured in the fewest launches so far, so
    /// that all cells advance together and an interrupted launch is made up for first. Experiments
    /// that were never made come alone. Empty when everything is done.
    pub(crate) fn next(&self, stock: &Stock) -> Vec<Task> {
        let open: Vec<(u32, Subject, &[Candidate])> = self
            .subjects()
            .filter_map(|(subject, candidates)| {
                let launches = stock.launches(subject, candidates)?;
                (launches < self.launches).then_some((launches, subject, candidates))
            })
            .collect();
        let fewest = open
            .iter()
            .map(|(launches, ..)| *launches)
            .min()
            .unwrap_or(0);
        let due = || open.iter().filter(|(launches, ..)| *launches == fewest);
        let calibrating = fewest == 0 && due().any(|(_, s, _)| matches!(s, Subject::Experiment(_)));
        due()
            .filter(|(_, subject, _)| !calibrating || matches!(subject, Subject::Experiment(_)))
            .zip(0..)
            .map(|((_, subject, candidates), id)| {
                let work = match subject {
                    Subject::Experiment(experiment) => Work::Experiment(*experiment),
                    Subject::Cell(cell) => Work::Compare {
                        cell: *cell,
                        candidates: stock.able(*subject, candidates).cloned().collect(),
                    },
                };
                let round = stock.rounds(*subject, candidates);
                Task { id, round, work }
            })
            .collect()
    }

    /// Turns left after what is in the store.
    pub(crate) fn turns_left(&self, stock: &Stock) -> u64 {
        self.subjects()
            .filter_map(|(subject, candidates)| {
                let left = self
                    .launches
                    .saturating_sub(stock.launches(subject, candidates)?);
                Some(u64::from(left) * stock.able(subject, candidates).count() as u64)
            })
            .sum()
    }

    /// Whether every experiment was made once or has failed.
    pub(crate) fn is_calibrated(&self, stock: &Stock) -> bool {
        self.subjects()
            .filter(|(subject, _)| matches!(subject, Subject::Experiment(_)))
            .all(|(subject, candidates)| stock.launches(subject, candidates) != Some(0))
    }

    /// Launches left after what is in the store.
    pub(crate) fn launches_left(&self, stock: &Stock) -> u32 {
        self.subjects()
            .filter_map(|(subject, candidates)| stock.launches(subject, candidates))
            .map(|launches| self.launches.saturating_sub(launches))
            .max()
            .unwrap_or(0)
    }
}

/// When to stop repeating, such that what is left of the budget suffices for what is left to do.
pub(crate) fn repetition(
    campaign: &Campaign,
    agenda: &Agenda,
    stock: &Stock,
    left_seconds: f64,
) -> Repetition {
    let mut repetition = campaign.repetition(agenda.turns());
    // A simulation is not to depend on where it was interrupted.
    if campaign.repetitions.slice == campaign::Slice::Auto && !campaign.is_simulated() {
        let share = left_seconds.max(0.0) / campaign.budget_seconds;
        let launches = f64::from(agenda.launches) / f64::from(agenda.launches_left(stock).max(1));
        repetition.slice_seconds *= share * launches;
    }
    repetition
}

/// What of a campaign's budget is spent: time on the clock, or that of the simulated machine.
pub(crate) fn spent_seconds(
    store: &Store,
    campaign: &Campaign,
    library: &Library,
) -> Result<f64, StoreError> {
    match campaign.is_simulated() {
        true => store.measuring_seconds(library),
        false => store.spent_seconds(library),
    }
}

/// The samples of each experiment from the first launch that made it.
fn first_measurements(samples: Vec<Sample>) -> Vec<Sample> {
    let mut first: BTreeMap<Subject, Sample> = BTreeMap::new();
    for sample in samples {
        let known = first
            .entry(sample.subject)
            .or_insert_with(|| sample.clone());
        if sample.launch < known.launch {
            *known = sample;
        }
    }
    first.into_values().collect()
}

/// The block size that the pipelining lemma expects to be best.
fn predicted_block(
    machine: &MachineFit,
    cell: &Cell,
    algorithm: &'static Algorithm,
    parameters: &Parameters,
) -> Option<u64> {
    let unit_bytes = cell.datatype.size_bytes();
    let call = Call {
        ranks: cell.shape.ranks(),
        bytes: cell.bytes,
        unit_bytes,
        parameters: parameters.in_units(unit_bytes),
    };
    Some(predict_best(algorithm, machine.rates(cell)?, &call)?.block_bytes)
}
