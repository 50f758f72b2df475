//! Compiles programs, and starts them on several ranks with the library under test.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use tempfile::TempDir;
use testkit::mpi::{self, LaunchOutput};

/// The time limit of a launch.
const PATIENCE: Duration = Duration::from_secs(200);

/// `libcolltune.so`.
pub(crate) fn preloaded() -> PathBuf {
    built().join("libcolltune.so")
}

/// `libcolltune.a`, made in a folder.
pub(crate) fn archived(folder: &Path) -> PathBuf {
    let archive = folder.join("libcolltune.a");
    let script = Command::new(root().join("scripts/archive"))
        .arg(built().join("libcapi.a"))
        .arg(&archive)
        .output();
    let output = script.expect("the script starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    archive
}

/// The folder in which cargo puts both libraries. It does not build the shared one with the tests, since no Rust
/// program links it.
fn built() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(build)
}

fn build() -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    // The tests are built too: their dependencies enable more features of some crates, which would otherwise be built
    // again.
    command
        .args(["build", "--package", "preload", "--package", "capi"])
        .args(["--lib", "--test", "it", "--quiet", "--offline"])
        .current_dir(root());
    // These describe the package under test. Build scripts that depend on them, as ring's does, would run again, and all
    // that needs their crates would be built again: for half a minute, and once more by the next cargo without them.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let is_of_package = ["CARGO_PKG_", "CARGO_MANIFEST_"]
            .iter()
            .any(|start| text.starts_with(start));
        if is_of_package || text == "OUT_DIR" {
            command.env_remove(&name);
        }
    }
    let output = command.output().expect("cargo starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    let test = std::env::current_exe().expect("this program");
    let folder = test.parent().and_then(Path::parent).expect("a folder");
    folder.to_owned()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// Compiles one of `programs/` with the library's compiler.
pub(crate) fn compiled(program: &str, folder: &Path, more: &[&str]) -> PathBuf {
    let made = folder.join(program.split('.').next().unwrap_or(program));
    let mpicc = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".to_owned());
    let source = root()
        .join("src/collectives/preload/tests/it/programs")
        .join(program);
    let output = Command::new(mpicc)
        .args(["-std=c11", "-O1", "-g", "-Wall", "-Werror", "-o"])
        .arg(&made)
        .arg(&source)
        .arg("-I")
        .arg(root().join("include"))
        .args(more)
        .output()
        .expect("the compiler starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    made
}

/// Starts a program with these environment variables, which the launcher does not get. Communicators are attached at
/// their first call unless a variable says otherwise.
pub(crate) fn run(
    program: &Path,
    arguments: &[String],
    ranks: u32,
    environment: &[(&str, &str)],
) -> LaunchOutput {
    let folder = TempDir::new().expect("a temporary folder");
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    let mut script = "#!/bin/sh\nexec env COLLTUNE_ATTACH_AFTER=0".to_owned();
    for (name, value) in environment {
        script += &format!(" {}", quoted(&format!("{name}={value}")));
    }
    script += &format!(" {}", quoted(&program.display().to_string()));
    for argument in arguments {
        script += &format!(" {}", quoted(argument));
    }
    let wrapper = folder.path().join("start");
    std::fs::write(&wrapper, script + "\n").expect("written");
    std::fs::set_permissions(&wrapper, PermissionsExt::from_mode(0o755)).expect("made executable");
    // The script ignores the argument: it contains the program's arguments.
    mpi::run_ranks(&wrapper, "unused".as_ref(), ranks, PATIENCE)
}

/// Starts a program with `libcolltune.so` preloaded and a table.
pub(crate) fn run_preloaded(
    program: &Path,
    arguments: &[String],
    ranks: u32,
    table: &Path,
    more: &[(&str, &str)],
) -> LaunchOutput {
    let library = preloaded().display().to_string();
    let table = table.display().to_string();
    let mut environment = vec![
        ("LD_PRELOAD", library.as_str()),
        ("COLLTUNE_TABLE", table.as_str()),
        ("COLLTUNE_LOG", "stderr"),
    ];
    environment.extend_from_slice(more);
    run(program, arguments, ranks, &environment)
}

/// The warnings of `libcolltune.so` in the output.
pub(crate) fn warnings(text: &str) -> Vec<&str> {
    let lines = text.lines();
    lines
        .filter(|line| line.contains("colltune: warning"))
        .collect()
}
