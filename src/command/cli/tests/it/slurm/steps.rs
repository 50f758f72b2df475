//! `colltune run` with Slurm's own launcher.

use std::path::Path;

use testkit::tables;

use super::bed::Bed;
use crate::exports::launch::Library;
use crate::run::{Place, driver_of};

const COLLECTIVES: &str = "
  allreduce:
    message_size: bytes of one rank's vector
    shapes:
      - nodes: 2
        ppn: 1
        operators: any
        rules:
          - {from: 0, candidate: allreduce/recursive_doubling, speedup: 1.5, confidence: high, confirmed: true}
";

#[test]
fn steps_of_openmpi_and_mpich_run_with_a_table() {
    let Some(bed) = Bed::up() else { return };
    for (name, mpi, library) in [
        (
            "openmpi",
            "--mpi=pmix",
            Library::find("MPICC_OPENMPI", "mpicc.openmpi", "mpirun.openmpi", ") "),
        ),
        (
            "mpich",
            "--mpi=pmi2",
            Library::find("MPICC_MPICH", "mpicc.mpich", "mpiexec.mpich", "Version:"),
        ),
    ] {
        let (Some(library), Some(driver)) = (library, driver_of(name)) else {
            return;
        };
        let libdir = driver.parent().and_then(|folder| folder.parent()).unwrap();
        check(&bed, name, mpi, &library, libdir);
    }
}

/// Runs a program on two nodes, by `colltune run` and by the variables that it prints.
fn check(bed: &Bed, name: &str, mpi: &str, library: &Library, libdir: &Path) {
    let place = Place::new();
    let program = library.compile(&place, "slurm/where.c", &[]);
    let program = program.to_str().unwrap();
    let table = tables::table_yaml("by-hand", name, &library.version, COLLECTIVES);
    place.write("table.yaml", table);
    let step = ["srun", mpi, "-N2", "--ntasks-per-node=1"];
    let run = |command: &[&str]| {
        let mut colltune = vec![
            env!("CARGO_BIN_EXE_colltune"),
            "run",
            "table.yaml",
            "--force",
        ];
        colltune.extend(command);
        let folder = format!("COLLTUNE_LIBDIR={}", libdir.display());
        let env_command = [&["env", &folder], &colltune[..]].concat();
        let mut ran = bed.run(&place.path(""), &env_command);
        // Seen once in 800 launches: a rank crashes in Open MPI 4.1.4's own MPI_Init, before it runs any code of ours.
        if ran.err.contains("Signal: Segmentation fault") {
            eprintln!("launched again: {ran:?}");
            ran = bed.run(&place.path(""), &env_command);
        }
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.out
    };
    // The program has one call.
    let has_calls = |text: &str| {
        let mut rows = text.lines();
        let row = rows.find(|row| row.ends_with("allreduce/recursive_doubling"));
        let calls = row.and_then(|row| row.split_whitespace().nth(2).map(str::to_owned));
        assert_eq!(calls.as_deref(), Some("1"), "{text}");
    };
    has_calls(&run(&[&["--"], &step[..], &[program]].concat()));
    // For any launcher: each rank's shell reads the printed variables before it starts the program.
    let printed = run(&["--print-environment", "--log", "calls.txt"]);
    place.write("with-table.sh", printed);
    let script = ["sh", "-c", ". ./with-table.sh; exec \"$@\"", "sh", program];
    let ran = bed.run(&place.path(""), &[&step[..], &script].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    has_calls(&place.read("calls.txt"));
}
