//! Programs on several ranks, with the library that the tests are linked to.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use launcher::{
    Installation, Job, Launcher, LibraryChoice, LibraryName, LocalLauncher, LocalOptions, Outcome,
    discover, select,
};

/// The library, as `scripts/with-mpi` names it.
pub fn family() -> LibraryName {
    match env::var("MPI_FAMILY").as_deref() {
        Ok("mpich") => LibraryName::Mpich,
        _ => LibraryName::OpenMpi,
    }
}

/// The library's installation.
///
/// # Panics
/// If its launcher is not on `$PATH`.
pub fn installation() -> Installation {
    static FOUND: OnceLock<Installation> = OnceLock::new();
    let find = || {
        let choice = LibraryChoice {
            name: Some(family()),
            ..LibraryChoice::default()
        };
        let path = env::var_os("PATH").expect("PATH is set");
        select(&choice, &discover(&path)).expect("the library is installed")
    };
    FOUND.get_or_init(find).clone()
}

/// What starts ranks on this machine, as many as are wanted. It is the same for all launches of a test:
/// whether ranks can be bound costs a launch to find out.
pub fn launcher() -> &'static LocalLauncher {
    static STARTER: OnceLock<LocalLauncher> = OnceLock::new();
    let new = || LocalLauncher::new(installation(), LocalOptions::default(), launcher::cores());
    STARTER.get_or_init(new)
}

/// A job of a program with one argument on ranks of this machine.
pub fn job(program: &Path, argument: &Path, ranks: u32, log: PathBuf) -> Job {
    Job {
        driver: program.to_owned(),
        plan: argument.to_owned(),
        ranks,
        ppn: ranks,
        log,
        // MPICH's ranks spin otherwise, for a time slice where they outnumber cores.
        environment: vec![("MPIR_CVAR_POLLS_BEFORE_YIELD".into(), "10".into())],
        timeout: None,
        begin_in: None,
        keep: false,
    }
}

/// What a launch printed, and how it ended.
pub struct Printed {
    /// What launcher and ranks printed.
    pub text: String,
    /// How it ended.
    pub outcome: Outcome,
}

impl Printed {
    /// The text of a launch that went well.
    ///
    /// # Panics
    /// If it did not.
    #[track_caller]
    pub fn good(self) -> String {
        assert_eq!(self.outcome, Outcome::Success, "{}", self.text);
        self.text
    }
}

/// Runs a program with one argument on some ranks, which are killed after `patience`.
///
/// # Panics
/// If the launch cannot be started, or does not end although it is killed.
#[track_caller]
pub fn run(program: &Path, argument: &Path, ranks: u32, patience: Duration) -> Printed {
    let folder = tempfile::tempdir().expect("a folder");
    let job = Job {
        timeout: Some(patience),
        ..job(program, argument, ranks, folder.path().join("log"))
    };
    let mut running = launcher().start(&job).expect("started");
    let exit = running.wait_timeout(patience + Duration::from_secs(10));
    let exit = exit.expect("watched").expect("the launch ends");
    Printed {
        text: fs::read_to_string(&job.log).unwrap_or_default(),
        outcome: exit.outcome,
    }
}
