//! The C interface, of the shared and of the static library.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use tempfile::TempDir;
use testkit::mpi::chosen_installation;
use testkit::tables::{forcing_table, save_table};

use crate::launch::{archived, compiled, preloaded, run};

/// Calls with random arguments.
const CALLS: &str = "20000";

/// A program that calls every function of the header, linked with these flags.
fn check(folder: &Path, flags: &[&str], environment: &[(&str, &str)]) {
    let program = compiled("interface.c", folder, flags);
    let mut table = forcing_table(1, chosen_installation().library());
    let path = save_table(&table, folder);
    table.provenance.cpu = "Other CPU".to_owned();
    let other = save_table(&table, &folder.join("other"));
    let text = |file: &Path| file.display().to_string();
    let missing = text(&folder.join("missing.yaml"));
    // The expected code is COLLTUNE_ERR_NODE if the kernel names the CPU, and COLLTUNE_SUCCESS if the table is forced.
    let refused = if environment::host_cpu_model().is_empty() {
        "0"
    } else {
        "8"
    };
    for (force, code) in [("0", refused), ("1", "0")] {
        let arguments = [text(&path), missing.clone(), text(&other), code.to_owned()];
        let mut environment = environment.to_vec();
        environment.push(("COLLTUNE_FORCE", force));
        if force == "1" {
            environment.push(("COLLTUNE_EXTRAPOLATE", "1"));
        }
        let printed = run(&program, &arguments, 4, &environment).expect_success();
        assert!(printed.contains("the interface holds"), "{printed}");
        let warnings = printed.matches("it is used anyway").count();
        assert_eq!(warnings == 1, code != refused, "{printed}");
    }
}

#[test]
fn odd_arguments_get_error_codes_under_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    let archive = archived(folder.path()).display().to_string();
    let flags = [archive.as_str(), "-lpthread", "-ldl", "-lm"];
    let program = compiled("arguments.c", folder.path(), &flags);
    let path = save_table(
        &forcing_table(1, chosen_installation().library()),
        folder.path(),
    );
    let broken = folder.path().join("broken.yaml");
    std::fs::write(&broken, "format: colltune-table 2\nname: [\n").expect("written");
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let fresh = now.map_or(1, |now| now.as_nanos() as u64).to_string();
    // Open MPI's ranks would spin, which takes long if other programs use the cores.
    let yielding = [("OMPI_MCA_mpi_yield_when_idle", "1")];
    for seed in ["1", &fresh] {
        println!("seed {seed}");
        let text = |file: &Path| file.display().to_string();
        let arguments = [
            seed.to_owned(),
            CALLS.to_owned(),
            text(&path),
            text(&broken),
        ];
        let printed = run(&program, &arguments, 2, &yielding).expect_success();
        assert!(printed.contains("are answered"), "{printed}");
    }
}

/// The external names that a file defines.
fn defined(file: &Path) -> BTreeSet<String> {
    let output = Command::new("nm")
        .args(["--extern-only", "--defined-only", "--format=posix"])
        .arg(file)
        .output()
        .expect("nm starts");
    let listing = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = listing.lines().filter(|line| !line.ends_with(':'));
    let names = lines.filter_map(|line| line.split(' ').next());
    names.map(str::to_owned).collect()
}

#[test]
fn the_c_interface_agrees_with_its_header_under_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    let library = preloaded();
    let directory = library.parent().expect("a folder").display().to_string();
    let flags = ["-L", &directory, "-lcolltune"];
    let environment = [("LD_LIBRARY_PATH", directory.as_str())];
    check(folder.path(), &flags, &environment);
}

#[test]
fn the_static_library_has_only_the_c_interface_under_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    let archive = archived(folder.path());
    let header = include_str!("../../../../../include/colltune.h");
    let is_part = |c: char| c.is_ascii_lowercase() || c == '_';
    let called = header.split('(').map(|text| {
        let start = text.trim_end_matches(is_part).len();
        &text[start..]
    });
    let functions = called.filter(|name| name.starts_with("colltune_"));
    let functions: BTreeSet<String> = functions.map(str::to_owned).collect();
    assert_eq!(functions.len(), 21);
    assert_eq!(defined(&archive), functions);
    let flags = [&archive.display().to_string(), "-lpthread", "-ldl", "-lm"];
    check(folder.path(), &flags, &[]);
    let hooks = defined(&folder.path().join("interface"));
    assert!(hooks.contains("colltune_load"), "{hooks:?}");
    let is_hook = |name: &&String| name.starts_with("MPI_") || name.starts_with("mpi_");
    assert_eq!(hooks.iter().find(is_hook), None, "collectives are MPI's");
}
