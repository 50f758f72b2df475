//! Figures that the literature states, counted on the schedules.

use schedule::{ALGORITHMS, Parameter, Parameters, Request, find, verify::verify};

use crate::cases::schedule;

fn steps(name: &str, ranks: u32, blocks: u32) -> u64 {
    tally(name, ranks, blocks).steps
}

fn tally(name: &str, ranks: u32, blocks: u32) -> schedule::Tally {
    let algorithm = find(name).unwrap();
    let parameters = match algorithm.takes(Parameter::Blocks) {
        true => Parameters::blocks(blocks),
        false => Parameters::default(),
    };
    let units = u64::from(blocks.max(ranks)) * 2;
    verify(&schedule(
        algorithm,
        &Request {
            units,
            parameters,
            ..Request::ranks(ranks)
        },
    ))
    .unwrap()
    .tally
}

#[test]
fn dual_root_takes_4h_plus_1_plus_3_steps_a_further_block_where_the_trees_are_perfect() {
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
fn pipelined_tree_takes_4h_plus_4_steps_a_further_block_where_the_tree_is_perfect() {
    for height in 1..=6_u32 {
        for blocks in [1, 2, 10] {
            let ranks = 2_u32.pow(height + 1) - 1;
            let expected = u64::from(4 * height - 4 + 4 * blocks);
            assert_eq!(steps("allreduce/pipelined_tree", ranks, blocks), expected);
        }
    }
}

/// The registry's constants are the step counts of the schedules, for every number of ranks.
#[test]
fn closed_forms_count_the_steps_of_the_schedules() {
    for algorithm in ALGORITHMS {
        for ranks in 2..=70 {
            let Some(cost) = algorithm.cost(ranks) else {
                continue;
            };
            for blocks in [1, 2, 3, 8, 21] {
                let blocks = algorithm.fixed_blocks(ranks).unwrap_or(blocks);
                let tally = tally(&algorithm.name(), ranks, blocks);
                let times = |fixed, each| u64::try_from(fixed + each * i64::from(blocks));
                let at = format!("{algorithm} p={ranks} b={blocks}");
                assert_eq!(Ok(tally.steps), times(cost.c1, cost.c2), "steps of {at}");
                assert_eq!(
                    Ok(tally.combinations),
                    times(cost.g1, cost.g2),
                    "combinations of {at}"
                );
            }
        }
    }
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
        let algorithm = find("allreduce/ring").unwrap();
        let units = u64::from(ranks) * 12;
        let request = Request {
            units,
            ..Request::ranks(ranks)
        };
        let tally = verify(&schedule(algorithm, &request)).unwrap().tally;
        assert_eq!(tally.most_sent, 24 * u64::from(ranks - 1));
        assert_eq!(tally.most_received, 24 * u64::from(ranks - 1));
        assert_eq!(tally.most_combined, 12 * u64::from(ranks - 1));
        assert_eq!(tally.messages, 2 * u64::from(ranks * (ranks - 1)));
    }
}
