//! The measuring loop: launches until the agenda is done or the budget is spent.

mod adopt;
mod conclude;
mod forced;
mod lock;
mod recover;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use agenda::{Agenda, History, LatestFit, NextLaunch, NextStep, unspent_seconds};
use answers::{Measured, SubmittedJob, SubmittedLaunch, TuningEvent};
use launcher::switch_variables;
use store::Store;
use vocabulary::{CampaignProgress, Candidate, Cell, Purpose, Racing, Subject};
use wire::{Plan, PlannedWork, WIRE_VERSION};

use self::conclude::Streaks;
use self::forced::{ForcedTasks, take_forced_tasks};
pub(crate) use self::lock::CampaignLock;
use crate::analysis::stored::parse_campaign_row;
use crate::history::{read_history, read_launches, read_measurements};
use crate::launch::{OnInterrupt, RunningLaunch, absolute_utf8_path, launch_file};
use crate::node_request::NodeRequest;
use crate::recorded::recorded_digest;
use crate::{MeasurementContext, Observer, TunerError};

/// The share of the budget up to which its rest is not worth a remark.
const LITTLE_REST: f64 = 0.05;

/// Makes the measurements of a campaign that its store lacks.
///
/// Launches of an earlier run are finished first. Setting `stop` ends the current launch, or stops following it if it
/// is a job that continues without this process. Complete measurements are stored, and the next call continues. Only
/// one process measures into a store at a time.
///
/// # Errors
/// [`TunerError::Interrupted`] or [`TunerError::Left`]; a store that cannot be written; a launcher or driver
/// that does not work. Candidates that fail are not errors: they are recorded and left out.
pub fn measure_campaign(
    at: &MeasurementContext,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
) -> Result<Measured, TunerError> {
    Ok(measure_or_submit(at, observer, stop, OnInterrupt::Follow)?.0)
}

/// Stores the measurements of launches so far, and submits the next launch if none is running, without waiting for it.
/// The same as [`measure_campaign`] if launches end with this process.
///
/// # Errors
/// Those of [`measure_campaign`].
pub fn submit_next_launch(
    at: &MeasurementContext,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
) -> Result<SubmittedLaunch, TunerError> {
    let (measured, job) = measure_or_submit(at, observer, stop, OnInterrupt::Submit)?;
    let progress = measured.progress;
    Ok(SubmittedLaunch { job, progress })
}

/// Measures only these cells, each with its candidates including the default, until the store has `launches` launches
/// of each.
///
/// The store of the context's campaign should hold nothing else, since the conditions of earlier measurements are not
/// compared. Setting `stop` ends the current launch, whatever the launcher. The launcher's nodes are kept for the next
/// call: close it after the last one. Otherwise the same as [`measure_campaign`].
///
/// # Errors
/// Those of [`measure_campaign`].
pub fn measure_cells(
    at: &MeasurementContext,
    cells: &[(Cell, Vec<Candidate>)],
    launches: u32,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
) -> Result<Measured, TunerError> {
    let pattern = at.campaign.pattern;
    let of_cells = |store: &Store| {
        let history = read_measurements(store, &at.library, pattern)?;
        let agenda = Agenda::for_cells(cells, launches, pattern, &history);
        Ok(Outlook { history, agenda })
    };
    let measuring = Measuring::new(at, &of_cells, observer, stop, OnInterrupt::Own)?;
    Ok(measuring.carry_out()?.0)
}

/// Makes the measurements of a campaign; also returns the launch that continues without the command.
fn measure_or_submit(
    at: &MeasurementContext,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
    watch: OnInterrupt,
) -> Result<(Measured, Option<SubmittedJob>), TunerError> {
    let latest = LatestFit::default();
    let (campaign, library) = (&at.campaign, &at.library);
    let of_campaign = |store: &Store| {
        let history = read_history(Some(store), library, campaign)?;
        let agenda = Agenda::with_latest_fit(&latest, campaign, &history, library, &at.natives)?;
        Ok(Outlook { history, agenda })
    };
    let mut measuring = Measuring::new(at, &of_campaign, observer, stop, watch)?;
    if at.relocated.is_some() {
        adopt::adopt_launches(&mut measuring.store, at)?;
    }
    check_conditions(&measuring.store, at)?;
    measuring.carry_out()
}

/// What a store has, and what follows from it.
struct Outlook {
    history: History,
    agenda: Agenda,
}

/// Reads a store once, before each launch.
type ReadOutlook<'a> = dyn Fn(&Store) -> Result<Outlook, TunerError> + 'a;

/// Checks that the store has no measurements of this library under other launcher options or another environment.
/// Launches that never started, such as jobs that the batch system refused, are ignored.
fn check_conditions(store: &Store, at: &MeasurementContext) -> Result<(), TunerError> {
    let up = store.environments(&at.library)?;
    let up: BTreeSet<u32> = up.into_iter().map(|(number, _)| number).collect();
    let launched: BTreeSet<String> = store
        .launches()?
        .into_iter()
        .filter(|launch| up.contains(&launch.number))
        .map(|launch| launch.campaign)
        .collect();
    for row in store.campaigns()? {
        if launched.contains(&row.digest) {
            let earlier = parse_campaign_row(&row)?;
            if !earlier.is_some_and(|earlier| at.campaign.has_same_conditions(&earlier)) {
                let (store, library) = (store.path().to_owned(), at.library.clone());
                return Err(TunerError::OtherConditions { store, library });
            }
        }
    }
    Ok(())
}

/// The consequence of a launch for the next one.
enum AfterLaunch {
    GoOn,
    /// The deadline passed before the first task.
    NothingBegan,
    /// The launch continues without this command.
    Left,
}

struct Measuring<'a> {
    at: &'a MeasurementContext,
    read_outlook: &'a ReadOutlook<'a>,
    store: Store,
    /// After the store, since fields are dropped in this order: the store is closed before its lock is released.
    lock: CampaignLock,
    observer: &'a mut dyn Observer,
    stop: &'a AtomicBool,
    watch: OnInterrupt,
    launches: u32,
    streaks: Streaks,
    suspects: BTreeSet<(Subject, Candidate)>,
    /// Whether there is no time left for exploring.
    has_explored: bool,
    /// The launch that continues without the command.
    left: Option<SubmittedJob>,
}

impl<'a> Measuring<'a> {
    fn new(
        at: &'a MeasurementContext,
        read_outlook: &'a ReadOutlook<'a>,
        observer: &'a mut dyn Observer,
        stop: &'a AtomicBool,
        watch: OnInterrupt,
    ) -> Result<Self, TunerError> {
        Ok(Self {
            at,
            read_outlook,
            lock: CampaignLock::acquire(at)?,
            store: Store::open_or_create(at.store_path())?,
            observer,
            stop,
            watch,
            launches: 0,
            streaks: Streaks::default(),
            suspects: BTreeSet::new(),
            has_explored: false,
            left: None,
        })
    }

    fn carry_out(mut self) -> Result<(Measured, Option<SubmittedJob>), TunerError> {
        let campaign = &self.at.campaign;
        let (digest, name) = (recorded_digest(&self.store, campaign)?, &campaign.name);
        self.store.record_campaign(&digest, name, campaign.text())?;
        if self.at.relocated.is_some() {
            adopt::write_campaign_text(self.at, &digest)?;
        }
        let done = self.recover_and_launch();
        // The caller may measure more cells on the same nodes.
        if self.left.is_some() || self.watch == OnInterrupt::Own {
            done?;
        } else {
            // Other errors are returned first.
            let closed = self.at.launcher.close();
            done?;
            closed?;
        }
        let measured = Measured {
            launches: self.launches,
            progress: self.campaign_progress()?,
        };
        Ok((measured, self.left))
    }

    fn recover_and_launch(&mut self) -> Result<(), TunerError> {
        if self.recover_launches()? {
            while self.make_next_launch()? {}
        }
        Ok(())
    }

    fn campaign_progress(&self) -> Result<CampaignProgress, TunerError> {
        let outlook = (self.read_outlook)(&self.store)?;
        Ok(outlook.agenda.count_progress())
    }

    /// Makes the next launch; false if the agenda is done or the budget is spent.
    fn make_next_launch(&mut self) -> Result<bool, TunerError> {
        self.lock.check_still_held()?;
        let MeasurementContext {
            campaign, library, ..
        } = self.at;
        // Everything follows from what the store has now, whichever process stored it.
        let Outlook {
            history,
            mut agenda,
        } = (self.read_outlook)(&self.store)?;
        if self.has_explored && agenda.next_purpose() == Purpose::Exploring {
            agenda = agenda.into_confirming(campaign, &history, library)?;
        }
        let progress = agenda.count_progress();
        let next = match agenda.next_step(campaign, &history) {
            NextStep::Launch(next) => next,
            NextStep::Done => return Ok(false),
            NextStep::OutOfTime => {
                self.report_spent_budget(&agenda, &history, progress);
                return Ok(false);
            }
        };
        let nodes =
            NodeRequest::for_tasks(campaign, library, &self.store, &next.tasks, self.watch)?;
        let mut plan = self.complete_plan(next)?;
        let forced = take_forced_tasks(library, &mut plan.tasks);
        let is_exploring = agenda.keeps_time() && agenda.next_purpose() == Purpose::Exploring;
        let left_seconds = (!campaign.is_simulated()).then(|| unspent_seconds(&history, campaign));
        // The samples, which may be many, are not kept in memory while the launch runs.
        drop(history);
        self.observer.notice(&TuningEvent::Launch {
            number: plan.launch,
            progress,
            left_seconds,
        });
        match self.launch_plan(&plan, forced, nodes, progress)? {
            AfterLaunch::GoOn => Ok(true),
            AfterLaunch::Left => Ok(false),
            // The time left does not suffice for exploring, but may suffice for confirming choices.
            AfterLaunch::NothingBegan if is_exploring && !self.has_explored => {
                self.has_explored = true;
                Ok(true)
            }
            AfterLaunch::NothingBegan => {
                // The launch that did not begin has taken some time as well.
                let spent = read_launches(&self.store, library)?;
                self.report_spent_budget(&agenda, &spent, progress);
                Ok(false)
            }
        }
    }

    /// The plan of the next launch, with what the driver must know of this machine.
    fn complete_plan(&self, next: NextLaunch) -> Result<Plan, TunerError> {
        let MeasurementContext {
            campaign, library, ..
        } = self.at;
        let number = self.store.next_launch()?;
        let launch_path =
            |kind| absolute_utf8_path(&launch_file(&campaign.output.store, number, kind));
        let mut tasks = next.tasks;
        for task in &mut tasks {
            if let PlannedWork::Compare { cell, .. } = &task.work {
                task.calls = self.at.calls.get(cell).copied();
            }
        }
        Ok(Plan {
            version: WIRE_VERSION,
            campaign: recorded_digest(&self.store, campaign)?,
            launch: number,
            purpose: Some(next.purpose),
            seed: campaign.seed(),
            library: library.clone(),
            spool: launch_path("spool")?,
            cores: self.at.cores,
            switches: switch_variables(),
            pretended_ppn: None,
            parent_lock: if self.at.launcher.has_outliving_jobs() {
                None
            } else {
                Some(launch_path("lock")?)
            },
            deadline_seconds: Some(next.deadline_seconds),
            watchdog_seconds: campaign.watchdog_seconds,
            repetition: next.repetition,
            racing: campaign.repetitions.racing.then_some(Racing {
                materiality: campaign.materiality,
            }),
            synchronisation: campaign.synchronisation,
            cache: campaign.cache,
            tasks,
        })
    }

    /// Says that the budget is spent, or what is left of it and does not suffice.
    fn report_spent_budget(
        &mut self,
        agenda: &Agenda,
        history: &History,
        progress: CampaignProgress,
    ) {
        let campaign = &self.at.campaign;
        let left = unspent_seconds(history, campaign);
        self.observer.notice(&TuningEvent::BudgetSpent {
            progress,
            left_seconds: (left > LITTLE_REST * campaign.budget_seconds).then_some(left),
            needed_budget_seconds: agenda.needed_budget(campaign, history),
        });
    }

    fn launch_plan(
        &mut self,
        plan: &Plan,
        forced: Vec<ForcedTasks>,
        nodes: NodeRequest,
        progress: CampaignProgress,
    ) -> Result<AfterLaunch, TunerError> {
        remove_old_spool(&plan.spool)?;
        let begin = Instant::now();
        self.store.begin_launch(plan)?;
        self.launches += 1;
        let mut launch = RunningLaunch::new(plan, &mut self.store, self.observer, progress);
        launch.suspects = std::mem::take(&mut self.suspects);
        let followed = launch.start_and_follow(self.at, nodes, self.watch, self.stop);
        let has_result = launch.has_result;
        self.suspects = std::mem::take(&mut launch.suspects);
        let followed = self.launch_forced_tasks(plan, forced, nodes, followed, begin)?;
        self.conclude_launch(plan, followed, has_result, true)
    }
}

/// Removes a spool of the same name. Launch numbers grow, so it belongs to a store that was deleted.
fn remove_old_spool(spool: &Path) -> Result<(), TunerError> {
    match std::fs::remove_file(spool) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => Err(TunerError::File {
            action: "remove",
            path: spool.to_owned(),
            source,
        }),
        _ => Ok(()),
    }
}
