//! Repeated calls: they allocate nothing, and do not confuse handles.

use launcher::LibraryName;
use table::{Confidence, Rule};
use tempfile::TempDir;
use testkit::mpi::{chosen_family, chosen_installation};
use testkit::tables::{forcing_table, save_table};
use vocabulary::{Candidate, Through};

use crate::launch::{compiled, run_preloaded};
use crate::stress::forcing_through;

/// Runs a program with a table that chooses the algorithms with this index up to a size, and the default above; where
/// decisions do not depend on the size, the algorithms for all sizes.
fn run(program: &str, arguments: &[&str], ranks: u32, place: usize, default_from: u64) -> String {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled(program, folder.path(), &[]);
    let mut table = forcing_table(place, chosen_installation().library());
    let by_size = table.collectives.iter_mut();
    let by_size = by_size.filter(|(collective, _)| collective.decides_by_size());
    for entry in by_size.flat_map(|(_, entries)| entries) {
        let default = Rule::new(default_from, Candidate::Default, None, Confidence::High);
        entry.rules.push(default);
    }
    let path = save_table(&table, folder.path());
    let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
    run_preloaded(&program, &arguments, ranks, &path, &[]).expect_success()
}

#[test]
fn repeated_calls_do_not_allocate_under_mpi() {
    // MPICH's own collectives take milliseconds if ranks outnumber cores.
    let crowd = match chosen_family() {
        LibraryName::Mpich | LibraryName::IntelMpi => 2,
        LibraryName::OpenMpi => 4,
    };
    for (place, ranks) in [(0, 2), (1, 3), (2, crowd)] {
        let text = run("repeats.c", &[], ranks, place, 8192);
        assert!(text.contains("allocations: some before, 0 again"), "{text}");
        // Both kinds of decision occurred.
        assert!(text.contains("  allreduce/"), "{text}");
        assert!(text.contains("  default\n"), "{text}");
    }
}

#[test]
fn calls_that_lack_channels_do_not_allocate_under_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("repeats.c", folder.path(), &[]);
    let path = save_table(&forcing_through(1, Through::Shared), folder.path());
    let off = [("COLLTUNE_SHARED_MEMORY", "0")];
    for arguments in [vec![], vec!["irregular".to_owned()]] {
        let text = run_preloaded(&program, &arguments, 2, &path, &off).expect_success();
        assert!(text.contains("allocations: some before, 0 again"), "{text}");
        assert!(text.contains("  default (no shared memory: "), "{text}");
    }
}

#[test]
fn large_calls_are_planned_once_under_mpi() {
    let text = run("repeats.c", &["large"], 2, 1, 1 << 30);
    assert!(text.contains("allocations: some before, 0 again"), "{text}");
    assert!(text.contains("  allreduce/"), "{text}");
}

#[test]
fn reused_handles_are_not_confused_with_freed_ones_under_mpi() {
    for (place, ranks) in [(1, 4), (3, 3)] {
        let text = run("handles.c", &["48"], ranks, place, 1 << 30);
        let (_, numbers) = text.split_once("handles came back: ").expect(&text);
        let mut words = numbers.split_whitespace();
        let [datatypes, operators] = [0, 2].map(|skip| words.nth(skip).map(str::parse::<u32>));
        assert!(matches!(datatypes, Some(Ok(1..))), "{text}");
        assert!(matches!(operators, Some(Ok(1..))), "{text}");
        assert!(text.contains("  bcast/"), "{text}");
    }
}
