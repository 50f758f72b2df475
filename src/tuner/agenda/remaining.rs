//! What of an agenda is left to do after what a store has.

use std::collections::BTreeMap;

use fit::Trial;
use vocabulary::{Candidate, Cell, Pattern, Subject};
use wire::{PlannedTask, PlannedWork};

use super::{Agenda, CampaignProgress, Coverage};
use crate::confirming::Confirming;

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

impl Agenda {
    /// Everything with what the store has of it, unless no candidate is left to compare.
    fn items<'a>(&'a self, stock: &'a Coverage) -> impl Iterator<Item = Item<'a>> {
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

    /// The trials that confirm choices: all that are open, or those that there is time for.
    fn trials(&self, trials: fn(&Confirming) -> &[Trial]) -> impl Iterator<Item = Item<'_>> {
        self.confirming.iter().flat_map(move |confirming| {
            trials(confirming).iter().map(|trial| Item {
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
    fn ahead<'a>(&'a self, stock: &'a Coverage) -> impl Iterator<Item = Item<'a>> {
        let exploring = self.items(stock).filter(|_| self.confirming.is_none());
        exploring.chain(self.trials(|confirming| &confirming.affordable))
    }

    /// How much is done.
    pub(crate) fn progress(&self, stock: &Coverage) -> CampaignProgress {
        let finished = self.search.as_ref().map_or(0, |search| search.finished);
        let mut progress = CampaignProgress {
            done: finished,
            total: finished,
        };
        let confirmed = self
            .confirming
            .as_ref()
            .map_or(0, |confirming| confirming.finished);
        progress.done += confirmed;
        progress.total += confirmed;
        let trials = self.trials(|confirming| &confirming.trials);
        for item in self.items(stock).chain(trials) {
            progress.done += u64::from(item.done);
            progress.total += u64::from(item.wanted);
        }
        progress
    }

    /// The tasks of the next launch: whatever has been measured in the fewest launches so far, so
    /// that all cells advance together and an interrupted launch is made up for first. If there is no time to
    /// confirm everything, all affordable trials, so that none that is begun waits for a new one. Experiments
    /// that were never made come alone. Empty when everything is done.
    pub(crate) fn next(&self, stock: &Coverage) -> Vec<PlannedTask> {
        let undone = self.undone(stock);
        if !undone.is_empty() && self.confirming.is_none() {
            return undone;
        }
        let open: Vec<Item<'_>> = self
            .ahead(stock)
            .filter(|item| item.done < item.wanted)
            .collect();
        let fewest = open.iter().map(|item| item.done).min().unwrap_or(0);
        let is_short = self.confirming.as_ref().is_some_and(Confirming::is_short);
        let due = || {
            let is_due = move |item: &&Item<'_>| is_short || item.done == fewest;
            open.iter().filter(is_due)
        };
        let is_experiment = |item: &&Item<'_>| matches!(item.subject, Subject::Experiment(_));
        let calibrating = fewest == 0 && due().any(|item| is_experiment(&item));
        due()
            .filter(|item| !calibrating || is_experiment(item))
            .zip(0..)
            .map(|(item, id)| {
                let work = match item.subject {
                    Subject::Experiment(experiment) => PlannedWork::Experiment(experiment),
                    Subject::Cell(cell) => PlannedWork::Compare {
                        cell,
                        candidates: stock.able(item.subject, item.candidates).cloned().collect(),
                    },
                };
                PlannedTask {
                    id,
                    round: item.round,
                    pattern: item.pattern,
                    calls: None,
                    work,
                }
            })
            .collect()
    }

    /// What an interrupted launch of a search left undone, without candidates that failed since.
    fn undone(&self, stock: &Coverage) -> Vec<PlannedTask> {
        let undone = self.search.iter().flat_map(|search| &search.undone);
        let able = undone.filter_map(|task| {
            let work = match &task.work {
                PlannedWork::Experiment(experiment) => {
                    let subject = Subject::Experiment(*experiment);
                    stock.able(subject, &[Candidate::Default]).next()?;
                    task.work.clone()
                }
                PlannedWork::Compare { cell, candidates } => {
                    let able = stock.able(Subject::Cell(*cell), candidates);
                    let candidates: Vec<Candidate> = able.cloned().collect();
                    if candidates.first() != Some(&Candidate::Default) {
                        return None;
                    }
                    let cell = *cell;
                    PlannedWork::Compare { cell, candidates }
                }
            };
            Some((task, work))
        });
        able.zip(0..)
            .map(|((task, work), id)| PlannedTask { id, work, ..*task })
            .collect()
    }

    /// Whether the next launch only looks at cells that a guided campaign knows nothing of.
    pub(crate) fn is_first_look(&self, tasks: &[PlannedTask]) -> bool {
        let is_first = |task: &PlannedTask| {
            task.round == 0 && matches!(task.work, PlannedWork::Compare { .. })
        };
        self.search.is_some() && self.confirming.is_none() && tasks.iter().all(is_first)
    }

    /// Turns left after what is in the store, by the number of nodes that they take; of a search about as many.
    pub(crate) fn turns_left(&self, stock: &Coverage) -> BTreeMap<u32, u64> {
        let search = self.search.as_ref().filter(|_| self.confirming.is_none());
        let turns = |item: Item<'_>| {
            let launches = u64::from(item.wanted - item.done.min(item.wanted));
            let able = stock.able(item.subject, item.candidates).count() as u64;
            match (search, item.subject) {
                (Some(search), Subject::Cell(_)) => search.turns_of(launches, able),
                _ => launches * able,
            }
        };
        let mut left = BTreeMap::new();
        for item in self.ahead(stock) {
            let nodes = item.subject.shape().nodes;
            *left.entry(nodes).or_default() += turns(item);
        }
        left
    }

    /// Whether nothing is left to explore.
    pub(super) fn is_explored(&self, stock: &Coverage) -> bool {
        self.items(stock).all(|item| item.done >= item.wanted) && self.undone(stock).is_empty()
    }

    /// Whether every experiment was made once or has failed.
    pub(crate) fn is_calibrated(&self, stock: &Coverage) -> bool {
        self.items(stock)
            .filter(|item| matches!(item.subject, Subject::Experiment(_)))
            .all(|item| item.done > 0)
    }

    /// Launches left after what is in the store.
    pub(crate) fn launches_left(&self, stock: &Coverage) -> u32 {
        let left = self
            .ahead(stock)
            .map(|item| item.wanted.saturating_sub(item.done));
        left.max().unwrap_or(0)
    }
}
