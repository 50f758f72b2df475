//! A campaign on real Open MPI with a library in which one candidate crashes, one hangs, one gives
//! wrong results, and one takes so long that no budget suffices.
//!
//! The candidates are mock-ups: each calls a collective that no other candidate here calls, and that a preloaded
//! library replaces.

use std::process::Command;

use serde_json::Value;
use store::{LaunchOutcome, Store};
use vocabulary::{Library, Pattern};
use wire::FailureKind;

use crate::mpi::{assert_no_process_left, place_with, run};
use crate::run::Place;

const LIBRARY: &str = r"
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int MPI_Scatter(const void *input, int count, MPI_Datatype type, void *output, int received,
                MPI_Datatype into, int root, MPI_Comm communicator)
{
    abort();
}

int MPI_Gather(const void *input, int count, MPI_Datatype type, void *output, int received,
               MPI_Datatype into, int root, MPI_Comm communicator)
{
    for (;;)
        pause();
}

int MPI_Reduce_scatter_block(const void *input, void *output, int count, MPI_Datatype type,
                             MPI_Op op, MPI_Comm communicator)
{
    int code = PMPI_Reduce_scatter_block(input, output, count, type, op, communicator);
    ((int *)output)[0] += 1;
    return code;
}

int MPI_Reduce(const void *input, void *output, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm communicator)
{
    usleep(SLOW_MILLISECONDS * 1000);
    return PMPI_Reduce(input, output, count, type, op, root, communicator);
}
";

const CAMPAIGN: &str = "
collectives: [bcast, allreduce, allgather]
shapes: [1x2]
sizes: 64K
candidates: {include: ['*/binomial', '*/ring', 'mockup:*']}
parameters: {predicted: false, through: mpi}
repetitions: {minimum: 10, maximum: 50, slice: 10ms}
launches: 2
confirmation: off
";

/// A failing candidate, the kind of its failure, and a part of the message.
type Fault = (&'static str, FailureKind, &'static str);

const CRASH: Fault = (
    "mockup:bcast/scatter+allgather",
    FailureKind::Crash,
    "code 134",
);
const HANG: Fault = (
    "mockup:allgather/gather+bcast",
    FailureKind::Hang,
    "did not end within",
);
const WRONG: Fault = (
    "mockup:allreduce/reduce_scatter_block+allgather",
    FailureKind::WrongResult,
    "element 0",
);
const SLOW: &str = "mockup:allreduce/reduce+bcast";

/// A place where ranks are started with the library; `None` without MPI.
fn sabotaged(slow_milliseconds: u32, watchdog: &str) -> Option<Place> {
    let place = place_with("openmpi", CAMPAIGN)?;
    place.write("faulty.c", LIBRARY);
    let status = Command::new(std::env::var_os("MPICC_OPENMPI").unwrap_or("mpicc.openmpi".into()))
        .args(["-shared", "-fPIC", "-o"])
        .args([place.path("libfaulty.so"), place.path("faulty.c")])
        .arg(format!("-DSLOW_MILLISECONDS={slow_milliseconds}"))
        .status()
        .unwrap();
    assert!(status.success());
    let preload = place.path("libfaulty.so");
    let launcher = format!(
        "launcher: {{local: {{environment: {{LD_PRELOAD: {}}}}}}}\nwatchdog: {watchdog}\n",
        preload.display()
    );
    place.write("campaign.yaml", place.read("campaign.yaml") + &launcher);
    Some(place)
}

/// Tunes to the end and asserts that exactly these candidates failed, with these kinds and messages.
#[track_caller]
fn check(place: &Place, faults: &[Fault]) -> Store {
    let ran = run(place, &["tune", "campaign.yaml", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let outcome = ran.json();
    assert_eq!(outcome["done"], outcome["total"], "{}", ran.err);
    assert_eq!(
        outcome["failures"],
        Value::from(faults.len()),
        "{}",
        ran.err
    );
    let library: Library = serde_json::from_value(outcome["library"].clone()).unwrap();
    let store = Store::open(&place.path(".colltune/real.db")).unwrap();
    let failures = store.failures(&library).unwrap();
    let report = place.read("reports/real.md");
    let (_, section) = report.split_once("## Failures").unwrap();
    for (name, kind, said) in faults {
        let found: Vec<_> = failures
            .iter()
            .filter(|failure| failure.candidate.to_string() == *name)
            .collect();
        let [failure] = found[..] else {
            panic!("{name}: {found:?}")
        };
        assert_eq!(failure.kind, *kind, "{name}: {}", failure.message);
        assert!(
            failure.message.contains(said),
            "{name}: {}",
            failure.message
        );
        assert!(
            section
                .lines()
                .any(|line| line.contains(name) && line.contains(kind.name())),
            "{section}"
        );
        assert!(ran.err.contains(kind.name()), "{}", ran.err);
    }
    // Candidates that did not fail were measured in every launch, the others in none.
    for ((subject, candidate), launches) in
        store.launch_counts(&library, Pattern::Together).unwrap()
    {
        let name = candidate.to_string();
        assert!(faults.iter().all(|(faulty, ..)| *faulty != name), "{name}");
        assert_eq!(launches, 2, "{candidate} in {subject}");
    }
    let table = table::Table::load(&place.path("tables/real.yaml")).unwrap();
    assert_eq!(table.collectives.len(), 3);
    assert_no_process_left(place);
    store
}

#[test]
fn failing_candidates_under_openmpi_do_not_affect_other_candidates() {
    let Some(place) = sabotaged(1500, "5s") else {
        return;
    };
    let slow = (SLOW, FailureKind::TooSlow, "one call took 1.5");
    let store = check(&place, &[CRASH, HANG, WRONG, slow]);
    // A crash and a deadlock each cost a launch, the other failures none.
    let launches = store.launches().unwrap();
    let died =
        |outcome: &Option<LaunchOutcome>| matches!(outcome, Some(LaunchOutcome::Died { .. }));
    let dead = launches.iter().filter(|launch| died(&launch.outcome));
    assert_eq!(dead.count(), 2, "{launches:?}");
    assert_eq!(
        launches.len(),
        5,
        "experiments, two that die, two with all cells"
    );
}
