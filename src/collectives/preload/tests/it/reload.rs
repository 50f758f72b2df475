//! Tables that change while a program runs.

use std::path::{Path, PathBuf};

use launcher::LibraryName;
use schedule::Collective;
use table::Table;
use tempfile::TempDir;
use testkit::mpi::{chosen_family, chosen_installation};
use testkit::tables::{forcing_table, save_table};
use vocabulary::{Library, NONBLOCKING, Pattern};

use crate::launch::{compiled, run_preloaded, warnings};

/// Two tables with different broadcasts, one for another library, and the table in use, at first a copy of the first
/// one.
struct Files {
    folder: TempDir,
    /// The choices of the first two.
    broadcasts: [String; 2],
}

impl Files {
    fn new() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let library = chosen_installation().library();
        let other = Library {
            version: "0.1".to_owned(),
            ..library.clone()
        };
        let [a, b] = [0, 1].map(|place| forcing_table(place, library.clone()));
        let put = |name: &str, table: &Table| {
            let place = folder.path().join(name);
            std::fs::create_dir_all(&place).expect("made");
            save_table(table, &place);
        };
        put("a", &a);
        put("b", &b);
        put("other", &forcing_table(1, other));
        let mut unconfirmed = b.clone();
        let rules = unconfirmed.collectives.values_mut().flatten();
        for rule in rules.flat_map(|entry| &mut entry.rules) {
            rule.confirmed = false;
        }
        put("unconfirmed", &unconfirmed);
        let mut section = b.clone();
        section.provenance.pattern = Pattern::Nonblocking;
        section
            .collectives
            .retain(|collective, _| NONBLOCKING.contains(collective));
        put("nonblocking", &section.join_with_replaced(Some(&a)));
        put("differing0", &a);
        put("differing1", &b);
        let broadcasts = [&a, &b].map(|table| {
            let rule = &table.collectives[&Collective::Bcast][0].rules[0];
            rule.candidate.to_string()
        });
        Self { folder, broadcasts }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name).join("table.yaml")
    }

    /// The numbers of calls by each of the two tables' broadcasts, and the output.
    fn run(&self, table: &Path, steps: &[String], reload: &str) -> ([u64; 2], String) {
        std::fs::copy(self.path("a"), self.path("")).expect("copied");
        let program = compiled("reload.c", self.folder.path(), &[]);
        let mut arguments = vec![self.path("").display().to_string()];
        arguments.extend_from_slice(steps);
        let more = [("COLLTUNE_RELOAD", reload)];
        let text = run_preloaded(&program, &arguments, 3, table, &more).expect_success();
        assert!(text.contains("the steps are done"), "{text}");
        let calls = |broadcast: &String| {
            let row = text.lines().find(|line| line.ends_with(broadcast));
            let calls = row.and_then(|row| row.split_whitespace().nth(2));
            calls.map_or(0, |calls| calls.parse().expect("a number"))
        };
        (self.broadcasts.each_ref().map(calls), text)
    }
}

#[test]
fn a_changed_table_holds_for_new_communicators_under_mpi() {
    let files = Files::new();
    let of = |verb: &str, name: &str| format!("{verb}:{}", files.path(name).display());
    let steps = [
        "new".to_owned(),   // 1 call by the first table
        of("put", "b"),     // 4 by the second
        "old".to_owned(),   // 16 by the first, with its communicator
        of("half", "a"),    // 64 by the second, as half a table is none
        "new".to_owned(),   // 256, without another warning
        of("put", "other"), // 1024 by the second, as this is not for this library
        of("put", "a"),     // 4096 by the first again
        "cut".to_owned(),   // 16384 by the first
    ];
    let (calls, text) = files.run(&files.path(""), &steps, "1");
    assert_eq!(
        calls,
        [1 + 16 + 4096 + 16384, 4 + 64 + 256 + 1024],
        "{text}"
    );
    assert_eq!(warnings(&text).len(), 3, "{text}");
    assert_eq!(text.matches("the old table is kept").count(), 3, "{text}");
    assert!(text.contains("was made for"), "{text}");
    assert!(text.contains("No such file"), "{text}");
    assert!(text.contains("the table was replaced 2 times"), "{text}");
    let (unwatched_calls, unwatched_text) = files.run(&files.path(""), &steps[..2], "0");
    assert_eq!(
        (unwatched_calls, warnings(&unwatched_text).len()),
        ([5, 0], 0),
        "{unwatched_text}"
    );
}

#[test]
fn rules_for_nonblocking_calls_of_a_changed_table_hold_under_mpi() {
    let files = Files::new();
    let put = format!("put:{}", files.path("nonblocking").display());
    // 1 nonblocking call by the library, 4 by the second table.
    let steps = ["also".to_owned(), put];
    let (calls, text) = files.run(&files.path(""), &steps, "1");
    assert_eq!(calls[0], 1 + 4, "{text}");
    let served = text.lines().filter_map(|line| {
        let mut words = line.strip_prefix("colltune: ibcast")?.split_whitespace();
        let count: u64 = words.next()?.parse().ok()?;
        (!line.contains("the library")).then_some(count)
    });
    if chosen_family() == LibraryName::OpenMpi {
        assert_eq!(served.sum::<u64>(), 4, "{text}");
    } else {
        let refusal =
            "nonblocking collectives are left to the library: this MPI library lets no other";
        assert!(text.contains(refusal), "{text}");
        assert_eq!(served.sum::<u64>(), 0, "{text}");
    }
}

#[test]
fn the_policy_holds_for_a_changed_table_under_mpi() {
    let files = Files::new();
    let put = format!("put:{}", files.path("unconfirmed").display());
    // 1 call by the first table, 4 by none.
    let steps = ["new".to_owned(), put];
    let (calls, text) = files.run(&files.path(""), &steps, "1");
    assert_eq!((calls, warnings(&text).len()), ([1, 0], 0), "{text}");
    assert!(text.contains("the table was replaced once"), "{text}");
    assert!(
        text.contains("  default (the table's rule is not used)"),
        "{text}"
    );
    assert!(text.contains("rules are not used"), "{text}");
}

#[test]
fn ranks_that_read_different_tables_keep_the_old_one_under_mpi() {
    let files = Files::new();
    // The file that a process sees there depends on its working directory.
    let table = Path::new("/proc/self/cwd/table.yaml");
    let folder = |name: &str| format!("cd:{}", files.folder.path().join(name).display());
    let steps = [folder("start"), folder("differing"), "new".to_owned()];
    for place in ["start0", "start1"] {
        let place = files.folder.path().join(place);
        std::fs::create_dir_all(&place).expect("made");
        std::fs::copy(files.path("b"), place.join("table.yaml")).expect("copied");
    }
    let (calls, text) = files.run(table, &steps, "1");
    assert_eq!(calls, [0, 1 + 4 + 16], "{text}");
    assert_eq!(warnings(&text).len(), 1, "{text}");
    assert!(text.contains("not all ranks have read the same"), "{text}");
}
