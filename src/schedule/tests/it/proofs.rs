//! Every algorithm of the registry, proved on every shape of a grid.

use proptest::prelude::*;
use schedule::{ALGORITHMS, Blocks, Parameters, Request, verify::verify};

use crate::cases::{each_call, parameters, roots, schedule};

fn check(schedule: &schedule::Schedule) {
    if let Err(fault) = verify(schedule) {
        panic!(
            "{} {:?} with {} units: {fault}",
            schedule.algorithm(),
            schedule.shape(),
            schedule.units()
        );
    }
}

#[test]
fn every_algorithm_is_correct_on_1_to_64_ranks_for_every_root() {
    for algorithm in ALGORITHMS {
        for ranks in 1..=64 {
            for root in roots(algorithm, ranks) {
                each_call(algorithm, ranks, root, 7, check);
            }
        }
    }
}

#[test]
fn short_vectors_leave_blocks_empty() {
    for algorithm in ALGORITHMS {
        for ranks in 1..=17 {
            for units in 0..=3 {
                for root in roots(algorithm, ranks) {
                    each_call(algorithm, ranks, root, units, check);
                }
            }
        }
    }
}

#[test]
fn ring_needs_a_vector_longer_than_its_blocks_to_be_exercised_fully() {
    let ring = schedule::find("allreduce/ring").unwrap();
    for ranks in 1..=64 {
        each_call(ring, ranks, 0, u64::from(2 * ranks + 3), check);
    }
}

/// What the registry says of order is neither too much (the verifier refuses) nor too little.
#[test]
fn unordered_algorithms_are_seen_to_be_unordered() {
    for algorithm in ALGORITHMS.iter().filter(|a| !a.ordered) {
        let request = Request {
            units: 20,
            ..Request::ranks(5)
        };
        let proof = verify(&schedule(algorithm, &request)).unwrap();
        assert!(
            !proof.ordered,
            "{algorithm} is ordered: say so in the registry"
        );
    }
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
        check(&schedule(algorithm, &Request { ranks, root, in_place, units, parameters }));
    }
}
