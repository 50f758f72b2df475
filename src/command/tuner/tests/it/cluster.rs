//! A launcher with jobs that continue without the process that started them.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use launcher::{BatchEnd, Exit, Job, JobState, LaunchError, Launcher, Outcome, Running};
use wire::{Plan, Record};

use crate::fake::{LaunchFailure, play};

/// The fate of a job.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fate {
    /// It ends like this after a number of tasks, with a turn under way.
    pub(crate) after_tasks: Option<(usize, BatchEnd)>,
    /// It ends like this before its launch begins.
    pub(crate) at_once: Option<BatchEnd>,
    /// The driver stops in time after this many tasks.
    pub(crate) in_time: Option<usize>,
    /// The ranks on each node of every world that starts; one world with those asked for if empty.
    pub(crate) worlds: Vec<Vec<u32>>,
}

/// A batch system and its files, which all login nodes see.
#[derive(Debug, Default)]
pub(crate) struct Cluster {
    /// The fates of jobs, by number of the launch.
    pub(crate) fates: BTreeMap<u32, Fate>,
    /// The fate of all others.
    pub(crate) always: Fate,
    /// Jobs as requested, by number of the launch.
    pub(crate) asked: BTreeMap<u32, Job>,
    /// Launches whose jobs were killed.
    pub(crate) killed: Vec<u32>,
    /// The number of times that allocations were released.
    pub(crate) closed: u32,
    jobs: BTreeMap<u32, State>,
}

#[derive(Clone, Debug)]
struct State {
    id: String,
    spool: PathBuf,
    records: Vec<Record>,
    next: usize,
    /// The number of queries until the job runs.
    waits: u32,
    end: Outcome,
    log: PathBuf,
}

/// Jobs of one cluster, started by one process.
pub(crate) struct ClusterLauncher(pub(crate) Arc<Mutex<Cluster>>);

fn lock(cluster: &Mutex<Cluster>) -> std::sync::MutexGuard<'_, Cluster> {
    cluster.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Launcher for ClusterLauncher {
    fn start(&self, job: &Job) -> Result<Box<dyn Running>, LaunchError> {
        let text = std::fs::read(&job.plan).expect("a plan file");
        let plan: Plan = serde_json::from_slice(&text).expect("a plan");
        assert!(job.plan.is_absolute() && job.log.is_absolute());
        assert_eq!(plan.parent_lock, None, "no process holds one for it");
        let mut cluster = lock(&self.0);
        let launch = plan.launch;
        let fate = cluster.fates.get(&launch).unwrap_or(&cluster.always);
        let state = State::new(&plan, fate, job);
        cluster.asked.insert(launch, job.clone());
        cluster.jobs.insert(launch, state);
        Ok(self.running(launch, &cluster))
    }

    fn has_outliving_jobs(&self) -> bool {
        true
    }

    fn resume(&self, job: &Job) -> Result<Option<Box<dyn Running>>, LaunchError> {
        let name = job.plan.file_name().expect("a name").to_string_lossy();
        let launch = name[..4].parse().expect("a number");
        let cluster = lock(&self.0);
        if !cluster.jobs.contains_key(&launch) {
            return Ok(None);
        }
        let asked = &cluster.asked[&launch];
        assert_eq!((asked.ranks, asked.ppn), (job.ranks, job.ppn));
        assert_eq!((&asked.plan, &asked.log), (&job.plan, &job.log));
        Ok(Some(self.running(launch, &cluster)))
    }

    fn close(&self) -> Result<(), LaunchError> {
        lock(&self.0).closed += 1;
        Ok(())
    }
}

impl ClusterLauncher {
    fn running(&self, launch: u32, cluster: &Cluster) -> Box<dyn Running> {
        Box::new(ClusterRun {
            cluster: Arc::clone(&self.0),
            launch,
            id: cluster.jobs[&launch].id.clone(),
        })
    }
}

impl State {
    fn new(plan: &Plan, fate: &Fate, job: &Job) -> Self {
        let failure = LaunchFailure {
            after_tasks: fate
                .after_tasks
                .map(|(tasks, end)| (tasks, Outcome::Ended(end)))
                .or(fate.in_time.map(|tasks| (tasks, Outcome::Success))),
            worlds: if fate.worlds.is_empty() {
                vec![vec![job.ppn; (job.ranks / job.ppn) as usize]]
            } else {
                fate.worlds.clone()
            },
            ..LaunchFailure::default()
        };
        let mut records = match fate.at_once {
            Some(_) => Vec::new(),
            None => play(plan, job.ranks, &failure, 0.01),
        };
        if let Some(Record::Started(start)) = records.first_mut() {
            let since = SystemTime::now().duration_since(UNIX_EPOCH);
            start.unix_seconds = since.expect("a clock").as_secs();
        }
        if fate.in_time.is_some() {
            records.pop();
            records.push(Record::Finished {
                reason: wire::Finish::Deadline,
            });
        }
        let end = fate.at_once.or(fate.after_tasks.map(|(_, end)| end));
        Self {
            id: (4710 + plan.launch).to_string(),
            spool: plan.spool.clone(),
            records,
            next: 0,
            waits: 2,
            end: end.map_or(Outcome::Success, Outcome::Ended),
            log: job.log.clone(),
        }
    }

    fn go_on(&mut self, records: usize) {
        if self.waits > 0 {
            self.waits -= 1;
            return;
        }
        let mut options = OpenOptions::new();
        let file = options.create(true).append(true).open(&self.spool);
        let mut file = file.expect("a spool");
        for record in self.records.iter().skip(self.next).take(records) {
            let line = serde_json::to_string(record).expect("a record");
            writeln!(file, "{line}").expect("written");
        }
        self.next = self.next.saturating_add(records);
    }

    fn is_over(&self) -> bool {
        self.next >= self.records.len() && self.waits == 0 && self.next > 0
    }

    fn exit(&self) -> Option<Exit> {
        let failed_nodes = match self.end {
            Outcome::Ended(BatchEnd::NodeFailed) => vec!["n17".to_owned()],
            _ => Vec::new(),
        };
        // Open MPI prints this whenever its daemon on a node ends.
        let lines = match self.end {
            Outcome::Ended(_) if !self.records.is_empty() => vec![
                "ORTE has lost communication with a remote daemon.",
                "  Remote daemon: [[10641,0],1] on node n2",
            ],
            _ => vec!["the end"],
        };
        self.is_over().then(|| Exit {
            outcome: self.end,
            log: self.log.clone(),
            tail: lines.into_iter().map(str::to_owned).collect(),
            failed_nodes,
        })
    }
}

impl Cluster {
    /// Ends all jobs, as if time had passed without a command.
    pub(crate) fn pass_time(&mut self) {
        for state in self.jobs.values_mut() {
            state.waits = 0;
            state.go_on(usize::MAX / 2);
        }
    }
}

struct ClusterRun {
    cluster: Arc<Mutex<Cluster>>,
    launch: u32,
    id: String,
}

impl Running for ClusterRun {
    fn poll(&mut self) -> Result<Option<Exit>, LaunchError> {
        let mut cluster = lock(&self.cluster);
        let state = cluster.jobs.get_mut(&self.launch).expect("a job");
        if !state.is_over() {
            state.go_on(5);
        }
        Ok(state.exit())
    }

    fn wait_timeout(&mut self, _: Duration) -> Result<Option<Exit>, LaunchError> {
        self.poll()
    }

    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }

    fn last_known_state(&self) -> JobState {
        let cluster = lock(&self.cluster);
        let state = &cluster.jobs[&self.launch];
        if state.is_over() {
            JobState::Ended
        } else if state.waits > 0 {
            JobState::Queued {
                id: self.id.clone(),
                reason: Some("Priority".to_owned()),
            }
        } else {
            JobState::Running {
                nodes: vec!["n16".to_owned(), "n17".to_owned()],
            }
        }
    }

    fn kill(&mut self) -> Result<(), LaunchError> {
        let mut cluster = lock(&self.cluster);
        cluster.killed.push(self.launch);
        let state = cluster.jobs.get_mut(&self.launch).expect("a job");
        state.end = Outcome::Killed;
        state.waits = 0;
        state.next = usize::MAX;
        Ok(())
    }
}
