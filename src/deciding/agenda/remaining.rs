//! The remaining work of an agenda.

use std::collections::BTreeMap;

use fit::Trial;
use schedule::Collective;
use vocabulary::{CampaignProgress, Candidate, Cell, CommShape, Pattern, Subject};
use wire::{PlannedTask, PlannedWork};

use crate::Agenda;
use crate::confirming::Confirming;
use crate::search::take_in_turns;

/// An item to measure.
struct AgendaItem<'a> {
    subject: Subject,
    candidates: &'a [Candidate],
    /// The number of launches that measured all candidates.
    done: u32,
    /// The number of launches that should, `done` ones included.
    wanted: u32,
    /// The number of launches that measured any candidate, from which random draws are seeded.
    round: u32,
    /// The pattern of calls in a cell.
    pattern: Pattern,
}

/// What takes turns in a launch: experiments together, and the cells of each collective and shape.
fn turn_group(subject: &Subject) -> Option<(Collective, CommShape)> {
    let cell = subject.cell()?;
    Some((cell.collective, cell.shape))
}

impl Agenda {
    /// The experiments and cells to explore, without those that have no candidate left to compare.
    fn items_to_explore(&self) -> impl Iterator<Item = AgendaItem<'_>> {
        const ALONE: &[Candidate] = &[Candidate::Default];
        let experiments = self
            .scope
            .experiments
            .iter()
            .map(|e| (Subject::Experiment(*e), ALONE));
        let cells: &[(Cell, Vec<Candidate>)] = match self.search {
            None => &self.scope.cells,
            Some(_) => &[],
        };
        let cells = cells
            .iter()
            .map(|(cell, candidates)| (Subject::Cell(*cell), &candidates[..]));
        let fixed = experiments
            .chain(cells)
            .filter_map(|(subject, candidates)| {
                let merged = match &subject {
                    Subject::Cell(cell) => {
                        self.scope.merged.get(cell).map_or(&[][..], Vec::as_slice)
                    }
                    Subject::Experiment(_) => &[],
                };
                let done = self
                    .coverage
                    .launches_with_all(subject, candidates, merged)?;
                Some(AgendaItem {
                    done: done.min(self.launches),
                    wanted: self.launches,
                    round: self.coverage.launches_with_any(subject, candidates),
                    pattern: self.pattern,
                    subject,
                    candidates,
                })
            });
        let requests = self.search.iter().flat_map(|search| &search.requests);
        fixed.chain(requests.map(|request| AgendaItem {
            subject: Subject::Cell(request.cell),
            candidates: &request.candidates,
            done: request.round,
            wanted: self.launches.max(request.round + 1),
            round: request.round,
            pattern: self.pattern,
        }))
    }

    /// The items of the trials that `trials` selects: all open ones, or those that the budget suffices for.
    fn trial_items(
        &self,
        trials: fn(&Confirming) -> &[Trial],
    ) -> impl Iterator<Item = AgendaItem<'_>> {
        self.confirming.iter().flat_map(move |confirming| {
            trials(confirming).iter().map(|trial| AgendaItem {
                subject: Subject::Cell(trial.cell),
                candidates: &trial.candidates,
                done: trial.done,
                wanted: trial.wanted,
                round: confirming.trial_round(trial),
                pattern: confirming.trial_pattern(trial),
            })
        })
    }

    /// The items of the next launches; nothing is explored once confirming has begun.
    fn items_ahead(&self) -> impl Iterator<Item = AgendaItem<'_>> {
        let exploring = self
            .items_to_explore()
            .filter(|_| self.confirming.is_none());
        exploring.chain(self.trial_items(|confirming| &confirming.affordable))
    }

    /// Counts the measurements that are done and those that are wanted in all, of exploring and of confirming.
    pub fn count_progress(&self) -> CampaignProgress {
        // Finished cells of a search or of confirming are no items any more.
        let searched = self.search.as_ref();
        let searched = searched.map_or(0, |search| search.finished_measurements);
        let confirmed = self.confirming.as_ref();
        let confirmed = confirmed.map_or(0, |confirming| confirming.finished_measurements);
        let mut progress = CampaignProgress {
            done: searched + confirmed,
            total: searched + confirmed,
        };
        let open_trials = self.trial_items(|confirming| &confirming.trials);
        for item in self.items_to_explore().chain(open_trials) {
            progress.done += u64::from(item.done);
            progress.total += u64::from(item.wanted);
        }
        progress
    }

    /// The share of the default's time that is at stake for a collective and a shape; 0 if it is unknown.
    fn stake_of_group(&self, kind: Option<(Collective, CommShape)>) -> f64 {
        let known = self.search.as_ref().zip(kind);
        let stake = known.and_then(|(search, group)| search.stakes.get(&group).copied());
        stake.unwrap_or(0.0)
    }

    /// The tasks of the next launch; empty when everything is done.
    ///
    /// The items with the fewest launches come first, so that all cells advance together and missing tasks of an
    /// interrupted launch are made up for. Collectives and shapes take turns, those with more at stake more of them, so
    /// that all have a share if the launch ends before it has measured everything. If time does not suffice to confirm
    /// everything, all affordable trials are included, so that begun ones do not wait for new ones. Experiments not made
    /// yet have a launch of their own.
    pub(crate) fn next_tasks(&self) -> Vec<PlannedTask> {
        let undone = self.undone_tasks();
        if !undone.is_empty() && self.confirming.is_none() {
            return undone;
        }
        let open: Vec<AgendaItem<'_>> = self
            .items_ahead()
            .filter(|item| item.done < item.wanted)
            .collect();
        let fewest = open.iter().map(|item| item.done).min().unwrap_or(0);
        let is_short = self
            .confirming
            .as_ref()
            .is_some_and(Confirming::is_short_of_time);
        let mut due: Vec<&AgendaItem<'_>> = open
            .iter()
            .filter(|item| is_short || item.done == fewest)
            .collect();
        let is_experiment = |item: &&AgendaItem<'_>| matches!(item.subject, Subject::Experiment(_));
        if fewest == 0 && due.iter().any(is_experiment) {
            due.retain(is_experiment);
        }
        // Trials are in the order of their stakes.
        let ordered = if self.confirming.is_some() {
            due
        } else {
            take_in_turns(
                due,
                |item| turn_group(&item.subject),
                |kind| self.stake_of_group(*kind),
            )
        };
        ordered
            .into_iter()
            .zip(0..)
            .map(|(item, id)| {
                let work = match item.subject {
                    Subject::Experiment(experiment) => PlannedWork::Experiment(experiment),
                    Subject::Cell(cell) => PlannedWork::Compare {
                        cell,
                        candidates: self
                            .coverage
                            .without_failed(item.subject, item.candidates)
                            .cloned()
                            .collect(),
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

    /// The tasks left over from an interrupted launch of a search, without candidates that have failed since.
    fn undone_tasks(&self) -> Vec<PlannedTask> {
        let undone = self.search.iter().flat_map(|search| &search.undone);
        let able = undone.filter_map(|task| {
            let work = match &task.work {
                PlannedWork::Experiment(experiment) => {
                    let subject = Subject::Experiment(*experiment);
                    self.coverage
                        .without_failed(subject, &[Candidate::Default])
                        .next()?;
                    task.work.clone()
                }
                PlannedWork::Compare { cell, candidates } => {
                    let able = self
                        .coverage
                        .without_failed(Subject::Cell(*cell), candidates);
                    let able_candidates: Vec<Candidate> = able.cloned().collect();
                    if able_candidates.first() != Some(&Candidate::Default) {
                        return None;
                    }
                    PlannedWork::Compare {
                        cell: *cell,
                        candidates: able_candidates,
                    }
                }
            };
            Some((task, work))
        });
        able.zip(0..)
            .map(|((task, work), id)| PlannedTask { id, work, ..*task })
            .collect()
    }

    /// Whether the tasks only take first looks at new cells of a guided campaign.
    pub(crate) fn is_first_look(&self, tasks: &[PlannedTask]) -> bool {
        let is_first = |task: &PlannedTask| {
            task.round == 0 && matches!(task.work, PlannedWork::Compare { .. })
        };
        self.search.is_some() && self.confirming.is_none() && tasks.iter().all(is_first)
    }

    /// The number of turns left, by the number of nodes that they need; an estimate for a search.
    pub(crate) fn turns_left(&self) -> BTreeMap<u32, u64> {
        let search = self.search.as_ref().filter(|_| self.confirming.is_none());
        let turns = |item: AgendaItem<'_>| {
            let launches = u64::from(item.wanted - item.done.min(item.wanted));
            let able = self
                .coverage
                .without_failed(item.subject, item.candidates)
                .count() as u64;
            match (search, item.subject) {
                (Some(search), Subject::Cell(_)) => search.estimate_turns(launches, able),
                _ => launches * able,
            }
        };
        let mut left = BTreeMap::new();
        for item in self.items_ahead() {
            let nodes = item.subject.shape().nodes;
            *left.entry(nodes).or_default() += turns(item);
        }
        left
    }

    /// Whether nothing is left to explore.
    pub(crate) fn is_explored(&self) -> bool {
        self.items_to_explore().all(|item| item.done >= item.wanted)
            && self.undone_tasks().is_empty()
    }

    /// Whether every experiment has been made or has failed.
    pub(crate) fn is_calibrated(&self) -> bool {
        self.items_to_explore()
            .filter(|item| matches!(item.subject, Subject::Experiment(_)))
            .all(|item| item.done > 0)
    }

    /// The number of launches left.
    pub(crate) fn launches_left(&self) -> u32 {
        let left = self
            .items_ahead()
            .map(|item| item.wanted.saturating_sub(item.done));
        left.max().unwrap_or(0)
    }
}
