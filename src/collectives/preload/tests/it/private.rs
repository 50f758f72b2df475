//! Programs that need as many communicators as the library has.

use launcher::LibraryName;
use tempfile::TempDir;
use testkit::mpi::{family, installation};
use testkit::tables::{forcing, saved};

use crate::corners::calls;
use crate::launch::{compiled, run_preloaded};

/// The number of communicators that `many.c` has made.
fn made(text: &str) -> u32 {
    assert!(text.contains("many communicators agree"), "{text}");
    let made = text.lines().find_map(|line| line.strip_prefix("made "));
    made.and_then(|made| made.parse().ok()).expect("a number")
}

#[test]
fn programs_have_as_many_communicators_as_without_a_table_under_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("many.c", folder.path(), &[]);
    let path = saved(&forcing(1, installation().library()), folder.path());
    let most = match family() {
        LibraryName::Mpich => "3000",
        // It has more than any program needs.
        LibraryName::OpenMpi => "400",
    };
    let run =
        |more: &[(&str, &str)]| run_preloaded(&program, &[most.to_owned()], 2, &path, more).good();
    let without = made(&run(&[("COLLTUNE_DISABLE", "1")]));
    let text = run(&[("COLLTUNE_ATTACH_AFTER", "20K")]);
    // Communicators with the same ranks share one of the library's.
    assert_eq!(made(&text), without, "{text}");
    assert!(calls(&text, "allreduce/") > 0, "{text}");
    // They are given back when the program needs the last ones.
    let are_given_back = text.contains("default (no private communicator)");
    assert_eq!(are_given_back, family() == LibraryName::Mpich, "{text}");
    assert!(!text.contains("warning"), "{text}");
}
