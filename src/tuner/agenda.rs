//! What a campaign asks for, and what of it is left to do.

mod stock;

use std::collections::BTreeMap;

use campaign::{Campaign, Confirmation, Family, Launching, Strategy};
use fit::Everything;
use model::Placement;
use store::{Store, StoreError};
use vocabulary::{
    Candidate, Cell, Experiment, Library, NativeAlgorithm, Pattern, Purpose, Repetition, Sample,
    Subject,
};
use wire::{Task, Work};

pub(crate) use self::stock::Stock;
use crate::TunerError;
use crate::confirming::{Confirming, confirms};
use crate::guided::{Search, predicted_block};
use crate::order::orders;

/// Everything that a campaign measures.
#[derive(Clone, Debug, PartialEq)]
pub struct Agenda {
    /// The experiments on the machine.
    pub experiments: Vec<Experiment>,
    /// All cells with all candidates, which an exhaustive campaign measures; block sizes are predicted
    /// once the experiments are made.
    pub cells: Vec<(Cell, Vec<Candidate>)>,
    /// Candidates that are the same schedule as a simpler one of their cell, which stands for them.
    pub merged: Merged,
    /// Launches that everything is measured in, or, in a guided campaign, decisions rest on.
    pub launches: u32,
    /// How calls follow each other in cells.
    pub pattern: Pattern,
    /// What is asked for by now, if the campaign is guided.
    search: Option<Search>,
    /// What fresh launches are to measure by now; absent as long as launches explore, and where they alone
    /// decide.
    confirming: Option<Confirming>,
    /// Whether time is kept for confirming choices.
    keeps_time: bool,
}

/// In each cell that has any, the candidates that are the same schedule as a simpler one, and that one.
pub type Merged = BTreeMap<Cell, Vec<(Candidate, Candidate)>>;

/// One thing to measure.
struct Item<'a> {
    subject: Subject,
    candidates: &'a [Candidate],
    /// Launches that measured it.
    done: u32,
    /// Launches that should.
    wanted: u32,
    /// How many launches measured any of it: what chance is drawn from.
    round: u32,
    /// How calls follow each other in a cell.
    pattern: Pattern,
}

/// Repetitions of a candidate in a first look, at least.
const FIRST_LOOK_MINIMUM: u32 = 5;
/// How precise the median of a first look need be, as a share: who is far behind is not looked at again.
const FIRST_LOOK_PRECISION: f64 = 0.1;

/// With less of the budget left than this nothing more is explored on this machine: programs take that long to
/// start.
const LEAST_EXPLORING_SECONDS: f64 = 1.0;

/// The same in jobs, which need some time before they measure.
pub(crate) const LITTLE_BUDGET_SECONDS: f64 = 30.0;

/// How much of an agenda is done, in measurements of one subject in one launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Done.
    pub done: u64,
    /// To be done in all.
    pub total: u64,
}

impl Agenda {
    /// The agenda of a campaign on a library that lets one force these algorithms. Block sizes are
    /// predicted from the first measurement of each experiment in the store, so that the agenda
    /// does not change while more are made; without a store none are predicted. When nothing is left to
    /// explore, or no time for it, choices are to be confirmed.
    ///
    /// # Errors
    /// If the store cannot be read, or what is in it not be fitted.
    pub fn new(
        campaign: &Campaign,
        store: Option<&Store>,
        library: &Library,
        natives: &[NativeAlgorithm],
    ) -> Result<Self, TunerError> {
        let agenda = Self::exploring(campaign, store, library, natives)?;
        match store {
            Some(store) if agenda.has_explored(campaign, store, library)? => {
                agenda.confirming(campaign, store, library)
            }
            _ => Ok(agenda),
        }
    }

    /// The same with what choices are to be confirmed, if the campaign asks for that, whatever is left to
    /// explore.
    pub(crate) fn confirming(
        self,
        campaign: &Campaign,
        store: &Store,
        library: &Library,
    ) -> Result<Self, TunerError> {
        let confirming = match self.keeps_time {
            true => Some(Confirming::of(campaign, store, library, &self)?),
            false => None,
        };
        Ok(Self { confirming, ..self })
    }

    /// Whether launches need explore no more, or may not.
    fn has_explored(
        &self,
        campaign: &Campaign,
        store: &Store,
        library: &Library,
    ) -> Result<bool, TunerError> {
        let exploring = Some(Purpose::Exploring);
        let spent = spent_seconds(store, campaign, library, exploring)?;
        let left = campaign.exploring_seconds() - spent;
        let stock = Stock::of(store, library, self.pattern)?;
        let least = match &campaign.launcher {
            Launching::Simulated(_) => 0.0,
            Launching::Local(_) => LEAST_EXPLORING_SECONDS,
            Launching::Batch(_) => LITTLE_BUDGET_SECONDS,
        };
        let is_late = self.keeps_time && left <= least;
        Ok(is_late || self.next(&stock).is_empty())
    }

    /// What is to be explored.
    fn exploring(
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
        let mut machine = fit::fit_machine(&campaign.name, &fit::summarise(&first)?)?;
        machine.placement = Placement::of(orders(store, library, Some(campaign))?.usual);
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
            Strategy::Guided => Some(Search::new(campaign, store, library, &machine, &others)?),
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
                Some(store) => confirms(campaign, store, library)?,
                None => campaign.confirmation == Confirmation::On,
            },
        })
    }

    /// An agenda of these cells alone, each with all its candidates in so many launches.
    pub(crate) fn of_cells(
        cells: &[(Cell, Vec<Candidate>)],
        launches: u32,
        pattern: Pattern,
    ) -> Self {
        Self {
            experiments: Vec::new(),
            cells: cells.to_vec(),
            merged: Merged::new(),
            launches,
            pattern,
            search: None,
            confirming: None,
            keeps_time: false,
        }
    }

    /// Whether time is kept for confirming choices.
    pub(crate) fn keeps_time(&self) -> bool {
        self.keeps_time
    }

    /// What the next launch is for.
    pub(crate) fn purpose(&self) -> Purpose {
        match self.confirming {
            Some(_) => Purpose::Confirming,
            None => Purpose::Exploring,
        }
    }

    /// All cells of the campaign.
    pub(crate) fn grid(&self) -> Vec<Cell> {
        self.cells.iter().map(|(cell, _)| *cell).collect()
    }

    /// Whether a candidate may be tried in a cell because others of its kind are on the agenda at other
    /// sizes, or merged there.
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
        let merged = merged.flat_map(|(_, pairs)| pairs.iter().map(|(candidate, _)| candidate));
        *candidate == Candidate::Default
            || alike
                .flat_map(|(_, candidates)| candidates)
                .chain(merged)
                .any(|known| is_kin(known, candidate))
    }

    /// Candidates of all cells together.
    pub fn candidates(&self) -> usize {
        self.cells
            .iter()
            .map(|(_, candidates)| candidates.len())
            .sum()
    }

    /// Merged candidates of all cells together.
    pub fn merged(&self) -> usize {
        self.merged.values().map(Vec::len).sum()
    }

    /// Whether a subject with a candidate is on the agenda; in a guided campaign, whether it may be.
    pub(crate) fn asks_for(&self, subject: &Subject, candidate: &Candidate) -> bool {
        let known = match subject {
            Subject::Experiment(experiment) => return self.experiments.contains(experiment),
            Subject::Cell(cell) => self.cells.iter().find(|(known, _)| {
                // A search looks between the sizes of the campaign too.
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
        // A store may have what is merged by now.
        let merged = self.merged.get(cell).into_iter().flatten();
        let mut all = candidates
            .iter()
            .chain(merged.map(|(candidate, _)| candidate));
        match &self.search {
            None => all.any(|c| c == candidate),
            // A search chooses block sizes of its own.
            Some(_) => all.any(|c| is_kin(c, candidate)),
        }
    }

    /// How often one launch measures something: one turn an experiment, one a candidate; on average, in
    /// a guided campaign.
    pub(crate) fn turns(&self) -> usize {
        let cells = match &self.search {
            None => self.candidates(),
            Some(_) => Search::turns_a_launch(&self.cells),
        };
        self.experiments.len() + cells
    }

    /// Everything with what the store has of it, unless there is nobody left to compare.
    fn items<'a>(&'a self, stock: &'a Stock) -> impl Iterator<Item = Item<'a>> {
        const ALONE: &[Candidate] = &[Candidate::Default];
        let experiments = self
            .experiments
            .iter()
            .map(|e| (Subject::Experiment(*e), ALONE));
        let cells: &[(Cell, Vec<Candidate>)] = match self.search {
            None => &self.cells,
            Some(_) => &[],
        };
        let cells = cells
            .iter()
            .map(|(cell, candidates)| (Subject::Cell(*cell), &candidates[..]));
        let fixed = experiments
            .chain(cells)
            .filter_map(|(subject, candidates)| {
                let merged = match &subject {
                    Subject::Cell(cell) => self.merged.get(cell).map_or(&[][..], Vec::as_slice),
                    Subject::Experiment(_) => &[],
                };
                let done = stock.launches(subject, candidates, merged)?;
                Some(Item {
                    done: done.min(self.launches),
                    wanted: self.launches,
                    round: stock.rounds(subject, candidates),
                    pattern: self.pattern,
                    subject,
                    candidates,
                })
            });
        let requests = self.search.iter().flat_map(|search| &search.requests);
        fixed.chain(requests.map(|request| Item {
            subject: Subject::Cell(request.cell),
            candidates: &request.candidates,
            done: request.round,
            wanted: self.launches.max(request.round + 1),
            round: request.round,
            pattern: self.pattern,
        }))
    }

    /// What choices are to be confirmed of by now.
    fn trials(&self) -> impl Iterator<Item = Item<'_>> {
        self.confirming.iter().flat_map(|confirming| {
            confirming.trials.iter().map(|trial| Item {
                subject: Subject::Cell(trial.cell),
                candidates: &trial.candidates,
                done: trial.done,
                wanted: confirming.launches,
                round: confirming.round(trial),
                pattern: confirming.pattern(trial),
            })
        })
    }

    /// What launches are to measure from now on: nothing is explored any more once choices are confirmed.
    fn ahead<'a>(&'a self, stock: &'a Stock) -> impl Iterator<Item = Item<'a>> {
        let exploring = self.items(stock).filter(|_| self.confirming.is_none());
        exploring.chain(self.trials())
    }

    /// How much is done.
    pub(crate) fn progress(&self, stock: &Stock) -> Progress {
        let finished = self.search.as_ref().map_or(0, |search| search.finished);
        let mut progress = Progress {
            done: finished,
            total: finished,
        };
        let confirmed = self
            .confirming
            .as_ref()
            .map_or(0, |confirming| confirming.finished);
        progress.done += confirmed;
        progress.total += confirmed;
        for item in self.items(stock).chain(self.trials()) {
            progress.done += u64::from(item.done);
            progress.total += u64::from(item.wanted);
        }
        progress
    }

    /// The tasks of the next launch: whatever has been measured in the fewest launches so far, so
    /// that all cells advance together and an interrupted launch is made up for first. Experiments
    /// that were never made come alone. Empty when everything is done.
    pub(crate) fn next(&self, stock: &Stock) -> Vec<Task> {
        let undone = self.undone(stock);
        if !undone.is_empty() && self.confirming.is_none() {
            return undone;
        }
        let open: Vec<Item<'_>> = self
            .ahead(stock)
            .filter(|item| item.done < item.wanted)
            .collect();
        let fewest = open.iter().map(|item| item.done).min().unwrap_or(0);
        let due = || open.iter().filter(|item| item.done == fewest);
        let is_experiment = |item: &&Item<'_>| matches!(item.subject, Subject::Experiment(_));
        let calibrating = fewest == 0 && due().any(|item| is_experiment(&item));
        due()
            .filter(|item| !calibrating || is_experiment(item))
            .zip(0..)
            .map(|(item, id)| {
                let work = match item.subject {
                    Subject::Experiment(experiment) => Work::Experiment(experiment),
                    Subject::Cell(cell) => Work::Compare {
                        cell,
                        candidates: stock.able(item.subject, item.candidates).cloned().collect(),
                    },
                };
                Task {
                    id,
                    round: item.round,
                    pattern: item.pattern,
                    work,
                }
            })
            .collect()
    }

    /// What an interrupted launch of a search left undone, without those who failed since.
    fn undone(&self, stock: &Stock) -> Vec<Task> {
        let undone = self.search.iter().flat_map(|search| &search.undone);
        let able = undone.filter_map(|task| {
            let work = match &task.work {
                Work::Experiment(experiment) => {
                    let subject = Subject::Experiment(*experiment);
                    stock.able(subject, &[Candidate::Default]).next()?;
                    task.work.clone()
                }
                Work::Compare { cell, candidates } => {
                    let able = stock.able(Subject::Cell(*cell), candidates);
                    let candidates: Vec<Candidate> = able.cloned().collect();
                    if candidates.first() != Some(&Candidate::Default) {
                        return None;
                    }
                    let cell = *cell;
                    Work::Compare { cell, candidates }
                }
            };
            Some((task, work))
        });
        able.zip(0..)
            .map(|((task, work), id)| Task { id, work, ..*task })
            .collect()
    }

    /// Whether the next launch only looks at cells that a guided campaign knows nothing of.
    pub(crate) fn is_first_look(&self, tasks: &[Task]) -> bool {
        let is_first = |task: &Task| task.round == 0 && matches!(task.work, Work::Compare { .. });
        self.search.is_some() && self.confirming.is_none() && tasks.iter().all(is_first)
    }

    /// Turns left after what is in the store; of a search about as many.
    pub(crate) fn turns_left(&self, stock: &Stock) -> u64 {
        let search = self.search.as_ref().filter(|_| self.confirming.is_none());
        let turns = |item: Item<'_>| {
            let launches = u64::from(item.wanted - item.done.min(item.wanted));
            let able = stock.able(item.subject, item.candidates).count() as u64;
            match (search, item.subject) {
                (Some(search), Subject::Cell(_)) => search.turns_of(launches, able),
                _ => launches * able,
            }
        };
        self.ahead(stock).map(turns).sum()
    }

    /// Turns that measuring everything in every launch would take.
    pub fn exhaustive_turns(&self) -> u64 {
        u64::from(self.launches) * (self.experiments.len() + self.candidates()) as u64
    }

    /// What a guided campaign would measure without its search.
    pub(crate) fn everything(&self, campaign: &Campaign) -> Option<Everything> {
        let cells = || self.cells.iter().map(|(cell, of)| (*cell, of.len()));
        self.is_guided().then(|| Everything {
            cells: cells().collect(),
            launches: self.launches,
            nodes: campaign.largest_shape().nodes,
        })
    }

    /// Whether the campaign measures only what may change a decision.
    pub fn is_guided(&self) -> bool {
        self.search.is_some()
    }

    /// Whether every experiment was made once or has failed.
    pub(crate) fn is_calibrated(&self, stock: &Stock) -> bool {
        self.items(stock)
            .filter(|item| matches!(item.subject, Subject::Experiment(_)))
            .all(|item| item.done > 0)
    }

    /// Launches left after what is in the store.
    pub(crate) fn launches_left(&self, stock: &Stock) -> u32 {
        let left = self
            .ahead(stock)
            .map(|item| item.wanted.saturating_sub(item.done));
        left.max().unwrap_or(0)
    }
}

/// Whether two candidates differ by nothing but the size of their blocks.
fn is_kin(a: &Candidate, b: &Candidate) -> bool {
    a == b || Family::of(a).is_some_and(|family| Family::of(b) == Some(family))
}

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
    if campaign.repetitions.slice != campaign::Slice::Auto {
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
            let exploring = Some(Purpose::Exploring);
            let spent = spent_seconds(store, campaign, library, exploring)?;
            Ok(left.min(campaign.exploring_seconds() - spent))
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
