//! Nonblocking collectives that our algorithms carry out.

use std::path::PathBuf;

use launcher::LibraryName;
use table::{Confidence, Rule, Table};
use tempfile::TempDir;
use testkit::mpi::{chosen_family, chosen_installation};
use testkit::tables::{forcing_table, save_table};
use vocabulary::{Candidate, NONBLOCKING, Pattern};

use crate::fortran::{compiled_fortran, interfaces};
use crate::launch::{compiled, run_preloaded};

/// Whether the library lets us make progress in all of its calls.
fn makes_progress() -> bool {
    chosen_family() == LibraryName::OpenMpi
}

/// The settings with which nonblocking collectives are served.
fn forcing() -> &'static str {
    if makes_progress() {
        "nonblocking"
    } else {
        "nonblocking,progress"
    }
}

/// A program and a table that chooses algorithm number `place` of each collective.
struct Prepared {
    folder: TempDir,
    program: PathBuf,
    table: PathBuf,
}

impl Prepared {
    fn new(place: usize) -> Self {
        Self::with_table(&forcing_table(place, chosen_installation().library()))
    }

    /// The same with rules for nonblocking calls alone.
    fn with_own_rules(place: usize) -> Self {
        let mut table = forcing_table(place, chosen_installation().library());
        table.provenance.pattern = Pattern::Nonblocking;
        table
            .collectives
            .retain(|collective, _| NONBLOCKING.contains(collective));
        Self::with_table(&table.join_with_replaced(None))
    }

    fn with_table(table: &Table) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        Self {
            // GCC takes `MPI_STATUSES_IGNORE` of MPICH for an array without elements.
            program: compiled("nonblocking.c", folder.path(), &["-Wno-stringop-overflow"]),
            table: save_table(table, folder.path()),
            folder,
        }
    }

    /// Runs the program, and returns its output and after it the summary, which goes to a file: the launcher may mix lines of
    /// both.
    fn run(&self, words: &[&str], ranks: u32, force: &str) -> String {
        let log = self.folder.path().join("log");
        let more = [
            ("COLLTUNE_LOG", log.to_str().expect("a path")),
            ("COLLTUNE_FORCE", force),
        ];
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let output = run_preloaded(&self.program, &words, ranks, &self.table, &more);
        let text = output.expect_success();
        assert!(text.contains("the program ends"), "{text}");
        text + &std::fs::read_to_string(&log).expect("a summary")
    }
}

/// The numbers of calls of a collective in the summary: those of our algorithms and those of the library.
fn counted_calls(text: &str, name: &str) -> [u64; 2] {
    let mut calls = [0, 0];
    for line in text
        .lines()
        .filter_map(|line| line.strip_prefix("colltune: "))
    {
        let mut words = line.split_whitespace();
        if words.next() == Some(name) {
            let count: u64 = words.next().and_then(|word| word.parse().ok()).expect(line);
            calls[usize::from(line.contains("the library: not served"))] += count;
        }
    }
    calls
}

/// The numbers of calls of a collective that the program has made.
fn made_calls(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix("called "));
    let mut words = line.expect(text).split_whitespace();
    words.find(|word| *word == name).expect(text);
    words.next().and_then(|word| word.parse().ok()).expect(text)
}

/// Asserts that the program has got an error of the class of wrong requests for cancelling a barrier of ours under way.
#[track_caller]
fn check_cancelling_fails(text: &str) {
    let line = text.lines().find_map(|line| line.strip_prefix("cancel: "));
    assert_eq!(line, Some("wrong request"), "{text}");
}

const NAMES: [&str; 3] = ["ibcast", "iallreduce", "ibarrier"];

#[test]
fn nonblocking_calls_are_carried_out_beside_other_requests_under_mpi() {
    let most = if makes_progress() { 4 } else { 3 };
    let way = if makes_progress() {
        "everywhere"
    } else {
        "completion"
    };
    // Different algorithms of each collective.
    for place in [0, 2, 5] {
        let prepared = Prepared::new(place);
        let ranks = 2 + (place as u32 + 1) % (most - 1);
        let text = prepared.run(&[way], ranks, forcing());
        for name in NAMES {
            let [ours, library] = counted_calls(&text, name);
            assert_eq!(ours + library, made_calls(&text, name), "{name}: {text}");
            // Some algorithms do not serve all numbers of ranks.
            assert!(ours == 0 || library == 0, "{name}: {text}");
        }
        assert!(counted_calls(&text, "ibcast")[0] > 0, "{text}");
        if counted_calls(&text, "ibarrier")[0] > 0 {
            check_cancelling_fails(&text);
        }
        // The library's own are not ours.
        assert_eq!(counted_calls(&text, "iallgather")[0], 0, "{text}");
    }
}

#[test]
fn nonblocking_calls_follow_rules_of_their_own_without_force_under_mpi() {
    let prepared = Prepared::with_own_rules(2);
    let (way, force) = if makes_progress() {
        ("everywhere", "0")
    } else {
        ("completion", "progress")
    };
    let text = prepared.run(&[way], 2, force);
    for name in NAMES {
        let made = made_calls(&text, name);
        assert_eq!(counted_calls(&text, name), [made, 0], "{name}: {text}");
    }
    check_cancelling_fails(&text);
    assert!(!text.contains("(rule of"), "{text}");
    // Blocking calls have no rules.
    let blocking = |line: &&str| line.starts_with("colltune: barrier ");
    let mut rows = text.lines().filter(blocking).peekable();
    assert!(rows.peek().is_some(), "{text}");
    assert!(rows.all(|row| !row.contains("barrier/")), "{text}");
    if makes_progress() {
        return;
    }
    // The summary alone says why the table's rules are not used.
    let passed = prepared.run(&["library"], 2, "0");
    assert_eq!(counted_calls(&passed, "ibcast")[0], 0, "{passed}");
    let why = "nonblocking collectives are left to the library: this MPI library lets no other one make progress";
    assert!(passed.contains(why), "{passed}");
    assert!(!passed.contains("colltune: warning"), "{passed}");
}

#[test]
fn nonblocking_calls_change_between_library_and_ours_by_size_under_mpi() {
    let mut table = forcing_table(2, chosen_installation().library());
    table.provenance.pattern = Pattern::Nonblocking;
    table
        .collectives
        .retain(|collective, _| NONBLOCKING.contains(collective) && collective.has_data());
    for shape in table.collectives.values_mut().flatten() {
        let left_from = |bytes| Rule::new(bytes, Candidate::Default, None, Confidence::High);
        let mut ours = shape.rules.remove(0);
        ours.from_bytes = 200;
        shape.rules = vec![left_from(0), ours, left_from(4000)];
    }
    let prepared = Prepared::with_table(&table.join_with_replaced(None));
    let force = if makes_progress() { "0" } else { "progress" };
    // What the library refuses is left out, as some of the calls are its own.
    let text = prepared.run(&["library"], 2, force);
    for name in ["ibcast", "iallreduce"] {
        let [ours, library] = counted_calls(&text, name);
        assert_eq!(ours + library, made_calls(&text, name), "{name}: {text}");
        assert!(ours > 0 && library > 0, "{name}: {text}");
    }
    let barriers = made_calls(&text, "ibarrier");
    assert_eq!(counted_calls(&text, "ibarrier"), [0, barriers], "{text}");
}

#[test]
fn nonblocking_calls_are_left_to_the_library_unless_forced_under_mpi() {
    let prepared = Prepared::new(1);
    let text = prepared.run(&["library"], 2, "0");
    for name in NAMES {
        let made = made_calls(&text, name);
        assert_eq!(counted_calls(&text, name), [0, made], "{name}: {text}");
    }
    assert!(!text.contains("nonblocking collectives are left"), "{text}");
    if makes_progress() {
        return;
    }
    let refused = prepared.run(&["library"], 2, "nonblocking");
    for name in NAMES {
        assert_eq!(counted_calls(&refused, name)[0], 0, "{name}: {refused}");
    }
    let why = "colltune: nonblocking collectives are left to the library: this MPI library lets no other one make progress";
    assert!(refused.contains(why), "{refused}");
}

#[test]
fn nonblocking_calls_of_fortran_programs_are_carried_out_under_mpi() {
    for interface in interfaces() {
        // Large counts differ in declarations only.
        if interface.contains(&"-DLARGE") {
            continue;
        }
        let mut prepared = Prepared::new(1);
        let folder = prepared.folder.path();
        let Some(program) = compiled_fortran("nonblocking.F90", interface, folder) else {
            continue;
        };
        prepared.program = program;
        let text = prepared.run(&[], 2, forcing());
        for name in NAMES {
            let made = made_calls(&text, name);
            assert_eq!(
                counted_calls(&text, name),
                [made, 0],
                "{interface:?}, {name}: {text}"
            );
        }
    }
}
