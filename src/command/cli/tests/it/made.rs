//! A store with made-up measurements of a machine.

use std::path::Path;

use campaign::Campaign;
use store::{LaunchOutcome, Store};
use vocabulary::{Candidate, Experiment, ExperimentKind, Library, Pattern, RankOrder};
use wire::{
    Environment, FailureKind, LaunchStart, Measurement, Plan, PlannedTask, PlannedWork, Record,
    TaskDone, WIRE_VERSION,
};

use crate::run::Place;

const ALPHA: f64 = 1e-6;
const BETA: f64 = 1e-9;
const GAMMA: f64 = 5e-10;

/// The campaign; without predicted blocks, so that everything it asks for can be in the store.
pub(crate) const CAMPAIGN: &str = "\
name: made
collectives: [allreduce]
shapes: [1x2]
sizes: 64..1M x128
strategy: exhaustive
launches: 6
candidates:
  include: [allreduce/recursive_doubling, allreduce/dual_root]
parameters:
  block_bytes: [16K, 64K]
  predicted: false
  through: mpi
";

/// A folder with `campaign.yaml` and its complete store, in which any launch fails.
pub(crate) fn place() -> Place {
    let place = Place::with_mpirun("exit 1");
    place.write("campaign.yaml", CAMPAIGN);
    store(&place.path(".colltune/made.db"), &["openmpi"]);
    place
}

/// The same, except that each launch slows the default and the other candidates by different factors, so that the
/// median of the paired ratios is not the ratio of the medians.
pub(crate) fn uneven() -> Place {
    let place = Place::with_mpirun("exit 1");
    place.write("campaign.yaml", CAMPAIGN);
    let campaign = parse();
    let mut store = Store::open_or_create(&place.path(".colltune/made.db")).unwrap();
    store
        .record_campaign(&campaign.digest(), &campaign.name, campaign.text())
        .unwrap();
    let of_default = [1.0, 1.3, 1.7, 1.1, 1.9, 1.45];
    let of_others = [1.0, 1.5, 1.0, 1.3, 1.2, 1.6];
    for (default, others) in of_default.into_iter().zip(of_others) {
        let number = store.next_launch().unwrap();
        let plan = plan(&campaign, number, "openmpi");
        launch(&mut store, &plan, |measurement| {
            let factor = if measurement.candidate == 0 {
                default
            } else {
                others
            };
            for seconds in &mut measurement.seconds {
                *seconds *= factor;
            }
        });
    }
    place
}

/// Makes up measurements of the campaign for each of the libraries.
pub(crate) fn store(path: &Path, libraries: &[&str]) {
    let campaign = parse();
    let mut store = Store::open_or_create(path).unwrap();
    store
        .record_campaign(&campaign.digest(), &campaign.name, campaign.text())
        .unwrap();
    for library in libraries {
        for _ in 0..campaign.launches {
            let number = store.next_launch().unwrap();
            launch(&mut store, &plan(&campaign, number, library), |_| ());
        }
    }
}

/// Adds eight launches: six with 16 calls a repetition, two with 8. The last of three repetitions is
/// invalid everywhere, and all of the second candidate's.
pub(crate) fn disturbed_store(path: &Path) {
    let campaign = parse();
    let mut store = Store::open_or_create(path).unwrap();
    store
        .record_campaign(&campaign.digest(), &campaign.name, campaign.text())
        .unwrap();
    for batch in [16, 16, 16, 16, 16, 16, 8, 8] {
        let number = store.next_launch().unwrap();
        let plan = plan(&campaign, number, "openmpi");
        launch(&mut store, &plan, |measurement| {
            measurement.batch = batch;
            measurement.invalid = match measurement.candidate {
                1 => vec![0, 1, 2],
                _ => vec![2],
            };
        });
    }
}

/// The library of [`place`].
pub(crate) fn library() -> Library {
    named("openmpi")
}

fn named(library: &str) -> Library {
    Library {
        name: library.to_owned(),
        version: "4.1.4".to_owned(),
    }
}

/// Adds a launch of another campaign that took time and measured nothing.
pub(crate) fn spend(path: &Path, digest: &str, text: &str) {
    let campaign = parse();
    let mut store = Store::open(path).unwrap();
    store.record_campaign(digest, "dear", text).unwrap();
    let number = store.next_launch().unwrap();
    let plan = Plan {
        campaign: digest.to_owned(),
        ..plan(&campaign, number, "openmpi")
    };
    store.begin_launch(&plan).unwrap();
    let done = TaskDone {
        task: 0,
        order: RankOrder::Unknown,
        elapsed_seconds: 100.0,
        spent: None,
        measurements: Vec::new(),
    };
    store.ingest_record(&plan, &Record::Done(done)).unwrap();
    store.end_launch(number, &LaunchOutcome::Complete).unwrap();
}

/// Adds a launch in which a candidate of the last cell crashes.
pub(crate) fn fail_a_candidate(path: &Path) {
    let campaign = parse();
    let mut store = Store::open(path).unwrap();
    let number = store.next_launch().unwrap();
    let plan = plan(&campaign, number, "openmpi");
    store.begin_launch(&plan).unwrap();
    let failed = Record::Failed {
        task: plan.tasks.last().unwrap().id,
        candidate: 1,
        kind: FailureKind::Crash,
        message: "made up".to_owned(),
    };
    store.ingest_record(&plan, &failed).unwrap();
    store.end_launch(number, &LaunchOutcome::Complete).unwrap();
}

/// The spool's records of a first launch that dies in its first task.
pub(crate) fn started_and_trying(digest: &str) -> String {
    let started = Record::Started(started(digest, 1));
    let trying = Record::Trying {
        task: 0,
        candidate: 0,
    };
    let line = |record| serde_json::to_string(&record).unwrap() + "\n";
    line(started) + &line(trying)
}

fn parse() -> Campaign {
    Campaign::parse(CAMPAIGN, "campaign.yaml".as_ref()).unwrap()
}

fn started(digest: &str, launch: u32) -> LaunchStart {
    LaunchStart {
        campaign: digest.to_owned(),
        launch,
        unix_seconds: 1_795_000_000,
        environment: Environment {
            library: Some(library()),
            hosts: vec!["n1".to_owned()],
            cpu: "Some CPU".to_owned(),
            ranks: 2,
            cores: 2,
            ..Environment::default()
        },
    }
}

fn plan(campaign: &Campaign, launch: u32, library: &str) -> Plan {
    let experiments = campaign
        .experiments()
        .into_iter()
        .map(PlannedWork::Experiment);
    let cells = campaign
        .cells()
        .into_iter()
        .map(|cell| PlannedWork::Compare {
            cell,
            candidates: campaign.candidates(&cell, &|_| None).distinct,
        });
    let tasks = experiments.chain(cells).zip(0..);
    Plan {
        version: WIRE_VERSION,
        campaign: campaign.digest(),
        launch,
        purpose: None,
        seed: 1,
        library: named(library),
        spool: "unused".into(),
        cores: None,
        switches: Vec::new(),
        pretended_ppn: None,
        parent_lock: None,
        deadline_seconds: None,
        watchdog_seconds: 30.0,
        repetition: campaign.repetition_for_turns(100),
        racing: None,
        synchronisation: campaign.synchronisation,
        cache: campaign.cache,
        tasks: tasks
            .map(|(work, id)| PlannedTask {
                id,
                round: 0,
                pattern: Pattern::Together,
                calls: None,
                work,
            })
            .collect(),
    }
}

fn launch(store: &mut Store, plan: &Plan, disturb: impl Fn(&mut Measurement)) {
    store.begin_launch(plan).unwrap();
    let started = Record::Started(started(&plan.campaign, plan.launch));
    store.ingest_record(plan, &started).unwrap();
    for task in &plan.tasks {
        let times = times(&task.work);
        let measurements = times.into_iter().zip(0..).map(|(seconds, candidate)| {
            // No two launches are alike.
            let seconds = seconds * (1.0 + 0.002 * f64::from(plan.launch % 3));
            let mut measurement = Measurement {
                candidate,
                warmup: 1,
                batch: 1,
                seconds: [0.99, 1.0, 1.01].map(|factor| factor * seconds).to_vec(),
                invalid: Vec::new(),
                residual_seconds: None,
                left: None,
            };
            disturb(&mut measurement);
            measurement
        });
        let done = Record::Done(TaskDone {
            task: task.id,
            order: RankOrder::Unknown,
            elapsed_seconds: 0.01,
            spent: None,
            measurements: measurements.collect(),
        });
        store.ingest_record(plan, &done).unwrap();
    }
    store
        .end_launch(plan.launch, &LaunchOutcome::Complete)
        .unwrap();
}

/// One time for each candidate.
fn times(work: &PlannedWork) -> Vec<f64> {
    match work {
        PlannedWork::Experiment(Experiment {
            kind, bytes, shape, ..
        }) => {
            let bytes = *bytes as f64;
            vec![match kind {
                ExperimentKind::PingPong | ExperimentKind::Exchange | ExperimentKind::Shift => {
                    ALPHA + BETA * bytes
                }
                ExperimentKind::Burst => 0.5 * ALPHA + BETA * bytes,
                ExperimentKind::FanOut | ExperimentKind::FanIn => {
                    2.0 * ALPHA + f64::from(shape.ranks() - 1) * BETA * bytes
                }
                ExperimentKind::Injection => 2.0 * ALPHA + BETA * bytes,
                ExperimentKind::Late if bytes > 4096.0 => 1e-3 + BETA * bytes,
                ExperimentKind::Late => BETA * bytes,
                ExperimentKind::Combine { .. } => 1e-8 + GAMMA * bytes,
                ExperimentKind::Copy => 1e-8 + 0.5 * GAMMA * bytes,
            }]
        }
        PlannedWork::Compare { cell, candidates } => {
            let bytes = cell.bytes as f64;
            let fastest = ALPHA + (BETA + GAMMA) * bytes;
            let time = |candidate: &Candidate| match candidate {
                // At small sizes no candidate beats the default.
                Candidate::Default if bytes < 1000.0 => fastest,
                Candidate::Default => 3.0 * fastest,
                Candidate::Ours { parameters, .. } => match parameters.block_bytes {
                    Some(65536) => 1.25 * fastest,
                    Some(_) => 1.5 * fastest,
                    // If the vector is not cut, both algorithms have this schedule.
                    None => 2.0 * fastest,
                },
                other => panic!("{other} is not in the campaign"),
            };
            candidates.iter().map(time).collect()
        }
    }
}

/// A table as an earlier campaign may have written it.
pub(crate) fn old_table() -> String {
    let of_bcast = "  bcast:
    message_size: bytes of one rank's vector
    shapes:
      - nodes: 1
        ppn: 2
        rules:
          - {from: 0, candidate: default, confidence: high}
";
    testkit::tables::table_yaml("made", "openmpi", "4.1.4", of_bcast)
}
