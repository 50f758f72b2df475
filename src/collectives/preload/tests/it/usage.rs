//! Lines about jobs, for a site's accounting.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use launcher::LibraryName;
use profile::usage::{CarriedOutBy, JobOutcome, JobUsage};
use table::Table;
use tempfile::TempDir;
use testkit::mpi::{LaunchOutput, chosen_family, chosen_installation};
use testkit::process;
use testkit::tables::table_yaml;
use vocabulary::{Candidate, Parameters, Pattern};

use crate::corners::{differing_script, other_build};
use crate::launch::{compiled, preloaded, run_preloaded, warnings};

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
        self.start(&self.program, &[what], 2, usage, more)
    }

    /// Runs any program in the same way.
    fn start(
        &self,
        program: &Path,
        arguments: &[&str],
        ranks: u32,
        usage: &Path,
        more: &[(&str, &str)],
    ) -> LaunchOutput {
        let mut variables = vec![
            ("COLLTUNE_LOG", "0"),
            ("COLLTUNE_USAGE", usage.to_str().expect("a path")),
            ("SLURM_JOB_ID", "4711"),
        ];
        variables.extend_from_slice(more);
        let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
        run_preloaded(program, &arguments, ranks, &self.table, &variables)
    }

    /// Another table that can be used, of the same name.
    fn write_other_table(&self) -> PathBuf {
        let library = chosen_installation().library();
        let other = self.path("other.yaml");
        let rules = RULES.replace("from: 4K", "from: 8K");
        let text = table_yaml("in-use", &library.name, &library.version, &rules);
        std::fs::write(&other, text).expect("written");
        other
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
    let remedy = "without MPI_Finalize, which all ranks must call before they end";
    expect("exit", &[], JobOutcome::NoFinalize, remedy);
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

/// Checks the one line about a job whose calls are not known.
#[track_caller]
fn check_unused(file: &Path, outcome: JobOutcome, why: &str) -> JobUsage {
    let text = std::fs::read_to_string(file).expect("a file");
    assert!(
        text.contains(&format!("\"outcome\":\"{}\"", outcome.name())),
        "{text}"
    );
    let [job] = <[JobUsage; 1]>::try_from(jobs_in(file)).expect(&text);
    assert_eq!(job.outcome, outcome, "{text}");
    assert!(
        job.why
            .as_deref()
            .is_some_and(|reason| reason.contains(why)),
        "no `{why}` in {text}"
    );
    assert!(job.calls.is_empty() && job.table.is_none(), "{text}");
    assert_eq!(job.job.as_deref(), Some("4711"), "{text}");
    job
}

#[test]
fn ranks_that_differ_have_one_line_mpi() {
    let prepared = Prepared::new();
    let other = prepared.write_other_table();
    let program = prepared.program.display().to_string();
    let told = "not all ranks have read the same table";
    for (number, does) in [
        format!("export COLLTUNE_TABLE='{}'", other.display()),
        "export COLLTUNE_TABLE=/nowhere.yaml".to_owned(),
        "export COLLTUNE_EXTRAPOLATE=1".to_owned(),
    ]
    .iter()
    .enumerate()
    {
        let file = prepared.path(&format!("usage{number}.jsonl"));
        let script = differing_script(1, does, prepared.folder.path());
        let ran = prepared.start(&script, &[&program, "all"], 2, &file, &[]);
        ran.expect_success();
        let job = check_unused(&file, JobOutcome::Differs, told);
        assert_eq!(job.ranks, Some(2), "{does}");
        assert_eq!(job.program, "usage", "{does}");
    }
}

#[test]
fn a_build_for_another_library_writes_a_line_mpi() {
    let Some(other) = testkit::require("measuring programs", other_build()) else {
        return;
    };
    let prepared = Prepared::new();
    let file = prepared.path("usage.jsonl");
    let more = [("LD_PRELOAD", other.to_str().expect("a path"))];
    prepared.run("all", &file, &more).expect_success();
    let job = check_unused(&file, JobOutcome::OtherLibrary, "was built for");
    let library = chosen_installation().library().to_string();
    assert_eq!(job.library, Some(library));
}

#[test]
fn programs_whose_calls_are_not_seen_have_a_line_mpi() {
    let prepared = Prepared::new();
    let program = compiled("unserved.c", prepared.folder.path(), &["-ldl"]);
    let mut ways = vec![(
        "address",
        JobOutcome::Bypassed,
        "have it look them up by dlsym(RTLD_DEFAULT, ...) or in libcolltune.so",
    )];
    if chosen_family() == LibraryName::Mpich {
        ways.push((
            "sessions",
            JobOutcome::Sessions,
            "only a program that calls MPI_Init, and makes its communicators from MPI_COMM_WORLD",
        ));
    }
    for (way, outcome, why) in ways {
        let file = prepared.path(&format!("{way}.jsonl"));
        let ran = prepared.start(&program, &[way], 2, &file, &[]);
        assert!(ran.text.contains("the program ends"), "{}", ran.text);
        let job = check_unused(&file, outcome, why);
        assert_eq!(job.program, "unserved");
        assert_eq!(job.ranks, None);
        let library = chosen_installation().library().to_string();
        assert_eq!(job.library, Some(library));
    }
}

#[test]
fn a_spawned_program_has_a_line_of_its_own_mpi() {
    let prepared = Prepared::new();
    let file = prepared.path("usage.jsonl");
    let ran = prepared.start(&prepared.program, &["spawn"], 1, &file, &[]);
    let text = ran.expect_success();
    let has_spawned = !text.contains("the program cannot spawn");
    if testkit::require(
        "MPI library that spawns programs",
        has_spawned.then_some(()),
    )
    .is_none()
    {
        return;
    }
    assert_eq!(text.matches("the program ends").count(), 2, "{text}");
    let jobs = jobs_in(&file);
    let of_outcome = |outcome| jobs.iter().find(|job| job.outcome == outcome);
    assert_eq!(jobs.len(), 2, "{jobs:?}");
    let spawned = of_outcome(JobOutcome::Spawned).expect("a line of the spawned program");
    assert!(spawned.calls.is_empty() && spawned.table.is_none());
    assert_eq!(
        spawned.why.as_deref(),
        Some("another program has spawned it")
    );
    assert_eq!(
        (spawned.program.as_str(), spawned.ranks),
        ("usage", Some(1))
    );
    let first = of_outcome(JobOutcome::Used).expect("a line of the program that spawned it");
    assert!(!first.calls.is_empty(), "{first:?}");
}

/// As with `srun` and a program whose library needs another `--mpi`: the first process alone writes.
#[test]
fn of_worlds_of_one_rank_the_first_writes_a_line_mpi() {
    let prepared = Prepared::new();
    let file = prepared.path("usage.jsonl");
    for number in ["0", "1"] {
        let mut command = Command::new(&prepared.program);
        command
            .env("LD_PRELOAD", preloaded())
            .env("COLLTUNE_TABLE", &prepared.table)
            .env("COLLTUNE_USAGE", &file)
            .env("SLURM_STEP_NUM_TASKS", "2")
            .env("SLURM_PROCID", number);
        let ended = process::run_to_end(&mut command, Duration::from_secs(60));
        assert!(ended.status.success(), "{}{}", ended.out, ended.err);
        // It warns, too.
        let warned = warnings(&ended.err).len();
        assert_eq!(warned, usize::from(number == "0"), "{}", ended.err);
    }
    let jobs = jobs_in(&file);
    let [job] = &jobs[..] else {
        panic!("{jobs:?}");
    };
    assert_eq!(job.outcome, JobOutcome::SeparateWorlds, "{job:?}");
    let why = job.why.as_deref().unwrap_or_default();
    assert!(
        why.starts_with("2 processes were started together"),
        "{why}"
    );
    assert_eq!(job.ranks, Some(1), "{job:?}");
    assert_eq!(
        job.table.as_ref().map(|table| table.name.as_str()),
        Some("in-use")
    );
    // The calls of the first world: no other rank is there to combine anything with.
    let allreduces: u64 = job
        .calls
        .iter()
        .filter(|row| row.collective == "allreduce" && row.by == CarriedOutBy::Alone)
        .map(|row| row.calls)
        .sum();
    assert_eq!(allreduces, 12, "{job:?}");
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
