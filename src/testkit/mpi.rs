//! Programs on several ranks, run with the MPI library that the tests are linked to.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use launcher::{
    Installation, Job, Launcher, LibraryChoice, LibraryName, LocalLauncher, LocalOptions, Outcome,
    discover_libraries, select_installation,
};

/// The MPI library, chosen by `scripts/with-mpi`.
pub fn chosen_family() -> LibraryName {
    match env::var("MPI_FAMILY").as_deref() {
        Ok("mpich") => LibraryName::Mpich,
        Ok("intelmpi") => LibraryName::IntelMpi,
        _ => LibraryName::OpenMpi,
    }
}

/// The library's installation.
///
/// # Panics
/// If its launcher is not on `$PATH`.
pub fn chosen_installation() -> Installation {
    static FOUND: OnceLock<Installation> = OnceLock::new();
    let find = || {
        let choice = LibraryChoice {
            name: Some(chosen_family()),
            ..LibraryChoice::default()
        };
        let path = env::var_os("PATH").expect("PATH is set");
        select_installation(&choice, &discover_libraries(&path)).expect("the library is installed")
    };
    FOUND.get_or_init(find).clone()
}

/// The launcher on this machine, for any number of ranks. All launches of a test share it, because it needs a launch
/// to find out whether ranks can be bound.
pub fn shared_launcher() -> &'static LocalLauncher {
    static STARTER: OnceLock<LocalLauncher> = OnceLock::new();
    let new = || {
        LocalLauncher::new(
            chosen_installation(),
            LocalOptions::default(),
            launcher::usable_cores(),
        )
    };
    STARTER.get_or_init(new)
}

/// A job that runs a program with one argument on ranks of this machine.
pub fn local_job(program: &Path, argument: &Path, ranks: u32, log: PathBuf) -> Job {
    Job {
        driver: program.to_owned(),
        plan: argument.to_owned(),
        ranks,
        ppn: ranks,
        log,
        // Otherwise MPICH's ranks spin for a whole time slice where they outnumber the cores.
        environment: vec![("MPIR_CVAR_POLLS_BEFORE_YIELD".into(), "10".into())],
        timeout: None,
        begin_in: None,
        keep: false,
    }
}

/// The output and outcome of a launch.
pub struct LaunchOutput {
    /// The output of the launcher and the ranks.
    pub text: String,
    /// The outcome.
    pub outcome: Outcome,
}

impl LaunchOutput {
    /// The output of a successful launch.
    ///
    /// # Panics
    /// If the launch failed.
    #[track_caller]
    pub fn expect_success(self) -> String {
        assert_eq!(self.outcome, Outcome::Success, "{}", self.text);
        self.text
    }
}

/// Runs a program with one argument on some ranks, and kills them after `patience`.
///
/// # Panics
/// If the launch cannot be started, or does not end after it is killed.
#[track_caller]
pub fn run_ranks(program: &Path, argument: &Path, ranks: u32, patience: Duration) -> LaunchOutput {
    let folder = tempfile::tempdir().expect("a folder");
    let job = Job {
        timeout: Some(patience),
        ..local_job(program, argument, ranks, folder.path().join("log"))
    };
    let mut running = shared_launcher().start(&job).expect("started");
    let exit = running.wait_timeout(patience + Duration::from_secs(10));
    let exit = exit.expect("watched").expect("the launch ends");
    LaunchOutput {
        text: fs::read_to_string(&job.log).unwrap_or_default(),
        outcome: exit.outcome,
    }
}
