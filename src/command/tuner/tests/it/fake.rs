//! A launcher that writes the records of a driver, with times from a formula.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use answers::TuningEvent;
use campaign::Campaign;
use launcher::{Exit, Job, LaunchError, Launcher, Outcome, Running};
use schedule::{Algorithm, Schedule};
use tempfile::TempDir;
use tuner::{MeasurementContext, Observer};
use vocabulary::{
    Candidate, Cell, Experiment, ExperimentKind, Library, NativeAlgorithm, Node, Pattern, RankOrder,
};
use wire::{
    Environment, Finish, LaunchStart, Measurement, Plan, PlannedTask, PlannedWork, Record, TaskDone,
};

use crate::cluster::{Cluster, ClusterLauncher};

/// The failure of a launch.
#[derive(Clone, Debug, Default)]
pub(crate) struct LaunchFailure {
    /// The launcher ends like this after a number of tasks, with a turn under way.
    pub(crate) after_tasks: Option<(usize, Outcome)>,
    /// The launcher ends like this as soon as a candidate of this algorithm has its turn.
    pub(crate) at_candidate: Option<(String, Outcome)>,
    /// The deadline passes before the first task.
    pub(crate) too_late: bool,
    /// Nothing is written.
    pub(crate) silent: Option<Outcome>,
    /// Nothing is written by a launch whose environment has this variable with this value.
    pub(crate) silent_with: Option<(&'static str, &'static str, Outcome)>,
    /// The order of ranks on their nodes.
    pub(crate) order: RankOrder,
    /// The launcher's last message.
    pub(crate) says: Option<&'static str>,
    /// The ranks on each node of every world that starts; one world with those asked for if empty.
    pub(crate) worlds: Vec<Vec<u32>>,
}

/// A machine in a temporary folder.
pub(crate) struct Bench {
    folder: TempDir,
    campaign: String,
    /// The library, and those of its algorithms that can be forced.
    pub(crate) library: Library,
    pub(crate) natives: Vec<NativeAlgorithm>,
    /// Failures, by number of launch.
    pub(crate) failures: BTreeMap<u32, LaunchFailure>,
    /// The failure of every other launch.
    pub(crate) always: LaunchFailure,
    /// Wall-clock seconds that every task claims to have taken.
    pub(crate) elapsed_seconds: f64,
    /// Plans that were launched.
    pub(crate) plans: Arc<Mutex<Vec<Plan>>>,
    /// The batch system that jobs are given to, if there is one.
    cluster: Option<Arc<Mutex<Cluster>>>,
    /// The store's path, if it is not that of the campaign.
    pub(crate) relocated: Option<std::path::PathBuf>,
}

pub(crate) fn library() -> Library {
    Library {
        name: "openmpi".to_owned(),
        version: "4.1.4".to_owned(),
    }
}

impl Bench {
    /// A campaign of the usual keys with `further` lines.
    pub(crate) fn new(further: &str) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let at = |name: &str| folder.path().join(name).display().to_string();
        let campaign = format!(
            "name: bench\nshapes: [1x2, 1x4]\nsizes: 64..4M x256\nlaunches: 6\n\
             strategy: exhaustive\nconfirmation: off\nbudget: 60s\n\
             output: {{store: {}, table: {}, report: {}}}\n{further}",
            at("store/bench.db"),
            at("tables/bench.yaml"),
            at("reports/bench.md"),
        );
        Self {
            folder,
            campaign,
            library: library(),
            natives: Vec::new(),
            failures: BTreeMap::new(),
            always: LaunchFailure::default(),
            elapsed_seconds: 0.01,
            plans: Arc::default(),
            cluster: None,
            relocated: None,
        }
    }

    /// The same with a batch system.
    pub(crate) fn on_a_cluster(further: &str) -> Self {
        Self {
            cluster: Some(Arc::default()),
            ..Self::new(further)
        }
    }

    pub(crate) fn cluster(&self) -> MutexGuard<'_, Cluster> {
        let cluster = self.cluster.as_ref().expect("a cluster");
        cluster.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn campaign(&self) -> Campaign {
        Campaign::parse_for(&self.campaign, Path::new("bench.yaml"), 4).expect("a campaign")
    }

    pub(crate) fn workplace(&self) -> MeasurementContext {
        let campaign = self.campaign();
        let store = campaign.output.store.clone();
        MeasurementContext {
            campaign: tuner::with_recorded_defaults(campaign, &store).expect("readable"),
            library: self.library.clone(),
            driver: Some("colltune-driver".into()),
            natives: self.natives.clone(),
            cores: None,
            launcher: match &self.cluster {
                Some(cluster) => Box::new(ClusterLauncher(Arc::clone(cluster))),
                None => Box::new(FakeLauncher {
                    failures: self.failures.clone(),
                    always: self.always.clone(),
                    elapsed_seconds: self.elapsed_seconds,
                    plans: Arc::clone(&self.plans),
                }),
            },
            environment: Vec::new(),
            calls: BTreeMap::new(),
            relocated: self.relocated.clone(),
            warnings: Vec::new(),
        }
    }

    /// Replaces a piece of the campaign.
    pub(crate) fn redirect(&mut self, from: &str, to: &str) {
        assert!(
            self.campaign.contains(from),
            "{from} is not in the campaign"
        );
        self.campaign = self.campaign.replace(from, to);
    }

    /// The number of launches made.
    pub(crate) fn launches(&self) -> usize {
        self.plans.lock().expect("plans").len()
    }
}

struct FakeLauncher {
    failures: BTreeMap<u32, LaunchFailure>,
    always: LaunchFailure,
    elapsed_seconds: f64,
    plans: Arc<Mutex<Vec<Plan>>>,
}

impl Launcher for FakeLauncher {
    fn start(&self, job: &Job) -> Result<Box<dyn Running>, LaunchError> {
        let text = std::fs::read(&job.plan).expect("a plan file");
        let plan: Plan = serde_json::from_slice(&text).expect("a plan");
        self.plans.lock().expect("plans").push(plan.clone());
        let mut planned = self
            .failures
            .get(&plan.launch)
            .unwrap_or(&self.always)
            .clone();
        if let Some((name, value, outcome)) = planned.silent_with {
            let mut variables = job.environment.iter();
            if variables.any(|(known, given)| known == name && given == value) {
                planned.silent = Some(outcome);
            }
        }
        let failure = &planned;
        let records = play(&plan, job.ranks, failure, self.elapsed_seconds);
        let outcome = outcome(&records, failure);
        let exit = Exit {
            outcome,
            log: job.log.clone(),
            tail: vec![failure.says.unwrap_or("the end").to_owned()],
            failed_nodes: Vec::new(),
        };
        Ok(Box::new(Playback {
            spool: plan.spool,
            records,
            next: 0,
            exit,
        }))
    }
}

fn outcome(records: &[Record], failure: &LaunchFailure) -> Outcome {
    let finished = matches!(records.last(), Some(Record::Finished { .. }));
    let planned = [
        failure.silent,
        failure.after_tasks.map(|(_, outcome)| outcome),
        failure.at_candidate.as_ref().map(|(_, outcome)| *outcome),
    ];
    let died = planned
        .into_iter()
        .flatten()
        .next()
        .unwrap_or(Outcome::Success);
    if finished { Outcome::Success } else { died }
}

/// Returns a few records at a time, like a growing spool.
struct Playback {
    spool: std::path::PathBuf,
    records: Vec<Record>,
    next: usize,
    exit: Exit,
}

impl Running for Playback {
    fn poll(&mut self) -> Result<Option<Exit>, LaunchError> {
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.spool)
            .expect("a spool");
        for record in self.records.iter().skip(self.next).take(5) {
            let line = serde_json::to_string(record).expect("a record");
            writeln!(file, "{line}").expect("written");
        }
        self.next += 5;
        Ok((self.next >= self.records.len()).then(|| self.exit.clone()))
    }

    fn wait_timeout(&mut self, _: std::time::Duration) -> Result<Option<Exit>, LaunchError> {
        self.poll()
    }

    fn kill(&mut self) -> Result<(), LaunchError> {
        Ok(())
    }
}

/// The records of a launch on this many ranks, up to its failure.
pub(crate) fn play(
    plan: &Plan,
    ranks: u32,
    failure: &LaunchFailure,
    elapsed_seconds: f64,
) -> Vec<Record> {
    let mut records = Vec::new();
    if failure.silent.is_some() {
        return records;
    }
    if failure.worlds.is_empty() {
        records.push(started(plan, ranks, &[]));
    }
    for (number, world) in (0..).zip(&failure.worlds) {
        let mut start = started(plan, world.iter().sum(), world);
        if let Record::Started(start) = &mut start {
            // As each world measures it.
            start.environment.timer_overhead_seconds = 1e-9 * f64::from(number);
        }
        records.push(start);
    }
    if failure.too_late {
        records.push(Record::Finished {
            reason: Finish::Deadline,
        });
        return records;
    }
    for (done, task) in plan.tasks.iter().enumerate() {
        let candidates: Vec<Candidate> = match &task.work {
            PlannedWork::Compare { candidates, .. } => candidates.clone(),
            PlannedWork::Experiment(_) => vec![Candidate::Default],
        };
        for (index, candidate) in (0..).zip(&candidates) {
            records.push(Record::Trying {
                task: task.id,
                candidate: index,
            });
            let fatal = failure
                .at_candidate
                .as_ref()
                .is_some_and(|(name, _)| candidate.algorithm() == name);
            if fatal || failure.after_tasks.is_some_and(|(tasks, _)| tasks == done) {
                return records;
            }
        }
        let how = (failure.order, elapsed_seconds);
        records.push(done_record(plan, task, &candidates, how));
    }
    records.push(Record::Finished {
        reason: Finish::Complete,
    });
    records
}

/// The first record of a world with these ranks on each node, if they are known.
fn started(plan: &Plan, ranks: u32, world: &[u32]) -> Record {
    let node = |local_ranks: &u32| Node {
        networks: vec!["A network".to_owned()],
        cpus: vec!["0-3".to_owned(); *local_ranks as usize],
        ..Node::default()
    };
    Record::Started(LaunchStart {
        campaign: plan.campaign.clone(),
        launch: plan.launch,
        unix_seconds: 1_790_000_000 + u64::from(plan.launch),
        environment: Environment {
            library: Some(plan.library.clone()),
            hosts: vec!["node1".to_owned()],
            nodes: world.iter().map(node).collect(),
            ranks,
            cores: 4,
            cpu: "A processor".to_owned(),
            ..Environment::default()
        },
    })
}

fn done_record(
    plan: &Plan,
    task: &PlannedTask,
    candidates: &[Candidate],
    (order, elapsed_seconds): (RankOrder, f64),
) -> Record {
    let measurements = (0..)
        .zip(candidates)
        .map(|(candidate, name)| {
            let seconds = of_pattern(task, name);
            Measurement {
                candidate,
                warmup: 3,
                batch: 1,
                seconds: (0..15)
                    .map(|turn| noisy(seconds, plan.launch, turn))
                    .collect(),
                invalid: Vec::new(),
                residual_seconds: None,
                left: None,
            }
        })
        .collect();
    Record::Done(TaskDone {
        task: task.id,
        order,
        elapsed_seconds,
        spent: None,
        measurements,
    })
}

/// A percent of noise, the same in every run.
fn noisy(seconds: f64, launch: u32, turn: u32) -> f64 {
    let noise = f64::from((launch * 31 + turn * 17) % 21) / 1000.0;
    seconds * (1.0 + noise)
}

const ALPHA: f64 = 1e-6;
const BETA: f64 = 1e-9;
const GAMMA: f64 = 0.3e-9;

/// Closed forms on a machine of the above, or simulated times where there is no closed form; the default and candidates
/// that are not ours take the times of a slow binomial tree of whole vectors. Calls that follow each other overlap.
fn of_pattern(task: &PlannedTask, candidate: &Candidate) -> f64 {
    let seconds = seconds(&task.work, candidate);
    match task.pattern {
        Pattern::Together | Pattern::Skewed | Pattern::Nonblocking => seconds,
        // Computation hides half of a call.
        Pattern::Repeated | Pattern::Overlapped => 0.5 * seconds,
    }
}

fn seconds(work: &PlannedWork, candidate: &Candidate) -> f64 {
    match work {
        PlannedWork::Experiment(Experiment {
            kind, bytes, shape, ..
        }) => match kind {
            ExperimentKind::PingPong | ExperimentKind::Exchange | ExperimentKind::Shift => {
                ALPHA + BETA * *bytes as f64
            }
            ExperimentKind::Burst => 0.5 * ALPHA + BETA * *bytes as f64,
            ExperimentKind::FanOut | ExperimentKind::FanIn => {
                2.0 * ALPHA + f64::from(shape.ranks() - 1) * BETA * *bytes as f64
            }
            ExperimentKind::Injection => 2.0 * ALPHA + BETA * *bytes as f64,
            ExperimentKind::Late if *bytes > 4096 => 1e-3 + BETA * *bytes as f64,
            ExperimentKind::Late => BETA * *bytes as f64,
            ExperimentKind::Combine { .. } => GAMMA * *bytes as f64,
            ExperimentKind::Copy => 0.5 * GAMMA * *bytes as f64,
        },
        PlannedWork::Compare { cell, .. } => collective_seconds(cell, candidate),
    }
}

fn collective_seconds(cell: &Cell, candidate: &Candidate) -> f64 {
    let (ranks, unit_bytes) = (cell.shape.ranks(), cell.datatype.size_bytes());
    let rates = model::Rates {
        alpha: ALPHA,
        overhead: ALPHA,
        beta: BETA,
        gamma: Some(GAMMA),
    };
    let parameters = candidate.parameters();
    let parameters = parameters.in_units(unit_bytes);
    let call = model::Call {
        ranks,
        bytes: cell.bytes,
        unit_bytes,
        parameters,
        ..model::Call::default()
    };
    let Some(algorithm) = schedule::find_algorithm(candidate.algorithm()) else {
        return f64::from(ranks.ilog2()) * (1.5 * ALPHA + 3.0 * BETA * cell.bytes as f64);
    };
    match model::predict(algorithm, rates, &call) {
        Some(prediction) => prediction.seconds,
        None => simulated_seconds(cell, algorithm, &candidate.parameters()),
    }
}

fn simulated_seconds(
    cell: &Cell,
    algorithm: &'static Algorithm,
    parameters: &vocabulary::Parameters,
) -> f64 {
    let machine = format!(
        "name: fake\nranks_per_node: 4\nnode: {{alpha: {ALPHA:e}, beta: {BETA:e}}}\ngamma: {GAMMA:e}\n"
    );
    let setting = model::Setting {
        machine: &model::Machine::from_yaml(&machine).expect("a machine"),
        topology: model::Topology::new(1, cell.shape.ranks(), vocabulary::Placement::Block),
        unit_bytes: cell.datatype.size_bytes(),
    };
    let schedule =
        Schedule::new(algorithm, &cell.schedule_request(parameters)).expect("a schedule");
    model::simulate(&schedule, &setting)
        .expect("simulated")
        .seconds
}

/// Sets the stop flag after a number of stored tasks, and keeps all events.
#[derive(Default)]
pub(crate) struct Witness {
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) stop_after: Option<u32>,
    pub(crate) stored: AtomicU32,
    pub(crate) told: Vec<String>,
}

impl Observer for Witness {
    fn notice(&mut self, event: &TuningEvent) {
        if let TuningEvent::Stored { .. } = event {
            let stored = self.stored.fetch_add(1, Ordering::Relaxed) + 1;
            if self.stop_after.is_some_and(|after| stored >= after) {
                self.stop.store(true, Ordering::Relaxed);
            }
            return;
        }
        self.told.push(format!("{event:?}"));
    }
}
