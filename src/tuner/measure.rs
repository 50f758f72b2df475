//! Launch after launch, until everything is measured.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use store::{Lock, Outcome, Store};
use wire::{Candidate, Finish, Plan, Racing, Subject, WIRE_VERSION};

use crate::agenda::{Stock, repetition, spent_seconds};
use crate::import::Definition;
use crate::launch::{Ended, Launch, file};
use crate::{Agenda, Event, Observer, Progress, TunerError, Workplace};

/// Launches in a row without a result after which it is no use to go on.
const PATIENCE: u32 = 3;

/// What measuring came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// Launches made now.
    pub launches: u32,
    /// What is done and what was to do.
    pub progress: Progress,
}

/// Measures what a campaign asks for and its store does not yet have.
///
/// What an earlier run left behind is taken in first. Setting `stop` ends the launch under way;
/// what is complete is stored, and the next call continues. Only one process measures into a
/// store at a time.
///
/// # Errors
/// [`TunerError::Interrupted`]; a store that cannot be written; a launcher or driver that does not
/// work at all. Candidates that fail are not errors: they are recorded and left out.
pub fn measure(
    at: &Workplace,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
) -> Result<Measured, TunerError> {
    let path = &at.campaign.output.store;
    let _lock = Lock::acquire(path)?;
    let mut store = Store::open_or_create(path)?;
    check_conditions(&store, at)?;
    store.record_campaign(&at.campaign.digest(), &at.campaign.name, at.campaign.text())?;
    recover(&mut store, observer)?;
    let mut campaign = Measuring {
        at,
        store,
        observer,
        stop,
        launches: 0,
        fruitless: 0,
        suspect: None,
    };
    while campaign.step()? {}
    let progress = campaign.progress()?;
    Ok(Measured {
        launches: campaign.launches,
        progress,
    })
}

/// Measurements under other launcher options or another environment are other measurements: the
/// store must not hold any of this library.
fn check_conditions(store: &Store, at: &Workplace) -> Result<(), TunerError> {
    let launched: BTreeSet<String> = store
        .launches()?
        .into_iter()
        .filter(|launch| launch.library == at.library)
        .map(|launch| launch.campaign)
        .collect();
    for row in store.campaigns()? {
        if launched.contains(&row.digest) {
            let same = match Definition::of(&row)? {
                Definition::Campaign(earlier) => at.campaign.same_conditions(&earlier),
                Definition::Import(_) => false,
            };
            if !same {
                let (store, library) = (store.path().to_owned(), at.library.clone());
                return Err(TunerError::OtherConditions { store, library });
            }
        }
    }
    Ok(())
}

/// Takes in what launches of a killed colltune had written.
fn recover(store: &mut Store, observer: &mut dyn Observer) -> Result<(), TunerError> {
    let unfinished = store.unfinished_launches()?;
    for launch in &unfinished {
        let taken = Launch::new(&launch.plan, store, observer, Progress::default()).drain();
        // A damaged spool costs what is behind the damage, not the whole campaign.
        let outcome = match taken {
            Ok(()) => Outcome::Interrupted,
            Err(error) => Outcome::Died {
                message: error.to_string(),
            },
        };
        store.end_launch(launch.number, &outcome)?;
    }
    if !unfinished.is_empty() {
        observer.notice(Event::Recovered {
            launches: unfinished.len(),
        });
    }
    Ok(())
}

/// What a launch means for the next one.
enum Verdict {
    GoOn,
    /// The deadline passed before the first task.
    NothingBegan,
}

struct Measuring<'a> {
    at: &'a Workplace,
    store: Store,
    observer: &'a mut dyn Observer,
    stop: &'a AtomicBool,
    launches: u32,
    fruitless: u32,
    suspect: Option<(Subject, Candidate)>,
}

impl Measuring<'_> {
    fn progress(&self) -> Result<Progress, TunerError> {
        let library = &self.at.library;
        let agenda = Agenda::new(
            &self.at.campaign,
            Some(&self.store),
            library,
            &self.at.natives,
        )?;
        Ok(agenda.progress(&Stock::of(&self.store, library)?))
    }

    /// Makes the next launch; false if there is nothing left to do or to spend.
    fn step(&mut self) -> Result<bool, TunerError> {
        let Workplace {
            campaign, library, ..
        } = self.at;
        let agenda = Agenda::new(campaign, Some(&self.store), library, &self.at.natives)?;
        let stock = Stock::of(&self.store, library)?;
        let tasks = agenda.next(&stock);
        let progress = agenda.progress(&stock);
        if tasks.is_empty() {
            return Ok(false);
        }
        let spent = spent_seconds(&self.store, campaign, library)?;
        let left = campaign.budget_seconds - spent;
        if left <= 0.0 {
            self.observer.notice(Event::BudgetSpent { progress });
            return Ok(false);
        }
        let number = self.store.next_launch()?;
        let spool = file(self.store.path(), number, "spool");
        let plan = Plan {
            version: WIRE_VERSION,
            campaign: campaign.digest(),
            launch: number,
            seed: campaign.seed(),
            library: library.clone(),
            spool: absolute(&spool)?,
            cores: self.at.cores,
            pretended_ppn: None,
            leash: Some(absolute(&file(self.store.path(), number, "leash"))?),
            deadline_seconds: Some(left),
            watchdog_seconds: campaign.watchdog_seconds,
            repetition: repetition(campaign, &agenda, &stock, &tasks, left),
            racing: campaign.racing.then_some(Racing {
                materiality: campaign.materiality,
            }),
            synchronisation: campaign.synchronisation,
            cache: campaign.cache,
            tasks,
        };
        self.observer.notice(Event::Launch { number, progress });
        let ended = self.launch(&plan, progress)?;
        if matches!(ended, Verdict::NothingBegan) {
            self.observer.notice(Event::BudgetSpent { progress });
            return Ok(false);
        }
        Ok(true)
    }

    fn launch(&mut self, plan: &Plan, progress: Progress) -> Result<Verdict, TunerError> {
        // A spool of that name can only be a leftover of a store that was deleted: numbers grow.
        match std::fs::remove_file(&plan.spool) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                return Err(TunerError::File {
                    action: "remove",
                    path: plan.spool.clone(),
                    source,
                });
            }
            _ => {}
        }
        self.store.begin_launch(plan)?;
        self.launches += 1;
        let mut launch = Launch::new(plan, &mut self.store, self.observer, progress);
        launch.suspect = self.suspect.take();
        let ended = launch.run(self.at, self.stop);
        let fruitful = launch.fruitful;
        self.suspect = launch.suspect.take();
        let outcome = match &ended {
            Ok(Ended::Finished(Finish::Complete)) => Outcome::Complete,
            Ok(Ended::Finished(Finish::Deadline)) => Outcome::Deadline,
            Ok(Ended::ByCandidate { message } | Ended::Killed { message }) => Outcome::Died {
                message: message.clone(),
            },
            Err(TunerError::Interrupted) => Outcome::Interrupted,
            Err(error) => Outcome::Died {
                message: error.to_string(),
            },
        };
        self.store.end_launch(plan.launch, &outcome)?;
        match ended? {
            // What was left of the budget did not even suffice for starting up.
            Ended::Finished(Finish::Deadline) if !fruitful => return Ok(Verdict::NothingBegan),
            Ended::Finished(_) => {}
            Ended::ByCandidate { message } | Ended::Killed { message } => {
                self.observer.notice(Event::Died {
                    number: plan.launch,
                    message: &message,
                });
                if !fruitful {
                    self.lose_patience(message)?;
                }
            }
        }
        if fruitful {
            self.fruitless = 0;
        }
        Ok(Verdict::GoOn)
    }

    fn lose_patience(&mut self, last: String) -> Result<(), TunerError> {
        self.fruitless += 1;
        if self.fruitless < PATIENCE {
            return Ok(());
        }
        Err(TunerError::NoProgress {
            launches: self.fruitless,
            last,
        })
    }
}

fn absolute(path: &std::path::Path) -> Result<std::path::PathBuf, TunerError> {
    std::path::absolute(path).map_err(|source| TunerError::File {
        action: "find",
        path: path.to_owned(),
        source,
    })
}
