//! Starting the driver that was built for this test run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use launcher::{Exit, Job, Launcher, LibraryName, LocalLauncher, Outcome, Running};
use tempfile::TempDir;
use testkit::mpi::{self, chosen_family};
use vocabulary::{
    CacheState, Candidate, Cell, CommShape, Datatype, Experiment, Library, Operator, Parameters,
    Pattern, Repetition, Synchronisation,
};
use wire::{Plan, PlannedTask, PlannedWork, Record, WIRE_VERSION};

/// A folder with a plan and its results.
pub(crate) struct Bench {
    folder: TempDir,
    pub(crate) plan: Plan,
    /// Additional environment variables for the ranks.
    pub(crate) environment: Vec<(OsString, OsString)>,
    launcher: &'static LocalLauncher,
}

impl Bench {
    /// A plan for these tasks that repeats as little as possible.
    pub(crate) fn new(work: Vec<PlannedWork>) -> Self {
        let launcher = mpi::shared_launcher();
        let folder = TempDir::new().expect("a temporary folder");
        let library: Library = mpi::chosen_installation().library();
        let plan = Plan {
            version: WIRE_VERSION,
            campaign: "test".to_owned(),
            launch: 1,
            purpose: None,
            seed: 1,
            library,
            spool: folder.path().join("spool"),
            cores: None,
            switches: Vec::new(),
            pretended_ppn: None,
            parent_lock: None,
            deadline_seconds: None,
            watchdog_seconds: 60.0,
            repetition: Repetition {
                minimum: 1,
                maximum: 1,
                precision: 0.5,
                confidence: 0.95,
                slice_seconds: 0.0,
            },
            racing: None,
            synchronisation: Synchronisation::Barrier,
            cache: CacheState::Warm,
            tasks: Vec::new(),
        };
        let mut bench = Self {
            folder,
            plan,
            environment: Vec::new(),
            launcher,
        };
        bench.set_work(work);
        bench
    }

    /// Makes these the plan's tasks, numbered from 0.
    pub(crate) fn set_work(&mut self, all_work: Vec<PlannedWork>) {
        let tasks = all_work.into_iter().zip(0..);
        self.plan.tasks = tasks
            .map(|(work, id)| PlannedTask {
                id,
                round: 0,
                pattern: Pattern::Together,
                calls: None,
                work,
            })
            .collect();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Compiles a library that replaces functions, and loads it into the ranks of this bench.
    pub(crate) fn preload(&mut self, source: &str, flags: &[&str]) {
        let (file, library) = (self.path("preloaded.c"), self.path("preloaded.so"));
        std::fs::write(&file, source).expect("written");
        let mpicc = std::env::var_os("MPICC").unwrap_or_else(|| OsString::from("mpicc"));
        let status = Command::new(mpicc)
            .args(["-shared", "-fPIC", "-o"])
            .args([&library, &file])
            .args(flags)
            .status()
            .expect("the compiler runs");
        assert!(status.success());
        self.environment = vec![("LD_PRELOAD".into(), library.into())];
    }

    /// Starts the driver on the plan.
    pub(crate) fn start(&self, ranks: u32) -> Box<dyn Running> {
        let text = serde_json::to_string(&self.plan).expect("a plan");
        std::fs::write(self.path("plan.json"), text).expect("written");
        self.start_on(&self.path("plan.json"), ranks)
    }

    pub(crate) fn start_on(&self, plan: &Path, ranks: u32) -> Box<dyn Running> {
        let driver = env!("CARGO_BIN_EXE_colltune-driver").as_ref();
        let job = Job {
            environment: self.environment.clone(),
            timeout: Some(Duration::from_secs(120)),
            ..mpi::local_job(driver, plan, ranks, self.path("log"))
        };
        self.launcher.start(&job).expect("started")
    }

    /// Runs the driver to its end.
    pub(crate) fn run(&self, ranks: u32) -> (Exit, Vec<Record>) {
        let mut running = self.start(ranks);
        (finish(running.as_mut()), self.records())
    }

    /// The complete lines of the spool.
    pub(crate) fn records(&self) -> Vec<Record> {
        let text = std::fs::read_to_string(&self.plan.spool).unwrap_or_default();
        text.split_inclusive('\n')
            .filter(|line| line.ends_with('\n'))
            .map(|line| serde_json::from_str(line).expect("a record"))
            .collect()
    }

    /// Waits until the spool has a record that `wanted` accepts.
    pub(crate) fn wait_for(&self, wanted: impl Fn(&Record) -> bool) {
        let end = Instant::now() + Duration::from_secs(60);
        while !self.records().iter().any(&wanted) {
            assert!(
                Instant::now() < end,
                "the record never came: {:?}",
                self.records()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The process of one rank of this bench's launch.
    pub(crate) fn process_of(&self, rank: u32) -> i32 {
        let variables = ["OMPI_COMM_WORLD_RANK", "PMI_RANK"].map(|name| format!("{name}={rank}"));
        let plan = self.path("plan.json").into_os_string().into_encoded_bytes();
        let is_rank = |pid: &i32| {
            let read =
                |file: &str| std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            let has = |text: &[u8], word: &[u8]| text.split(|b| *b == 0).any(|part| part == word);
            let command = read("cmdline");
            let first = command.split(|b| *b == 0).next().unwrap_or_default();
            first.ends_with(b"colltune-driver")
                && has(&command, &plan)
                && variables
                    .iter()
                    .any(|variable| has(&read("environ"), variable.as_bytes()))
        };
        let processes = std::fs::read_dir("/proc").expect("procfs");
        processes
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .find(is_rank)
            .expect("the rank is alive")
    }
}

/// Waits for the end of a launch.
pub(crate) fn finish(running: &mut dyn Running) -> Exit {
    let exit = running
        .wait_timeout(Duration::from_secs(140))
        .expect("watched");
    exit.expect("the launch ends")
}

pub(crate) fn ours(algorithm: &str, parameters: Parameters) -> Candidate {
    Candidate::Ours {
        algorithm: algorithm.to_owned(),
        parameters,
    }
}

/// An allreduce of `bytes` on `ranks` ranks of one node.
pub(crate) fn allreduce(ranks: u32, bytes: u64, candidates: Vec<Candidate>) -> PlannedWork {
    let cell = Cell {
        collective: schedule::Collective::Allreduce,
        shape: CommShape {
            nodes: 1,
            ppn: ranks,
        },
        bytes,
        datatype: Datatype::Int32,
        operator: Some(Operator::Sum),
        distribution: schedule::Distribution::Uniform,
    };
    PlannedWork::Compare { cell, candidates }
}

pub(crate) fn experiment(kind: vocabulary::ExperimentKind, ranks: u32, bytes: u64) -> PlannedWork {
    let shape = CommShape {
        nodes: 1,
        ppn: ranks,
    };
    PlannedWork::Experiment(Experiment {
        kind,
        shape,
        bytes,
        through: vocabulary::Through::Mpi,
    })
}

/// Asserts that the ranks ended with `code`. MPICH's launcher reports this code, or the signal with which it ended the
/// other ranks after the first one had ended.
#[track_caller]
pub(crate) fn assert_code(exit: &Exit, code: i32) {
    let passed_on = exit.outcome == Outcome::Code(code);
    let failed = matches!(exit.outcome, Outcome::Code(other) if other != 0);
    let vague = chosen_family() == LibraryName::Mpich;
    assert!(
        passed_on || (vague && failed),
        "{:?}: {:?}",
        exit.outcome,
        exit.tail
    );
}
