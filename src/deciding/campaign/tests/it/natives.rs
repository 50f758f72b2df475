//! The library's own algorithms and mock-ups as candidates.

use schedule::Collective;
use vocabulary::{
    Candidate, Cell, CommShape, Datatype, Library, NativeAlgorithm, Operator, out_of_order,
};

use crate::campaign;

fn native(collective: Collective, id: &str, takes: (bool, bool)) -> NativeAlgorithm {
    NativeAlgorithm {
        collective,
        id: id.to_owned(),
        takes_segments: takes.0,
        takes_fanout: takes.1,
        takes_requests: false,
        is_ordered: true,
    }
}

fn cell(collective: Collective, ranks: u32, bytes: u64) -> Cell {
    let reduces = collective.is_reduction();
    Cell {
        collective,
        shape: CommShape {
            nodes: 1,
            ppn: ranks,
        },
        bytes,
        datatype: if reduces {
            Datatype::Float64
        } else {
            Datatype::Byte
        },
        operator: reduces.then_some(Operator::Sum),
        distribution: schedule::Distribution::Uniform,
    }
}

/// The names of a cell's candidates that are not ours.
fn found(lines: &str, library: &str, cell: &Cell, natives: &[NativeAlgorithm]) -> Vec<String> {
    let library = Library {
        name: library.to_owned(),
        version: "1.0".to_owned(),
    };
    let candidates = campaign(lines).foreign_candidates(cell, &library, natives);
    candidates.iter().map(ToString::to_string).collect()
}

/// Each takes launches of its own.
#[test]
fn components_take_part_only_if_a_pattern_says_so() {
    let natives = [
        native(Collective::Bcast, "chain", (false, false)),
        native(Collective::Bcast, "component_basic", (false, false)),
        native(Collective::Bcast, "component_sm", (false, false)),
    ];
    let cell = cell(Collective::Bcast, 4, 64);
    let check = |candidates: &str, expected: &[&str]| {
        let lines = format!("candidates: {candidates}\n");
        let found = found(&lines, "openmpi", &cell, &natives);
        let expected: Vec<String> = expected
            .iter()
            .map(|id| format!("native:bcast/{id}"))
            .collect();
        assert_eq!(found, expected, "{candidates}");
    };
    check("{include: ['native:*']}", &["chain"]);
    check(
        "{include: ['native:*/component_*']}",
        &["component_basic", "component_sm"],
    );
    check(
        "{include: ['native:*', 'native:*/component_sm']}",
        &["chain", "component_sm"],
    );
    check(
        "{include: ['native:*/component_*'], exclude: 'native:*_sm'}",
        &["component_basic"],
    );
}

#[test]
fn patterns_with_a_colon_match_only_names_with_a_colon() {
    let natives = [
        native(Collective::Bcast, "chain", (false, false)),
        native(Collective::Reduce, "chain", (false, false)),
    ];
    let cell = cell(Collective::Bcast, 4, 64);
    let check = |candidates: &str, expected: &[&str]| {
        let lines = format!("candidates: {candidates}\n");
        assert_eq!(
            found(&lines, "openmpi", &cell, &natives),
            expected,
            "{candidates}"
        );
    };
    check("{include: '*'}", &[]);
    check("{include: ['*/chain']}", &[]);
    check("{include: ['native:*']}", &["native:bcast/chain"]);
    check(
        "{include: ['mockup:*']}",
        &["mockup:bcast/scatter+allgather"],
    );
    let both = ["native:bcast/chain", "mockup:bcast/scatter+allgather"];
    check("{include: ['*', 'native:*', 'mockup:*']}", &both);
    check(
        "{include: ['native:*', 'mockup:*'], exclude: 'native:bcast/*'}",
        &both[1..],
    );
    let few = campaign("candidates: {include: 'native:*reduce/*'}\n");
    let few: Vec<Collective> = few.sizes.into_keys().collect();
    assert_eq!(few, [Collective::Reduce, Collective::Allreduce]);
}

/// Algorithms that would give wrong results or use another algorithm for such operators are left out, and so are
/// mock-ups and algorithms of unknown libraries.
#[test]
fn noncommutative_operators_get_algorithms_that_combine_in_order() {
    let ids = ["ring", "rabenseifner", "recursive_doubling", "unheard_of"];
    let natives = ids.map(|id| native(Collective::Allreduce, id, (false, false)));
    let sum = cell(Collective::Allreduce, 4, 1 << 20);
    let function = Cell {
        operator: Some(Operator::Noncommutative),
        ..sum
    };
    let lines = "candidates: {include: ['native:*', 'mockup:*']}\n";
    assert_eq!(found(lines, "openmpi", &sum, &natives).len(), 6);
    assert_eq!(
        found(lines, "openmpi", &function, &natives),
        ["native:allreduce/recursive_doubling"]
    );
    assert!(found(lines, "unknown", &function, &natives).is_empty());
    // Our candidates are those that combine in rank order for every root.
    let both = campaign(
        "shapes: 1x4\noperator: [sum, noncommutative]\ncollectives: [reduce, allreduce, bcast]\n",
    );
    let operators: Vec<_> = both.cells().iter().map(|cell| cell.operator).collect();
    for operator in [None, Some(Operator::Sum), Some(Operator::Noncommutative)] {
        assert!(operators.contains(&operator), "{operator:?}");
    }
    for cell in both.cells() {
        let ours = both.candidates(&cell, &|_| None).distinct;
        let is_unordered = |candidate: &Candidate| {
            let algorithm = schedule::find_algorithm(candidate.algorithm());
            let parameters = candidate.parameters();
            algorithm.is_some_and(|found| out_of_order(found, &parameters).is_some())
        };
        assert_eq!(
            ours.iter().any(is_unordered),
            cell.operator == Some(Operator::Sum),
            "{cell}"
        );
        assert!(ours.len() > 1, "{cell}");
    }
}

#[test]
fn segments_and_fanouts_are_given_to_algorithms_that_take_them() {
    let lines = "candidates: {include: 'native:*'}\nparameters: {block_bytes: [1K, 4K, 64K], radix: [2, 4]}\n";
    let cell = cell(Collective::Bcast, 8, 64 << 10);
    let names = |takes| {
        found(
            lines,
            "openmpi",
            &cell,
            &[native(Collective::Bcast, "x", takes)],
        )
    };
    assert_eq!(names((false, false)), ["native:bcast/x"]);
    assert_eq!(
        names((true, false)),
        ["", "[segment_bytes=1K]", "[segment_bytes=4K]"].map(|p| format!("native:bcast/x{p}"))
    );
    assert_eq!(
        names((false, true)),
        ["", "[fanout=2]", "[fanout=4]"].map(|p| format!("native:bcast/x{p}"))
    );
    assert_eq!(names((true, true)).len(), 9);
}

/// Without numbers in the file only those of an alltoall are varied, and none that are no limit.
#[test]
fn numbers_of_requests_are_given_to_algorithms_that_take_them() {
    let names = |lines: &str, collective, id: &str, ranks| {
        let takes_requests = NativeAlgorithm {
            takes_requests: true,
            ..native(collective, id, (collective == Collective::Reduce, false))
        };
        let lines = format!("candidates: {{include: 'native:*'}}\n{lines}");
        let cell = cell(collective, ranks, 8 << 10);
        found(&lines, "openmpi", &cell, &[takes_requests])
    };
    let check = |lines: &str, collective, id: &str, ranks, expected: &[&str]| {
        let expected = expected
            .iter()
            .map(|given| format!("native:{collective}/{id}{given}"));
        let expected: Vec<String> = expected.collect();
        assert_eq!(names(lines, collective, id, ranks), expected, "{lines}");
    };
    let alltoall = |lines, ranks, expected: &[&str]| {
        check(lines, Collective::Alltoall, "linear_sync", ranks, expected);
    };
    alltoall("", 2, &[""]);
    alltoall("", 4, &["", "[max_requests=1]", "[max_requests=2]"]);
    let named = "parameters: {max_requests: [3, 40], block_bytes: 1K}\n";
    alltoall(named, 42, &["", "[max_requests=3]", "[max_requests=40]"]);
    alltoall(named, 41, &["", "[max_requests=3]"]);
    let reduce = |lines, expected: &[&str]| {
        check(lines, Collective::Reduce, "binomial", 4, expected);
    };
    reduce(
        "parameters: {block_bytes: 1K}\n",
        &["", "[segment_bytes=1K]"],
    );
    let limited = [3, 40].map(|number| format!("[max_requests={number},segment_bytes=1K]"));
    reduce(named, &["", "[segment_bytes=1K]", &limited[0], &limited[1]]);
}

/// Asserts whether an algorithm is a candidate for a library; for an unknown library it is.
#[track_caller]
fn check_possible(library: &str, cell: &Cell, id: &str, segment: Option<&str>, expected: bool) {
    let natives = [native(cell.collective, id, (segment.is_some(), false))];
    let lines = format!(
        "candidates: {{include: 'native:*'}}\nparameters: {{block_bytes: {}}}\n",
        segment.unwrap_or("1K")
    );
    let name = match segment {
        Some(segment) => format!("native:{}/{id}[segment_bytes={segment}]", cell.collective),
        None => format!("native:{}/{id}", cell.collective),
    };
    let is_possible = |installed| found(&lines, installed, cell, &natives).contains(&name);
    assert_eq!(is_possible(library), expected, "{name} in {cell}");
    assert!(is_possible("other"), "{name} in {cell}");
}

#[test]
fn algorithms_that_open_mpi_replaces_silently_are_left_out() {
    let check = |collective, id: &str, ranks, bytes, expected| {
        let cell = cell(collective, ranks, bytes);
        check_possible("openmpi", &cell, id, None, expected);
    };
    use Collective::{Allgather, Allreduce, Alltoall, Barrier, Bcast, Reduce, Scan};
    for (id, collective, bytes) in [
        ("linear_sync", Alltoall, 64),
        ("modified_bruck", Alltoall, 1),
        ("double_ring", Barrier, 0),
        ("recursive_doubling", Barrier, 0),
        ("recursive_doubling", Scan, 8),
    ] {
        check(collective, id, 3, bytes, true);
    }
    for (collective, bytes) in [(Alltoall, 64), (Barrier, 0)] {
        check(collective, "two_proc", 2, bytes, true);
        check(collective, "two_proc", 3, bytes, false);
    }
    check(Allgather, "recursive_doubling", 4, 64, true);
    check(Allgather, "recursive_doubling", 6, 64, false);
    check(Allgather, "neighbor", 6, 64, true);
    check(Allgather, "neighbor", 5, 64, false);
    check(Allgather, "two_proc", 2, 64, true);
    check(Allgather, "two_proc", 3, 64, false);
    check(Allreduce, "ring", 4, 32, true);
    check(Allreduce, "ring", 4, 24, false);
    check(Allreduce, "segmented_ring", 4, 1 << 20, false);
    check(Reduce, "rabenseifner", 5, 32, true);
    check(Reduce, "rabenseifner", 5, 24, false);
    check(Bcast, "split_binary_tree", 4, 1, false);
    check(Bcast, "split_binary_tree", 4, 2, true);
    for id in ["scatter_allgather", "scatter_allgather_ring"] {
        check(Bcast, id, 5, 4, false);
        check(Bcast, id, 5, 5, true);
    }
    let check_segmented = |collective, id: &str, bytes, expected| {
        let cell = cell(collective, 4, bytes);
        check_possible("openmpi", &cell, id, Some("1K"), expected);
    };
    check_segmented(Allreduce, "segmented_ring", 4096, true);
    check_segmented(Allreduce, "segmented_ring", 4088, false);
    check_segmented(Bcast, "split_binary_tree", 2048, true);
    check_segmented(Bcast, "split_binary_tree", 2047, false);
    check_segmented(Bcast, "pipeline", 2047, true);
}

#[test]
fn algorithms_that_mpich_refuses_are_left_out() {
    let check = |collective, id: &str, ranks, bytes, expected| {
        let cell = cell(collective, ranks, bytes);
        check_possible("mpich", &cell, id, None, expected);
    };
    use Collective::{Allgather, Allreduce, Alltoall, Reduce, ReduceScatter, ReduceScatterBlock};
    check(Alltoall, "pairwise_sendrecv_replace", 4, 64, false);
    check(Alltoall, "pairwise", 3, 64, true);
    check(Allgather, "recursive_doubling", 4, 64, true);
    check(Allgather, "recursive_doubling", 6, 64, false);
    check(ReduceScatterBlock, "noncommutative", 4, 64, true);
    check(ReduceScatterBlock, "noncommutative", 3, 64, false);
    check(ReduceScatter, "noncommutative", 4, 64, true);
    check(ReduceScatter, "noncommutative", 4, 56, false);
    check(ReduceScatter, "noncommutative", 3, 72, false);
    check(Allreduce, "reduce_scatter_allgather", 5, 32, true);
    check(Allreduce, "reduce_scatter_allgather", 5, 24, false);
    check(Reduce, "reduce_scatter_gather", 5, 32, true);
    check(Reduce, "reduce_scatter_gather", 5, 24, false);
}
