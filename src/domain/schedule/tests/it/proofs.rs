//! Every algorithm of the registry, proved on every shape of a grid.

use proptest::prelude::*;
use schedule::{
    ALGORITHMS, Algorithm, Blocks, Collective, Parameters, Request, Schedule, Shape, Unsupported,
    verify::verify_schedule,
};

use crate::cases::{each_call, grid, parameters, schedule, supported};

fn check(schedule: &schedule::Schedule) {
    if let Err(fault) = verify_schedule(schedule) {
        panic!(
            "{} {:?} with {} units: {fault}",
            schedule.algorithm(),
            schedule.shape(),
            schedule.units()
        );
    }
}

#[test]
fn every_algorithm_is_correct_on_1_to_64_ranks() {
    for algorithm in ALGORITHMS {
        let verdict = grid().prove_algorithm(algorithm, &verify_schedule).unwrap();
        assert!(verdict.fault.is_none(), "{:?}", verdict.fault);
        let served = if algorithm.even_ranks { 33 } else { 64 };
        assert_eq!(verdict.skipped, 64 - served, "{algorithm}");
        let lengths = 1 + u64::from(algorithm.collective.has_data());
        assert!(verdict.shapes >= lengths * served, "{algorithm}");
    }
}

/// Whether the rounds are few enough for a proof on a thousand ranks.
fn is_tree_like(schedule: &Schedule) -> bool {
    let Shape { ranks, blocks, .. } = *schedule.shape();
    let rounds = (0..ranks).map(|rank| schedule.program(rank).rounds());
    rounds.sum::<u64>() <= u64::from(ranks) * u64::from(40 + 4 * blocks)
}

#[test]
fn trees_are_correct_around_powers_of_two_up_to_1026_ranks() {
    let mut left_out = Vec::new();
    for algorithm in ALGORITHMS {
        let mut proofs = 0;
        for power in (7..=10).map(|exponent| 1_u32 << exponent) {
            for ranks in [power - 2, power - 1, power, power + 1, power + 2] {
                proofs = prove_thinned(algorithm, ranks);
            }
        }
        // `proofs` counts 1026 ranks, the last number.
        if proofs == 0 {
            left_out.push(algorithm.name());
        }
    }
    println!("too many rounds: {}", left_out.join(" "));
    let proved = ALGORITHMS.len() - left_out.len();
    assert!(
        proved >= PROVED_ON_1026_RANKS,
        "only {proved}: not {left_out:?}"
    );
}

/// The number of algorithms with few enough rounds; raise it when another one is added.
const PROVED_ON_1026_RANKS: usize = 81;

/// Proves an algorithm with a few of the parameters at each root, in place and not; the next number of ranks uses
/// others. Returns the number of proved schedules.
fn prove_thinned(algorithm: &'static Algorithm, ranks: u32) -> usize {
    let mut proofs = 0;
    let choices = parameters(algorithm);
    for (turn, root) in grid().roots(algorithm, ranks).into_iter().enumerate() {
        let turn = turn + ranks as usize;
        let chosen =
            (0..choices.len().min(3)).map(|place| choices[(turn + 2 * place) % choices.len()]);
        for (place, parameters) in chosen.enumerate() {
            let request = Request {
                root,
                in_place: (place + turn) % 2 == 1,
                parameters,
                units: if algorithm.collective.is_sized_by_part() {
                    1
                } else {
                    3
                },
                ..Request::among_ranks(ranks)
            };
            if let Some(schedule) = supported(algorithm, &request).filter(is_tree_like) {
                check(&schedule);
                proofs += 1;
            }
        }
    }
    proofs
}

#[test]
fn short_vectors_leave_blocks_empty() {
    for algorithm in ALGORITHMS {
        for ranks in 1..=17 {
            for units in 0..=3 {
                for root in grid().roots(algorithm, ranks) {
                    each_call(algorithm, ranks, root, units, check);
                }
            }
        }
    }
}

#[test]
fn parts_of_a_reduce_scatter_may_have_any_sizes() {
    for algorithm in schedule::algorithms_of(Collective::ReduceScatter) {
        for ranks in 1..=33_u32 {
            for pattern in 0..4_u64 {
                let count = |rank: u64| match pattern {
                    0 => rank * 5 % 7,
                    1 => u64::from(rank == 1) * 9,
                    2 => u64::from(ranks) - rank,
                    _ => u64::from(rank.is_multiple_of(3)) * 4,
                };
                let counts: Vec<u64> = (0..ranks.into()).map(count).collect();
                for in_place in [false, true] {
                    let request = Request {
                        units: counts.iter().sum(),
                        counts: Some(&counts),
                        in_place,
                        ..Request::among_ranks(ranks)
                    };
                    check(&schedule(algorithm, &request));
                }
            }
        }
    }
}

/// The registry marks every ordered algorithm as ordered; the verifier refuses those that it marks wrongly.
#[test]
fn unordered_algorithms_are_found_to_be_unordered() {
    for algorithm in ALGORITHMS.iter().filter(|a| !a.ordered) {
        let request = Request {
            units: 20,
            root: if algorithm.collective.is_rooted() {
                4
            } else {
                0
            },
            // Bine's exchanges are in order with up to 4 positions, and its trees with some roots.
            ..Request::among_ranks(9)
        };
        let schedule = schedule(algorithm, &request);
        let proof = verify_schedule(&schedule).unwrap();
        assert!(
            !proof.ordered,
            "{algorithm} is ordered: say so in the registry"
        );
    }
}

/// Algorithms that need a commutative operator refuse all others.
#[test]
fn unordered_algorithms_refuse_operators_that_do_not_commute() {
    for algorithm in ALGORITHMS.iter().filter(|a| a.collective.is_reduction()) {
        for (ranks, root) in [(1, 0), (6, 0), (6, 2), (6, 5)] {
            for parameters in parameters(algorithm) {
                let request = Request {
                    commutative: false,
                    root,
                    parameters,
                    ..Request::among_ranks(ranks)
                };
                let free = Request {
                    commutative: true,
                    ..request
                };
                let Some(ordered) = supported(algorithm, &free).map(|free| free.is_ordered())
                else {
                    continue;
                };
                match Schedule::new(algorithm, &request) {
                    Ok(schedule) => assert!(ordered && verify_schedule(&schedule).unwrap().ordered),
                    Err(refusal) => {
                        assert!(!ordered && matches!(refusal, Unsupported::Unordered { .. }));
                    }
                }
            }
        }
    }
    let broadcast = schedule::algorithms_of(Collective::Bcast).next().unwrap();
    let request = Request {
        commutative: false,
        ..Request::among_ranks(4)
    };
    assert!(Schedule::new(broadcast, &request).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn random_shapes_are_correct(
        algorithm in 0..ALGORITHMS.len(),
        ranks in 1_u32..300,
        root: prop::sample::Index,
        in_place: bool,
        units in 0_u64..60,
        choice: prop::sample::Index,
        size in 1_u64..20,
    ) {
        let algorithm = &ALGORITHMS[algorithm];
        let mut parameters: Parameters = *choice.get(&parameters(algorithm));
        if parameters.blocks.is_some() {
            parameters.blocks = Some(Blocks::Size(size));
        }
        let root = root.index(ranks as usize) as u32;
        let request = Request { root, in_place, units, parameters, ..Request::among_ranks(ranks) };
        if let Some(schedule) = supported(algorithm, &request) {
            check(&schedule);
        }
    }
}
