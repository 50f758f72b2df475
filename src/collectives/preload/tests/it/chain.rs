//! Tools that intercept MPI, too.

use std::path::{Path, PathBuf};
use std::process::Command;

use launcher::LibraryName;
use tempfile::TempDir;
use testkit::mpi::{chosen_family, chosen_installation};
use testkit::tables::{forcing_table, save_table};

use crate::corners::calls;
use crate::launch::{compiled, preloaded, run_preloaded, warnings};

/// Compiles a part of `tool.c`.
fn part(folder: &Path, name: &str, flags: &[&str]) -> PathBuf {
    let folder = folder.join(name);
    std::fs::create_dir(&folder).expect("a folder");
    compiled("tool.c", &folder, flags)
}

/// Whether the tool has seen each call of the program on both ranks, and nothing else.
fn is_counted(text: &str) -> bool {
    let counts = "allreduces 100, broadcasts 50, barriers 7, duplicates 1, messages 0";
    (0..2).all(|rank| text.contains(&format!("tool: rank {rank} started 1, {counts}\n")))
}

/// Checks calls of the functions of the form that these flags choose.
fn check_either_order(form: &[&str]) {
    let part =
        |folder: &Path, name: &str, flags: &[&str]| part(folder, name, &[flags, form].concat());
    let folder = TempDir::new().expect("a temporary folder");
    let folder = folder.path();
    let tool = part(folder, "tool", &["-DTOOL", "-shared", "-fPIC"]);
    let tool = tool.display().to_string();
    let program = part(folder, "program", &["-DPROGRAM"]);
    let linked = part(
        folder,
        "linked",
        &["-DPROGRAM", "-Wl,--no-as-needed", &tool],
    );
    let whole = part(folder, "whole", &["-DPROGRAM", "-DTOOL"]);
    let path = save_table(&forcing_table(1, chosen_installation().library()), folder);
    let ours = preloaded().display().to_string();
    let behind = format!("{ours}:{tool}");
    let places = [
        (&program, behind.clone(), true),
        (&program, format!("{tool}:{ours}"), false),
        (&linked, ours.clone(), true),
        (&whole, ours, false),
    ];
    for (executable, preloading, is_named) in places {
        let more = [
            ("LD_PRELOAD", preloading.as_str()),
            ("COLLTUNE_ATTACH_AFTER", "0"),
        ];
        let text = run_preloaded(executable, &[], 2, &path, &more).expect_success();
        assert!(text.contains("the sums are right"), "{preloading}: {text}");
        assert!(is_counted(&text), "{preloading}: {text}");
        assert_eq!(calls(&text, "allreduce/"), 100, "{preloading}: {text}");
        assert_eq!(calls(&text, "bcast/"), 50, "{preloading}: {text}");
        let named = format!("{tool} intercepts MPI, too");
        assert_eq!(text.contains(&named), is_named, "{preloading}: {text}");
        assert!(warnings(&text).is_empty(), "{preloading}: {text}");
    }
    for idle in [("COLLTUNE_DISABLE", "1"), ("COLLTUNE_TABLE", "")] {
        let more = [("LD_PRELOAD", behind.as_str()), idle];
        let text = run_preloaded(&program, &[], 2, &path, &more).expect_success();
        assert!(text.contains("the sums are right"), "{idle:?}: {text}");
        assert!(is_counted(&text), "{idle:?}: {text}");
    }
}

#[test]
fn a_tool_and_the_table_work_in_either_order_under_mpi() {
    check_either_order(&[]);
}

#[test]
fn a_tool_and_the_table_both_see_calls_with_large_counts_under_mpi() {
    if chosen_family() == LibraryName::Mpich {
        check_either_order(&["-DLARGE"]);
    }
}

/// Tools intercept the names without `P`. Creating communicators is passed on within the library.
#[test]
fn messages_of_ours_are_sent_by_names_that_tools_do_not_intercept_under_mpi() {
    let listed = Command::new("nm")
        .args(["-D", "--undefined-only"])
        .arg(preloaded())
        .output();
    let listed = listed.expect("binutils are installed").stdout;
    let names = String::from_utf8_lossy(&listed);
    let names = names
        .lines()
        .filter_map(|line| line.trim().strip_prefix("U "));
    let plain: Vec<&str> = names
        .filter(|name| name.starts_with("MPI_") && !name.starts_with("MPI_T_"))
        .collect();
    assert_eq!(plain, [""; 0]);
}
