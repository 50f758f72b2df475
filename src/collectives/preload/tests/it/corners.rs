//! Calls and tables that cannot be used: the library's own collectives run, with a warning.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use launcher::LibraryName;
use tempfile::TempDir;
use testkit::mpi::{chosen_family, chosen_installation};
use testkit::tables::{forcing_table, save_table};
use vocabulary::Library;

use crate::launch::{compiled, run_preloaded};

/// The number of calls that the summary attributes to decisions with this text.
pub(crate) fn calls(text: &str, by: &str) -> u64 {
    let rows = text
        .lines()
        .filter_map(|line| line.strip_prefix("colltune: "));
    let count = |row: &str| {
        let mut words = row.split_whitespace();
        let calls = words.nth(1)?.parse::<u64>().ok()?;
        words.nth(2)?.starts_with(by).then_some(calls)
    };
    rows.filter_map(count).sum()
}

/// Runs one of the programs with a table for all collectives.
fn run(program: &str, arguments: &[&str], ranks: u32, more: &[(&str, &str)]) -> String {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled(program, folder.path(), &[]);
    let path = save_table(
        &forcing_table(1, chosen_installation().library()),
        folder.path(),
    );
    let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
    run_preloaded(&program, &arguments, ranks, &path, more).expect_success()
}

#[test]
fn odd_calls_are_passed_on_under_mpi() {
    let text = run("corners.c", &["truncated"], 4, &[]);
    assert!(text.contains("the corners hold"), "{text}");
    assert!(
        calls(&text, "allreduce/") > 0 && calls(&text, "bcast/") > 0,
        "{text}"
    );
    assert!(text.contains("default (intercommunicator)"), "{text}");
    assert!(text.contains("default (no data)"), "{text}");
    let is_checked = chosen_family() == LibraryName::OpenMpi;
    assert_eq!(
        text.contains("default (wrong arguments)"),
        is_checked,
        "{text}"
    );
    assert!(!text.contains("warning"), "{text}");
}

/// Such programs get their communicators by other ways.
#[test]
fn odd_calls_of_programs_with_threads_are_passed_on_under_mpi() {
    let text = run("corners.c", &["threads"], 4, &[]);
    assert!(text.contains("the corners hold"), "{text}");
    assert!(
        calls(&text, "allreduce/") > 0 && calls(&text, "bcast/") > 0,
        "{text}"
    );
    assert!(!text.contains("warning"), "{text}");
}

#[test]
fn communicators_come_and_go_under_mpi() {
    // MPICH's ranks spin: with more ranks than cores, it takes a minute to make that many.
    let (rounds, ranks) = match chosen_family() {
        LibraryName::Mpich | LibraryName::IntelMpi => ("25", 2),
        LibraryName::OpenMpi => ("60", 4),
    };
    let text = run("lives.c", &[rounds], ranks, &[]);
    assert!(text.contains("communicators came and went"), "{text}");
    // Communicators of the same ranks share one private communicator, so colltune serves more than 256 of them.
    assert!(calls(&text, "allreduce/") > 300, "{text}");
    assert!(!text.contains("default (no private communicator"), "{text}");
}

#[test]
fn nothing_happens_if_it_is_switched_off_under_mpi() {
    let text = run("lives.c", &["1"], 2, &[("COLLTUNE_DISABLE", "1")]);
    assert!(!text.contains("colltune"), "{text}");
}

#[test]
fn tables_that_cannot_be_used_get_one_warning_under_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("lives.c", folder.path(), &[]);
    let arguments = ["1".to_owned()];
    let check = |path: &Path, more: &[(&str, &str)], why: &str, is_used: bool| {
        let text = run_preloaded(&program, &arguments, 2, path, more).expect_success();
        assert!(text.contains("communicators came and went"), "{text}");
        assert!(text.contains(why), "no `{why}` in\n{text}");
        assert_eq!(text.matches("colltune: warning").count(), 1, "{text}");
        assert_eq!(calls(&text, "allreduce/") > 0, is_used, "{text}");
    };
    check(
        &folder.path().join("missing.yaml"),
        &[],
        "missing.yaml",
        false,
    );
    let broken = folder.path().join("broken.yaml");
    std::fs::write(&broken, "format: colltune-table 2\nname: [\n").expect("written");
    check(&broken, &[], "broken.yaml", false);
    let other = Library {
        version: "0.1".to_owned(),
        ..chosen_installation().library()
    };
    let path = save_table(&forcing_table(0, other), folder.path());
    check(&path, &[], "was made for", false);
    check(&path, &[("COLLTUNE_FORCE", "1")], "anyway", true);
}

/// A script that starts a program, with an additional command on one rank.
pub(crate) fn differing_script(rank: u32, does: &str, folder: &Path) -> PathBuf {
    let script = folder.join("start");
    let text = format!(
        "#!/bin/sh\nif [ \"${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}\" = {rank} ]; then {does}; fi\nexec \"$@\"\n"
    );
    std::fs::write(&script, text).expect("written");
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).expect("made executable");
    script
}

/// The rank behaves as on a node without the table.
#[test]
fn a_table_that_one_rank_lacks_is_used_by_none_under_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("lives.c", folder.path(), &[])
        .display()
        .to_string();
    let path = save_table(
        &forcing_table(1, chosen_installation().library()),
        folder.path(),
    );
    for (rank, why) in [(0, "nowhere.yaml"), (1, "not all ranks")] {
        let script = differing_script(rank, "export COLLTUNE_TABLE=/nowhere.yaml", folder.path());
        let text = run_preloaded(&script, &[program.clone(), "1".to_owned()], 2, &path, &[])
            .expect_success();
        assert!(text.contains("communicators came and went"), "{text}");
        assert_eq!(calls(&text, "allreduce/"), 0, "{text}");
        assert_eq!(text.matches("colltune: warning").count(), 1, "{text}");
        assert!(text.contains(why), "{rank}: {text}");
    }
}

#[test]
fn ranks_without_the_library_are_reported_under_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("apart.c", folder.path(), &[]);
    let path = save_table(
        &forcing_table(1, chosen_installation().library()),
        folder.path(),
    );
    let script = differing_script(0, "unset LD_PRELOAD", folder.path());
    let arguments = [program.display().to_string(), "12".to_owned()];
    let printed = run_preloaded(&script, &arguments, 3, &path, &[]);
    let warnings = printed.text.matches("must be given to all ranks").count();
    assert_eq!(warnings, 1, "{}", printed.text);
}

/// The build for the other library, installed by scripts/driver. That for Intel MPI does not count: the loader finds
/// Intel's library by a path of the program alone.
pub(crate) fn other_build() -> Option<PathBuf> {
    let libdir = PathBuf::from(std::env::var_os("COLLTUNE_LIBDIR")?);
    let not_wanted = [chosen_family(), LibraryName::IntelMpi].map(LibraryName::name);
    let others = std::fs::read_dir(libdir).ok()?.flatten();
    let others = others.filter(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        !not_wanted.iter().any(|library| name.starts_with(library))
    });
    let mut builds = others.map(|entry| entry.path().join("libcolltune.so"));
    builds.find(|build| build.is_file())
}

#[test]
fn the_build_for_another_library_does_nothing_under_mpi() {
    let Some(other) = testkit::require("measuring programs", other_build()) else {
        return;
    };
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("lives.c", folder.path(), &[]);
    let path = save_table(
        &forcing_table(1, chosen_installation().library()),
        folder.path(),
    );
    let other = other.display().to_string();
    let more = [("LD_PRELOAD", other.as_str())];
    let text = run_preloaded(&program, &["1".to_owned()], 2, &path, &more).expect_success();
    assert!(text.contains("communicators came and went"), "{text}");
    assert_eq!(
        text.matches("this libcolltune.so was built for").count(),
        1,
        "{text}"
    );
    assert_eq!(calls(&text, "allreduce/"), 0, "{text}");
}

/// A build for a library with large counts defines their names also in programs of a library without them.
#[test]
fn functions_that_the_library_lacks_are_replaced_under_mpi() {
    let Some(other) = testkit::require("measuring programs", other_build()) else {
        return;
    };
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("probes.c", folder.path(), &[]);
    let path = save_table(
        &forcing_table(1, chosen_installation().library()),
        folder.path(),
    );
    let other = other.display().to_string();
    let more = [("LD_PRELOAD", other.as_str())];
    let text = run_preloaded(&program, &[], 2, &path, &more).expect_success();
    let right = "has right values by functions with large counts";
    assert_eq!(text.matches(right).count(), 2, "{text}");
}
