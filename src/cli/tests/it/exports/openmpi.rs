//! Open MPI: its algorithms are exported functions, which a preloaded library sees called.

use std::collections::BTreeSet;

use export::openmpi::{File, read};
use schedule::Collective;

use super::launch::Library;
use super::{Call, entry, lines, write_table};
use crate::run::Place;

/// The functions behind the algorithms of each collective, in the order of their numbers.
const FUNCTIONS: [(Collective, &[&str]); 11] = [
    (
        Collective::Bcast,
        &[
            "basic_linear",
            "chain",
            "pipeline",
            "split_bintree",
            "bintree",
            "binomial",
            "knomial",
            "scatter_allgather",
            "scatter_allgather_ring",
        ],
    ),
    (
        Collective::Reduce,
        &[
            "basic_linear",
            "chain",
            "pipeline",
            "binary",
            "binomial",
            "in_order_binary",
            "redscat_gather",
        ],
    ),
    (
        Collective::Allreduce,
        &[
            "basic_linear",
            "nonoverlapping",
            "recursivedoubling",
            "ring",
            "ring_segmented",
            "redscat_allgather",
        ],
    ),
    (
        Collective::Gather,
        &["basic_linear", "binomial", "linear_sync"],
    ),
    (
        Collective::Scatter,
        &["basic_linear", "binomial", "linear_nb"],
    ),
    (
        Collective::Allgather,
        &[
            "basic_linear",
            "bruck",
            "recursivedoubling",
            "ring",
            "neighborexchange",
            "two_procs",
        ],
    ),
    (
        Collective::ReduceScatter,
        &[
            "nonoverlapping",
            "basic_recursivehalving",
            "ring",
            "butterfly",
        ],
    ),
    (
        Collective::ReduceScatterBlock,
        &[
            "basic_linear",
            "recursivedoubling",
            "recursivehalving",
            "butterfly",
        ],
    ),
    (
        Collective::Alltoall,
        &[
            "basic_linear",
            "pairwise",
            "bruck",
            "linear_sync",
            "two_procs",
        ],
    ),
    (
        Collective::Barrier,
        &[
            "basic_linear",
            "doublering",
            "recursivedoubling",
            "bruck",
            "two_procs",
            "tree",
        ],
    ),
    (Collective::Scan, &["linear", "recursivedoubling"]),
];

/// What tables call them.
const IDS: [(Collective, &[&str]); 11] = [
    (
        Collective::Bcast,
        &[
            "basic_linear",
            "chain, fanout: 2",
            "pipeline, segment_bytes: 128",
            "split_binary_tree, segment_bytes: 64",
            "binary_tree",
            "binomial, segment_bytes: 1K",
            "knomial",
            "scatter_allgather",
            "scatter_allgather_ring",
            "chain",
        ],
    ),
    (
        Collective::Reduce,
        &[
            "linear",
            "chain, fanout: 2, segment_bytes: 64",
            "pipeline",
            "binary",
            "binomial",
            "in-order_binary, segment_bytes: 256",
            "rabenseifner",
        ],
    ),
    (
        Collective::Allreduce,
        &[
            "basic_linear",
            "nonoverlapping",
            "recursive_doubling",
            "ring",
            "segmented_ring, segment_bytes: 64",
            "rabenseifner",
        ],
    ),
    (
        Collective::Allgather,
        &[
            "linear",
            "bruck",
            "recursive_doubling",
            "ring",
            "neighbor",
            "two_proc",
        ],
    ),
    (
        Collective::ReduceScatter,
        &["non-overlapping", "recursive_halving", "ring", "butterfly"],
    ),
    (
        Collective::ReduceScatterBlock,
        &[
            "basic_linear",
            "recursive_doubling",
            "recursive_halving",
            "butterfly",
        ],
    ),
    (
        Collective::Alltoall,
        &[
            "linear",
            "pairwise",
            "modified_bruck",
            "linear_sync",
            "two_proc",
        ],
    ),
    // One choice for all sizes: another one on each number of ranks.
    (
        Collective::Gather,
        &["basic_linear", "binomial", "linear_sync"],
    ),
    (
        Collective::Scatter,
        &["linear_nb", "basic_linear", "binomial"],
    ),
    (Collective::Barrier, &["double_ring", "bruck", "tree"]),
    (
        Collective::Scan,
        &["recursive_doubling", "linear", "recursive_doubling"],
    ),
];

/// In a file that names none of these a program with operators of all kinds is right.
fn is_ordered(collective: Collective, id: &str) -> bool {
    wire::combines_in_order("openmpi", collective, id.split(',').next().unwrap())
}

const RANKS: [u32; 3] = [2, 3, 4];
/// Where the choices of a collective begin. The first one is the library's.
const STEP: u64 = 1000;

/// A table that names every algorithm on every number of ranks, and for operators that do not commute
/// those that are ordered.
fn collectives() -> String {
    let mut text = String::new();
    for (collective, ids) in IDS {
        let size = table::message_size(collective);
        text += &format!("  {collective}:\n    message_size: {size}\n    shapes:\n");
        let is_single = ids.len() == RANKS.len();
        for (ranks, index) in RANKS.into_iter().zip(0..) {
            let named = |id: &str| {
                format!(
                    "'native:{collective}/{}'{}",
                    id.split(',').next().unwrap(),
                    id.split_once(',')
                        .map_or(String::new(), |(_, rest)| format!(",{rest}"))
                )
            };
            let rules = |ids: &[&str]| -> Vec<(u64, String)> {
                let first = (0, "default".to_owned());
                let rest = ids
                    .iter()
                    .zip(1..)
                    .map(|(id, place)| (place * STEP, named(id)));
                std::iter::once(first).chain(rest).collect()
            };
            let single = |id: &str| vec![(0, named(id))];
            let (all, ordered) = match is_single {
                true => (single(ids[index]), single(ids[index])),
                false => {
                    let ordered: Vec<&str> = ids
                        .iter()
                        .copied()
                        .filter(|id| is_ordered(collective, id))
                        .collect();
                    (rules(ids), rules(&ordered))
                }
            };
            text += &match collective.is_reduction() {
                true => {
                    entry(ranks, Some("commutative"), &all)
                        + &entry(ranks, Some("noncommutative"), &ordered)
                }
                false => entry(ranks, None, &all),
            };
        }
    }
    text
}

/// Calls at each threshold and one byte to either side.
fn calls(is_commutative: bool) -> Vec<Call> {
    let mut calls = Vec::new();
    for (collective, ids) in IDS {
        let mut sizes = BTreeSet::from([1, 8]);
        for place in 1..=ids.len() as u64 {
            sizes.extend([place * STEP - 1, place * STEP, place * STEP + 1]);
        }
        if collective == Collective::Barrier {
            sizes = BTreeSet::from([0]);
        }
        for bytes in sizes {
            let mut add = |variant| {
                calls.push(Call {
                    collective,
                    bytes,
                    variant,
                });
            };
            add("plain");
            if !matches!(collective, Collective::Bcast | Collective::Barrier) {
                add("in-place");
            }
            if collective.is_reduction() && !is_commutative && bytes > 1 {
                add("noncommutative");
            }
        }
    }
    calls
}

/// What the library looks at.
fn in_file(call: &Call, ranks: u32) -> u64 {
    match call.collective {
        // Whose type has no size.
        Collective::Allgather | Collective::Alltoall if call.variant == "in-place" => 0,
        Collective::Allgather | Collective::Alltoall | Collective::ReduceScatterBlock => {
            (call.bytes - odd(call)) * u64::from(ranks)
        }
        _ => call.bytes - odd(call),
    }
}

/// Pairs leave a byte over.
fn odd(call: &Call) -> u64 {
    match call.variant {
        "noncommutative" => call.bytes % 2,
        _ => 0,
    }
}

/// The first function of the collective that a call went into, with its two arguments.
fn function(line: &str, collective: Collective) -> Option<(String, [u64; 2])> {
    let begins = format!("{collective}/");
    let word = line.split(' ').find(|word| word.starts_with(&begins))?;
    let (name, arguments) = word.trim_end_matches(')').split_once('(')?;
    let (first, second) = arguments.split_once(',')?;
    let name = name.trim_start_matches(&begins).replace("intra_", "");
    Some((name, [first.parse().ok()?, second.parse().ok()?]))
}

/// How many of the two arguments a function has: a segment size and a fanout.
fn arguments(collective: Collective, function: &str) -> usize {
    match (collective, function) {
        (Collective::Bcast, "chain") => 2,
        (Collective::Bcast, "pipeline" | "split_bintree" | "bintree" | "binomial") => 1,
        (Collective::Reduce, "chain") => 2,
        (Collective::Reduce, "pipeline" | "binary" | "binomial" | "in_order_binary") => 1,
        (Collective::Allreduce, "ring_segmented") | (Collective::Gather, "linear_sync") => 1,
        _ => 0,
    }
}

/// Runs the calls and returns a line of trace for each.
fn traced(
    library: &Library,
    place: &Place,
    ranks: u32,
    calls: &[Call],
    rules: bool,
) -> Vec<String> {
    place.write("calls", lines(calls));
    let _ = std::fs::remove_file(place.path("trace"));
    let rules_file = place.path("rules.conf");
    let mut flags = vec!["--oversubscribe", "--bind-to", "none"];
    if rules {
        let name = rules_file.to_str().unwrap();
        flags.extend(["--mca", "coll_tuned_use_dynamic_rules", "1"]);
        flags.extend(["--mca", "coll_tuned_dynamic_rules_filename", name]);
    }
    let environment = [
        ("LD_PRELOAD", place.path("trace.so").into()),
        ("COLLTUNE_TRACE", place.path("trace").into()),
        ("COLLTUNE_TRACE_SPOOL", place.path("none").into()),
    ];
    let (program, list) = (place.path("calls.run"), place.path("calls"));
    let out = library.run(place, &flags, ranks, &[&program, &list], &environment);
    assert!(
        out.contains(&format!("{} calls are right", calls.len())),
        "{out}"
    );
    let trace = place.read("trace");
    trace.lines().skip(1).map(str::to_owned).collect()
}

/// Compares what ran with what the file says, call by call; the numbers of algorithms that were seen.
fn check(
    file: &File,
    ranks: u32,
    calls: &[Call],
    with: &[String],
    without: &[String],
) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    assert_eq!((with.len(), without.len()), (calls.len(), calls.len()));
    for ((call, line), own) in calls.iter().zip(with).zip(without) {
        let row = file.row(call.collective, ranks, in_file(call, ranks));
        let row = row.unwrap_or_else(|| panic!("no row for {call:?}"));
        let found = function(line, call.collective);
        if row.algorithm == 0 {
            let own = function(own, call.collective).map(|(name, _)| name);
            let found = found.map(|(name, _)| name);
            assert_eq!(
                found, own,
                "{call:?} on {ranks} ranks is the library's to decide: {line}"
            );
            continue;
        }
        let (_, functions) = FUNCTIONS
            .iter()
            .find(|(of, _)| *of == call.collective)
            .unwrap();
        let expected = functions[row.algorithm as usize - 1];
        let (name, given) = found.unwrap_or_else(|| panic!("{call:?}: {line}"));
        assert_eq!(name, expected, "{call:?} on {ranks} ranks: {row:?}, {line}");
        let wanted = [row.segment_bytes, row.fanout].map(u64::from);
        let count = arguments(call.collective, expected);
        assert_eq!(
            given[..count],
            wanted[..count],
            "{call:?} on {ranks} ranks: {line}"
        );
        seen.insert(format!("{}/{name}", call.collective));
    }
    seen
}

fn prove(library: &Library) {
    let place = Place::new();
    write_table(&place, "openmpi", &library.version, &collectives());
    let program = library.compile(&place, "exports/calls.c", &[]);
    std::fs::rename(program, place.path("calls.run")).unwrap();
    let trace = library.compile(
        &place,
        "../../../driver/tests/it/trace.c",
        &["-shared", "-fPIC", "-ldl"],
    );
    std::fs::rename(trace, place.path("trace.so")).unwrap();
    let mut seen = BTreeSet::new();
    for is_commutative in [false, true] {
        let mut export = vec!["export", "tables/night.yaml", "--format", "openmpi"];
        export.extend(["--output", "rules.conf"]);
        if is_commutative {
            export.push("--assume-commutative");
        }
        let ran = place.run(&export);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let file = read(&place.read("rules.conf")).unwrap();
        let calls = calls(is_commutative);
        for ranks in RANKS {
            let with = traced(library, &place, ranks, &calls, true);
            let without = traced(library, &place, ranks, &calls, false);
            seen.extend(check(&file, ranks, &calls, &with, &without));
        }
    }
    let all = FUNCTIONS.iter().flat_map(|(collective, functions)| {
        functions
            .iter()
            .map(move |name| format!("{collective}/{name}"))
    });
    let missing: Vec<String> = all.filter(|name| !seen.contains(name)).collect();
    // Of gather, scatter, barrier and scan there is one choice a number of ranks.
    let expected = [
        "barrier/basic_linear",
        "barrier/recursivedoubling",
        "barrier/two_procs",
    ];
    assert_eq!(missing, expected, "these never ran");
}

#[test]
fn openmpi_runs_what_an_exported_rules_file_says() {
    let library = Library::find("MPICC_OPENMPI", "mpicc.openmpi", "mpirun.openmpi", ") ");
    let Some(library) = library.filter(|library| library.version.starts_with("4.1.")) else {
        eprintln!("skipped: there is no Open MPI 4.1 here");
        return;
    };
    prove(&library);
}

#[test]
fn openmpi_5_runs_what_an_exported_rules_file_says() {
    if let Some(library) = Library::newer("openmpi-5.0.11", ") ") {
        prove(&library);
    }
}
