//! A faulty library: preloaded functions that give wrong results or errors replace some of its own.

use std::collections::BTreeSet;

use launcher::{LibraryName, Outcome};
use schedule::Collective;
use testkit::mpi::chosen_family;
use vocabulary::{
    Candidate, Cell, CommShape, Datatype, ExperimentKind, Operator, Parameters, Synchronisation,
};
use wire::{FailureKind, PlannedWork, Record, exit_code};

use crate::launch::{Bench, allreduce, assert_code, experiment, ours};

/// Replaces the functions that the flag names.
///
/// Only candidates compute sums of integers; the driver itself computes maxima of doubles, two of them during its
/// start.
const SABOTAGE: &str = r#"
#include <mpi.h>
#include <unistd.h>

static int is_candidate(MPI_Datatype type, MPI_Op op)
{
    return op == MPI_SUM && type == MPI_INT32_T;
}

#if defined(WRONG) || defined(ERROR) || defined(LATE) || defined(MAXIMUM) || defined(UNWAITED) || \
    defined(START) || defined(SLOW) || defined(HOPELESS)
static int pending;

int MPI_Allreduce(const void *input, void *output, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm communicator)
{
    int code = PMPI_Allreduce(input, output, count, type, op, communicator);
#if defined(WRONG)
    int rank;
    PMPI_Comm_rank(communicator, &rank);
    if (is_candidate(type, op) && rank == 1 && count > 5)
        ((int *)output)[5] += 1;
#elif defined(ERROR)
    if (is_candidate(type, op))
        return MPI_ERR_OTHER;
#elif defined(LATE)
    /* An error in the middle of a turn, after which the candidate must not be called again. */
    static int calls;
    if (is_candidate(type, op) && ++calls > 5)
        _exit(99);
    if (is_candidate(type, op) && calls == 5)
        return MPI_ERR_OTHER;
#elif defined(SLOW)
    if (is_candidate(type, op))
        usleep(1200 * 1000);
#elif defined(HOPELESS)
    /* A candidate that takes this long is not called again. */
    static int hopeless;
    if (is_candidate(type, op) && ++hopeless > 1)
        _exit(99);
    if (is_candidate(type, op))
        usleep(10500 * 1000);
#elif defined(MAXIMUM)
    static int maxima;
    if (op == MPI_MAX && type == MPI_DOUBLE && ++maxima > 5)
        return MPI_ERR_OTHER;
#elif defined(START)
    if (op == MPI_MAX)
        return MPI_ERR_OTHER;
#elif defined(UNWAITED)
    if (pending)
        _exit(99);
#endif
    return code;
}
#endif

#if defined(UNWAITED)
/* Every second call sends but reports an error; the first of the two has been started and must be
   waited for. */
int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag,
              MPI_Comm communicator, MPI_Request *request)
{
    static int sends;
    if (++sends % 2 == 1) {
        pending = 1;
        return PMPI_Isend(data, count, type, to, tag, communicator, request);
    }
    PMPI_Send(data, count, type, to, tag, communicator);
    return MPI_ERR_OTHER;
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    pending = 0;
    return PMPI_Wait(request, status);
}

int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses)
{
    pending = 0;
    return PMPI_Waitall(count, requests, statuses);
}

int MPI_Testall(int count, MPI_Request *requests, int *done, MPI_Status *statuses)
{
    int code = PMPI_Testall(count, requests, done, statuses);
    pending &= !*done;
    return code;
}
#endif

#if defined(ORDER)
/* Combines the last rank's contribution first, where that makes a difference. */
int MPI_Allreduce(const void *input, void *output, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm communicator)
{
    int commutes, rank, code;
    MPI_Comm reversed;
    MPI_Op_commutative(op, &commutes);
    if (commutes)
        return PMPI_Allreduce(input, output, count, type, op, communicator);
    PMPI_Comm_rank(communicator, &rank);
    PMPI_Comm_split(communicator, 0, -rank, &reversed);
    code = PMPI_Allreduce(input, output, count, type, op, reversed);
    PMPI_Comm_free(&reversed);
    return code;
}
#endif

#if defined(CLOCKS)
/* Rank 1 hangs after it has sent its learned clock, three numbers for each rank, and requests
   the time again. */
static int is_told;

int MPI_Allreduce(const void *input, void *output, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm communicator)
{
    is_told |= op == MPI_MAX && type == MPI_DOUBLE && count == 6;
    return PMPI_Allreduce(input, output, count, type, op, communicator);
}

int MPI_Recv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm communicator,
             MPI_Status *status)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    while (is_told && rank == 1)
        usleep(1000);
    return PMPI_Recv(data, count, type, from, tag, communicator, status);
}
#endif

#if defined(SEND) || defined(STRANGE)
int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag,
             MPI_Comm communicator)
{
#if defined(STRANGE)
    int size;
    PMPI_Comm_size(communicator, &size);
    int strange = size != 2;
    for (int i = 0; i < count; i++)
        strange |= ((const char *)data)[i] == 0;
    if (!strange)
        return PMPI_Send(data, count, type, to, tag, communicator);
#endif
    return MPI_ERR_OTHER;
}
#endif
"#;

/// Preloads a library that replaces the functions named by the flag, for the ranks of this bench.
fn sabotage(bench: &mut Bench, flag: &str) {
    bench.preload(SABOTAGE, &[flag]);
}

fn failures(records: &[Record]) -> Vec<&Record> {
    records
        .iter()
        .filter(|record| matches!(record, Record::Failed { .. }))
        .collect()
}

/// Asserts that only candidate 0 failed, in this way.
#[track_caller]
fn assert_failure(records: &[Record], kind: FailureKind, said: &str) {
    let failed = failures(records);
    assert!(
        matches!(
            failed[..],
            [Record::Failed { task: 0, candidate: 0, kind: found, message }]
                if *found == kind && message.contains(said)
        ),
        "{failed:?}"
    );
}

#[test]
fn wrong_results_and_mpi_errors_are_recorded_and_cost_only_their_candidate() {
    use Synchronisation::{Barrier, Window};
    for (flag, kind, said, way) in [
        ("-DWRONG", FailureKind::WrongResult, "element 5", Barrier),
        ("-DERROR", FailureKind::MpiError, "MPI_Allreduce", Barrier),
        ("-DLATE", FailureKind::MpiError, "MPI_Allreduce", Barrier),
        ("-DLATE", FailureKind::MpiError, "MPI_Allreduce", Window),
    ] {
        let algorithm = ours("allreduce/recursive_doubling", Parameters::default());
        let mut bench = Bench::new(vec![allreduce(2, 64, vec![Candidate::Default, algorithm])]);
        bench.plan.repetition.minimum = 20;
        bench.plan.repetition.maximum = 100;
        bench.plan.repetition.slice_seconds = 1.0;
        bench.plan.synchronisation = way;
        sabotage(&mut bench, flag);
        let (exit, records) = bench.run(2);
        assert_eq!(exit.outcome, Outcome::Success, "{flag}: {:?}", exit.tail);
        assert_failure(&records, kind, said);
        let measured = records.iter().any(|record| {
            matches!(record, Record::Done(done) if done.measurements.len() == 1
                && done.measurements[0].candidate == 1)
        });
        assert!(measured, "the other candidate is measured");
    }
}

/// The result is wrong from the first element on. Our own algorithms, which do not call the library's collectives, are
/// correct.
#[test]
fn a_wrong_order_is_a_wrong_result_for_an_operator_that_does_not_commute_under_mpi() {
    let algorithm = ours("allreduce/recursive_doubling", Parameters::default());
    let candidates = vec![Candidate::Default, algorithm];
    let work = |operator: Operator| {
        let PlannedWork::Compare { cell, candidates } = allreduce(2, 64, candidates.clone()) else {
            panic!("a comparison")
        };
        let cell = Cell {
            operator: Some(operator),
            ..cell
        };
        PlannedWork::Compare { cell, candidates }
    };
    let mut bench = Bench::new(vec![work(Operator::Noncommutative), work(Operator::Sum)]);
    sabotage(&mut bench, "-DORDER");
    let (exit, records) = bench.run(2);
    assert_eq!(exit.outcome, Outcome::Success, "{:?}", exit.tail);
    assert_failure(&records, FailureKind::WrongResult, "element 0");
    let measured = records.iter().filter_map(|record| match record {
        Record::Done(done) => Some(done.measurements.iter().map(|m| m.candidate)),
        _ => None,
    });
    let measured: Vec<BTreeSet<u32>> = measured.map(Iterator::collect).collect();
    assert_eq!(measured, [BTreeSet::from([1]), BTreeSet::from([0, 1])]);
}

/// A bench in which candidates take many short turns.
fn patient(work: PlannedWork) -> Bench {
    let mut bench = Bench::new(vec![work]);
    bench.plan.repetition.minimum = 20;
    bench.plan.repetition.maximum = 100;
    bench.plan.repetition.slice_seconds = 0.01;
    bench
}

/// The number of repetitions of each candidate.
fn repetitions(records: &[Record]) -> Vec<(u32, usize)> {
    let done = records.iter().find_map(|record| match record {
        Record::Done(done) => Some(done),
        _ => None,
    });
    let measured = done.expect("a task is done").measurements.iter();
    measured.map(|m| (m.candidate, m.seconds.len())).collect()
}

#[test]
fn a_candidate_that_takes_far_too_long_costs_one_call() {
    // The test takes more than ten seconds, and both libraries behave in the same way.
    if chosen_family() == LibraryName::Mpich {
        return;
    }
    let PlannedWork::Compare { mut cell, .. } = allreduce(2, 64, Vec::new()) else {
        unreachable!()
    };
    cell.collective = Collective::Reduce;
    let slow = Candidate::Mockup {
        algorithm: "mockup:reduce/allreduce".to_owned(),
    };
    let candidates = vec![Candidate::Default, slow];
    let mut bench = patient(PlannedWork::Compare { cell, candidates });
    sabotage(&mut bench, "-DHOPELESS");
    let (exit, records) = bench.run(2);
    assert_eq!(exit.outcome, Outcome::Success, "{:?}", exit.tail);
    let failed = failures(&records);
    assert!(
        matches!(
            failed[..],
            [Record::Failed { candidate: 1, kind: FailureKind::TooSlow, message, .. }]
                if message.contains("one call took 10.5 s")
        ),
        "{failed:?}"
    );
    assert!(matches!(repetitions(&records)[..], [(0, 20..)]));
}

#[test]
fn a_default_that_takes_too_long_is_measured_once_per_launch() {
    let algorithm = ours("allreduce/recursive_doubling", Parameters::default());
    let mut bench = patient(allreduce(2, 64, vec![Candidate::Default, algorithm]));
    sabotage(&mut bench, "-DSLOW");
    let (exit, records) = bench.run(2);
    assert_eq!(exit.outcome, Outcome::Success, "{:?}", exit.tail);
    assert!(failures(&records).is_empty(), "{records:?}");
    assert!(matches!(repetitions(&records)[..], [(0, 1), (1, 20..)]));
}

#[test]
fn messages_started_by_a_failed_round_are_completed() {
    let cell = Cell {
        collective: Collective::Bcast,
        shape: CommShape { nodes: 1, ppn: 3 },
        bytes: 64,
        datatype: Datatype::Byte,
        operator: None,
        distribution: schedule::Distribution::Uniform,
    };
    let candidates = vec![
        ours("bcast/linear_nonblocking", Parameters::default()),
        Candidate::Default,
    ];
    let mut bench = Bench::new(vec![PlannedWork::Compare { cell, candidates }]);
    sabotage(&mut bench, "-DUNWAITED");
    let (exit, records) = bench.run(3);
    assert_eq!(exit.outcome, Outcome::Success, "{:?}", exit.tail);
    assert_failure(&records, FailureKind::MpiError, "MPI_Bcast");
}

#[test]
fn mpi_errors_in_a_turn_are_attributed_to_the_candidate_and_end_the_launch() {
    let comparison = || allreduce(2, 64, vec![Candidate::Default]);
    let ping_pong = || experiment(ExperimentKind::PingPong, 2, 64);
    for (flag, work, said) in [
        ("-DMAXIMUM", comparison(), "MPI_Allreduce"),
        ("-DSEND", ping_pong(), "MPI_Send"),
    ] {
        let mut bench = Bench::new(vec![work]);
        bench.plan.repetition.minimum = 20;
        bench.plan.repetition.maximum = 100;
        sabotage(&mut bench, flag);
        let (exit, records) = bench.run(2);
        assert_code(&exit, exit_code::TURN);
        assert_failure(&records, FailureKind::MpiError, said);
        let says = |start: &str| exit.tail.iter().any(|line| line.starts_with(start));
        assert!(
            says("colltune-driver (in a turn): ") && !says("colltune-driver: "),
            "{:?}",
            exit.tail
        );
    }
}

#[test]
fn mpi_errors_outside_turns_are_attributed_to_the_launch() {
    let mut bench = Bench::new(Vec::new());
    sabotage(&mut bench, "-DSTART");
    let (exit, records) = bench.run(2);
    assert_code(&exit, exit_code::FAILED);
    assert!(failures(&records).is_empty(), "{records:?}");
    let said = |line: &String| line.starts_with("colltune-driver: ") && line.contains("Allreduce");
    assert!(exit.tail.iter().any(said), "{:?}", exit.tail);
}

#[test]
fn an_mpi_rank_that_hangs_comparing_clocks_ends_the_launch_without_a_failed_candidate() {
    let mut bench = Bench::new(vec![allreduce(2, 64, vec![Candidate::Default])]);
    bench.plan.synchronisation = Synchronisation::Window;
    bench.plan.watchdog_seconds = 1.0;
    sabotage(&mut bench, "-DCLOCKS");
    let (exit, records) = bench.run(2);
    assert_code(&exit, exit_code::FAILED);
    assert!(failures(&records).is_empty(), "{records:?}");
    assert!(
        !records
            .iter()
            .any(|record| matches!(record, Record::Trying { .. }))
    );
    let said = |line: &String| line.starts_with("colltune-driver: ") && line.contains("clocks");
    assert!(exit.tail.iter().any(said), "{:?}", exit.tail);
}

#[test]
fn experiments_have_memory_and_cores_to_themselves() {
    let mut bench = Bench::new(vec![experiment(ExperimentKind::PingPong, 3, 1 << 16)]);
    sabotage(&mut bench, "-DSTRANGE");
    let (exit, records) = bench.run(3);
    assert_eq!(exit.outcome, Outcome::Success, "{:?}", exit.tail);
    assert!(failures(&records).is_empty(), "{records:?}");
}
