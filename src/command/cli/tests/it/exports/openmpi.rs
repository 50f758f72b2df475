//! Open MPI: its algorithms are exported functions, and a preloaded library sees calls of them.

mod algorithms;

use std::collections::BTreeSet;
use std::ffi::OsString;

use schedule::Collective;
use table::{Deployment, OperatorClass, Query, Table};
use vocabulary::{CommShape, RankOrder};

use self::algorithms::{FUNCTIONS, IDS};
use super::launch::Library;
use super::{Call, entry, lines, write_table};
use crate::run::Place;

/// With a file that names none of these, results are right for operators of all kinds.
fn is_ordered(collective: Collective, id: &str) -> bool {
    libraries::combines_in_order("openmpi", collective, id.split(',').next().unwrap())
}

const RANKS: [u32; 3] = [2, 3, 4];
/// The sizes at which the choices of a collective begin. The first choice is the library's.
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
            let rules = |choices: &[&str]| -> Vec<(u64, String)> {
                let first = (0, "default".to_owned());
                let rest = choices
                    .iter()
                    .zip(1..)
                    .map(|(id, place)| (place * STEP, named(id)));
                std::iter::once(first).chain(rest).collect()
            };
            let single = |id: &str| vec![(0, named(id))];
            let (all, ordered) = if is_single {
                (single(ids[index]), single(ids[index]))
            } else {
                let ordered: Vec<&str> = ids
                    .iter()
                    .copied()
                    .filter(|id| is_ordered(collective, id))
                    .collect();
                (rules(ids), rules(&ordered))
            };
            text += &if collective.is_reduction() {
                entry(ranks, Some("commutative"), &all)
                    + &entry(ranks, Some("noncommutative"), &ordered)
            } else {
                entry(ranks, None, &all)
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

/// The first function of the collective that a call went into, with its two arguments.
pub(super) fn function(line: &str, collective: Collective) -> Option<(String, [u64; 2])> {
    let begins = format!("{collective}/");
    let word = line.split(' ').find(|word| word.starts_with(&begins))?;
    let (name, arguments) = word.trim_end_matches(')').split_once('(')?;
    let (first, second) = arguments.split_once(',')?;
    let name = name.trim_start_matches(&begins).replace("intra_", "");
    Some((name, [first.parse().ok()?, second.parse().ok()?]))
}

/// The number of these arguments that a function has: a segment size and a fanout.
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
    let rules_file = place.path("rules.conf");
    let mut flags = Vec::new();
    if rules {
        let name = rules_file.to_str().unwrap();
        flags.extend(["--mca", "coll_tuned_use_dynamic_rules", "1"]);
        flags.extend(["--mca", "coll_tuned_dynamic_rules_filename", name]);
    }
    traced_with(library, place, ranks, calls, &flags, &[])
}

/// Like [`traced`], with flags of the launcher and environment variables.
pub(super) fn traced_with(
    library: &Library,
    place: &Place,
    ranks: u32,
    calls: &[Call],
    flags: &[&str],
    variables: &[(String, OsString)],
) -> Vec<String> {
    place.write("calls", lines(calls));
    let _ = std::fs::remove_file(place.path("trace"));
    let flags = [&["--oversubscribe", "--bind-to", "none"], flags].concat();
    let mut environment = vec![
        ("LD_PRELOAD", place.path("trace.so").into()),
        ("COLLTUNE_TRACE", place.path("trace").into()),
        ("COLLTUNE_TRACE_SPOOL", place.path("none").into()),
    ];
    let variables = variables.iter();
    environment.extend(variables.map(|(name, value)| (name.as_str(), value.clone())));
    let (program, list) = (place.path("calls.run"), place.path("calls"));
    let out = library.run(place, &flags, ranks, &[&program, &list], &environment);
    assert!(
        out.contains(&format!("{} calls are right", calls.len())),
        "{out}"
    );
    let trace = place.read("trace");
    trace.lines().skip(1).map(str::to_owned).collect()
}

/// Compiles what [`traced`] runs.
pub(super) fn compile(library: &Library, place: &Place) {
    let program = library.compile(place, "exports/calls.c", &[]);
    std::fs::rename(program, place.path("calls.run")).unwrap();
    let source = "../../../../measuring/driver/tests/it/trace.c";
    let trace = library.compile(place, source, &["-shared", "-fPIC", "-ldl"]);
    std::fs::rename(trace, place.path("trace.so")).unwrap();
}

/// The id that the table chooses; `None` if the library decides, because the table says so or because another algorithm
/// would run in place of this one.
fn chosen(table: &Table, call: &Call, ranks: u32, operators: OperatorClass) -> Option<String> {
    let bytes = match (call.collective, call.variant) {
        // Its datatype has no size.
        (Collective::Allgather | Collective::Alltoall, "in-place") => 0,
        (_, "noncommutative") => call.bytes - call.bytes % 2,
        _ => call.bytes,
    };
    let decision = table.lookup(&Query {
        order: RankOrder::Unknown,
        collective: call.collective,
        shape: CommShape {
            nodes: 1,
            ppn: ranks,
        },
        bytes,
        operators,
        deployment: Deployment::Library,
    });
    let id = decision.candidate.id();
    let runs = match (call.collective, id) {
        (_, "default") => false,
        (_, "two_proc") => ranks == 2,
        (Collective::Allgather, "recursive_doubling") => ranks.is_power_of_two(),
        (Collective::Allgather, "neighbor") => ranks.is_multiple_of(2),
        _ => true,
    };
    runs.then(|| decision.candidate.to_string())
}

/// The function that carries out a candidate of the table, with the segment size and the fanout that it has; the fanout
/// is 4 if the table gives none.
fn wanted(collective: Collective, candidate: &str) -> (String, Vec<u64>) {
    let (name, parameters) = candidate.split_once('[').unwrap_or((candidate, ""));
    let (_, id) = name.split_once('/').unwrap();
    let function = match (collective, id) {
        (Collective::Bcast, "split_binary_tree") => "split_bintree",
        (Collective::Bcast, "binary_tree") => "bintree",
        (
            Collective::Reduce | Collective::Allgather | Collective::Alltoall | Collective::Barrier,
            "linear",
        ) => "basic_linear",
        (Collective::Reduce, "in-order_binary") => "in_order_binary",
        (Collective::Reduce, "rabenseifner") => "redscat_gather",
        (Collective::Allreduce, "segmented_ring") => "ring_segmented",
        (Collective::Allreduce, "rabenseifner") => "redscat_allgather",
        (Collective::Allgather, "neighbor") => "neighborexchange",
        (Collective::Alltoall, "modified_bruck") => "bruck",
        (Collective::Barrier, "double_ring") => "doublering",
        (_, "two_proc") => "two_procs",
        (Collective::ReduceScatter, "non-overlapping") => "nonoverlapping",
        (Collective::ReduceScatter, "recursive_halving") => "basic_recursivehalving",
        (Collective::ReduceScatterBlock, "recursive_halving") => "recursivehalving",
        (_, "recursive_doubling") => "recursivedoubling",
        (_, id) => id,
    };
    let value = |key: &str, otherwise| {
        let mut given = parameters.trim_end_matches(']').split(',');
        let found = given.find_map(|parameter| parameter.strip_prefix(key));
        found.map_or(otherwise, |text| {
            vocabulary::units::parse_bytes(text).unwrap()
        })
    };
    let all = [value("segment_bytes=", 0), value("fanout=", 4)];
    let count = arguments(collective, function);
    (function.to_owned(), all[..count].to_vec())
}

/// Compares the functions that ran with the table's choices, call by call; returns the functions that were seen.
fn check(
    table: &Table,
    operators: OperatorClass,
    ranks: u32,
    calls: &[Call],
    with: &[String],
    without: &[String],
) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    assert_eq!((with.len(), without.len()), (calls.len(), calls.len()));
    for ((call, line), own) in calls.iter().zip(with).zip(without) {
        let Some(candidate) = chosen(table, call, ranks, operators) else {
            let name = |text| function(text, call.collective).map(|(name, _)| name);
            let (found, own) = (name(line), name(own));
            assert_eq!(
                found, own,
                "{call:?} on {ranks} ranks is the library's to decide"
            );
            continue;
        };
        let (name, given) = function(line, call.collective).unwrap_or_default();
        let count = arguments(call.collective, &name);
        let found = (name, given[..count].to_vec());
        let wanted = wanted(call.collective, &candidate);
        assert_eq!(
            found, wanted,
            "{call:?} on {ranks} ranks: {candidate}, {line}"
        );
        seen.insert(format!("{}/{}", call.collective, found.0));
    }
    seen
}

fn prove(library: &Library) {
    let place = Place::new();
    let table = write_table(&place, "openmpi", &library.version, &collectives());
    compile(library, &place);
    // The library's own choices; these are all calls.
    let all_calls = calls(false);
    let own = RANKS.map(|ranks| traced(library, &place, ranks, &all_calls, false));
    let mut seen = BTreeSet::new();
    for is_commutative in [false, true] {
        let mut export = vec!["export", "tables/night.yaml", "--format", "openmpi"];
        export.extend(["--output", "rules.conf"]);
        if is_commutative {
            export.push("--assume-commutative");
        }
        let ran = place.run(&export);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let operators = if is_commutative {
            OperatorClass::Commutative
        } else {
            OperatorClass::Noncommutative
        };
        let calls = calls(is_commutative);
        for (ranks, stock) in RANKS.into_iter().zip(&own) {
            let with = traced(library, &place, ranks, &calls, true);
            let of_call = |call| {
                let mut known = all_calls.iter().zip(stock);
                known.find(|(known, _)| *known == call).unwrap().1.clone()
            };
            let without: Vec<String> = calls.iter().map(of_call).collect();
            seen.extend(check(&table, operators, ranks, &calls, &with, &without));
        }
    }
    let all = FUNCTIONS.iter().flat_map(|(collective, functions)| {
        functions
            .iter()
            .map(move |name| format!("{collective}/{name}"))
    });
    let missing: Vec<String> = all.filter(|name| !seen.contains(name)).collect();
    // Gather, scatter, barrier and scan have one choice for each number of ranks.
    let expected = [
        "barrier/basic_linear",
        "barrier/recursivedoubling",
        "barrier/two_procs",
    ];
    assert_eq!(missing, expected, "these never ran");
}

#[test]
fn openmpi_runs_the_choices_of_an_exported_rules_file() {
    let library = Library::find("MPICC_OPENMPI", "mpicc.openmpi", "mpirun.openmpi", ") ");
    let library = library.filter(|library| library.version.starts_with("4.1."));
    let Some(library) = testkit::require("Open MPI 4.1", library) else {
        return;
    };
    prove(&library);
}

/// The environment file of a deployed version is enough. On 3 ranks, which were not measured, the library's own
/// choice stays.
#[test]
fn openmpi_uses_a_deployed_table_with_its_environment_file() {
    let library = Library::find("MPICC_OPENMPI", "mpicc.openmpi", "mpirun.openmpi", ") ");
    let library = library.filter(|library| library.version.starts_with("4.1."));
    let Some(library) = testkit::require("Open MPI 4.1", library) else {
        return;
    };
    let place = Place::new();
    // An end beyond 32 bits, of which the library must not read the lower bits alone: it would end at 10 bytes.
    let chain = [
        (0, "'native:bcast/chain'".to_owned()),
        ((1 << 32) + 10, "default".to_owned()),
    ];
    let collectives = format!(
        "  bcast:\n    message_size: {}\n    shapes:\n{}{}",
        table::message_size(Collective::Bcast),
        entry(2, None, &chain),
        entry(4, None, &chain),
    );
    write_table(&place, "openmpi", &library.version, &collectives);
    compile(&library, &place);
    let ran = place.run(&["deploy", "tables/night.yaml", "--to", "site"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let variables = place.sourced("site/current/environment.sh");
    let call = Call {
        collective: Collective::Bcast,
        bytes: 64,
        variant: "plain",
    };
    let ran_on = |ranks, settings: &[(String, OsString)]| {
        let calls = std::slice::from_ref(&call);
        let trace = traced_with(&library, &place, ranks, calls, &[], settings);
        function(&trace[0], Collective::Bcast).map(|(name, _)| name)
    };
    for (ranks, is_ours) in [(2, true), (3, false), (4, true)] {
        let (own, found) = (ran_on(ranks, &[]), ran_on(ranks, &variables));
        assert_ne!(own.as_deref(), Some("chain"), "{ranks}");
        if is_ours {
            assert_eq!(found.as_deref(), Some("chain"), "{ranks}")
        } else {
            assert_eq!(found, own, "{ranks}")
        }
    }
}

#[test]
fn openmpi_5_runs_the_choices_of_an_exported_rules_file() {
    if let Some(library) = Library::newer("openmpi-5.0.11", ") ") {
        prove(&library);
    }
}
