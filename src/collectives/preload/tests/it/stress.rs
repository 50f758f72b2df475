//! Random collectives with tables that choose each algorithm in turn.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use launcher::LibraryName;
use schedule::Collective;
use table::Table;
use tempfile::TempDir;
use testkit::mpi::{chosen_family, chosen_installation};
use testkit::tables::{forcing_table, save_table};
use vocabulary::{Candidate, Through};

use crate::launch::{compiled, run_preloaded, warnings};

/// Whether a table chooses an algorithm that is only for even numbers of ranks.
pub(crate) fn has_even_only(table: &Table) -> bool {
    let rules = table.entries().flat_map(|entry| &entry.rules);
    let mut algorithms =
        rules.filter_map(|rule| schedule::find_algorithm(rule.candidate.algorithm()));
    algorithms.any(|algorithm| algorithm.even_ranks)
}

/// The collectives that `stress.c` calls.
pub(crate) fn regular() -> impl Iterator<Item = Collective> {
    let served = Collective::ALL.into_iter();
    served.filter(|collective| !collective.is_irregular())
}

/// Runs `stress.c` with the table that chooses the algorithms with this index.
fn check(program: &Path, place: usize, ranks: u32, seed: u64) {
    let text = run(program, place, Through::Mpi, ranks, seed, &[]);
    // A run without our algorithms would be no test.
    for collective in regular() {
        assert!(
            is_ours(&text, collective),
            "no {collective} of ours in\n{text}"
        );
    }
}

/// Whether any call of a collective was carried out by an algorithm of ours.
fn is_ours(text: &str, collective: Collective) -> bool {
    let mut lines = text.lines().filter(|line| line.starts_with("colltune: "));
    lines.any(|line| line.contains(&format!("  {collective}/")))
}

/// The table that chooses the algorithms with this index, with messages through the given transport.
pub(crate) fn forcing_through(place: usize, through: Through) -> Table {
    let mut table = forcing_table(place, chosen_installation().library());
    for entries in table.collectives.values_mut() {
        for rule in entries.iter_mut().flat_map(|entry| &mut entry.rules) {
            if let Candidate::Ours { parameters, .. } = &mut rule.candidate {
                parameters.through = through;
            }
        }
    }
    table
}

/// The output of `stress.c` and the summary, with our messages through the given transport.
fn run(
    program: &Path,
    place: usize,
    through: Through,
    ranks: u32,
    seed: u64,
    more: &[(&str, &str)],
) -> String {
    let folder = TempDir::new().expect("a temporary folder");
    let table = forcing_through(place, through);
    let path = save_table(&table, folder.path());
    // MPICH's own collectives take milliseconds if ranks outnumber cores.
    let calls = match chosen_family() {
        LibraryName::Mpich | LibraryName::IntelMpi => 150,
        LibraryName::OpenMpi => 400,
    };
    println!("table {place}, {ranks} ranks, seed {seed}");
    // Algorithms for even numbers of ranks leave other calls to the library.
    let odd = if has_even_only(&table) { "odd" } else { "" };
    let arguments = [seed.to_string(), calls.to_string(), odd.to_owned()];
    let text = run_preloaded(program, &arguments, ranks, &path, more).expect_success();
    assert!(text.contains(&format!("{calls} calls agree")), "{text}");
    text
}

#[test]
fn messages_through_shared_memory_do_what_mpi_does_in_an_unmodified_program() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("stress.c", folder.path(), &[]);
    // Communicators are attached in the middle, so all ranks must count the data of all kinds of calls alike.
    let more = [("COLLTUNE_ATTACH_AFTER", "16K")];
    for (place, ranks) in [(0, 4), (3, 2), (6, 3)] {
        let text = run(
            &program,
            place,
            Through::Shared,
            ranks,
            5 + place as u64,
            &more,
        );
        assert!(text.contains("first calls on a communicator"), "{text}");
        for collective in regular() {
            assert!(
                is_ours(&text, collective),
                "no {collective} of ours in\n{text}"
            );
        }
        assert!(text.contains(" of them through shared memory"), "{text}");
    }
}

/// Calls that may not use shared memory are left to the library, with one warning.
fn check_without(program: &Path, more: &[(&str, &str)], reason: &str) {
    let text = run(program, 1, Through::Shared, 2, 3, more);
    for collective in regular() {
        assert!(
            !is_ours(&text, collective),
            "{collective} of ours in\n{text}"
        );
    }
    let told = warnings(&text);
    assert!(told.len() == 1 && told[0].contains(reason), "{text}");
    let row = format!("default (no shared memory: {reason})");
    assert!(text.contains(&row), "{text}");
}

#[test]
fn without_shared_memory_calls_are_left_to_the_library_under_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("stress.c", folder.path(), &[]);
    let off = [("COLLTUNE_SHARED_MEMORY", "0")];
    check_without(&program, &off, "shared memory is switched off");
}

#[test]
fn idle_communicators_give_way_to_new_ones_under_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("idle.c", folder.path(), &[]);
    let path = save_table(&forcing_through(1, Through::Shared), folder.path());
    let limit = [("COLLTUNE_SHARED_MEMORY", "4M")];
    let text = run_preloaded(&program, &[], 3, &path, &limit).expect_success();
    assert!(text.contains("all sums are right"), "{text}");
    let words = text.split(" of them through shared memory").next();
    let shared = words.and_then(|before| before.split_whitespace().next_back());
    let shared: u64 = shared.and_then(|calls| calls.parse().ok()).expect("calls");
    // Calls on the communicator that was always in use, and on the last two.
    assert!(shared >= 1500 + 2 * 1000 + 1000, "{text}");
    let row = "default (no shared memory: the limit of shared memory is reached)";
    let row = text.lines().find(|line| line.contains(row));
    let left = row.and_then(|row| row.split_whitespace().nth(2));
    let left: u64 = left.and_then(|calls| calls.parse().ok()).expect("calls");
    // Calls on the two that were used before it, and some that came when no other was idle.
    assert!((200..300).contains(&left), "{text}");
    assert_eq!(warnings(&text).len(), 1, "{text}");
}

const REFUSED: &str = "ranks cannot share memory";

/// A script that starts a program through another command.
fn started_by(words: &str, program: &Path) -> PathBuf {
    let script = program.with_extension("started");
    let text = format!("#!/bin/sh\nexec {words} '{}' \"$@\"\n", program.display());
    fs::write(&script, text).expect("written");
    fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).expect("executable");
    script
}

#[test]
fn if_any_rank_is_refused_memory_no_rank_uses_it_under_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("stress.c", folder.path(), &[]);
    let deny = compiled("deny.c", folder.path(), &[]);
    // Any rank may create the segment, and each rank reserves its part.
    for refusal in ["all memfd_create", "1 fallocate"] {
        let words = format!("'{}' {refusal}", deny.display());
        check_without(&started_by(&words, &program), &[], REFUSED);
    }
}

#[test]
fn ranks_in_separate_namespaces_do_not_share_memory_under_openmpi() {
    if chosen_family() != LibraryName::OpenMpi {
        // MPICH itself does not start in that case.
        return;
    }
    let apart = "unshare --pid --fork --kill-child";
    let mut words = Command::new("unshare");
    let works = words.args(["--pid", "--fork", "true"]).status();
    let works = works.is_ok_and(|status| status.success());
    if testkit::require("namespaces and other users", works.then_some(())).is_none() {
        return;
    }
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("stress.c", folder.path(), &[]);
    let by_sockets = [("OMPI_MCA_btl", "self,tcp")];
    check_without(&started_by(apart, &program), &by_sockets, REFUSED);
}

#[test]
fn each_algorithm_does_what_mpi_does_in_an_unmodified_program() {
    let most = Collective::ALL.map(|collective| schedule::algorithms_of(collective).count());
    let most = most.into_iter().max().unwrap_or_default();
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("stress.c", folder.path(), &[]);
    for place in 0..most {
        let ranks = if has_even_only(&forcing_table(place, chosen_installation().library())) {
            4
        } else {
            [4, 3, 5, 2][place % 4]
        };
        check(&program, place, ranks, 17 + place as u64);
    }
}

#[test]
fn new_random_calls_agree_with_mpi() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let seed = now.map_or(1, |now| now.as_nanos() as u64);
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("stress.c", folder.path(), &[]);
    check(&program, seed as usize % 12, 4, seed);
}
