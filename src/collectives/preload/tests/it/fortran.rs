//! Programs in Fortran and C++, whose interfaces lead to the functions of C.

use std::path::{Path, PathBuf};
use std::process::Command;

use launcher::LibraryName;
use schedule::Collective;
use tempfile::TempDir;
use testkit::mpi::{chosen_family, chosen_installation};
use testkit::tables::{forcing_table, save_table};

use crate::corners::calls;
use crate::large::numbers;
use crate::launch::{run_preloaded, warnings};
use crate::stress::has_even_only;

/// The interfaces of Fortran, each by the compiler's flags for `fortran.F90`.
fn interfaces() -> Vec<&'static [&'static str]> {
    let mut interfaces: Vec<&[&str]> = vec![&[], &["-DMODULE"], &["-DF08"]];
    if chosen_family() == LibraryName::Mpich {
        interfaces.push(&["-DF08", "-DLARGE"]);
    }
    interfaces
}

/// Compiles one of `programs/` with one of the library's compilers, such as `mpifort`. `None` if there is no such
/// compiler, or none for the interface that the program uses.
fn compiled_by(compiler: &str, flags: &[&str], source: &str, folder: &Path) -> Option<PathBuf> {
    let mpicc = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".to_owned());
    let program = folder.join("program");
    let output = Command::new(mpicc.replace("mpicc", compiler))
        .args(flags)
        .arg("-o")
        .arg(&program)
        .arg(
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("tests/it/programs")
                .join(source),
        )
        .current_dir(folder)
        .output()
        .ok()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let is_missing = ["not found", "Cannot open module", "Cannot read module"];
    if !output.status.success() && is_missing.iter().any(|text| errors.contains(text)) {
        return None;
    }
    assert!(output.status.success(), "{errors}");
    Some(program)
}

/// A program in Fortran for an interface.
pub(crate) fn compiled_fortran(source: &str, interface: &[&str], folder: &Path) -> Option<PathBuf> {
    // `mpif.h` has no declarations, so argument types differ between calls.
    let flags = ["-fallow-argument-mismatch", "-w", "-ffree-line-length-none"];
    let compiled = compiled_by("mpifort", &[&flags, interface].concat(), source, folder);
    testkit::require("Fortran compiler", compiled)
}

/// All collectives are called, also those that are not served.
#[test]
fn every_collective_of_each_fortran_interface_is_served_under_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    for interface in interfaces() {
        let Some(program) = compiled_fortran("fortran.F90", interface, folder.path()) else {
            continue;
        };
        for (place, ranks) in [(1, 2), (2, 3)] {
            let table = forcing_table(place, chosen_installation().library());
            // Algorithms for even numbers of ranks leave other calls to the library.
            let ranks = if has_even_only(&table) { 2 } else { ranks };
            let path = save_table(&table, folder.path());
            let text = run_preloaded(&program, &[], ranks, &path, &[]).expect_success();
            assert!(text.contains("Fortran agrees"), "{interface:?}: {text}");
            assert!(warnings(&text).is_empty(), "{interface:?}: {text}");
            let [made, _] = numbers(&text);
            for collective in Collective::SERVED {
                let ours = calls(&text, &format!("{collective}/"));
                let expected = made.get(&collective.to_string());
                assert_eq!(Some(&ours), expected, "{interface:?}, {collective}: {text}");
            }
        }
    }
}

#[test]
fn errors_of_fortran_programs_are_those_of_the_library_under_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    for interface in interfaces() {
        let Some(program) = compiled_fortran("fortran.F90", interface, folder.path()) else {
            continue;
        };
        let table = forcing_table(1, chosen_installation().library());
        let path = save_table(&table, folder.path());
        let text = run_preloaded(&program, &["wrong".to_owned()], 2, &path, &[]).expect_success();
        assert!(text.contains("Fortran agrees"), "{interface:?}: {text}");
        assert!(
            text.contains("default (wrong arguments)"),
            "{interface:?}: {text}"
        );
        assert_eq!(calls(&text, "allreduce/"), 1, "{interface:?}: {text}");
        assert_eq!(calls(&text, "bcast/"), 0, "{interface:?}: {text}");
    }
}

#[test]
fn both_interfaces_of_cpp_are_served_under_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    let compiled = compiled_by("mpicxx", &[], "bindings.cpp", folder.path());
    let Some(program) = testkit::require("C++ compiler", compiled) else {
        return;
    };
    let table = forcing_table(1, chosen_installation().library());
    let path = save_table(&table, folder.path());
    let text = run_preloaded(&program, &[], 2, &path, &[]).expect_success();
    let [made, counted] = numbers(&text);
    assert_eq!(made.len(), 2, "{text}");
    assert_eq!(made, counted, "{text}");
    for (collective, calls_made) in made {
        let ours = calls(&text, &format!("{collective}/"));
        assert_eq!(ours, calls_made, "{collective}: {text}");
    }
}
