//! Shell scripts that behave like launchers.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// The output of `mpirun --version` under Open MPI 4.
pub const OPEN_MPI_4: &str =
    "mpirun.openmpi (OpenRTE) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/";
/// The output of `mpirun --version` under Open MPI 5.
pub const OPEN_MPI_5: &str =
    "mpirun (Open MPI) 5.0.6\n\nReport bugs to https://www.open-mpi.org/community/help/";
/// The output of `mpiexec --version` under MPICH.
pub const MPICH: &str = "HYDRA build details:\n    Version:                                 4.0.2\n    Release Date: Thu";

/// The output of `mpirun --version` under Intel MPI.
pub const INTEL_MPI: &str = "Intel(R) MPI Library for Linux* OS, Version 2021.19.0 Build 20260929 (id: 1821d9b)\n\
                             Copyright 2003-2026, Intel Corporation.";

/// A directory of scripts.
pub struct Fakes(TempDir);

impl Default for Fakes {
    fn default() -> Self {
        Self::new()
    }
}

impl Fakes {
    /// An empty directory.
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    /// The path of a file in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The value of `$PATH` with this directory only.
    pub fn search_path(&self) -> OsString {
        self.0.path().into()
    }

    /// Adds a shell script, in which `$dir` is this directory.
    pub fn write_script(&self, name: &str, body: &str) -> PathBuf {
        let path = self.path(name);
        let text = format!("#!/bin/sh\ndir={}\n{body}\n", self.0.path().display());
        // A child process writes the file: if this process held it open for writing while another thread forks, the
        // kernel would refuse to execute it.
        let mut writer = Command::new("sh")
            .args(["-c", "cat > \"$0\" && chmod +x \"$0\""])
            .arg(&path)
            .stdin(Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut input = writer.stdin.take().expect("a pipe");
        input.write_all(text.as_bytes()).expect("the shell reads");
        drop(input);
        assert!(writer.wait().expect("the shell ends").success());
        path
    }

    /// Adds a launcher that prints `version` for `--version`, succeeds for `true`, and otherwise runs `body`.
    pub fn write_launcher(&self, name: &str, version: &str, body: &str) -> PathBuf {
        let body = format!(
            "case \"$*\" in\n--version) echo '{version}'; exit 0;;\n*' true') exit 0;;\nesac\n{body}"
        );
        self.write_script(name, &body)
    }

    /// Waits for the number that a script writes to a file.
    pub fn wait_for_number(&self, name: &str) -> i32 {
        let path = self.path(name);
        wait_for(&path.display().to_string(), || {
            fs::read_to_string(&path).ok()?.trim().parse().ok()
        })
    }
}

/// Waits up to 20 s until `look` finds something.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what} does not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process exists, even as a zombie.
pub fn process_exists(pid: i32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// Writes a host file.
pub fn write_host_file(fakes: &Fakes, text: &str) -> PathBuf {
    let path = fakes.path("hosts");
    std::fs::write(&path, text).expect("written");
    path
}
