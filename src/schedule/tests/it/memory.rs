//! Real elements: the same schedules against a plain loop.

use schedule::{ALGORITHMS, Collective, memory};

use crate::cases::{each_call, roots};

/// 2x2 integer matrices modulo a prime: associative, not commutative.
type Matrix = [u64; 4];

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let entry = |row: usize, column: usize| {
        (a[2 * row] * b[column] + a[2 * row + 1] * b[2 + column]) % 1_000_003
    };
    [entry(0, 0), entry(0, 1), entry(1, 0), entry(1, 1)]
}

fn contribution(rank: u64, units: u64) -> Vec<Matrix> {
    (0..units)
        .map(|unit| [rank + 2, unit + 3, rank * unit + 5, 7 * rank + unit])
        .collect()
}

#[test]
fn every_algorithm_gives_the_product_in_rank_order() {
    for algorithm in ALGORITHMS.iter().filter(|algorithm| algorithm.ordered) {
        for ranks in 1..=13 {
            for root in roots(algorithm, ranks) {
                each_call(algorithm, ranks, root, 9, |schedule| {
                    let given: Vec<_> = (0..u64::from(ranks))
                        .map(|rank| contribution(rank, 9))
                        .collect();
                    let expected: Vec<Matrix> = match algorithm.collective {
                        Collective::Bcast => given[root as usize].clone(),
                        _ => (0..9)
                            .map(|unit| {
                                given.iter().map(|v| v[unit]).reduce(|a, b| product(&a, &b))
                            })
                            .map(Option::unwrap)
                            .collect(),
                    };
                    let outputs = memory::run(schedule, &given, product).unwrap();
                    for (rank, output) in (0..).zip(outputs) {
                        let wanted = algorithm.collective != Collective::Reduce || rank == root;
                        assert_eq!(output, wanted.then(|| expected.clone()), "{schedule:?}");
                    }
                });
            }
        }
    }
}

#[test]
fn unordered_algorithms_give_the_sum() {
    for algorithm in ALGORITHMS.iter().filter(|algorithm| !algorithm.ordered) {
        for ranks in 1..=13_u64 {
            each_call(algorithm, ranks as u32, 0, 29, |schedule| {
                let given: Vec<Vec<u64>> = (0..ranks)
                    .map(|rank| (0..29).map(|unit| rank * 100 + unit).collect())
                    .collect();
                let expected: Vec<u64> = (0..29)
                    .map(|unit| given.iter().map(|v: &Vec<u64>| v[unit]).sum())
                    .collect();
                let outputs = memory::run(schedule, &given, |a, b| a + b).unwrap();
                assert!(
                    outputs
                        .iter()
                        .all(|output| output.as_ref() == Some(&expected))
                );
            });
        }
    }
}
