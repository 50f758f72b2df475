//! Runs the binary in a folder that nothing else uses.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rusqlite::Connection;
use serde_json::Value;
use store::Store;
use tempfile::TempDir;
use vocabulary::Library;

use crate::answers;

/// A folder to run in, with its own search path and drivers.
pub(crate) struct Place {
    folder: TempDir,
}

/// The output and exit code of a run of the binary.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Place {
    /// A folder without MPI.
    pub(crate) fn new() -> Self {
        let place = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(place.path("bin")).unwrap();
        place
    }

    /// A folder with an mpirun that calls itself Open MPI 4.1.4 and otherwise does what `script`
    /// says, and with a driver for it.
    pub(crate) fn with_mpirun(script: &str) -> Self {
        let place = Self::new();
        place.add_mpirun(script);
        place.write("lib/openmpi-4.1.4/colltune-driver", "");
        place
    }

    pub(crate) fn add_mpirun(&self, script: &str) {
        self.add_mpirun_of("4.1.4", script);
    }

    /// A driver that does what `script` says.
    pub(crate) fn add_driver(&self, script: &str) {
        let driver = "lib/openmpi-4.1.4/colltune-driver";
        self.write(driver, format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(self.path(driver), PermissionsExt::from_mode(0o755)).unwrap();
    }

    /// The same of another version.
    pub(crate) fn add_mpirun_of(&self, version: &str, script: &str) {
        self.add_launcher("mpirun", &format!("mpirun (Open MPI) {version}"), script);
    }

    /// A launcher that prints `version` as its version, and otherwise does what `script` says.
    pub(crate) fn add_launcher(&self, name: &str, version: &str, script: &str) {
        let text = format!(
            "#!/bin/sh\nif [ \"$1\" = --version ]; then echo '{version}'; exit 0; fi\n{script}\n"
        );
        let path = format!("bin/{name}");
        self.write(&path, &text);
        fs::set_permissions(self.path(&path), PermissionsExt::from_mode(0o755)).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Lets other users go through the folder.
    pub(crate) fn open_to_others(&self) {
        fs::set_permissions(self.folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// The variables that a shell exports after it has read a file of commands.
    pub(crate) fn sourced(&self, name: &str) -> Vec<(String, OsString)> {
        let output = Command::new("/bin/sh")
            .args(["-euc", ". \"$1\"; PATH=/usr/bin:/bin env", "sh"])
            .arg(self.path(name))
            .env_clear()
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let pairs = text.lines().filter_map(|line| line.split_once('='));
        let of_shell = ["PWD", "OLDPWD", "SHLVL", "_", "PATH"];
        let pairs = pairs.filter(|(variable, _)| !of_shell.contains(variable));
        pairs
            .map(|(variable, value)| (variable.to_owned(), value.into()))
            .collect()
    }

    /// Every file with its content.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        collect(self.folder.path(), &mut files);
        files
    }

    /// The binary, ready to be started.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_colltune"));
        command
            .args(args)
            .current_dir(self.folder.path())
            .env_clear()
            .env("PATH", self.path("bin"))
            .env("COLLTUNE_LIBDIR", self.path("lib"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the binary; the folder's own path is shown as `DIR`.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        let output = self.command(args).output().unwrap();
        let out = self.anonymous(&output.stdout);
        answers::check(args, &out, output.status.success());
        Ran {
            code: output.status.code(),
            out,
            err: self.anonymous(&output.stderr),
        }
    }

    /// Runs the binary with arguments that have no spaces.
    pub(crate) fn run_line(&self, args: &str) -> Ran {
        self.run(&args.split(' ').collect::<Vec<_>>())
    }

    pub(crate) fn anonymous(&self, text: &[u8]) -> String {
        let folder = self.folder.path().to_str().unwrap();
        String::from_utf8_lossy(text).replace(folder, "DIR")
    }
}

/// The build of the measuring program for a library; `None` where there is none.
pub(crate) fn driver_of(library: &str) -> Option<PathBuf> {
    let libdir = PathBuf::from(std::env::var_os("COLLTUNE_LIBDIR").unwrap_or_default());
    let builds = fs::read_dir(libdir).into_iter().flatten().flatten();
    let mut paths = builds.map(|entry| entry.path());
    let is_of = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().starts_with(&format!("{library}-"))
    };
    testkit::require("measuring programs", paths.find(is_of))
}

/// Runs one of this repository's scripts, for at most two minutes; returns its exit code and output.
pub(crate) fn script(name: &str, args: &[&str]) -> (Option<i32>, String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scripts");
    let output = Command::new("timeout")
        .args(["--kill-after=5", "120"])
        .arg(folder.join(name))
        .args(args)
        .output()
        .unwrap();
    let printed = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(printed).unwrap())
}

fn collect(folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
}

impl Ran {
    /// Asserts that it succeeded and printed nothing to standard error.
    #[track_caller]
    pub(crate) fn good(self) -> Self {
        assert_eq!(
            (self.code, self.err.as_str()),
            (Some(0), ""),
            "{}",
            self.out
        );
        self
    }

    /// Asserts that it ended with `code`, printed no result, and one error that contains all of
    /// `parts`.
    #[track_caller]
    pub(crate) fn bad(self, code: i32, parts: &[&str]) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.out, "", "{self:?}");
        let errors = ["error: ", "{\"error\":"].map(|start| self.err.matches(start).count());
        assert_eq!(errors.iter().sum::<usize>(), 1, "{}", self.err);
        assert!(self.err.matches("help: ").count() <= 1, "{}", self.err);
        for part in parts {
            assert!(self.err.contains(part), "no `{part}` in:\n{}", self.err);
        }
        self
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap()
    }
}

/// The store, opened without damage, and the library measured into it; `None` if there is no store yet.
pub(crate) fn sound_store(path: &Path) -> Option<(Store, Library)> {
    if !path.exists() {
        return None;
    }
    let raw = Connection::open(path).unwrap();
    let verdict: String = raw
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(verdict, "ok");
    let store = Store::open(path).unwrap();
    let library = store.libraries().unwrap().pop()?;
    Some((store, library))
}

/// The keys of an object, in order.
#[track_caller]
pub(crate) fn keys(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}
