//! The simulated library's default choices, recognised by their times.

use schedule::Collective;
use vocabulary::{Candidate, Cell, CommShape, Datatype, Operator, Parameters};

use crate::bench::{Bench, ours};

fn cell(collective: Collective, (nodes, ppn): (u32, u32), bytes: u64) -> Cell {
    let reduces = collective.is_reduction();
    Cell {
        collective,
        shape: CommShape { nodes, ppn },
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

#[test]
fn every_call_has_a_default_that_supports_it() {
    let launcher = Bench::new(Vec::new()).launcher();
    for collective in Collective::ALL {
        for shape in [(1, 2), (1, 7), (2, 8), (3, 5), (8, 8), (9, 7)] {
            let all = [8, 256, 4 << 10, 64 << 10, 1 << 20];
            let sizes = if collective.has_data() {
                &all[..]
            } else {
                &[0]
            };
            for &bytes in sizes {
                let cell = cell(collective, shape, bytes);
                let seconds = launcher.noise_free_seconds(&cell, &Candidate::Default);
                assert!(seconds.is_some(), "{cell}");
            }
        }
    }
}

/// Combining takes the same time in any order; algorithms that would give wrong results are refused.
#[test]
fn operators_that_do_not_commute_take_the_same_time() {
    let launcher = Bench::new(Vec::new()).launcher();
    for bytes in [8, 1 << 20] {
        let sum = cell(Collective::Allreduce, (3, 2), bytes);
        let function = Cell {
            operator: Some(Operator::Noncommutative),
            ..sum
        };
        let seconds = |cell, candidate| launcher.noise_free_seconds(cell, &candidate);
        for candidate in [Candidate::Default, ours("allreduce/recursive_doubling")] {
            let of_sum = seconds(&sum, candidate.clone());
            assert!(of_sum.is_some());
            assert_eq!(seconds(&function, candidate), of_sum);
        }
        assert!(seconds(&sum, ours("allreduce/ring")).is_some());
        assert_eq!(seconds(&function, ours("allreduce/ring")), None);
    }
}

/// The default takes as long as the expected algorithm, and not as long as the one beyond the threshold.
#[test]
fn thresholds_count_the_whole_vector() {
    let launcher = Bench::new(Vec::new()).launcher();
    let check = |collective, shape, bytes, [expected, other]: [&str; 2]| {
        let cell = cell(collective, shape, bytes);
        let seconds = |candidate| launcher.noise_free_seconds(&cell, &candidate);
        let of = |id| seconds(ours(&format!("{collective}/{id}")));
        let default = seconds(Candidate::Default);
        assert!(default.is_some());
        assert_eq!(default, of(expected), "{expected} in {cell}");
        assert_ne!(default, of(other), "{other} in {cell}");
    };
    use Collective::{Allgather, Allreduce, Alltoall, Bcast, Reduce, ReduceScatterBlock};
    let [tree, halves, ring] = ["binomial", "scatter_allgather", "scatter_allgather_ring"];
    check(Bcast, (1, 8), 12287, [tree, halves]);
    check(Bcast, (1, 8), 12288, [halves, tree]);
    check(Bcast, (1, 7), 12288, [tree, ring]);
    check(Bcast, (3, 3), 12288, [ring, tree]);
    check(Bcast, (1, 8), (512 << 10) - 1, [halves, ring]);
    check(Bcast, (1, 8), 512 << 10, [ring, halves]);
    let [doubling, halving] = ["recursive_doubling", "rabenseifner"];
    check(Allreduce, (4, 4), 2048, [doubling, halving]);
    check(Allreduce, (4, 4), 2056, [halving, doubling]);
    // 512 elements can be divided among 512 of 600 ranks, but not among 2048.
    check(Allreduce, (30, 20), 4096, [halving, doubling]);
    check(Allreduce, (64, 32), 4096, [doubling, halving]);
    check(Reduce, (64, 32), 4096, [tree, halving]);
    check(Allgather, (4, 4), 32 << 10, ["ring", "recursive_doubling"]);
    check(Allgather, (4, 4), 31 << 10, ["recursive_doubling", "ring"]);
    check(Allgather, (5, 4), 1024, ["bruck", "ring"]);
    // Of an alltoall, the block counts.
    check(Alltoall, (1, 7), 1, ["linear", "pairwise"]);
    check(Alltoall, (1, 7), 32 << 10, ["linear", "pairwise"]);
    check(Alltoall, (1, 7), (32 << 10) + 1, ["pairwise", "linear"]);
    check(Alltoall, (2, 8), 257, ["linear", "pairwise"]);
    check(Alltoall, (2, 8), 64 << 10, ["pairwise", "linear"]);
    let bruck = Candidate::Ours {
        algorithm: "alltoall/bruck".to_owned(),
        parameters: Parameters {
            radix: Some(2),
            ..Parameters::default()
        },
    };
    let short = cell(Alltoall, (2, 8), 256);
    let [default, travelling] =
        [Candidate::Default, bruck].map(|of| launcher.noise_free_seconds(&short, &of));
    assert!(default.is_some() && default == travelling);
    let [pairwise, recursive_halving] = ["pairwise", "recursive_halving"];
    check(
        ReduceScatterBlock,
        (4, 4),
        32 << 10,
        [pairwise, recursive_halving],
    );
}
