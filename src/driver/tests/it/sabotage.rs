//! A library that errs: its collective is replaced by a preloaded one that gives wrong results or
//! errors.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use campaign::launcher::Outcome;
use wire::{Candidate, FailureKind, Parameters, Record};

use crate::launch::{Bench, allreduce, ours};

/// Replaces sums of integers only: the driver itself takes maxima of doubles.
const SABOTAGE: &str = r#"
#include <mpi.h>

int MPI_Allreduce(const void *input, void *output, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm communicator)
{
    int code = PMPI_Allreduce(input, output, count, type, op, communicator);
    if (op != MPI_SUM || type != MPI_INT32_T)
        return code;
#ifdef WRONG
    int rank;
    PMPI_Comm_rank(communicator, &rank);
    if (rank == 1 && count > 5)
        ((int *)output)[5] += 1;
    return code;
#else
    return MPI_ERR_OTHER;
#endif
}
"#;

/// Compiles the replacement against the library under test.
fn sabotage(bench: &Bench, flag: &str) -> PathBuf {
    let source = bench.path("sabotage.c");
    std::fs::write(&source, SABOTAGE).expect("written");
    let library = bench.path("libsabotage.so");
    let mpicc = std::env::var_os("MPICC").unwrap_or_else(|| OsString::from("mpicc"));
    let status = Command::new(mpicc)
        .args(["-shared", "-fPIC", flag, "-o"])
        .args([&library, &source])
        .status()
        .expect("the compiler runs");
    assert!(status.success());
    library
}

#[test]
fn wrong_results_and_mpi_errors_are_recorded_and_cost_only_their_candidate() {
    for (flag, kind, said) in [
        ("-DWRONG", FailureKind::WrongResult, "element 5"),
        ("-DERROR", FailureKind::MpiError, "MPI_Allreduce"),
    ] {
        let algorithm = ours("allreduce/recursive_doubling", Parameters::default());
        let mut bench = Bench::new(vec![allreduce(2, 64, vec![Candidate::Default, algorithm])]);
        bench.environment = vec![("LD_PRELOAD".into(), sabotage(&bench, flag).into())];
        let (exit, records) = bench.run(2);
        assert_eq!(exit.outcome, Outcome::Success, "{:?}", exit.tail);
        let failed: Vec<&Record> = records
            .iter()
            .filter(|record| matches!(record, Record::Failed { .. }))
            .collect();
        assert!(
            matches!(
                failed[..],
                [Record::Failed { candidate: 0, kind: found, message, .. }]
                    if *found == kind && message.contains(said)
            ),
            "{failed:?}"
        );
        let measured = records.iter().any(|record| {
            matches!(record, Record::Done(done) if done.measurements.len() == 1
                && done.measurements[0].candidate == 1)
        });
        assert!(measured, "the other candidate is measured");
    }
}
