//! Ranks that differ in properties that MPI does not require to be equal on all of them.

use std::process::Command;

use launcher::LibraryName;
use tempfile::TempDir;
use testkit::mpi::{chosen_family, chosen_installation};
use testkit::tables::{forcing_table, save_table};

use crate::corners::calls;
use crate::launch::{compiled, run_preloaded};

fn run(what: &str, more: &[(&str, &str)]) -> String {
    let folder = TempDir::new().expect("a temporary folder");
    run_in(&folder, &[what.to_owned()], more)
}

fn run_in(folder: &TempDir, arguments: &[String], more: &[(&str, &str)]) -> String {
    let program = compiled("unlike.c", folder.path(), &["-rdynamic", "-ldl"]);
    let path = save_table(
        &forcing_table(1, chosen_installation().library()),
        folder.path(),
    );
    let text = run_preloaded(&program, arguments, 2, &path, more).expect_success();
    assert!(text.contains("unlike ranks agree"), "{text}");
    text
}

#[test]
fn a_buffer_given_twice_on_one_rank_does_not_divide_the_ranks_under_mpi() {
    let text = run("aliased", &[]);
    let collectives: &[&str] = match chosen_family() {
        LibraryName::OpenMpi => &["allgather/", "gather/", "scatter/", "reduce_scatter/"],
        LibraryName::Mpich | LibraryName::IntelMpi => &[],
    };
    for collective in collectives {
        let row = |line: &str| {
            line.split_whitespace()
                .any(|word| word.starts_with(collective))
        };
        assert!(text.lines().any(row), "{collective} {text}");
    }
    assert_eq!(calls(&text, "allreduce/"), 5, "{text}");
}

#[test]
fn another_release_on_one_rank_affects_all_ranks_under_mpi() {
    let unlike = ("UNLIKE_RELEASE", "1");
    let text = run("release", &[unlike]);
    assert_eq!(text.matches("the table was made for").count(), 1, "{text}");
    assert_eq!(calls(&text, "allreduce/"), 0, "{text}");
    let cpu_forced = run("release", &[unlike, ("COLLTUNE_FORCE", "cpu")]);
    assert_eq!(calls(&cpu_forced, "allreduce/"), 0, "{cpu_forced}");
    let version_forced = run("release", &[unlike, ("COLLTUNE_FORCE", "version")]);
    assert_eq!(calls(&version_forced, "allreduce/"), 5, "{version_forced}");
    let alike = run("release", &[]);
    assert_eq!(calls(&alike, "allreduce/"), 5, "{alike}");
}

#[test]
fn a_driver_of_accelerators_on_one_rank_affects_all_ranks_under_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    let driver = folder.path().join("libcuda.so.1");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-x", "c", "/dev/null", "-o"])
        .arg(&driver)
        .status();
    assert!(compiled.expect("the compiler starts").success());
    let arguments = ["devices".to_owned(), driver.display().to_string()];
    let text = run_in(&folder, &arguments, &[]);
    assert_eq!(calls(&text, "allreduce/"), 0, "{text}");
    assert!(text.contains("buffers may be on accelerators"), "{text}");
    let forced = run_in(&folder, &arguments, &[("COLLTUNE_FORCE", "accelerators")]);
    assert_eq!(calls(&forced, "allreduce/"), 5, "{forced}");
}
