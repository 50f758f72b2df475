//! Calls of sizes that a table leaves to the library between sizes of ours.

use profile::usage::JobUsage;
use tempfile::TempDir;
use testkit::mpi::chosen_installation;
use testkit::tables::table_yaml;

use crate::launch::{compiled, run_preloaded, warnings};

/// Ours up to 99 bytes and from 500 bytes on; operators that do not commute have only the first rule.
const RULES: &str = "  allreduce:
    message_size: bytes of one rank's vector
    shapes:
      - nodes: 1
        ppn: 2
        operators: commutative
        rules:
          - {from: 0, candidate: allreduce/recursive_doubling, speedup: 2, confidence: high, confirmed: true}
          - {from: 100, candidate: default, confidence: high}
          - {from: 500, candidate: allreduce/ring, speedup: 2, confidence: high, confirmed: true}
      - nodes: 1
        ppn: 2
        operators: noncommutative
        rules:
          - {from: 0, candidate: allreduce/recursive_doubling, speedup: 2, confidence: high, confirmed: true}
          - {from: 200, candidate: default, confidence: high}
";

/// Calls that are left to the library are found in a short way, as soon as one like them is known: this must not take
/// calls with more or fewer elements, of another type or with another operator along.
#[test]
fn calls_between_sizes_of_ours_are_left_and_all_others_are_not_mpi() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("between.c", folder.path(), &[]);
    let library = chosen_installation().library();
    let table = folder.path().join("table.yaml");
    let text = table_yaml("in-use", &library.name, &library.version, RULES);
    std::fs::write(&table, text).expect("written");
    let usage = folder.path().join("usage.jsonl");
    let usage_path = usage.to_str().expect("a path");
    // Without a summary, which has the reason of each call.
    let variables = [("COLLTUNE_LOG", "0"), ("COLLTUNE_USAGE", usage_path)];
    let ended = run_preloaded(&program, &[], 2, &table, &variables).expect_success();
    assert_eq!(warnings(&ended), <[&str; 0]>::default());
    let expected: Vec<u64> = ["ours", "left"]
        .into_iter()
        .map(|what| {
            let count = ended.lines().find_map(|line| line.strip_prefix(what));
            count
                .and_then(|count| count.trim().parse().ok())
                .expect(what)
        })
        .collect();
    let line = std::fs::read_to_string(&usage).expect("a line");
    let job = JobUsage::from_line(line.trim_end().as_bytes()).expect("readable");
    let of_allreduce = job.calls.iter().filter(|row| row.collective == "allreduce");
    let mut found = [0, 0];
    for row in of_allreduce {
        match row.by.name() {
            "table" => found[0] += row.calls,
            "default" => found[1] += row.calls,
            other => panic!("{other}: {job:?}"),
        }
    }
    assert_eq!(found[..], expected[..], "{job:?}");
}
