//! Starts `runtime-ranks` on several ranks, with the library that these tests are linked to.

mod exhaustively;

use std::time::Duration;

use testkit::{mpi, tables};

#[test]
fn the_rust_interface_does_what_mpi_does() {
    for (place, ranks) in [(0, 4), (3, 3)] {
        check(place, ranks);
    }
}

fn check(place: usize, ranks: u32) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let table = tables::forcing_table(place, mpi::chosen_installation().library());
    let table = tables::save_table(&table, folder.path());
    let program = env!("CARGO_BIN_EXE_runtime-ranks").as_ref();
    let printed = mpi::run_ranks(program, &table, ranks, Duration::from_secs(120)).expect_success();
    assert!(
        printed.contains("the runtime does what MPI does"),
        "{printed}"
    );
}
