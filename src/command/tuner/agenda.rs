//! The agenda of a campaign: the measurements that it asks for, and those that are left.
//!
//! An agenda is a pure function of a campaign and of what a store has. Candidates that are carried out alike are asked
//! for once; it keeps their other names, under which older stores may have times.

mod budget;
mod coverage;
mod remaining;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use campaign::{Campaign, ConfirmationMode, Family, Strategy};
use fit::{ExhaustiveCampaign, MachineFit};
use store::Store;
use vocabulary::{
    Candidate, Cell, Experiment, Library, NativeAlgorithm, Pattern, Placement, Purpose, Sample,
    Subject,
};

use self::budget::has_no_exploring_time;
pub(crate) use self::budget::{
    LITTLE_BUDGET_SECONDS, LaunchWork, confirming_slice_seconds, launching_seconds,
    least_exploring_seconds, purpose_seconds_left, repetition_rule, spent_seconds,
    starting_seconds, unspent_seconds,
};
pub(crate) use self::coverage::Coverage;
use crate::TunerError;
use crate::analysis::stored::{campaign_on_machine, recorded_rank_orders};
use crate::confirming::{Confirming, confirms_choices};
use crate::guided::{GuidedSearch, MachineExpectation, predicted_block};

/// Everything that a campaign measures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agenda {
    /// The experiments on the machine.
    pub experiments: Vec<Experiment>,
    /// All cells with all candidates, as an exhaustive campaign measures them; block sizes are predicted once the
    /// experiments are made.
    pub cells: Vec<(Cell, Vec<Candidate>)>,
    /// Candidates that are not measured because a simpler candidate of their cell has the same schedule.
    pub merged: Merged,
    /// The number of launches of each measurement; in a guided campaign, of those that decisions rest on.
    pub launches: u32,
    /// The pattern of calls in cells.
    pub pattern: Pattern,
    /// The requests of the search, if the campaign is guided.
    search: Option<GuidedSearch>,
    /// The choices to confirm; `None` while launches explore, or if exploring launches decide.
    confirming: Option<Confirming>,
    /// Whether time is kept for confirming choices.
    keeps_time: bool,
}

/// The candidates with the same schedule as a simpler one, each with that one, by cell.
pub type Merged = BTreeMap<Cell, Vec<(Candidate, Candidate)>>;

/// The machine with which the latest agenda of a campaign was made. It holds the predictions that were made with it.
#[derive(Default)]
pub(crate) struct LatestFit(RefCell<Option<Rc<MachineFit>>>);

impl LatestFit {
    /// The latest machine if it equals this one; otherwise this one, which becomes the latest.
    fn reuse_if_equal(&self, machine: MachineFit) -> Rc<MachineFit> {
        let mut latest = self.0.borrow_mut();
        match &*latest {
            Some(latest) if **latest == machine => Rc::clone(latest),
            _ => Rc::clone(latest.insert(Rc::new(machine))),
        }
    }
}

impl Agenda {
    /// The agenda of a campaign on a library in which the algorithms `natives` can be forced. When there is nothing
    /// left to explore, or no time for it, choices are confirmed. Block sizes are predicted from the first measurement
    /// of each experiment in the store, so that further ones do not change the agenda; without a store none are
    /// predicted.
    ///
    /// # Errors
    /// If the store cannot be read, or its samples cannot be fitted.
    pub fn new(
        campaign: &Campaign,
        store: Option<&Store>,
        library: &Library,
        natives: &[NativeAlgorithm],
    ) -> Result<Self, TunerError> {
        Self::with_latest_fit(&LatestFit::default(), campaign, store, library, natives)
    }

    /// The same, for one agenda after another of a campaign: the predictions made with the latest machine are kept as
    /// long as new measurements do not change it.
    pub(crate) fn with_latest_fit(
        latest: &LatestFit,
        campaign: &Campaign,
        store: Option<&Store>,
        library: &Library,
        natives: &[NativeAlgorithm],
    ) -> Result<Self, TunerError> {
        let agenda = Self::to_explore(latest, campaign, store, library, natives)?;
        match store {
            Some(store) if agenda.has_explored(campaign, store, library)? => {
                agenda.into_confirming(campaign, store, library)
            }
            _ => Ok(agenda),
        }
    }

    /// The agenda with the choices to confirm, if the campaign asks for that, even if exploring is not done.
    pub(crate) fn into_confirming(
        self,
        campaign: &Campaign,
        store: &Store,
        library: &Library,
    ) -> Result<Self, TunerError> {
        let confirming = if self.keeps_time {
            Some(Confirming::from_store(campaign, store, library, &self)?)
        } else {
            None
        };
        Ok(Self { confirming, ..self })
    }

    /// Whether exploring is done or has no time left.
    fn has_explored(
        &self,
        campaign: &Campaign,
        store: &Store,
        library: &Library,
    ) -> Result<bool, TunerError> {
        let is_late = self.keeps_time && has_no_exploring_time(store, campaign, library)?;
        let coverage = Coverage::from_store(store, library, self.pattern)?;
        Ok(is_late || self.next_tasks(&coverage).is_empty())
    }

    /// The agenda for exploring.
    fn to_explore(
        latest: &LatestFit,
        campaign: &Campaign,
        store: Option<&Store>,
        library: &Library,
        natives: &[NativeAlgorithm],
    ) -> Result<Self, TunerError> {
        let campaign = &match store {
            Some(store) => campaign_on_machine(campaign.clone(), &store.environments(library)?),
            None => campaign.clone(),
        };
        let experiments = campaign.experiments();
        let machine = latest.reuse_if_equal(fitted_machine(campaign, store, library)?);
        let others = |cell: &Cell| campaign.foreign_candidates(cell, library, natives);
        let (mut cells, mut merged) = (Vec::new(), Merged::new());
        for cell in campaign.cells() {
            let predicted = |family: &Family| predicted_block(&machine, &cell, family);
            let mut candidates = campaign.candidates(&cell, &predicted);
            candidates.distinct.extend(others(&cell));
            cells.push((cell, candidates.distinct));
            if !candidates.merged.is_empty() {
                merged.insert(cell, candidates.merged);
            }
        }
        let search = match campaign.strategy {
            Strategy::Exhaustive => None,
            Strategy::Guided => {
                let expectation = MachineExpectation(&machine);
                Some(GuidedSearch::new(
                    campaign,
                    store,
                    library,
                    &expectation,
                    &others,
                )?)
            }
        };
        Ok(Self {
            experiments,
            cells,
            merged,
            launches: campaign.launches,
            pattern: campaign.pattern,
            search,
            confirming: None,
            keeps_time: match store {
                Some(store) => confirms_choices(campaign, store, library)?,
                None => campaign.confirmation == ConfirmationMode::On,
            },
        })
    }

    /// An agenda of these cells alone, each with all its candidates in `launches` launches.
    pub(crate) fn for_cells(
        cells: &[(Cell, Vec<Candidate>)],
        launches: u32,
        pattern: Pattern,
    ) -> Self {
        Self {
            cells: cells.to_vec(),
            launches,
            pattern,
            ..Self::default()
        }
    }

    /// Whether time is kept for confirming choices.
    pub fn keeps_time(&self) -> bool {
        self.keeps_time
    }

    /// The purpose of the next launch.
    pub(crate) fn next_purpose(&self) -> Purpose {
        match self.confirming {
            Some(_) => Purpose::Confirming,
            None => Purpose::Exploring,
        }
    }

    /// All cells of the campaign.
    pub(crate) fn grid(&self) -> Vec<Cell> {
        self.cells.iter().map(|(cell, _)| *cell).collect()
    }

    /// Whether a candidate may be confirmed in a cell: the default always may; others may if they, or candidates that
    /// differ only by block size, are on the agenda or merged, at any size and shape.
    pub(crate) fn may_confirm(&self, cell: &Cell, candidate: &Candidate) -> bool {
        let is_alike = |known: &Cell| {
            Cell {
                bytes: cell.bytes,
                shape: cell.shape,
                ..*known
            } == *cell
        };
        let alike = self.cells.iter().filter(|(known, _)| is_alike(known));
        let merged = self.merged.iter().filter(|(known, _)| is_alike(known));
        let merged = merged
            .flat_map(|(_, pairs)| pairs.iter().map(|(merged_candidate, _)| merged_candidate));
        *candidate == Candidate::Default
            || alike
                .flat_map(|(_, candidates)| candidates)
                .chain(merged)
                .any(|known| is_same_family(known, candidate))
    }

    /// The number of candidates over all cells.
    pub fn candidate_count(&self) -> usize {
        self.cells
            .iter()
            .map(|(_, candidates)| candidates.len())
            .sum()
    }

    /// The number of merged candidates over all cells.
    pub fn merged_count(&self) -> usize {
        self.merged.values().map(Vec::len).sum()
    }

    /// Whether a subject with a candidate is on the agenda or, in a guided campaign, may be added to it.
    pub(crate) fn asks_for(&self, subject: &Subject, candidate: &Candidate) -> bool {
        let known = match subject {
            Subject::Experiment(experiment) => return self.experiments.contains(experiment),
            Subject::Cell(cell) => self.cells.iter().find(|(known, _)| {
                // A search also measures between the sizes of the campaign.
                let bytes = if self.is_guided() {
                    cell.bytes
                } else {
                    known.bytes
                };
                Cell { bytes, ..*known } == *cell
            }),
        };
        let Some((cell, candidates)) = known else {
            return false;
        };
        // An older store may have times of merged candidates.
        let merged = self.merged.get(cell).into_iter().flatten();
        let mut all = candidates
            .iter()
            .chain(merged.map(|(merged_candidate, _)| merged_candidate));
        match &self.search {
            None => all.any(|c| c == candidate),
            // A search chooses block sizes of its own.
            Some(_) => all.any(|c| is_same_family(c, candidate)),
        }
    }

    /// The number of turns in a launch, one per experiment and per candidate of a cell; an average for a guided
    /// campaign.
    pub(crate) fn launch_turns(&self) -> usize {
        let cells = match &self.search {
            None => self.candidate_count(),
            Some(_) => GuidedSearch::turns_per_launch(&self.cells),
        };
        self.experiments.len() + cells
    }

    /// The number of turns for measuring everything in every launch.
    pub fn exhaustive_turns(&self) -> u64 {
        u64::from(self.launches) * (self.experiments.len() + self.candidate_count()) as u64
    }

    /// The measurements that a guided campaign would make without its search.
    pub(crate) fn work_without_search(&self, campaign: &Campaign) -> Option<ExhaustiveCampaign> {
        let cells = || self.cells.iter().map(|(cell, of)| (*cell, of.len()));
        self.is_guided().then(|| ExhaustiveCampaign {
            cells: cells().collect(),
            launches: self.launches,
            nodes: campaign.largest_shape().nodes,
        })
    }

    /// Whether the campaign measures only what may change a decision.
    pub fn is_guided(&self) -> bool {
        self.search.is_some()
    }
}

/// The machine that is fitted to the first measurement of each experiment in a store, so that further ones do not change
/// it.
pub(crate) fn fitted_machine(
    campaign: &Campaign,
    store: Option<&Store>,
    library: &Library,
) -> Result<MachineFit, TunerError> {
    let first = match store {
        Some(store) => first_measurements(store.experiment_samples(library)?),
        None => Vec::new(),
    };
    let summaries = fit::summarise_samples(&first, campaign.pattern)?;
    let mut machine = fit::fit_machine(&campaign.name, &summaries)?;
    machine.placement =
        Placement::for_order(recorded_rank_orders(store, library, Some(campaign))?.usual);
    Ok(machine)
}

/// Whether two candidates differ only by the size of their blocks.
fn is_same_family(a: &Candidate, b: &Candidate) -> bool {
    a == b || Family::of_candidate(a).is_some_and(|family| Family::of_candidate(b) == Some(family))
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
