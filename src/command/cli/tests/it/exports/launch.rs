//! Compiles programs for a library and starts ranks, which never outlive a test.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use testkit::process;

use crate::mpi::sessions;
use crate::run::Place;

/// The time limit for one launch.
const PATIENCE: Duration = Duration::from_secs(100);

/// An MPI library to test with.
pub(crate) struct Library {
    mpicc: PathBuf,
    pub(crate) mpirun: PathBuf,
    /// The version that the library or its launcher reports.
    pub(crate) version: String,
}

impl Library {
    /// The library whose compiler is named by a variable, or called `mpicc`; `None` if there is none.
    pub(crate) fn find(variable: &str, mpicc: &str, mpirun: &str, marker: &str) -> Option<Self> {
        let mpicc = std::env::var_os(variable).unwrap_or_else(|| mpicc.into());
        let mpicc = process::find_program(mpicc)?;
        let beside = mpicc.with_file_name(mpirun);
        let mpirun = if beside.exists() {
            beside
        } else {
            process::find_program(mpirun)?
        };
        Self::at(mpicc, mpirun, marker)
    }

    /// A release that `scripts/newer-mpi` has installed; `None`, with a message, if it has not.
    pub(super) fn newer(release: &str, marker: &str) -> Option<Self> {
        let folder = process::find_cached("mpi").map(|mpi| mpi.join(release).join("bin"));
        let library =
            folder.and_then(|folder| Self::at(folder.join("mpicc"), folder.join("mpirun"), marker));
        testkit::require("newer MPI library", library)
    }

    /// Intel MPI as `scripts/intel-mpi` has installed it; `None`, with a message, if it has not.
    pub(super) fn intel() -> Option<Self> {
        testkit::require("Intel MPI", Self::find_intel())
    }

    /// The same, if there is a measuring program for it.
    pub(crate) fn intel_with_driver() -> Option<Self> {
        let found = Self::find_intel().filter(|library| {
            let folder = std::env::var_os("COLLTUNE_LIBDIR").map(PathBuf::from);
            let driver = format!("intelmpi-{}/colltune-driver", library.version);
            folder.is_some_and(|folder| folder.join(driver).exists())
        });
        testkit::require("Intel MPI", found)
    }

    fn find_intel() -> Option<Self> {
        let folder = process::find_cached("mpi/intelmpi-2021.19.0")?.join("bin");
        Self::at(folder.join("mpicc"), folder.join("mpirun"), "Version ")
    }

    /// The path of the library's shared object.
    pub(super) fn file(&self) -> PathBuf {
        self.mpicc.with_file_name("../lib/libmpi.so.12")
    }

    /// The library with these programs, if the launcher prints its version after a marker.
    pub(crate) fn at(mpicc: PathBuf, mpirun: PathBuf, marker: &str) -> Option<Self> {
        let output = Command::new(&mpirun).arg("--version").output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let version = text.split_once(marker)?.1.split_whitespace().next()?;
        Some(Self {
            mpicc,
            mpirun,
            version: version.to_owned(),
        })
    }

    /// Compiles a source of these tests into a place.
    pub(crate) fn compile(&self, place: &Place, source: &str, flags: &[&str]) -> PathBuf {
        let name = Path::new(source).file_stem().unwrap().to_str().unwrap();
        let program = place.path(name);
        let output = Command::new(&self.mpicc)
            .args(["-O1", "-Wall", "-o"])
            .arg(&program)
            .arg(
                Path::new(env!("CARGO_MANIFEST_DIR"))
                    .join("tests/it")
                    .join(source),
            )
            .args(flags)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        program
    }

    /// Runs a program on some ranks and returns its output; the program must succeed.
    pub(super) fn run(
        &self,
        place: &Place,
        flags: &[&str],
        ranks: u32,
        command: &[&Path],
        environment: &[(&str, OsString)],
    ) -> String {
        let ended = self.start(place, flags, ranks, command, environment);
        let text = ended.out + &ended.err;
        assert!(
            ended.status.success(),
            "{}, {ranks} ranks: {text}",
            ended.status
        );
        text
    }

    /// Runs a program on some ranks to its end, however it ends.
    pub(super) fn start(
        &self,
        place: &Place,
        flags: &[&str],
        ranks: u32,
        command: &[&Path],
        environment: &[(&str, OsString)],
    ) -> process::ProgramResult {
        let mut launch = Command::new(&self.mpirun);
        launch
            .args(flags)
            .args(["-n", &ranks.to_string()])
            .args(command)
            .current_dir(place.path(""))
            .env("TMPDIR", sessions(place))
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        process::run_to_end(&mut launch, PATIENCE)
    }
}
