//! Starts `runtime-ranks` on several ranks, with the library that these tests are linked to.

use std::time::Duration;

use launcher::{Job, Launcher, LocalLauncher, Outcome, discover, select};
use launcher::{LibraryChoice, LibraryName, LocalOptions};
use tempfile::TempDir;

#[path = "../../../preload/tests/it/tables.rs"]
mod tables;

const TIMEOUT: Duration = Duration::from_secs(120);

fn family() -> LibraryName {
    match std::env::var("MPI_FAMILY").as_deref() {
        Ok("mpich") => LibraryName::Mpich,
        _ => LibraryName::OpenMpi,
    }
}

#[test]
fn the_rust_interface_does_what_mpi_does() {
    for (place, ranks) in [(0, 4), (3, 3)] {
        check(place, ranks);
    }
}

fn check(place: usize, ranks: u32) {
    let choice = LibraryChoice {
        name: Some(family()),
        ..LibraryChoice::default()
    };
    let path = std::env::var_os("PATH").expect("PATH is set");
    let installation = select(&choice, &discover(&path)).expect("the library is installed");
    let folder = TempDir::new().expect("a temporary folder");
    let table = tables::forcing(place, installation.library());
    let launcher = LocalLauncher::new(installation, LocalOptions::default(), launcher::cores());
    let log = folder.path().join("log");
    let job = Job {
        driver: env!("CARGO_BIN_EXE_runtime-ranks").into(),
        // The program's one argument.
        plan: tables::saved(&table, folder.path()),
        ranks,
        ppn: ranks,
        log: log.clone(),
        // MPICH's ranks spin otherwise, for a time slice where they outnumber cores.
        environment: vec![("MPIR_CVAR_POLLS_BEFORE_YIELD".into(), "10".into())],
        timeout: Some(TIMEOUT),
        begin_in: None,
        keep: false,
    };
    let mut running = launcher.start(&job).expect("started");
    let exit = running.wait_timeout(TIMEOUT + Duration::from_secs(10));
    let exit = exit.expect("watched").expect("the launch ends");
    let printed = std::fs::read_to_string(&log).unwrap_or_default();
    assert_eq!(exit.outcome, Outcome::Success, "{printed}");
    assert!(
        printed.contains("the runtime does what MPI does"),
        "{printed}"
    );
}
