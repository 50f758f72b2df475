//! Starting a program on several ranks, with the library that these tests are linked to.

use std::time::Duration;

use launcher::{Job, Launcher, LocalLauncher, Outcome, discover, select};
use launcher::{LibraryChoice, LibraryName, LocalOptions};
use tempfile::TempDir;

/// Longer than the ranks give themselves.
const TIMEOUT: Duration = Duration::from_secs(280);

pub(crate) fn family() -> LibraryName {
    match std::env::var("MPI_FAMILY").as_deref() {
        Ok("mpich") => LibraryName::Mpich,
        _ => LibraryName::OpenMpi,
    }
}

/// Runs `exec-ranks` and returns what it printed.
///
/// # Panics
///
/// If it ends in any way but well.
pub(crate) fn run(mode: &str, ranks: u32) -> String {
    let choice = LibraryChoice {
        name: Some(family()),
        ..LibraryChoice::default()
    };
    let path = std::env::var_os("PATH").expect("PATH is set");
    let installation = select(&choice, &discover(&path)).expect("the library is installed");
    let launcher = LocalLauncher::new(installation, LocalOptions::default(), launcher::cores());
    let folder = TempDir::new().expect("a temporary folder");
    let log = folder.path().join("log");
    let job = Job {
        driver: env!("CARGO_BIN_EXE_exec-ranks").into(),
        // The program's one argument.
        plan: mode.into(),
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
    println!("{printed}");
    printed
}
