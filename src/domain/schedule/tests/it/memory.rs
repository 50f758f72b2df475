//! Schedules run on real elements, compared with a plain loop.

use schedule::{ALGORITHMS, Buffer, Collective, Partition, Rank, Schedule, Span, memory};

use crate::cases::{each_call, grid};

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

/// What every rank must get.
pub(crate) fn results<T: Clone>(
    schedule: &Schedule,
    given: &[Vec<T>],
    combine: impl Fn(&T, &T) -> T,
) -> Vec<Option<Vec<T>>> {
    let combined = |ranks: &[Vec<T>]| -> Option<Vec<T>> {
        let join = |lower: Vec<T>, next: &Vec<T>| {
            let pairs = lower.iter().zip(next);
            pairs.map(|(left, right)| combine(left, right)).collect()
        };
        let (first, others) = ranks.split_first()?;
        Some(others.iter().fold(first.clone(), join))
    };
    let whole = combined(given).unwrap_or_default();
    let collective = schedule.algorithm().collective;
    let (ranks, root) = (given.len(), schedule.shape().root as usize);
    // The part of a rank in the vector of another one.
    let part_of = |owner: usize, rank: usize| {
        let units = |other: usize| part_units(schedule, owner as Rank, other as Rank) as usize;
        let start = (0..rank).map(units).sum();
        start..start + units(rank)
    };
    let part = |rank: usize| part_of(0, rank);
    let result = |rank: usize| match collective {
        Collective::Bcast => Some(given[root].clone()),
        Collective::Reduce => (rank == root).then(|| whole.clone()),
        Collective::Allreduce => Some(whole.clone()),
        Collective::Gather | Collective::Gatherv => (rank == root).then(|| given.concat()),
        Collective::Allgather | Collective::Allgatherv => Some(given.concat()),
        Collective::Scatter | Collective::Scatterv => Some(given[root][part(rank)].to_vec()),
        Collective::ReduceScatter | Collective::ReduceScatterBlock => {
            Some(whole[part(rank)].to_vec())
        }
        Collective::Alltoall | Collective::Alltoallv | Collective::Alltoallw => {
            let rows = given.iter().enumerate();
            let blocks = rows.map(|(owner, row)| row[part_of(owner, rank)].to_vec());
            Some(blocks.collect::<Vec<_>>().concat())
        }
        Collective::Barrier => None,
        Collective::Scan => combined(&given[..=rank]),
        Collective::Exscan => combined(&given[..rank]),
    };
    (0..ranks).map(result).collect()
}

/// The number of elements in a rank's part of the vector of another one, its owner.
fn part_units(schedule: &Schedule, owner: Rank, rank: Rank) -> u64 {
    let parts = Partition::parts(schedule.shape().ranks);
    schedule.span_units(owner, &Span::block(Buffer::Input, parts, rank.into()))
}

/// The number of elements in a rank's contribution.
pub(crate) fn given_units(schedule: &Schedule, rank: Rank) -> u64 {
    match schedule.algorithm().collective {
        Collective::Gather
        | Collective::Gatherv
        | Collective::Allgather
        | Collective::Allgatherv => part_units(schedule, rank, rank),
        Collective::Alltoallv | Collective::Alltoallw => (0..schedule.shape().ranks)
            .map(|to| part_units(schedule, rank, to))
            .sum(),
        _ => schedule.vector_units(),
    }
}

#[test]
fn every_ordered_algorithm_returns_the_product_in_rank_order() {
    for algorithm in ALGORITHMS {
        for ranks in 1..=13 {
            for root in grid().roots(algorithm, ranks) {
                each_call(algorithm, ranks, root, 9, |schedule| {
                    if !schedule.is_ordered() {
                        return;
                    }
                    let given: Vec<_> = (0..ranks)
                        .map(|rank| contribution(rank.into(), given_units(schedule, rank)))
                        .collect();
                    let outputs = memory::run_in_memory(schedule, &given, product).unwrap();
                    assert_eq!(outputs, results(schedule, &given, product), "{schedule:?}");
                });
            }
        }
    }
}

#[test]
fn every_algorithm_returns_the_sum() {
    for algorithm in ALGORITHMS {
        for ranks in 1..=13_u64 {
            each_call(algorithm, ranks as u32, 0, 29, |schedule| {
                let given: Vec<Vec<u64>> = (0..ranks)
                    .map(|rank| {
                        let units = 0..given_units(schedule, rank as Rank);
                        units.map(|unit| rank * 1000 + unit).collect()
                    })
                    .collect();
                let outputs = memory::run_in_memory(schedule, &given, |a, b| a + b).unwrap();
                assert_eq!(
                    outputs,
                    results(schedule, &given, |a, b| a + b),
                    "{schedule:?}"
                );
            });
        }
    }
}
