//! Plans and records small enough to check by eye.

use std::fs;
use std::path::Path;

use schedule::Collective;
use store::Store;
use vocabulary::{
    CacheState, Candidate, Cell, CommShape, Datatype, Experiment, ExperimentKind, Library,
    Operator, Parameters, Pattern, RankOrder, Repetition, Synchronisation,
};
use wire::{
    Environment, LaunchStart, Measurement, Plan, PlannedTask, PlannedWork, Record, TaskDone,
};

pub(crate) fn library(name: &str) -> Library {
    Library {
        name: name.to_owned(),
        version: "4.1.4".to_owned(),
    }
}

pub(crate) fn cell(bytes: u64) -> Cell {
    Cell {
        collective: Collective::Allreduce,
        shape: CommShape { nodes: 1, ppn: 2 },
        bytes,
        datatype: Datatype::Float64,
        operator: Some(Operator::Sum),
        distribution: vocabulary::Distribution::Uniform,
    }
}

pub(crate) fn dual_root() -> Candidate {
    let parameters = Parameters {
        block_bytes: Some(65536),
        ..Parameters::default()
    };
    Candidate::Ours {
        algorithm: "allreduce/dual_root".to_owned(),
        parameters,
    }
}

pub(crate) fn ping_pong() -> Experiment {
    let shape = CommShape { nodes: 1, ppn: 2 };
    Experiment {
        kind: ExperimentKind::PingPong,
        shape,
        bytes: 8,
        through: vocabulary::Through::Mpi,
    }
}

/// Task 0 is an experiment; tasks 1 to `cells` compare two candidates at 8 bytes times their id.
pub(crate) fn plan(launch: u32, library: Library, spool: &Path, cells: u32) -> Plan {
    let mut tasks = vec![PlannedTask {
        id: 0,
        round: 0,
        pattern: Pattern::Together,
        calls: None,
        work: PlannedWork::Experiment(ping_pong()),
    }];
    tasks.extend((1..=cells).map(|id| {
        let candidates = vec![Candidate::Default, dual_root()];
        PlannedTask {
            round: 0,
            id,
            pattern: Pattern::Together,
            calls: None,
            work: PlannedWork::Compare {
                cell: cell(8 * u64::from(id)),
                candidates,
            },
        }
    }));
    Plan {
        version: wire::WIRE_VERSION,
        campaign: "digest".to_owned(),
        launch,
        purpose: None,
        seed: 1,
        library,
        spool: spool.to_owned(),
        cores: None,
        switches: Vec::new(),
        pretended_ppn: None,
        parent_lock: None,
        deadline_seconds: Some(0.1),
        watchdog_seconds: 30.0,
        repetition: Repetition {
            minimum: 10,
            maximum: 1000,
            precision: 0.03,
            confidence: 0.95,
            slice_seconds: 0.1,
        },
        racing: None,
        synchronisation: Synchronisation::Barrier,
        cache: CacheState::Warm,
        tasks,
    }
}

/// The plan of launch 1 of Open MPI.
pub(crate) fn first_plan(cells: u32) -> Plan {
    plan(1, library("openmpi"), Path::new("spool-1.jsonl"), cells)
}

/// The same plan with one cell, for another launch.
pub(crate) fn first_plan_as(launch: u32) -> Plan {
    Plan {
        launch,
        ..first_plan(1)
    }
}

/// A store that lasts as long as the value.
pub(crate) fn in_memory() -> Store {
    Store::open_or_create(Path::new(":memory:")).expect("a store in memory")
}

/// A store in memory in which launch 1 of `plan` has begun and not ended.
pub(crate) fn store_with(plan: &Plan) -> Store {
    let mut store = in_memory();
    store
        .record_campaign("digest", "quickstart", "name: quickstart # a comment\n")
        .expect("stored");
    store.begin_launch(plan).expect("begun");
    store
}

pub(crate) fn started(plan: &Plan) -> Record {
    Record::Started(LaunchStart {
        campaign: plan.campaign.clone(),
        launch: plan.launch,
        unix_seconds: 1_700_000_000,
        environment: Environment {
            ranks: 2,
            load: 0.1 + 0.2,
            ..Environment::default()
        },
    })
}

/// A task's record, in which candidate `i` took `seconds[i]`.
pub(crate) fn done(task: u32, seconds: &[Vec<f64>]) -> Record {
    let measurements = (0..)
        .zip(seconds)
        .map(|(candidate, seconds)| Measurement {
            candidate,
            warmup: 3,
            batch: 4,
            seconds: seconds.clone(),
            invalid: Vec::new(),
            residual_seconds: None,
            left: None,
        })
        .collect();
    Record::Done(TaskDone {
        task,
        order: RankOrder::Unknown,
        elapsed_seconds: 0.25,
        spent: None,
        measurements,
    })
}

/// The times of a candidate in a task of a long spool: distinct, so that mix-ups show.
pub(crate) fn times(task: u32, candidate: u32, repetitions: u32) -> Vec<f64> {
    (0..repetitions)
        .map(|i| 1e-6 * f64::from(task + 1) + 1e-9 * f64::from(candidate) + 1e-12 * f64::from(i))
        .collect()
}

/// Writes the spool of a complete launch of `plan`.
pub(crate) fn write_spool(plan: &Plan, repetitions: u32) {
    let mut records = vec![started(plan)];
    for task in &plan.tasks {
        let candidates = match &task.work {
            PlannedWork::Compare { candidates, .. } => candidates.len() as u32,
            PlannedWork::Experiment(_) => 1,
        };
        let seconds: Vec<_> = (0..candidates)
            .map(|c| times(task.id, c, repetitions))
            .collect();
        records.push(done(task.id, &seconds));
    }
    records.push(Record::Finished {
        reason: wire::Finish::Complete,
    });
    let lines: Vec<String> = records
        .iter()
        .map(|record| serde_json::to_string(record).expect("serializable") + "\n")
        .collect();
    fs::write(&plan.spool, lines.concat()).expect("written");
}
