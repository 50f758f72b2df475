//! Tests on several ranks.

use std::time::Duration;

use launcher::LibraryName;
use testkit::mpi::{self, chosen_family};

/// Runs `exec-ranks` and returns what it printed.
fn run(mode: &str, ranks: u32) -> String {
    // This is longer than the ranks' own deadline.
    let patience = Duration::from_secs(280);
    let program = env!("CARGO_BIN_EXE_exec-ranks").as_ref();
    let printed = mpi::run_ranks(program, mode.as_ref(), ranks, patience).expect_success();
    println!("{printed}");
    printed
}

#[test]
fn every_algorithm_does_what_mpi_does() {
    let ranks = match chosen_family() {
        LibraryName::OpenMpi => 16,
        // MPICH's ranks spin.
        LibraryName::Mpich | LibraryName::IntelMpi => 4,
    };
    let printed = run("conformance", ranks);
    assert!(printed.contains(" cases agree with the library"));
}

#[test]
fn every_algorithm_does_what_mpi_does_through_shared_memory() {
    let ranks = match chosen_family() {
        LibraryName::OpenMpi => 8,
        LibraryName::Mpich | LibraryName::IntelMpi => 4,
    };
    let printed = run("shared", ranks);
    assert!(printed.contains(" cases agree with the library"));
}

#[test]
fn irregular_collectives_take_any_counts_displacements_and_datatypes() {
    let ranks = match chosen_family() {
        LibraryName::OpenMpi => 6,
        LibraryName::Mpich | LibraryName::IntelMpi => 3,
    };
    let printed = run("irregular", ranks);
    assert!(printed.contains(" irregular calls gave what MPI defines"));
}

#[test]
fn a_second_call_on_mpi_allocates_nothing_and_a_million_blocks_little() {
    let ranks = match chosen_family() {
        LibraryName::OpenMpi => 3,
        LibraryName::Mpich | LibraryName::IntelMpi => 2,
    };
    let printed = run("lean", ranks);
    assert!(printed.contains(" second calls looked at"));
    assert!(printed.contains(" algorithms have had a million blocks"));
}

#[test]
fn messages_of_the_application_progress_while_a_rank_waits_in_shared_memory_under_mpi() {
    run("progress", 4);
}
