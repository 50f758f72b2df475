//! Programs neither end, wait nor take much memory, whatever `COLLTUNE_TABLE` and `COLLTUNE_LOG` name.

use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use testkit::mpi::chosen_installation;
use testkit::tables::{forcing_table, save_table};

use crate::corners::calls;
use crate::launch::{compiled, run_preloaded, warnings};

/// The memory that a rank may use with a refused table, in MiB: the largest table, and MPI.
const MOST_MIB: u64 = 300;

/// Far longer than the program takes, unless it waits for a FIFO.
const PATIENCE: Duration = Duration::from_secs(60);

struct Prepared {
    folder: TempDir,
    /// Started in the folder by `start`, it goes to `/`.
    program: PathBuf,
}

impl Prepared {
    fn new() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let program = compiled("elsewhere.c", folder.path(), &[]);
        let start = folder.path().join("start");
        let place = folder.path().display();
        let text = format!("#!/bin/sh\ncd '{place}' && exec \"$@\"\n");
        fs::write(&start, text).expect("written");
        fs::set_permissions(&start, PermissionsExt::from_mode(0o755)).expect("executable");
        save_table(
            &forcing_table(1, chosen_installation().library()),
            folder.path(),
        );
        let made = Command::new("mkfifo")
            .arg(folder.path().join("fifo"))
            .status();
        assert!(made.expect("mkfifo starts").success());
        Self { folder, program }
    }

    /// Runs the program on two ranks; returns the output.
    fn run(&self, table: &str, log: &str) -> String {
        let arguments = [self.program.display().to_string(), "/".to_owned()];
        let begin = Instant::now();
        let text = run_preloaded(
            &self.folder.path().join("start"),
            &arguments,
            2,
            Path::new(table),
            &[("COLLTUNE_LOG", log)],
        )
        .expect_success();
        assert!(begin.elapsed() < PATIENCE, "{table}, {log}: {text}");
        let peak = text
            .lines()
            .find_map(|line| line.strip_suffix(" MiB at most"));
        let peak: u64 = peak.expect(&text).parse().expect("a number");
        assert!(peak < MOST_MIB, "{table}, {log}: {text}");
        text
    }
}

#[test]
fn no_table_ends_a_program_or_makes_it_wait_under_mpi() {
    let prepared = Prepared::new();
    let path = |name: &str| prepared.folder.path().join(name);
    File::create(path("zeros"))
        .expect("created")
        .set_len(1 << 30)
        .expect("grown");
    fs::write(path("line"), format!("[{}", "1,".repeat(30 << 20))).expect("written");
    let escapes = format!("{}\u{1b}[2J: 1\n", "x".repeat(1 << 20));
    fs::write(path("escapes"), escapes).expect("written");
    for (table, why) in [
        ("/dev/zero", "not a regular file"),
        ("fifo", "not a regular file"),
        (".", "it is a folder"),
        ("zeros", "larger than 64 MiB"),
        ("line", "such a number of values"),
        ("escapes", "\\u001b"),
    ] {
        let text = prepared.run(table, "0");
        let told = warnings(&text);
        assert!(told.len() == 1 && text.contains(why), "{table}: {text}");
        assert!(
            text.len() < 4000 && !text.contains('\u{1b}'),
            "{table}: {text}"
        );
    }
}

#[test]
fn no_log_makes_a_program_wait_or_is_replaced_under_mpi() {
    let prepared = Prepared::new();
    let table = || fs::read(prepared.folder.path().join("table.yaml")).expect("read");
    let before = table();
    for (log, why) in [
        ("fifo", "fifo"),
        (".", "Is a directory"),
        ("/dev/full", "No space"),
        ("table.yaml", "COLLTUNE_LOG names the table"),
    ] {
        let text = prepared.run("table.yaml", log);
        let told = warnings(&text);
        assert!(told.len() == 1 && told[0].contains(why), "{log}: {text}");
    }
    assert!(table() == before, "the log replaced the table");
    let text = prepared.run("table.yaml", "/dev/null");
    assert!(warnings(&text).is_empty(), "{text}");
    for device in ["/dev/null", "/dev/full"] {
        let kind = fs::metadata(device).expect("there").file_type();
        assert!(kind.is_char_device(), "{device}");
    }
    let is_fifo = |path: PathBuf| fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo());
    assert!(is_fifo(prepared.folder.path().join("fifo")));
}

#[test]
fn relative_paths_refer_to_the_folder_in_which_a_program_was_started_under_mpi() {
    let prepared = Prepared::new();
    prepared.run("table.yaml", "summary.txt");
    let text = fs::read_to_string(prepared.folder.path().join("summary.txt")).expect("written");
    assert!(calls(&text, "allreduce/") > 0, "{text}");
}
