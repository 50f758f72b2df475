//! Figures that the literature states, counted on the schedules.

use schedule::{
    ALGORITHMS, Algorithm, Cost, Parameters, Request, find_algorithm, verify::verify_schedule,
};

use crate::cases::{in_blocks, schedule};

fn steps(name: &str, ranks: u32, blocks: u32) -> u64 {
    tally(name, ranks, blocks).steps
}

fn tally(name: &str, ranks: u32, blocks: u32) -> schedule::Tally {
    let algorithm = find_algorithm(name).unwrap();
    let units = u64::from(blocks.max(ranks)) * 2;
    verify_schedule(&schedule(
        algorithm,
        &Request {
            units,
            parameters: in_blocks(algorithm, blocks),
            ..Request::among_ranks(ranks)
        },
    ))
    .unwrap()
    .tally
}

#[test]
fn dual_root_takes_4h_plus_1_steps_and_3_per_further_block_on_perfect_trees() {
    for height in 1..=6_u32 {
        let ranks = 2 * (2_u32.pow(height + 1) - 1);
        for blocks in [1, 2, 3, 10, 40] {
            let expected = u64::from(4 * height + 1 + 3 * (blocks - 1));
            assert_eq!(
                steps("allreduce/dual_root", ranks, blocks),
                expected,
                "H={height} b={blocks}"
            );
        }
    }
    for blocks in [1, 5, 9] {
        assert_eq!(steps("allreduce/dual_root", 2, blocks), u64::from(blocks));
    }
}

#[test]
fn pipelined_tree_takes_4h_steps_and_4_per_further_block_on_perfect_trees() {
    for height in 1..=6_u32 {
        for blocks in [1, 2, 10] {
            let ranks = 2_u32.pow(height + 1) - 1;
            let expected = u64::from(4 * height - 4 + 4 * blocks);
            assert_eq!(steps("allreduce/pipelined_tree", ranks, blocks), expected);
        }
    }
}

/// The registry's closed forms are what the schedules count, for every number of ranks.
#[test]
fn closed_forms_agree_with_the_schedules() {
    for algorithm in ALGORITHMS {
        for ranks in 2..=70 {
            let Some(cost) = algorithm.cost(ranks) else {
                continue;
            };
            if algorithm.even_ranks && !ranks.is_multiple_of(2) {
                continue;
            }
            match cost {
                Cost::Fixed {
                    steps,
                    moved,
                    combined,
                    parts,
                } => {
                    let counted = count(algorithm, parts * 3, Request::among_ranks(ranks));
                    let expected = [steps, 3 * moved, 3 * combined];
                    assert_eq!(counted, expected, "{algorithm} p={ranks}");
                }
                Cost::AtOnce { messages } => {
                    let request = Request {
                        units: 3,
                        ..Request::among_ranks(ranks)
                    };
                    let tally = verify_schedule(&schedule(algorithm, &request))
                        .unwrap()
                        .tally;
                    // The tally knows no ports: messages that leave at once take one step together.
                    let counted = [tally.steps, tally.moved, tally.combined];
                    assert_eq!(counted, [1, 3, 0], "{algorithm} p={ranks}");
                    let through_ports = [tally.most_sent, tally.most_received];
                    assert_eq!(through_ports, [3 * messages; 2], "{algorithm} p={ranks}");
                }
                Cost::Pipelined { lemma, exact } => {
                    for blocks in [1, 2, 3, 8, 21]
                        .into_iter()
                        .filter(|b| exact.includes_blocks(*b))
                    {
                        let parameters = Parameters::with_blocks(blocks);
                        let request = Request {
                            parameters,
                            ..Request::among_ranks(ranks)
                        };
                        let counted = count(algorithm, u64::from(blocks) * 2, request);
                        let total = |fixed, each| fixed + each * i64::from(blocks);
                        let steps = total(lemma.c1, lemma.c2);
                        let combined = total(lemma.g1, lemma.g2);
                        let expected = [steps, 2 * steps, 2 * combined];
                        let expected = expected.map(|count| u64::try_from(count).unwrap());
                        assert_eq!(counted, expected, "{algorithm} p={ranks} b={blocks}");
                    }
                }
            }
        }
    }
}

/// Steps, units moved and units combined on the critical paths.
fn count(algorithm: &'static Algorithm, units: u64, request: Request<'_>) -> [u64; 3] {
    let tally = verify_schedule(&schedule(algorithm, &Request { units, ..request }))
        .unwrap()
        .tally;
    [tally.steps, tally.moved, tally.combined]
}

/// Figures of Winklehner and Friedl 2016.
#[test]
fn fibonacci_trees_take_as_many_rounds_as_their_order_and_binary_ones_twice_their_height() {
    let (mut before, mut fib) = (1_u32, 2);
    for order in 1..=8 {
        (before, fib) = (fib, before + fib);
        let ranks = fib - 1;
        assert_eq!(steps("reduce/fibonacci", ranks, 1), order, "{ranks} ranks");
        assert_eq!(steps("reduce/fibonacci", ranks + 1, 1), order + 1);
    }
    assert_eq!(steps("reduce/fibonacci", 576, 1), 12);
    for height in 1..=6_u32 {
        let ranks = 2_u32.pow(height + 1) - 1;
        assert_eq!(steps("reduce/binary", ranks, 1), u64::from(2 * height));
    }
}

#[test]
fn trees_take_log_p_rounds_and_rings_move_the_least() {
    for (ranks, levels) in [(2, 1), (5, 3), (8, 3), (9, 4), (64, 6)] {
        assert_eq!(steps("bcast/binomial", ranks, 1), levels);
        assert_eq!(steps("reduce/binomial", ranks, 1), levels);
    }
    for ranks in [2_u32, 3, 7, 16] {
        let algorithm = find_algorithm("allreduce/ring").unwrap();
        let units = u64::from(ranks) * 12;
        let request = Request {
            units,
            ..Request::among_ranks(ranks)
        };
        let tally = verify_schedule(&schedule(algorithm, &request))
            .unwrap()
            .tally;
        assert_eq!(tally.most_sent, 24 * u64::from(ranks - 1));
        assert_eq!(tally.most_received, 24 * u64::from(ranks - 1));
        assert_eq!(tally.most_combined, 12 * u64::from(ranks - 1));
        assert_eq!(tally.messages, 2 * u64::from(ranks * (ranks - 1)));
    }
}

/// Up and down a binomial tree take about twice the steps of doubling, and far fewer messages.
#[test]
fn scans_along_a_binomial_tree_send_about_two_messages_a_rank() {
    for levels in 1..=6_u32 {
        let ranks = 1 << levels;
        for name in ["scan/binomial", "exscan/binomial"] {
            let tally = tally(name, ranks, 1);
            assert_eq!(tally.messages, u64::from(2 * ranks - levels - 2), "{name}");
            assert_eq!(tally.steps, u64::from((2 * levels - 1).max(1)), "{name}");
        }
        let combined = |name| tally(name, ranks, 1).combined / u64::from(ranks * 2);
        assert!(
            combined("exscan/binomial") <= u64::from(3 * levels),
            "{ranks} ranks"
        );
    }
}

/// A rank's own vector is all that distinguishes inclusive and exclusive scans, so both send the same messages.
#[test]
fn exclusive_scans_of_a_tree_send_the_messages_of_inclusive_ones() {
    for ranks in 2..=40 {
        for (id, blocks) in [
            ("binomial", 1),
            ("doubly_pipelined_tree", 1),
            ("doubly_pipelined_tree", 4),
        ] {
            let [inclusive, exclusive] = ["scan", "exscan"].map(|collective| {
                let tally = tally(&format!("{collective}/{id}"), ranks, blocks);
                [
                    tally.messages,
                    tally.steps,
                    tally.moved,
                    tally.most_sent,
                    tally.most_received,
                ]
            });
            assert_eq!(inclusive, exclusive, "{id} p={ranks} b={blocks}");
        }
    }
}

#[test]
fn gathers_move_the_data_that_their_trees_require() {
    for ranks in [2_u32, 5, 8, 13] {
        let others = u64::from(ranks) - 1;
        let of = |name: &str| {
            let request = Request {
                units: 6,
                ..Request::among_ranks(ranks)
            };
            verify_schedule(&schedule(find_algorithm(name).unwrap(), &request))
                .unwrap()
                .tally
        };
        // Rank j from the root receives p - j - 1 contributions and sends p - j.
        let ring = of("gather/ring");
        assert_eq!(ring.messages, others * (others + 1) / 2);
        assert_eq!(ring.most_sent, 6 * others);
        let accumulating = of("gather/ring_accumulate");
        assert_eq!(accumulating.messages, others);
        assert_eq!(accumulating.moved, 6 * others * (others + 1) / 2);
        for name in [
            "gather/linear",
            "gather/binomial",
            "gather/mst",
            "gather/binary",
        ] {
            assert_eq!(of(name).messages, others, "{name}");
            assert_eq!(of(name).most_received, 6 * others, "{name}");
        }
        assert_eq!(of("gather/linear_sync").messages, 2 * others);
        // In every allgather each rank receives the contributions of all others.
        for name in ["allgather/ring", "allgather/bruck", "allgather/linear"] {
            assert_eq!(of(name).most_received, 6 * others, "{name}");
        }
    }
}

#[test]
fn scatter_and_allgather_broadcast_twice_the_vector_less_a_piece() {
    for ranks in [4_u32, 8, 32] {
        let units = 6 * u64::from(ranks);
        let request = Request {
            units,
            ..Request::among_ranks(ranks)
        };
        let algorithm = find_algorithm("bcast/scatter_allgather").unwrap();
        let tally = verify_schedule(&schedule(algorithm, &request))
            .unwrap()
            .tally;
        assert_eq!(tally.moved, 2 * (units - 6));
        assert_eq!(tally.steps, 2 * u64::from(ranks.ilog2()));
    }
}

/// Parts that do not take blocks keep the vector in one piece.
#[test]
fn blocks_of_a_composition_go_to_the_parts_that_take_them() {
    let of = |reduce: &'static str, blocks: u32| {
        let parameters = Parameters {
            reduce: Some(reduce),
            ..Parameters::with_blocks(blocks)
        };
        let request = Request {
            units: 18,
            parameters,
            ..Request::among_ranks(5)
        };
        let algorithm = find_algorithm("allreduce/reduce_broadcast").unwrap();
        verify_schedule(&schedule(algorithm, &request))
            .unwrap()
            .tally
            .messages
    };
    assert_eq!([1, 9].map(|blocks| of("fibonacci", blocks)), [8, 8]);
    assert_eq!([1, 9].map(|blocks| of("chain", blocks)), [8, 4 * 9 + 4]);
}
