//! Errors are those of the library: wrong arguments have the outcome that they have without colltune.

use launcher::LibraryName;
use profile::{CallShape, Profile};
use tempfile::TempDir;
use testkit::mpi::{chosen_family, chosen_installation};
use testkit::tables::{forcing_table, save_table};
use vocabulary::{Candidate, Through};

use crate::corners::calls;
use crate::launch::{compiled, preloaded, run_preloaded};
use crate::stress::regular;

/// Runs the program, compiled with these flags, with a table for all collectives, whose messages go this way, and returns
/// its output.
fn run(flags: &[&str], through: Through, ranks: u32, place: usize) -> String {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("wrong.c", folder.path(), flags);
    let mut table = forcing_table(place, chosen_installation().library());
    let entries = table.collectives.values_mut().flatten();
    for rule in entries.flat_map(|entry| &mut entry.rules) {
        if let Candidate::Ours { parameters, .. } = &mut rule.candidate {
            parameters.through = through;
        }
    }
    let path = save_table(&table, folder.path());
    run_preloaded(&program, &[], ranks, &path, &[]).expect_success()
}

/// The number of ranks: with more, the cases in which MPICH itself waits for ever are others.
fn rank_count() -> u32 {
    match chosen_family() {
        LibraryName::Mpich | LibraryName::IntelMpi => 2,
        LibraryName::OpenMpi => 3,
    }
}

/// Checks the functions of the form that these flags choose.
fn check(flags: &[&str]) {
    for (through, place) in [(Through::Mpi, 1), (Through::Shared, 2)] {
        let text = run(flags, through, rank_count(), place);
        assert!(text.contains(", 0 differ"), "{text}");
        assert!(text.contains("default (wrong arguments)"), "{text}");
        assert!(
            text.contains("default (MPI_SUM of datatype MPI_PACKED)"),
            "{text}"
        );
        for collective in regular() {
            let ours = format!("{collective}/");
            assert!(calls(&text, &ours) > 0, "no {ours} in {text}");
        }
    }
}

#[test]
fn wrong_arguments_have_the_outcome_of_the_library_under_mpi() {
    check(&[]);
}

#[test]
fn wrong_arguments_with_large_counts_have_the_outcome_of_the_library_under_mpi() {
    if chosen_family() == LibraryName::Mpich {
        check(&["-DLARGE"]);
    }
}

#[test]
fn wrong_arguments_have_the_outcome_of_the_library_while_recording_under_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("wrong.c", folder.path(), &[]);
    let file = folder.path().join("profile.json");
    let variables = [
        ("LD_PRELOAD", preloaded().display().to_string()),
        ("COLLTUNE_RECORD", file.display().to_string()),
    ];
    let environment = variables
        .each_ref()
        .map(|(name, value)| (*name, value.as_str()));
    let output = crate::launch::run(&program, &[], rank_count(), &environment);
    let text = output.expect_success();
    assert!(text.contains(", 0 differ"), "{text}");
    let json = std::fs::read_to_string(&file).expect("a profile");
    let profile = Profile::from_json(&json).expect("a valid profile");
    // The calls that failed are there, without what they were given.
    let others = &profile.calls[&CallShape::other()];
    assert!(others.calls > 100, "{others:?}");
}
