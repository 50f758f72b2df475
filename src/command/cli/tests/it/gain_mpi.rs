//! What `colltune gain` predicts, beside what a program measures, on real MPI.

use std::process::Command;

use serde_json::Value;
use testkit::tables;

use crate::mpi::{command, place_with, run, wait};
use crate::run::Place;

/// One candidate that is much faster than Open MPI's default on two ranks of a node, with enough launches for an interval.
const CAMPAIGN: &str = "
collectives: [allreduce]
shapes: [1x2]
sizes: [4K]
candidates: [allreduce/recursive_doubling]
parameters: {through: shared}
strategy: exhaustive
confirmation: off
repetitions: {minimum: 20, maximum: 2000, slice: 100ms}
launches: 8
watchdog: 5s
";

const CANDIDATE: &str = "allreduce/recursive_doubling[through=shared]";

/// Allreduces of 4 KiB, for which the second rank always waits a little, since the first one works before each.
const PROGRAM: &str = r#"
#include <mpi.h>

static void work(double seconds) {
    const double end = MPI_Wtime() + seconds;
    while (MPI_Wtime() < end) {}
}

int main(int argc, char **argv) {
    enum { DOUBLES = 512, CALLS = 20000 };
    static double own[DOUBLES], sums[DOUBLES];
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < DOUBLES; i++) own[i] = i;
    for (int call = 0; call < CALLS; call++) {
        work(rank == 0 ? 2e-6 : 0);
        MPI_Allreduce(own, sums, DOUBLES, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    return MPI_Finalize();
}
"#;

const LAUNCH: [&str; 8] = [
    "--",
    "mpirun.openmpi",
    "--allow-run-as-root",
    "-n",
    "2",
    "timeout",
    "60",
    "./program",
];

/// The program in a folder of its own.
struct Bed {
    place: Place,
}

impl Bed {
    fn new() -> Option<Self> {
        let place = place_with("openmpi", CAMPAIGN)?;
        place.write("program.c", PROGRAM);
        let compiler =
            std::env::var("MPICC_OPENMPI").unwrap_or_else(|_| "mpicc.openmpi".to_owned());
        let compiled = Command::new(compiler)
            .args(["-O2", "-Wall", "-o", "program", "program.c"])
            .current_dir(place.path(""))
            .status();
        assert!(compiled.expect("the compiler starts").success());
        for folder in ["without", "with"] {
            std::fs::create_dir(place.path(folder)).expect("the place is new");
        }
        Some(Self { place })
    }

    fn record_without(&self, number: u32) {
        let file = format!("without/{number}.json");
        let recorded = run(
            &self.place,
            &[&["record", "-o", &file], &LAUNCH[..]].concat(),
        );
        assert_eq!(recorded.code, Some(0), "{recorded:?}");
    }

    fn record_with(&self, table: &str, number: u32) {
        let words = [&["run", table, "--unconfirmed"], &LAUNCH[..]].concat();
        let mut with_table = command(&self.place, &words);
        with_table.env("COLLTUNE_RECORD", format!("with/{number}.json"));
        let served = wait(&self.place, with_table.spawn().expect("the command starts"));
        assert_eq!(served.code, Some(0), "{served:?}");
        let calls = crate::unmodified::calls(&served, CANDIDATE);
        assert_eq!(calls, 20_000, "{served:?}");
    }

    /// Compares what the jobs measured with the prediction.
    fn compare(&self, table: &str) -> Value {
        let words = ["gain", table, "--profile", "without", "--measured", "with"];
        let gain = run(
            &self.place,
            &[&words[..], &["--unconfirmed", "--json"]].concat(),
        );
        assert_eq!(gain.code, Some(0), "{gain:?}");
        gain.json()["measured"].clone()
    }
}

#[test]
fn jobs_of_a_program_are_compared_with_the_prediction_under_openmpi() {
    let Some(bed) = Bed::new() else {
        return;
    };
    bed.record_without(0);
    let profile: Value = serde_json::from_str(&bed.place.read("without/0.json")).unwrap();
    let library = profile["jobs"][0]["job"]["library"].as_str();
    let version = library.and_then(|library| library.strip_prefix("openmpi-"));
    let rules = "  allreduce:
    message_size: bytes of one rank's vector
    shapes:
      - nodes: 1
        ppn: 2
        operators: commutative
        rules:
          - {from: 0, candidate: allreduce/recursive_doubling, through: shared, speedup: 2, confidence: high, confirmed: true}
        measured:
          bytes:                [4K]
          microseconds:         [1]
          default_microseconds: [2]
";
    let table = tables::table_yaml("by-hand", "openmpi", version.unwrap(), rules);
    bed.place.write("table.yaml", table);
    bed.record_with("table.yaml", 0);
    bed.record_with("table.yaml", 1);
    bed.record_without(1);
    let measured = bed.compare("table.yaml");
    assert_eq!(measured["pairs"], 2, "{measured}");
    assert_eq!(measured["not_compared_seconds"], 0.0, "{measured}");
    let calls = measured["calls"].as_array().unwrap();
    assert_eq!(calls.len(), 1, "{measured}");
    assert_eq!(calls[0]["candidate"], CANDIDATE, "{measured}");
    // A speed-up of two saves half of what is not waiting; the table has no interval of it.
    let together = &measured["together"];
    assert!(together["predicted_seconds"].as_f64().unwrap() > 0.0);
    assert_eq!(together["agreement"], Value::Null, "{measured}");
    let interval = &together["measured"]["interval"];
    assert_eq!(interval["coverage"], 0.5, "{measured}");
    let [low, high] = ["low", "high"].map(|end| interval[end].as_f64().unwrap());
    let seconds = together["measured"]["seconds"].as_f64().unwrap();
    assert!((low..=high).contains(&seconds), "{measured}");
}

/// The jobs without and with the table in each attempt.
const PAIRS: u32 = 7;

/// The attempts of which one must succeed: a machine may be disturbed for the time of one.
const ATTEMPTS: u32 = 3;

/// Only `scripts/test-long` judges times, on a machine that does nothing else. Each attempt has fresh launches of both.
#[test]
fn the_predicted_saving_contains_the_measured_one_under_openmpi() {
    if !testkit::is_long() {
        return;
    }
    let mut seen = Vec::new();
    for _ in 0..ATTEMPTS {
        let Some(bed) = Bed::new() else {
            return;
        };
        let tuned = run(&bed.place, &["tune", "campaign.yaml"]);
        assert_eq!(tuned.code, Some(0), "{tuned:?}");
        for number in 0..PAIRS {
            bed.record_without(number);
            bed.record_with("tables/real.yaml", number);
        }
        let together = bed.compare("tables/real.yaml")["together"].clone();
        eprintln!("{together}");
        if together["agreement"] == "within" {
            return;
        }
        seen.push(together);
    }
    panic!("in no attempt: {seen:#?}");
}
