//! Launches on a machine in a folder of its own.

use std::path::PathBuf;
use std::time::Duration;

use launcher::{Job, Launcher, Outcome};
use model::{Machine, Noise};
use simulated::SimulatedLauncher;
use tempfile::TempDir;
use vocabulary::{
    CacheState, Candidate, Cell, CommShape, Datatype, Experiment, ExperimentKind, Operator,
    Parameters, Pattern, Placement, Repetition, Synchronisation,
};
use wire::{Plan, PlannedTask, PlannedWork, Record, WIRE_VERSION};

/// A machine, and the plan that is carried out on it.
pub(crate) struct Bench {
    folder: TempDir,
    pub(crate) machine: Machine,
    pub(crate) placement: Placement,
    pub(crate) plan: Plan,
}

pub(crate) fn ours(algorithm: &str) -> Candidate {
    Candidate::Ours {
        algorithm: algorithm.to_owned(),
        parameters: Parameters::default(),
    }
}

pub(crate) fn allreduce(bytes: u64) -> Cell {
    Cell {
        collective: schedule::Collective::Allreduce,
        shape: CommShape { nodes: 4, ppn: 2 },
        bytes,
        datatype: Datatype::Float64,
        operator: Some(Operator::Sum),
        distribution: schedule::Distribution::Uniform,
    }
}

pub(crate) fn compare(id: u32, cell: Cell, candidates: &[Candidate]) -> PlannedTask {
    let candidates = candidates.to_vec();
    PlannedTask {
        id,
        round: 0,
        pattern: Pattern::Together,
        calls: None,
        work: PlannedWork::Compare { cell, candidates },
    }
}

pub(crate) fn experiment(
    id: u32,
    kind: ExperimentKind,
    nodes_and_ppn: (u32, u32),
    bytes: u64,
) -> PlannedTask {
    let (nodes, ppn) = nodes_and_ppn;
    let shape = CommShape { nodes, ppn };
    PlannedTask {
        id,
        round: 0,
        pattern: Pattern::Together,
        calls: None,
        work: PlannedWork::Experiment(Experiment {
            kind,
            shape,
            bytes,
            through: vocabulary::Through::Mpi,
        }),
    }
}

pub(crate) fn launcher(machine: &Machine, placement: Placement) -> SimulatedLauncher {
    SimulatedLauncher::new(machine.clone(), placement).expect("a launcher")
}

impl Bench {
    /// The reference machine without noise, and these tasks.
    pub(crate) fn new(tasks: Vec<PlannedTask>) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let mut machine = Machine::from_yaml(Machine::REFERENCE).expect("a machine");
        machine.noise = None;
        let plan = Plan {
            version: WIRE_VERSION,
            campaign: "digest".to_owned(),
            launch: 1,
            purpose: None,
            seed: 1,
            library: launcher(&machine, Placement::Block).library().clone(),
            spool: folder.path().join("spool"),
            cores: None,
            switches: Vec::new(),
            pretended_ppn: None,
            parent_lock: None,
            deadline_seconds: None,
            watchdog_seconds: 30.0,
            repetition: Repetition {
                minimum: 10,
                maximum: 1000,
                precision: 0.03,
                confidence: 0.95,
                slice_seconds: 0.05,
            },
            racing: None,
            synchronisation: Synchronisation::Barrier,
            cache: CacheState::Warm,
            tasks,
        };
        Self {
            folder,
            machine,
            placement: Placement::Block,
            plan,
        }
    }

    pub(crate) fn with_noise(mut self, noise: Noise) -> Self {
        self.machine.noise = Some(noise);
        self.plan.library = self.launcher().library().clone();
        self
    }

    pub(crate) fn job(&self) -> Job {
        let plan: PathBuf = self.folder.path().join("plan.json");
        let text = serde_json::to_vec(&self.plan).expect("JSON");
        std::fs::write(&plan, text).expect("written");
        Job {
            driver: PathBuf::new(),
            plan,
            ranks: 8,
            ppn: 2,
            log: self.folder.path().join("log"),
            environment: Vec::new(),
            timeout: None,
            begin_in: None,
            keep: false,
        }
    }

    pub(crate) fn launcher(&self) -> SimulatedLauncher {
        launcher(&self.machine, self.placement)
    }

    /// Carries out the plan; returns the outcome and the written records.
    pub(crate) fn run(&self) -> (Outcome, Vec<Record>) {
        let _ = std::fs::remove_file(&self.plan.spool);
        let mut running = self.launcher().start(&self.job()).expect("started");
        let minute = Duration::from_secs(60);
        let exit = running
            .wait_timeout(minute)
            .expect("polled")
            .expect("ended");
        (exit.outcome, self.records())
    }

    /// The records in the spool.
    pub(crate) fn records(&self) -> Vec<Record> {
        let text = std::fs::read_to_string(&self.plan.spool).unwrap_or_default();
        let record = |line| serde_json::from_str(line).expect("a record");
        text.lines().map(record).collect()
    }

    /// The repetitions of all candidates, by task and candidate.
    pub(crate) fn seconds(&self) -> Vec<((u32, u32), Vec<f64>)> {
        let (outcome, records) = self.run();
        assert_eq!(outcome, Outcome::Success);
        let mut all = Vec::new();
        for record in records {
            if let Record::Done(done) = record {
                for measured in done.measurements {
                    all.push(((done.task, measured.candidate), measured.seconds));
                }
            }
        }
        all
    }
}
