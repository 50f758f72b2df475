//! Programs in Fortran and C++, whose interfaces lead to the functions of C.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

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
pub(crate) fn interfaces() -> Vec<&'static [&'static str]> {
    let mut interfaces: Vec<&[&str]> = vec![&[], &["-DMODULE"], &["-DF08"]];
    if chosen_family() == LibraryName::Mpich {
        interfaces.push(&["-DF08", "-DLARGE"]);
    }
    interfaces
}

/// One of the library's compilers, and how it is called for an interface.
struct Compiler<'a> {
    /// Such as `mpifort`.
    name: &'a str,
    flags: &'a [&'a str],
    /// A program that only uses the interface.
    empty: &'a str,
}

impl Compiler<'_> {
    /// Compiles one of `programs/`. `None` if there is no such compiler, or none for the interface, so that it does not
    /// compile the empty program either.
    fn compile(&self, source: &str, folder: &Path) -> Option<PathBuf> {
        let output = self.run(source, folder)?;
        if !output.status.success() && !self.run(self.empty, folder)?.status.success() {
            return None;
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        Some(folder.join("program"))
    }

    /// Runs the compiler, if there is one.
    fn run(&self, source: &str, folder: &Path) -> Option<Output> {
        let mpicc = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".to_owned());
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/programs");
        Command::new(mpicc.replace("mpicc", self.name))
            .args(self.flags)
            .arg("-o")
            .arg(folder.join("program"))
            .arg(programs.join(source))
            .current_dir(folder)
            .output()
            .ok()
    }
}

/// A program in Fortran for an interface.
pub(crate) fn compiled_fortran(source: &str, interface: &[&str], folder: &Path) -> Option<PathBuf> {
    // `mpif.h` has no declarations, so argument types differ between calls.
    let flags = ["-fallow-argument-mismatch", "-w", "-ffree-line-length-none"];
    let compiler = Compiler {
        name: "mpifort",
        flags: &[&flags, interface].concat(),
        empty: "empty.F90",
    };
    testkit::require("Fortran compiler", compiler.compile(source, folder))
}

/// A program is wrong, not its compiler missing, if the compiler finds a name nowhere.
#[test]
fn a_program_that_names_what_is_not_there_is_not_skipped_under_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    if compiled_fortran("empty.F90", &["-DMODULE"], folder.path()).is_none() {
        return;
    }
    let source = folder.path().join("lost.F90");
    let lost = "use mpi, only: not_there\nend\n";
    std::fs::write(&source, lost).expect("written");
    let source = source.display().to_string();
    let compile = || compiled_fortran(&source, &["-DMODULE"], folder.path());
    std::panic::catch_unwind(compile).expect_err("it does not compile");
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
            for collective in Collective::ALL {
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
    let compiler = Compiler {
        name: "mpicxx",
        flags: &[],
        empty: "empty.cpp",
    };
    let compiled = compiler.compile("bindings.cpp", folder.path());
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
