//! Lines about jobs, for a site's accounting.

use std::path::{Path, PathBuf};
use std::process::Command;

use profile::usage::{JobOutcome, JobUsage};
use table::Table;
use tempfile::TempDir;
use testkit::mpi::{LaunchOutput, chosen_installation};
use testkit::tables::table_yaml;
use vocabulary::{Candidate, Parameters, Pattern};

use crate::launch::{compiled, run_preloaded, warnings};

/// Rules for long allreduces.
const RULES: &str = "  allreduce:
    message_size: bytes of one rank's vector
    shapes:
      - nodes: 1
        ppn: 2
        operators: commutative
        rules:
          - {from: 0,  candidate: default, confidence: high}
          - {from: 4K, candidate: allreduce/ring, speedup: 2, confidence: high, confirmed: true}
";

/// The rows of the program on two ranks, as collective, what carried them out, and calls.
const CALLS: [(&str, &str, u64); 5] = [
    ("barrier", "not_in_table", 2),
    ("bcast", "not_in_table", 6),
    ("allreduce", "table", 14),
    ("allreduce", "default", 10),
    ("iallreduce", "nonblocking", 4),
];

struct Prepared {
    folder: TempDir,
    program: PathBuf,
    table: PathBuf,
}

impl Prepared {
    fn new() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let program = compiled("usage.c", folder.path(), &[]);
        let library = chosen_installation().library();
        let table = folder.path().join("table.yaml");
        let text = table_yaml("in-use", &library.name, &library.version, RULES);
        std::fs::write(&table, text).expect("written");
        Self {
            folder,
            program,
            table,
        }
    }

    /// Gives the table rules for nonblocking allreduces, too.
    fn add_nonblocking_rules(&self) {
        let blocking = Table::load(&self.table).expect("a table");
        let mut measured = blocking.clone();
        measured.provenance.pattern = Pattern::Nonblocking;
        // Short calls, too, which the rules for blocking ones leave to the library.
        let entries = measured.collectives.values_mut().flatten();
        for rule in entries.flat_map(|entry| &mut entry.rules) {
            rule.candidate = Candidate::Ours {
                algorithm: "allreduce/recursive_doubling".to_owned(),
                parameters: Parameters::default(),
            };
            rule.speedup = Some(2.0);
            rule.confirmed = true;
        }
        let both = measured.join_with_replaced(Some(&blocking));
        both.save(&self.table).expect("written");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the program with a line, which goes there, and without a summary unless there is a variable for it.
    fn run(&self, what: &str, usage: &Path, more: &[(&str, &str)]) -> LaunchOutput {
        let mut variables = vec![
            ("COLLTUNE_LOG", "0"),
            ("COLLTUNE_USAGE", usage.to_str().expect("a path")),
            ("SLURM_JOB_ID", "4711"),
        ];
        variables.extend_from_slice(more);
        run_preloaded(
            &self.program,
            &[what.to_owned()],
            2,
            &self.table,
            &variables,
        )
    }
}

/// The jobs in a file, all of whose lines can be read.
fn jobs_in(file: &Path) -> Vec<JobUsage> {
    let text = std::fs::read_to_string(file).expect("a file");
    assert!(text.ends_with('\n'), "{text}");
    let lines = text.lines();
    lines
        .map(|line| JobUsage::from_line(line.as_bytes()).expect(line))
        .collect()
}

#[track_caller]
fn check_calls(job: &JobUsage) {
    check_calls_by(job, &CALLS);
}

#[track_caller]
fn check_calls_by(job: &JobUsage, calls: &[(&str, &str, u64)]) {
    let mut found: Vec<_> = job
        .calls
        .iter()
        .map(|row| (row.collective.as_str(), row.by.name(), row.calls))
        .collect();
    let mut expected = calls.to_vec();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected, "{job:?}");
}

#[test]
fn a_line_counts_the_calls_of_all_ranks_mpi() {
    let prepared = Prepared::new();
    let file = prepared.path("usage.jsonl");
    let text = prepared.run("all", &file, &[]).expect_success();
    assert!(text.contains("the program ends"), "{text}");
    assert_eq!(warnings(&text), <[&str; 0]>::default());
    // With a summary there are times, and lines of other jobs stay.
    let log = prepared.path("log");
    let with_log = [("COLLTUNE_LOG", log.to_str().expect("a path"))];
    prepared.run("all", &file, &with_log).expect_success();
    let jobs = jobs_in(&file);
    let [untimed, timed] = &jobs[..] else {
        panic!("{jobs:?}");
    };
    let output = Command::new("sha256sum").arg(&prepared.table).output();
    let digest = output.expect("sha256sum starts").stdout;
    for job in [untimed, timed] {
        check_calls(job);
        assert_eq!(job.outcome, JobOutcome::Used);
        assert_eq!(job.program, "usage");
        assert_eq!(job.ranks, Some(2));
        assert_eq!(job.job.as_deref(), Some("4711"));
        assert_eq!(job.why, None);
        let library = chosen_installation().library().to_string();
        assert_eq!(job.library.as_deref(), Some(&*library));
        let table = job.table.as_ref().expect("a table");
        assert_eq!(table.name, "in-use");
        assert!(digest.starts_with(table.sha256.as_bytes()), "{table:?}");
    }
    assert!(untimed.calls.iter().all(|row| row.time.is_none()));
    assert!(
        timed
            .calls
            .iter()
            .all(|row| row.time.is_some_and(|time| !time.is_zero()))
    );
    assert_ne!(untimed.id, timed.id);
    assert!(!untimed.time.is_zero());
}

#[test]
fn nonblocking_calls_of_colltune_count_as_their_own_mpi() {
    let prepared = Prepared::new();
    prepared.add_nonblocking_rules();
    let file = prepared.path("usage.jsonl");
    let progress = [("COLLTUNE_FORCE", "progress")];
    prepared.run("all", &file, &progress).expect_success();
    let jobs = jobs_in(&file);
    assert_eq!(jobs.len(), 1);
    let served = CALLS.map(|(collective, by, calls)| match collective {
        "iallreduce" => (collective, "table", calls),
        _ => (collective, by, calls),
    });
    check_calls_by(&jobs[0], &served);
}

#[test]
fn the_first_rank_decides_whether_there_is_a_line_mpi() {
    let prepared = Prepared::new();
    let file = prepared.path("usage.jsonl");
    let text = prepared.run("first", &file, &[]).expect_success();
    assert!(text.contains("the program ends"), "{text}");
    assert!(!file.exists());
    prepared.run("others", &file, &[]).expect_success();
    let jobs = jobs_in(&file);
    assert_eq!(jobs.len(), 1);
    check_calls(&jobs[0]);
}

#[test]
fn a_job_that_does_not_use_the_table_has_a_line_mpi() {
    let prepared = Prepared::new();
    let file = prepared.path("usage.jsonl");
    let expect = |what: &str, more: &[(&str, &str)], outcome, why: &str| {
        let _ = std::fs::remove_file(&file);
        let ran = prepared.run(what, &file, more);
        // A launcher may take an end without `MPI_Finalize` for an error.
        if what != "exit" {
            ran.expect_success();
        }
        let jobs = jobs_in(&file);
        let [job] = &jobs[..] else {
            panic!("{jobs:?}");
        };
        assert_eq!(job.outcome, outcome, "{job:?}");
        let text = job.why.as_deref().unwrap_or_default();
        assert!(text.contains(why), "{job:?}");
        assert!(job.calls.is_empty(), "{job:?}");
    };
    expect("exit", &[], JobOutcome::NoFinalize, "without MPI_Finalize");
    let wrong = [("COLLTUNE_EXTRAPOLATE", "yes")];
    expect("all", &wrong, JobOutcome::Setting, "COLLTUNE_EXTRAPOLATE");
    let missing = [("COLLTUNE_TABLE", "/nowhere/table.yaml")];
    expect(
        "all",
        &missing,
        JobOutcome::Unreadable,
        "/nowhere/table.yaml",
    );
    let library = chosen_installation().library();
    let text = table_yaml("old", &library.name, "0.1", RULES);
    let other = prepared.path("other.yaml");
    std::fs::write(&other, text).expect("written");
    let older = [("COLLTUNE_TABLE", other.to_str().expect("a path"))];
    expect("all", &older, JobOutcome::OtherSystem, "0.1");
}

#[test]
fn a_line_that_cannot_be_written_is_a_warning_mpi() {
    let prepared = Prepared::new();
    let fifo = prepared.path("fifo");
    let made = Command::new("mkfifo").arg(&fifo).status();
    assert!(made.expect("mkfifo starts").success());
    let missing = prepared.path("missing/usage.jsonl");
    for (place, remark) in [
        (Path::new("/dev/full"), "/dev/full: No space left"),
        (&fifo, "fifo: No such device"),
        (&missing, "usage.jsonl: No such file"),
        (&prepared.table, "names the table"),
    ] {
        let before = std::fs::read(&prepared.table).expect("a table");
        let text = prepared.run("all", place, &[]).expect_success();
        assert!(text.contains("the program ends"), "{text}");
        let warned = warnings(&text);
        assert_eq!(warned.len(), 1, "{text}");
        assert!(warned[0].contains("COLLTUNE_USAGE"), "{text}");
        assert!(warned[0].contains(remark), "{text}");
        let after = std::fs::read(&prepared.table).expect("a table");
        assert_eq!(before, after);
    }
    // What a full disk has left of another job's line does not take this one's.
    let torn = prepared.path("torn.jsonl");
    std::fs::write(&torn, "{\"format\":\"coll").expect("written");
    prepared.run("all", &torn, &[]).expect_success();
    let text = std::fs::read_to_string(&torn).expect("a file");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(JobUsage::from_line(lines[1].as_bytes()).is_ok(), "{text}");
}

#[test]
fn a_folder_has_a_file_of_each_host_and_user_mpi() {
    let prepared = Prepared::new();
    let folder = prepared.path("lines");
    std::fs::create_dir(&folder).expect("a folder");
    prepared.run("all", &folder, &[]).expect_success();
    prepared.run("all", &folder, &[]).expect_success();
    let files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("a folder")
        .map(|entry| entry.expect("readable").path())
        .collect();
    let [file] = &files[..] else {
        panic!("{files:?}");
    };
    let name = file.file_name().and_then(|name| name.to_str());
    let name = name.expect("a name");
    assert!(name.starts_with("usage-"), "{name}");
    let month = name.rsplit_once("-20").map(|(_, rest)| rest);
    assert!(
        month.is_some_and(|rest| rest.len() == "26-11.jsonl".len()),
        "{name}"
    );
    assert_eq!(jobs_in(file).len(), 2);
    // Another user may have put a link there in a folder for all.
    let victim = prepared.path("victim");
    std::fs::write(&victim, "mine\n").expect("written");
    std::fs::remove_file(file).expect("removed");
    std::os::unix::fs::symlink(&victim, file).expect("a link");
    let text = prepared.run("all", &folder, &[]).expect_success();
    assert_eq!(warnings(&text).len(), 1, "{text}");
    assert_eq!(std::fs::read_to_string(&victim).expect("a file"), "mine\n");
}
