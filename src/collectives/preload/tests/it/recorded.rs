//! Profiles of programs: what they say, what a killed job leaves, and what recording takes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use launcher::LibraryName;
use profile::{CallCost, ComparedRanks, Form, MadeBy, Profile, Root, add_up};
use tempfile::TempDir;
use testkit::mpi::{LaunchOutput, chosen_family, chosen_installation};
use testkit::tables::{forcing_table, save_table};

use crate::launch::{compiled, preloaded, run, warnings};
use crate::threads::Totals;

/// A folder for a program and its profile.
struct Prepared {
    folder: TempDir,
    program: PathBuf,
}

impl Prepared {
    fn new(source: &str, flags: &[&str]) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let program = compiled(source, folder.path(), flags);
        Self { folder, program }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("profile.json")
    }

    fn start(&self, words: &[&str], ranks: u32, more: &[(&str, &str)]) -> LaunchOutput {
        // Of variables that are there twice the last one counts.
        let library = preloaded().display().to_string();
        let file = self.file().display().to_string();
        let mut environment = vec![
            ("LD_PRELOAD", library.as_str()),
            ("COLLTUNE_RECORD", file.as_str()),
        ];
        environment.extend_from_slice(more);
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        run(&self.program, &words, ranks, &environment)
    }

    /// Runs a program that succeeds, and returns its output and its profile.
    fn record(&self, words: &[&str], ranks: u32, more: &[(&str, &str)]) -> (String, Profile) {
        let text = self.start(words, ranks, more).expect_success();
        assert_eq!(warnings(&text), [""; 0], "{text}");
        let profile = read(&self.file());
        assert_eq!(self.others(), [""; 0], "only the profile is left: {text}");
        (text, profile)
    }

    /// The part of the first node that a killed job has left, and nothing else.
    fn only_part(&self) -> Profile {
        let parts = self.others();
        let [name] = &parts[..] else {
            panic!("one part is expected: {parts:?}");
        };
        self.read_part(name, 0)
    }

    /// The part of the node with this first rank. Its name has the identity of the job.
    fn read_part(&self, name: &str, first: u32) -> Profile {
        let part = read(&self.folder.path().join(name));
        let id = part.jobs.keys().next().expect("a job");
        assert_eq!(*name, format!("profile.json.{id}.part-{first}"));
        part
    }

    /// The names of other files than the program and its profile.
    fn others(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).expect("a folder");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        let names = names.map(|name| name.to_string_lossy().into_owned());
        let expected = ["profile.json", "table.yaml"];
        let program = self.program.file_name().expect("a name").to_string_lossy();
        names
            .filter(|name| *name != program && !expected.contains(&name.as_str()))
            .filter(|name| !name.ends_with(".yaml") && name != "synced")
            .collect()
    }
}

fn read(path: &Path) -> Profile {
    let text = std::fs::read_to_string(path).expect("a profile");
    Profile::from_json(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The calls of some collectives together.
fn total(profile: &Profile, is_counted: impl Fn(&profile::CallShape) -> bool) -> CallCost {
    let mut total = CallCost::default();
    let counted = profile.calls.iter().filter(|(call, _)| is_counted(call));
    counted.for_each(|(_, tally)| total.add_calls(tally));
    total
}

/// The numbers after the words of a line.
fn told(text: &str, words: &str) -> Vec<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(words));
    let numbers = line
        .unwrap_or_else(|| panic!("{words}: {text}"))
        .split_whitespace();
    numbers
        .map(|number| number.parse().expect("a number"))
        .collect()
}

/// Whether two times differ by little, for timers that are read one after the other on a busy machine.
fn is_near(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 0.15 * expected
}

/// The launches of which one must agree with the program's own timers: a rank may lose its core for a good part of one.
const LAUNCHES: u32 = 3;

/// A profile of the program with a late rank, and what the program says.
struct LateProgram {
    profile: Profile,
    text: String,
    /// The time in the calls, and the part of it before the last rank arrived, by the program's timers.
    inside: f64,
    waiting: f64,
}

impl LateProgram {
    fn allreduces(&self) -> CallCost {
        total(&self.profile, |call| call.collective == "allreduce")
    }

    /// The same times by the profile.
    fn recorded_times(&self) -> [f64; 2] {
        let allreduces = self.allreduces();
        let inside = allreduces.time.seconds();
        let share = allreduces.waiting_share().expect("samples");
        [inside, share * inside]
    }

    fn agrees(&self) -> bool {
        let [inside, waiting] = self.recorded_times();
        is_near(inside, self.inside) && is_near(waiting, self.waiting)
    }
}

/// Records the program with a late rank, and compares what it says with the profile.
fn check_late(rounds: u64, more: &[(&str, &str)], nodes: u64) -> Profile {
    let prepared = Prepared::new("recorded.c", &[]);
    let table = save_table(
        &forcing_table(1, chosen_installation().library()),
        prepared.folder.path(),
    );
    let table = table.display().to_string();
    let mut variables = Vec::new();
    for (name, value) in more {
        variables.push((
            *name,
            if *value == "TABLE" {
                table.as_str()
            } else {
                value
            },
        ));
    }
    let record_once = || {
        let (text, profile) = prepared.record(&["late", &rounds.to_string()], 2, &variables);
        let [inside, waiting] = told(&text, "truth ")[..] else {
            panic!("{text}");
        };
        LateProgram {
            profile,
            text,
            inside,
            waiting,
        }
    };
    let mut recorded = record_once();
    for _ in 1..LAUNCHES {
        if !recorded.agrees() {
            recorded = record_once();
        }
    }
    assert!(
        recorded.agrees(),
        "{:?}: {}",
        recorded.recorded_times(),
        recorded.text
    );
    let allreduces = recorded.allreduces();
    let profile = recorded.profile;
    assert_eq!(allreduces.calls, 2 * rounds, "{profile:?}");
    // Nearly all of that is waiting of the rank that is not late.
    let share = allreduces.waiting_share().expect("samples");
    assert!(share > 0.5, "{allreduces:?}");
    let job = profile.jobs.values().next().expect("a job");
    assert_eq!(
        (job.ranks, job.all_ranks, job.nodes),
        (2, 2, nodes),
        "{job:?}"
    );
    assert_eq!(
        (job.program.as_str(), job.arrivals),
        ("recorded", ComparedRanks::AllRanks)
    );
    assert!(allreduces.time <= job.rank_time, "{profile:?}");
    // Not every rank waits for the last one in a rooted collective.
    for rooted in ["bcast", "reduce"] {
        let calls = total(&profile, |call| call.collective == rooted);
        assert!(calls.calls > 0, "{profile:?}");
        assert_eq!(calls.waiting_share(), None, "{rooted}: {calls:?}");
    }
    profile
}

#[test]
fn waiting_for_a_late_rank_is_what_the_program_measures_mpi() {
    let profile = check_late(50, &[], 1);
    // There are few calls, so all of them are compared.
    let allreduces = total(&profile, |call| call.collective == "allreduce");
    assert_eq!(allreduces.sampled_calls, 100);
}

#[test]
fn some_calls_tell_the_waiting_of_all_mpi() {
    let profile = check_late(300, &[("COLLTUNE_TABLE", "TABLE")], 1);
    let allreduces = total(&profile, |call| call.collective == "allreduce");
    assert!(
        (20..=130).contains(&allreduces.sampled_calls),
        "{allreduces:?}"
    );
}

#[test]
fn clocks_of_nodes_that_differ_do_no_harm_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    let apart = compiled("elsewhen.c", folder.path(), &["-shared", "-fPIC"]);
    let both = format!("{} {}", preloaded().display(), apart.display());
    let profile = check_late(60, &[("LD_PRELOAD", &both)], 2);
    let mut calls = profile.calls.keys();
    let communicator = calls
        .find_map(|call| call.communicator.clone())
        .expect("one");
    assert_eq!((communicator.nodes, communicator.ppn), (Some(2), Some(1)));
}

#[test]
fn profiles_of_jobs_add_up_mpi() {
    let first = check_late(4, &[], 1);
    let second = check_late(6, &[], 1);
    let named = [("a", first.clone()), ("b", second), ("c", first)];
    let sum = add_up(named.map(|(name, profile)| (name.to_owned(), profile)));
    assert_eq!(sum.repeated, ["c"]);
    let allreduces = total(&sum.profile, |call| call.collective == "allreduce");
    assert_eq!((sum.profile.jobs.len(), allreduces.calls), (2, 20));
}

#[test]
fn a_killed_job_leaves_a_part_without_the_last_seconds_mpi() {
    let seconds = 12.0;
    let prepared = Prepared::new("recorded.c", &[]);
    let output = prepared.start(&["killed", "12"], 2, &[]);
    assert!(!output.text.contains("the program ends"), "{}", output.text);
    assert!(!prepared.file().exists(), "{}", output.text);
    let part = prepared.only_part();
    let job = part.jobs.values().next().expect("a job");
    assert_eq!((job.ranks, job.is_whole()), (2, false), "{job:?}");
    assert_eq!(job.arrivals, ComparedRanks::WithinNodes);
    let recorded = job.time.seconds();
    assert!(
        recorded > seconds - 10.0 && recorded < 3.0 * seconds,
        "{recorded}"
    );
    let calls = total(&part, |call| call.collective == "allreduce");
    assert!(calls.calls > 20 && calls.sampled_calls > 0, "{calls:?}");
}

#[test]
fn a_killed_job_on_two_nodes_leaves_a_part_of_each_that_add_up_mpi() {
    let prepared = Prepared::new("recorded.c", &[]);
    let elsewhere = TempDir::new().expect("a temporary folder");
    let apart = compiled("elsewhen.c", elsewhere.path(), &["-shared", "-fPIC"]);
    let both = format!("{} {}", preloaded().display(), apart.display());
    let output = prepared.start(&["killed", "7"], 2, &[("LD_PRELOAD", &both)]);
    assert!(!output.text.contains("the program ends"), "{}", output.text);
    assert!(!prepared.file().exists(), "{}", output.text);
    let mut names = prepared.others();
    names.sort_unstable();
    let [of_first, of_second] = &names[..] else {
        panic!("two parts are expected: {names:?}: {}", output.text);
    };
    let parts = [
        prepared.read_part(of_first, 0),
        prepared.read_part(of_second, 1),
    ];
    let allreduces = parts
        .each_ref()
        .map(|part| total(part, |call| call.collective == "allreduce"));
    for (part, calls) in parts.iter().zip(&allreduces) {
        let job = part.jobs.values().next().expect("a job");
        assert_eq!((job.ranks, job.all_ranks, job.nodes), (1, 2, 2), "{job:?}");
        assert!(job.time.seconds() > 3.0, "{job:?}");
        assert!(calls.calls > 20, "{calls:?}");
        // What a rank waits for those of other nodes is not known.
        assert_eq!(calls.waiting_share(), None, "{calls:?}");
    }
    let named = names.iter().cloned().zip(parts);
    let sum = add_up(named);
    assert_eq!(sum.repeated, [""; 0]);
    let [job] = &Vec::from_iter(sum.profile.jobs.values())[..] else {
        panic!("one job is expected: {:?}", sum.profile.jobs);
    };
    assert_eq!((job.ranks, job.is_whole()), (2, false), "{job:?}");
    let calls = total(&sum.profile, |call| call.collective == "allreduce");
    let [first, second] = allreduces;
    assert_eq!(calls.calls, first.calls + second.calls);
}

#[test]
fn calls_that_test_requests_write_parts_mpi() {
    let prepared = Prepared::new("recorded.c", &[]);
    let output = prepared.start(&["tested", "9"], 2, &[]);
    assert!(!output.text.contains("the program ends"), "{}", output.text);
    let part = prepared.only_part();
    let job = part.jobs.values().next().expect("a job");
    assert!(job.time.seconds() > 3.0, "{job:?}");
    let barriers = total(&part, |call| call.collective == "barrier");
    assert_eq!(barriers.calls, 1, "{part:?}");
}

#[test]
fn killed_jobs_with_one_file_leave_parts_of_their_own_and_wait_for_no_disk_mpi() {
    let prepared = Prepared::new("recorded.c", &[]);
    let watching = compiled("synced.c", prepared.folder.path(), &["-shared", "-fPIC"]);
    let both = format!("{} {}", preloaded().display(), watching.display());
    let more = [("LD_PRELOAD", both.as_str())];
    for _ in 0..2 {
        let output = prepared.start(&["tested", "7"], 2, &more);
        assert!(!output.text.contains("synced"), "{}", output.text);
    }
    let parts = prepared.others();
    let named = parts
        .iter()
        .map(|name| (name.clone(), prepared.read_part(name, 0)));
    let sum = add_up(named);
    assert_eq!(sum.profile.jobs.len(), 2, "{parts:?}");
    assert_eq!(sum.repeated, [""; 0]);
    // The whole, which is written when the program has made its last call, outlives a failure of the machine.
    let text = prepared.start(&["shapes"], 2, &more).expect_success();
    assert!(text.contains("synced"), "{text}");
    assert_eq!(prepared.others(), parts, "the parts of other jobs stay");
}

#[test]
fn each_start_of_a_persistent_collective_has_its_length_mpi() {
    // Of the libraries that are tested, only MPICH has persistent collectives.
    if chosen_family() != LibraryName::Mpich {
        return;
    }
    let prepared = Prepared::new("recorded.c", &[]);
    let (text, profile) = prepared.record(&["started"], 2, &[]);
    let calls = total(&profile, |call| call.form == Form::Persistent);
    assert_eq!((calls.calls, calls.bytes), (6, 6 * 72), "{text}");
}

#[test]
fn recording_takes_the_same_memory_after_many_calls_mpi() {
    let prepared = Prepared::new("recorded.c", &[]);
    let (text, profile) = prepared.record(&["alone", "100000", "10000000"], 1, &[]);
    let calls = total(&profile, |call| call.collective == "allreduce");
    assert_eq!(calls.calls, 10_100_000);
    let [before, after] = ["before", "after"].map(|when| told(&text, &format!("heap {when}"))[0]);
    assert!(after <= before + 4096.0, "{before} and {after}");
}

#[test]
fn recording_takes_bounded_memory_with_many_communicators_mpi() {
    let prepared = Prepared::new("recorded.c", &[]);
    let (text, profile) = prepared.record(&["lives", "10000"], 2, &[]);
    let calls = total(&profile, |call| call.collective == "allreduce");
    assert_eq!(calls.calls, 20_000);
    assert!(profile.calls.len() < 100, "{}", profile.calls.len());
    let [before, after] = ["before", "after"].map(|when| told(&text, &format!("heap {when}"))[0]);
    // The library itself keeps a little of each.
    assert!(after <= before + 1e6, "{before} and {after}");
}

#[test]
fn every_shape_of_call_is_told_apart_mpi() {
    let prepared = Prepared::new("recorded.c", &[]);
    let (text, profile) = prepared.record(&["shapes"], 2, &[]);
    let found: Vec<String> = profile
        .calls
        .iter()
        .map(|(call, tally)| {
            let communicator = call.communicator.as_ref().expect("few communicators");
            format!(
                "{} {} {} {} {} {} {} {} {} calls {}",
                call.form.name(),
                call.collective,
                communicator.ranks,
                communicator.made_by.name(),
                tally.mean_bytes(),
                call.datatype.as_deref().unwrap_or("-"),
                call.operator.as_deref().unwrap_or("-"),
                if call.in_place { "in_place" } else { "-" },
                match call.root {
                    Some(Root::First) => "first",
                    Some(Root::Other) => "other",
                    None => "-",
                },
                tally.calls,
            )
        })
        .collect();
    let expected = [
        "blocking allgatherv 2 dup 24 int32 - - - calls 2",
        "blocking allreduce 1 split 256 float32 max in_place - calls 2",
        "blocking alltoallv 2 topology 12 int32 - - - calls 2",
        "blocking barrier 2 topology 0 - - - - calls 2",
        "blocking bcast 2 dup 40 derived - - first calls 2",
        "blocking bcast 2 predefined 40 float64 - - other calls 2",
        "blocking neighbor_allgather 2 topology 16 float64 - - - calls 2",
        "blocking scan 2 unknown 4 int32 sum - - calls 2",
        "nonblocking allreduce 2 dup 72 float64 sum - - calls 2",
    ];
    let mut sorted = found.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, expected, "{text}");
    assert_eq!(MadeBy::ALL.len(), 7);
}

#[test]
fn arguments_that_are_ignored_on_intercommunicators_are_not_read_mpi() {
    let prepared = Prepared::new("recorded.c", &[]);
    let (text, profile) = prepared.record(&["groups"], 3, &[]);
    for collective in [
        "gather",
        "scatter",
        "reduce",
        "alltoallv",
        "alltoallw",
        "allgatherv",
    ] {
        let calls = total(&profile, |call| call.collective == collective);
        assert_eq!((calls.calls, calls.bytes), (3, 0), "{collective}: {text}");
    }
    for call in profile.calls.keys() {
        let communicator = call.communicator.as_ref().expect("few communicators");
        assert_eq!(communicator.made_by, MadeBy::Intercommunicator, "{call:?}");
        let read = (
            call.bytes,
            call.datatype.as_deref(),
            call.operator.as_deref(),
        );
        assert_eq!((read, call.root), ((None, None, None), None), "{call:?}");
    }
}

/// Checks that a program that prints what it calls has these calls in its profile, of both ranks: those that failed
/// count as others.
fn check_counted(what: &str, failed: &[&str]) {
    let prepared = Prepared::new("counted.c", &[]);
    let (text, profile) = prepared.record(&[what], 2, &[]);
    let mut counted: BTreeMap<String, u64> = BTreeMap::new();
    for (call, tally) in &profile.calls {
        let name = match call.form {
            Form::Blocking if call.is_neighbourhood() => call.collective.clone(),
            Form::Blocking => continue,
            Form::Nonblocking => format!("i{}", call.collective),
            Form::Persistent => format!("{}_init", call.collective),
        };
        *counted.entry(name).or_default() += tally.calls;
    }
    let lines = text.lines().filter_map(|line| line.strip_prefix("called "));
    let mut called: BTreeMap<String, u64> = lines
        .map(|line| {
            let (name, calls) = line.split_once(' ').expect("a number");
            (name.to_owned(), 2 * calls.parse::<u64>().expect("a number"))
        })
        .collect();
    let failed_calls: Option<u64> = failed.iter().map(|name| called.remove(*name)).sum();
    assert!(!called.is_empty(), "{text}");
    assert_eq!(counted, called, "{text}");
    let others = total(&profile, |call| call.collective == "other");
    assert_eq!(Some(others.calls), failed_calls, "{text}");
}

#[test]
fn collectives_that_are_not_served_are_recorded_mpi() {
    check_counted("all", &[]);
    check_counted("strain", &["ibcast"]);
}

#[test]
fn threads_record_all_their_calls_mpi() {
    const THREADS: u64 = 4;
    const CALLS: u64 = 400;
    const RANKS: u32 = 2;
    let prepared = Prepared::new("threads.c", &["-pthread"]);
    let words = ["apart", &THREADS.to_string(), &CALLS.to_string()];
    prepared.start(&words, RANKS, &[]).expect_success();
    let profile = read(&prepared.file());
    for (name, expected) in Totals::of_apart(THREADS, CALLS).by_name() {
        let (collective, form) = match name {
            "iallreduce" => ("allreduce", Form::Nonblocking),
            _ => (name, Form::Blocking),
        };
        let is_counted =
            |call: &profile::CallShape| call.collective == collective && call.form == form;
        let recorded = total(&profile, is_counted);
        assert_eq!(recorded.calls, u64::from(RANKS) * expected, "{name}");
    }
}

#[test]
fn communicators_that_threads_make_in_another_order_are_told_apart_mpi() {
    let prepared = Prepared::new("twins.c", &["-pthread"]);
    let elsewhere = TempDir::new().expect("a temporary folder");
    let flags = ["-shared", "-fPIC", "-DLATE_RETURN"];
    let late = compiled("twins.c", elsewhere.path(), &flags);
    let both = format!("{} {}", preloaded().display(), late.display());
    let (text, profile) = prepared.record(&[], 2, &[("LD_PRELOAD", &both)]);
    let allreduces = total(&profile, |call| call.collective == "allreduce");
    assert_eq!(
        (allreduces.calls, allreduces.sampled_calls),
        (40, 40),
        "{text}"
    );
    // Half of it, if the arrivals at one communicator were compared with those at the other one.
    let share = allreduces.waiting_share().expect("samples");
    assert!(share > 0.8, "{share}: {allreduces:?}");
}

#[test]
fn a_profile_never_replaces_the_table_mpi() {
    let prepared = Prepared::new("recorded.c", &[]);
    let table = save_table(
        &forcing_table(1, chosen_installation().library()),
        prepared.folder.path(),
    );
    let before = std::fs::read(&table).expect("a table");
    let path = table.display().to_string();
    let more = [
        ("COLLTUNE_TABLE", path.as_str()),
        ("COLLTUNE_RECORD", path.as_str()),
    ];
    let text = prepared.start(&["shapes"], 2, &more).expect_success();
    let warning = "COLLTUNE_RECORD names the table, so no profile is recorded";
    assert!(text.contains(warning), "{text}");
    assert_eq!(std::fs::read(&table).expect("a table"), before);
}

#[test]
fn a_folder_gets_a_file_for_each_job_mpi() {
    let prepared = Prepared::new("recorded.c", &[]);
    let folder = prepared.folder.path().join("profiles");
    std::fs::create_dir(&folder).expect("created");
    let path = folder.display().to_string();
    for _ in 0..2 {
        let more = [("COLLTUNE_RECORD", path.as_str())];
        prepared.start(&["shapes"], 2, &more).expect_success();
    }
    let entries = std::fs::read_dir(&folder).expect("a folder");
    let files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    assert_eq!(files.len(), 2, "{files:?}");
    for file in files {
        assert!(
            file.display().to_string().contains("/recorded-"),
            "{file:?}"
        );
        assert_eq!(read(&file).jobs.len(), 1);
    }
}
