//! The size of a store, and the time of storing drivers' reports and of reading and summarising them.
//!
//! `cargo bench -p tuner --bench samples` fills a store with 10^5 samples of 100 repetitions each, that
//! is 10^7 repetitions, through the spool files of six launches, and prints the times. The store is in the system's
//! folder for temporary files.

#![expect(
    clippy::expect_used,
    reason = "a benchmark stops where it cannot go on"
)]

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use schedule::Collective;
use store::{LaunchOutcome, SpoolReader, Store};
use vocabulary::{
    CacheState, Candidate, Cell, CommShape, Datatype, Library, Operator, Parameters, Pattern,
    RankOrder, Repetition, Synchronisation,
};
use wire::{Measurement, Plan, PlannedTask, PlannedWork, Record, TaskDone, WIRE_VERSION};

const LAUNCHES: u32 = 6;
const CANDIDATES: u32 = 20;
/// 10^5 samples in all.
const CELLS: u32 = 100_000_u32.div_ceil(LAUNCHES * CANDIDATES);
const REPETITIONS: usize = 100;

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("store.db");
    let mut store = Store::open_or_create(&path).expect("a store");
    store
        .record_campaign("digest", "large", "name: large\n")
        .expect("stored");
    let mut spooled = 0;
    let mut seconds = 0.0;
    for launch in 1..=LAUNCHES {
        let plan = plan(launch, folder.path());
        spooled += write_spool(&plan);
        store.begin_launch(&plan).expect("begun");
        let start = Instant::now();
        let mut spool = SpoolReader::new(&plan.spool);
        while let Some(record) = spool.next_record().expect("a record") {
            store.ingest_record(&plan, &record).expect("stored");
        }
        seconds += start.elapsed().as_secs_f64();
        store
            .end_launch(launch, &LaunchOutcome::Complete)
            .expect("ended");
        fs::remove_file(&plan.spool).expect("removed");
    }
    drop(store);
    let sample_count = f64::from(LAUNCHES * CANDIDATES * CELLS);
    let repetitions = sample_count * REPETITIONS as f64;
    let megabytes = fs::metadata(&path).expect("a file").len() as f64 / 1e6;
    println!(
        "{sample_count} samples of {REPETITIONS} repetitions: {megabytes:.1} MB, {:.1} MB of spool files",
        spooled as f64 / 1e6
    );
    println!(
        "taken in: {seconds:.2} s, {:.0} cells a second, {:.2e} repetitions a second",
        f64::from(LAUNCHES * CELLS) / seconds,
        repetitions / seconds
    );

    let start = Instant::now();
    let reopened = Store::open(&path).expect("opened");
    let opened = start.elapsed().as_secs_f64();
    let library = library();
    let samples = reopened
        .samples(&library, Pattern::Together)
        .expect("readable");
    let loaded = start.elapsed().as_secs_f64();
    let summaries = fit::summarise_samples(&samples, Pattern::Together).expect("times");
    let summarised = start.elapsed().as_secs_f64();
    assert_eq!(summaries.len(), (CELLS * CANDIDATES) as usize);
    println!(
        "{repetitions:.1e} repetitions: opened and checked {opened:.2} s, loaded {:.2} s, summarised \
         {:.2} s, together {summarised:.2} s",
        loaded - opened,
        summarised - loaded
    );
}

fn library() -> Library {
    Library {
        name: "openmpi".to_owned(),
        version: "4.1.4".to_owned(),
    }
}

fn candidate(index: u32) -> Candidate {
    match index {
        0 => Candidate::Default,
        _ => Candidate::Ours {
            algorithm: "allreduce/ring_segmented".to_owned(),
            parameters: Parameters {
                block_bytes: Some(1024 * u64::from(index)),
                ..Parameters::default()
            },
        },
    }
}

fn plan(launch: u32, folder: &Path) -> Plan {
    let task = |id| {
        let cell = Cell {
            collective: Collective::Allreduce,
            shape: CommShape { nodes: 4, ppn: 32 },
            bytes: 8 * u64::from(id + 1),
            datatype: Datatype::Float64,
            operator: Some(Operator::Sum),
            distribution: schedule::Distribution::Uniform,
        };
        let candidates = (0..CANDIDATES).map(candidate).collect();
        PlannedTask {
            id,
            round: launch - 1,
            pattern: Pattern::Together,
            calls: None,
            work: PlannedWork::Compare { cell, candidates },
        }
    };
    Plan {
        version: WIRE_VERSION,
        campaign: "digest".to_owned(),
        launch,
        purpose: None,
        seed: 1,
        library: library(),
        spool: folder.join(format!("{launch}.spool")),
        cores: None,
        switches: Vec::new(),
        pretended_ppn: None,
        parent_lock: None,
        deadline_seconds: None,
        watchdog_seconds: 30.0,
        repetition: Repetition {
            minimum: 10,
            maximum: 10_000,
            precision: 0.03,
            confidence: 0.95,
            slice_seconds: 0.1,
        },
        racing: None,
        synchronisation: Synchronisation::Barrier,
        cache: CacheState::Warm,
        tasks: (0..CELLS).map(task).collect(),
    }
}

/// Writes the records that a driver would write; returns their size in bytes.
fn write_spool(plan: &Plan) -> u64 {
    let mut chance = fastrand::Rng::with_seed(plan.launch.into());
    let mut spool = BufWriter::new(File::create(&plan.spool).expect("created"));
    for task in &plan.tasks {
        let measurement = |candidate| Measurement {
            candidate,
            warmup: 10,
            batch: 1,
            seconds: (0..REPETITIONS)
                .map(|_| (1000.0 + 500.0 * chance.f64()).round() * 1e-9)
                .collect(),
            invalid: Vec::new(),
            residual_seconds: None,
            left: None,
        };
        let done = Record::Done(TaskDone {
            task: task.id,
            order: RankOrder::Unknown,
            elapsed_seconds: 0.1,
            spent: None,
            measurements: (0..CANDIDATES).map(measurement).collect(),
        });
        serde_json::to_writer(&mut spool, &done).expect("written");
        spool.write_all(b"\n").expect("written");
    }
    spool.flush().expect("written");
    fs::metadata(&plan.spool).expect("a file").len()
}
