//! Compiling for a library and starting ranks, which never outlive a test.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::run::Place;

/// What one launch may take.
const PATIENCE: Duration = Duration::from_secs(100);

/// An MPI library to test with.
pub(crate) struct Library {
    mpicc: PathBuf,
    pub(crate) mpirun: PathBuf,
    /// As the library or its launcher tells.
    pub(crate) version: String,
}

impl Library {
    /// The library whose compiler is named by a variable, or called `mpicc`; `None` if there is none.
    pub(crate) fn find(variable: &str, mpicc: &str, mpirun: &str, marker: &str) -> Option<Self> {
        let mpicc = std::env::var_os(variable).unwrap_or_else(|| mpicc.into());
        let mpicc = on_path(Path::new(&mpicc))?;
        let beside = mpicc.with_file_name(mpirun);
        let mpirun = match beside.exists() {
            true => beside,
            false => on_path(Path::new(mpirun))?,
        };
        Self::at(mpicc, mpirun, marker)
    }

    /// A release that `scripts/newer-mpi` installed; `None`, with a word, if it did not.
    pub(super) fn newer(release: &str, marker: &str) -> Option<Self> {
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
        let folder = cache
            .or(home)?
            .join("colltune/mpi")
            .join(release)
            .join("bin");
        let library = Self::at(folder.join("mpicc"), folder.join("mpirun"), marker);
        if library.is_none() {
            eprintln!("skipped: there is no {release}; scripts/newer-mpi installs it");
        }
        library
    }

    /// The library's own file.
    pub(super) fn file(&self) -> PathBuf {
        self.mpicc.with_file_name("../lib/libmpi.so.12")
    }

    /// The library with these programs, if the launcher tells its version behind a marker.
    pub(super) fn at(mpicc: PathBuf, mpirun: PathBuf, marker: &str) -> Option<Self> {
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

    /// Runs a program on some ranks and returns what it prints; it must end well.
    pub(super) fn run(
        &self,
        place: &Place,
        flags: &[&str],
        ranks: u32,
        command: &[&Path],
        environment: &[(&str, OsString)],
    ) -> String {
        let out = place.path("out");
        let file = std::fs::File::create(&out).unwrap();
        let mut child = Command::new(&self.mpirun)
            .args(flags)
            .args(["-n", &ranks.to_string()])
            .args(command)
            .current_dir(place.path(""))
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .stdin(Stdio::null())
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .process_group(0)
            .spawn()
            .unwrap();
        let end = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > end {
                let group = Pid::from_raw(child.id() as i32);
                // The launcher ends its ranks, which are in groups of their own.
                killpg(group, Signal::SIGTERM).unwrap();
                std::thread::sleep(Duration::from_secs(3));
                let _ = killpg(group, Signal::SIGKILL);
                child.wait().unwrap();
                panic!(
                    "{command:?} on {ranks} ranks takes too long: {}",
                    place.read("out")
                );
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        let text = place.read("out");
        assert!(status.success(), "{status}, {ranks} ranks: {text}");
        text
    }
}

fn on_path(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return program.exists().then(|| program.to_owned());
    }
    let path = std::env::var_os("PATH")?;
    let mut found = std::env::split_paths(&path).map(|folder| folder.join(program));
    found.find(|path| path.exists())
}
