//! The algorithms that a collective really ran inside Open MPI: they are exported functions, and a preloaded library
//! (`trace.c`) intercepts their calls.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::process::Command;

use schedule::Collective;
use wire::Record;

use crate::launch::Bench;

/// A function of the library that was called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Step {
    /// `collective/algorithm`.
    pub(crate) function: String,
    /// The segment size in bytes, if any, and the fanout or the argument in its place. In some a number of requests is in
    /// the place of either.
    pub(crate) arguments: [Option<u32>; 2],
}

/// The functions that the calls of one candidate ran; equal calls are one entry.
pub(crate) type Calls = BTreeSet<Vec<Step>>;

/// Preloads the tracing library into the ranks of this bench.
pub(crate) fn trace(bench: &mut Bench) {
    let library = bench.path("libtrace.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/trace.c");
    let mpicc = std::env::var_os("MPICC").unwrap_or_else(|| OsString::from("mpicc"));
    let status = Command::new(mpicc)
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&library)
        .args([source, "-ldl"])
        .status()
        .expect("the compiler runs");
    assert!(status.success());
    bench.environment.extend([
        ("LD_PRELOAD".into(), library.into()),
        ("COLLTUNE_TRACE".into(), bench.path("trace").into()),
        (
            "COLLTUNE_TRACE_SPOOL".into(),
            bench.plan.spool.clone().into(),
        ),
    ]);
}

/// The functions that each candidate's calls ran, by task and candidate. A line contains the length of the spool at
/// that time; the record that ended there names the candidate of the turn.
pub(crate) fn traced(bench: &Bench) -> BTreeMap<(u32, u32), Calls> {
    let spool = std::fs::read_to_string(&bench.plan.spool).expect("a spool");
    let mut turns = BTreeMap::new();
    let mut spool_length = 0;
    for line in spool.split_inclusive('\n') {
        spool_length += line.len();
        if let Record::Trying { task, candidate } = serde_json::from_str(line).expect("a record") {
            turns.insert(spool_length, (task, candidate));
        }
    }
    let text = std::fs::read_to_string(bench.path("trace")).expect("a trace");
    let mut calls: BTreeMap<(u32, u32), Calls> = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split(' ');
        let length: usize = words
            .next()
            .and_then(|word| word.parse().ok())
            .expect("a length");
        if let Some(turn) = turns.get(&length) {
            let steps = words.map(step).collect();
            calls.entry(*turn).or_default().insert(steps);
        }
    }
    calls
}

/// Parses a step such as `bcast/intra_chain(1024,2)`.
fn step(word: &str) -> Step {
    let (name, arguments) = word.trim_end_matches(')').split_once('(').expect("a step");
    let (first, second) = arguments.split_once(',').expect("two arguments");
    let number = |text: &str| text.parse().expect("a number");
    let function = name.replace("/intra_", "/");
    let count = arguments_of(&function);
    Step {
        arguments: [
            (count > 0).then(|| number(first)),
            (count > 1).then(|| number(second)),
        ],
        function,
    }
}

/// The number of these two arguments that a function has.
fn arguments_of(function: &str) -> usize {
    match function {
        "bcast/chain" | "bcast/knomial" => 2,
        "reduce/chain" | "reduce/pipeline" | "reduce/binary" | "reduce/binomial" => 2,
        "reduce/in_order_binary" => 2,
        "bcast/pipeline" | "bcast/split_bintree" | "bcast/bintree" | "bcast/binomial" => 1,
        "allreduce/ring_segmented" | "gather/linear_sync" | "alltoall/linear_sync" => 1,
        _ => 0,
    }
}

/// The function in which an algorithm begins.
pub(crate) fn function(collective: Collective, id: &str) -> String {
    let name = match (collective, id) {
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
        (Collective::Allgather | Collective::Allgatherv, "neighbor") => "neighborexchange",
        (Collective::Allgatherv, "default") => "basic_default",
        (Collective::Alltoall, "modified_bruck") => "bruck",
        (Collective::Barrier, "double_ring") => "doublering",
        (_, "two_proc") => "two_procs",
        (Collective::ReduceScatter, "non-overlapping") => "nonoverlapping",
        (Collective::ReduceScatter, "recursive_halving") => "basic_recursivehalving",
        (Collective::ReduceScatterBlock, "recursive_halving") => "recursivehalving",
        (_, "recursive_doubling") => "recursivedoubling",
        (_, id) => id,
    };
    format!("{collective}/{name}")
}
