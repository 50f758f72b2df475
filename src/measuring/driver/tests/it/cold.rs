//! Calls use several copies of their buffers in turn; a preloaded library records which.

use std::collections::BTreeSet;

use launcher::Outcome;
use vocabulary::{CacheState, Candidate};
use wire::{Environment, Measurement, Record};

use crate::contest::COARSE_CLOCK;
use crate::launch::{Bench, allreduce};

/// Rank 0 records the output buffers of its sums; only candidates compute sums.
const RECORDER: &str = r#"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int MPI_Allreduce(const void *input, void *output, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm communicator)
{
    static FILE *file;
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && op == MPI_SUM) {
        if (!file)
            file = fopen(getenv("PLACES"), "w");
        fprintf(file, "%llu\n", (unsigned long long)(size_t)output);
        fflush(file);
    }
    return PMPI_Allreduce(input, output, count, type, op, communicator);
}
"#;

/// Measures the library's allreduce of `bytes` on 2 ranks, `repetitions` times. Returns the recorded environment, the
/// measurement, and the output buffer of each call.
fn measure(
    cache: CacheState,
    bytes: u64,
    repetitions: u32,
    clock: &str,
) -> (Environment, Measurement, Vec<u64>) {
    let mut bench = Bench::new(vec![allreduce(2, bytes, vec![Candidate::Default])]);
    bench.plan.cache = cache;
    bench.plan.repetition.minimum = repetitions;
    bench.plan.repetition.maximum = repetitions;
    bench.preload(&format!("{clock}{RECORDER}"), &["-ldl"]);
    let places_path = bench.path("places");
    bench
        .environment
        .push(("PLACES".into(), places_path.clone().into()));
    let (exit, records) = bench.run(2);
    assert_eq!(exit.outcome, Outcome::Success, "{:?}", exit.tail);
    let (mut environment, mut measured) = (None, None);
    for record in records {
        match record {
            Record::Started(start) => environment = Some(start.environment),
            Record::Done(mut done) => measured = done.measurements.pop(),
            _ => {}
        }
    }
    let text = std::fs::read_to_string(places_path).expect("calls were made");
    let places = text.lines().map(|line| line.parse().expect("a place"));
    (
        environment.expect("a start"),
        measured.expect("a measurement"),
        places.collect(),
    )
}

/// The size of the last-level cache according to the kernel, or the assumed size.
fn last_level_bytes() -> u64 {
    environment::last_level_bytes().unwrap_or(environment::ASSUMED_LAST_LEVEL_BYTES)
}

#[test]
fn each_mpi_call_works_on_the_next_copy_of_its_buffers() {
    // Two ranks have an input and an output each, so the buffers of nine calls exceed twice the caches.
    let bytes = (last_level_bytes() / 16).next_multiple_of(64);
    let (environment, measured, places) = measure(CacheState::Cold, bytes, 20, "");
    let cold = environment.cold.expect("cold");
    assert_eq!(cold.last_level_bytes, last_level_bytes());
    assert_eq!((measured.seconds.len(), measured.batch), (20, 1));
    assert!(places.len() > 20, "{places:?}");
    let different: Vec<u64> = places
        .iter()
        .copied()
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    assert!((8..=9).contains(&different.len()), "{different:?}");
    let are_apart = |pair: &[u64]| pair[1] - pair[0] >= bytes;
    assert!(different.windows(2).all(are_apart), "{different:?}");
    // All copies are used before any is used again.
    let again = different.len();
    for (turn, place) in places.iter().enumerate() {
        assert_eq!(places.get(turn + again).unwrap_or(place), place);
        let between = &places[turn + 1..places.len().min(turn + again)];
        assert!(!between.contains(place), "{turn}: {places:?}");
    }
    let bytes_of_a_round = 4 * bytes * different.len() as u64;
    assert!(bytes_of_a_round > 2 * cold.last_level_bytes);
}

#[test]
fn each_mpi_call_of_a_batch_has_its_own_copy() {
    let (_, measured, places) = measure(CacheState::Cold, 8, 30, COARSE_CLOCK);
    assert!(measured.batch > 1, "{}", measured.batch);
    let calls = 30 * measured.batch as usize;
    assert!(places.len() >= calls, "{} calls", places.len());
    let different: BTreeSet<u64> = places.iter().copied().collect();
    let copies = (2 * last_level_bytes() / 256 + 1) as usize;
    assert_eq!(different.len(), places.len().min(copies));
}

#[test]
fn warm_mpi_calls_work_on_the_same_buffers() {
    let (environment, _, places) = measure(CacheState::Warm, 4096, 20, "");
    assert_eq!(environment.cold, None);
    assert!(places.len() > 20 && places.iter().all(|place| *place == places[0]));
}
