//! Collectives with large counts, such as `MPI_Bcast_c`, under libraries that have them.

use std::collections::BTreeMap;
use std::process::Command;

use launcher::LibraryName;
use tempfile::TempDir;
use testkit::mpi::{chosen_family, chosen_installation};
use testkit::tables::{forcing_table, save_table};

use crate::corners::calls;
use crate::launch::{compiled, preloaded, run_preloaded, warnings};

/// The number of calls of each collective that the program says it has made, and that the summary counts.
pub(crate) fn numbers(text: &str) -> [BTreeMap<String, u64>; 2] {
    let made = text.lines().filter_map(|line| {
        let (collective, calls) = line.strip_prefix("made ")?.split_once(' ')?;
        Some((collective.to_owned(), calls.parse().ok()?))
    });
    let rows = text
        .lines()
        .filter_map(|line| line.strip_prefix("colltune: "));
    let mut counted = BTreeMap::new();
    for row in rows {
        let mut words = row.split_whitespace();
        if let (Some(collective), Some(Ok(calls))) =
            (words.next(), words.next().map(str::parse::<u64>))
        {
            *counted.entry(collective.to_owned()).or_default() += calls;
        }
    }
    let mut made: BTreeMap<String, u64> = made.collect();
    made.retain(|_, calls| *calls > 0);
    counted.retain(|collective, _| made.contains_key(collective));
    [made, counted]
}

/// Checks the output of `large.c`.
fn check(text: &str) {
    assert!(text.contains("large counts agree"), "{text}");
    assert!(warnings(text).is_empty(), "{text}");
    let [made, counted] = numbers(text);
    assert!(made.len() >= 7, "{text}");
    assert_eq!(made, counted, "{text}");
}

#[test]
fn calls_with_large_counts_are_carried_out_like_others_under_mpi() {
    if chosen_family() != LibraryName::Mpich {
        return;
    }
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("large.c", folder.path(), &[]);
    for (place, ranks) in [(1, 2), (2, 3)] {
        let path = save_table(
            &forcing_table(place, chosen_installation().library()),
            folder.path(),
        );
        let text = run_preloaded(&program, &[], ranks, &path, &[]).expect_success();
        check(&text);
        let [made, _] = numbers(&text);
        assert_eq!(made.len(), 11, "{text}");
        for (collective, calls_made) in made {
            let ours = calls(&text, &format!("{collective}/"));
            // A third of the calls have no data.
            assert!(ours > calls_made / 2, "{collective}: {text}");
        }
    }
}

#[test]
fn counts_that_no_int_holds_are_left_to_the_library_under_mpi() {
    if chosen_family() != LibraryName::Mpich {
        return;
    }
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("large.c", folder.path(), &[]);
    let path = save_table(
        &forcing_table(1, chosen_installation().library()),
        folder.path(),
    );
    let text = run_preloaded(&program, &["big".to_owned()], 2, &path, &[]).expect_success();
    check(&text);
    assert_eq!(calls(&text, "bcast/"), 2, "{text}");
    assert!(text.contains("default (2 GiB or more)"), "{text}");
    assert!(text.contains("default (no data)"), "{text}");
}

/// Python's interpreter, for instance, does not know MPI, and mpi4py calls functions with large counts.
#[test]
fn modules_that_a_program_loads_are_served_under_mpi() {
    if chosen_family() != LibraryName::Mpich {
        return;
    }
    let folder = TempDir::new().expect("a temporary folder");
    let host = folder.path().join("host");
    std::fs::create_dir(&host).expect("a folder");
    let program = compiled("large.c", &host, &["-DHOST", "-Wl,--as-needed", "-ldl"]);
    let module = compiled(
        "large.c",
        folder.path(),
        &["-shared", "-fPIC", "-Dmain=run"],
    );
    let path = save_table(
        &forcing_table(1, chosen_installation().library()),
        folder.path(),
    );
    let arguments = [module.display().to_string()];
    let text = run_preloaded(&program, &arguments, 2, &path, &[]).expect_success();
    check(&text);
    assert!(calls(&text, "allreduce/") > 0, "{text}");
}

/// Programs ask the dynamic linker which functions there are.
#[test]
fn large_counts_are_offered_only_where_the_library_has_them_under_mpi() {
    let output = Command::new("nm")
        .args(["-D", "--defined-only", "--format=posix"])
        .arg(preloaded())
        .output();
    let listed = output.expect("binutils are installed").stdout;
    let names = String::from_utf8_lossy(&listed);
    let names = names.lines().filter_map(|line| line.split(' ').next());
    let offered = names.filter(|name| name.contains("MPI_") && name.ends_with("_c"));
    let expected = match chosen_family() {
        // Eight collectives that are served, three kinds of windows, and the forms of collectives that are not served (8
        // blocking, 16 nonblocking, 16 persistent, 15 of neighbours), with two names each.
        LibraryName::Mpich | LibraryName::IntelMpi => 132,
        LibraryName::OpenMpi => 0,
    };
    assert_eq!(offered.count(), expected);
}
