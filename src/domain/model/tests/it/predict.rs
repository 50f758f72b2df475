//! Predictions for the registry's algorithms.

use model::{Call, Prediction, Rates, predict, predict_best};
use schedule::{
    ALGORITHMS, Algorithm, Blocks, Collective, Cost, Parameter, Parameters, Request, Schedule,
    verify,
};

const RATES: Rates = Rates {
    alpha: 1e-6,
    overhead: 1e-6,
    beta: 1e-9,
    gamma: Some(5e-10),
};
const BYTES: u64 = 1 << 20;
const M: f64 = BYTES as f64;

fn algorithm(name: &str) -> &'static Algorithm {
    schedule::find_algorithm(name).unwrap_or_else(|| panic!("{name} is not registered"))
}

fn call(ranks: u32, parameters: Parameters<'_>) -> Call<'_> {
    Call {
        ranks,
        bytes: BYTES,
        unit_bytes: 8,
        parameters,
        ..Call::default()
    }
}

fn check(name: &str, ranks: u32, parameters: Parameters<'_>, seconds: f64) {
    let found = predict(algorithm(name), RATES, &call(ranks, parameters)).expect("closed form");
    let error = (found.seconds / seconds - 1.0).abs();
    assert!(
        error < 1e-9,
        "{name} on {ranks} ranks: {} s instead of {seconds} s",
        found.seconds
    );
}

#[test]
fn closed_forms_agree_with_hand_calculations() {
    let Rates {
        alpha, beta, gamma, ..
    } = RATES;
    let gamma = gamma.expect("given");
    let none = Parameters::default();
    check("bcast/binomial", 8, none, 3.0 * (alpha + beta * M));
    check(
        "bcast/chain",
        5,
        Parameters::with_blocks(4),
        7.0 * (alpha + beta * M / 4.0),
    );
    check(
        "reduce/binomial",
        9,
        none,
        4.0 * (alpha + beta * M + gamma * M),
    );
    check(
        "allreduce/recursive_doubling",
        16,
        none,
        4.0 * (alpha + (beta + gamma) * M),
    );
    check(
        "allreduce/ring",
        4,
        none,
        6.0 * alpha + 1.5 * beta * M + 0.75 * gamma * M,
    );
}

#[test]
fn a_composition_costs_the_sum_of_its_parts() {
    let Rates {
        alpha, beta, gamma, ..
    } = RATES;
    let reduce = 3.0 * (alpha + (beta + gamma.expect("given")) * M);
    check(
        "allreduce/reduce_broadcast",
        8,
        Parameters::default(),
        reduce + 3.0 * (alpha + beta * M),
    );
    let chain = Parameters {
        bcast: Some("chain"),
        ..Parameters::with_blocks(64)
    };
    check(
        "allreduce/reduce_broadcast",
        8,
        chain,
        reduce + 70.0 * (alpha + beta * M / 64.0),
    );

    let missing = Parameters {
        bcast: Some("telepathy"),
        ..Parameters::default()
    };
    let composed = algorithm("allreduce/reduce_broadcast");
    assert_eq!(predict(composed, RATES, &call(8, missing)), None);
}

#[test]
fn no_block_is_better_than_the_best_block() {
    for algorithm in ALGORITHMS
        .iter()
        .filter(|algorithm| algorithm.takes(Parameter::Blocks))
    {
        for ranks in [2, 3, 5, 16, 100] {
            let call = call(ranks, Parameters::default());
            let Some(best) = predict_best(algorithm, RATES, &call) else {
                continue;
            };
            for blocks in [1, 2, 3, 10, 30, 100, 300, 1000, 10_000] {
                let parameters = Parameters::with_blocks(blocks);
                let other = predict(algorithm, RATES, &Call { parameters, ..call });
                let other = other.expect("closed form").seconds;
                assert!(
                    best.seconds <= other * (1.0 + 1e-12),
                    "{algorithm} {ranks} {blocks}"
                );
            }
        }
    }
}

/// Numbers of units, and the costs of start-ups, bytes and combinations.
const SMALL: [u64; 9] = [1, 2, 5, 16, 61, 64, 100, 257, 1000];
const MACHINES: [[f64; 3]; 7] = [
    [1e-6, 1e-9, 2e-10],
    [1e-6, 1e-8, 1e-9],
    [1e-6, 5e-8, 1e-8],
    [1e-6, 2e-7, 0.0],
    [1e-6, 1e-6, 1e-6],
    [1e-6, 0.0, 1e-7],
    [0.0, 1e-9, 1e-9],
];

/// The prediction is compared with brute force over all numbers of blocks.
#[test]
fn the_best_number_of_blocks_is_one_of_whole_units() {
    let (mut calls, mut missed) = (0, 0);
    let mut check = |algorithm: &'static Algorithm, rates, call: Call<'_>| {
        let Some(best) = predict_best(algorithm, rates, &call) else {
            return;
        };
        let seconds = |blocks| {
            let parameters = Parameters::with_blocks(blocks);
            let found = predict(algorithm, rates, &Call { parameters, ..call });
            found.expect("closed form").seconds
        };
        assert_eq!(best.seconds, seconds(best.blocks));
        let least = (1..=1000).map(seconds).fold(f64::INFINITY, f64::min);
        let loss = best.seconds / least - 1.0;
        assert!(
            loss <= 0.02,
            "{algorithm} {rates:?} {call:?}: {best:?} loses {loss}"
        );
        calls += 1;
        missed += u32::from(loss > 1e-9);
    };
    let pipelined = ALGORITHMS.iter().filter(|a| a.takes(Parameter::Blocks));
    for algorithm in pipelined {
        for ranks in [2, 3, 4, 9, 30, 100] {
            for units in SMALL {
                for [alpha, beta, gamma] in MACHINES {
                    let gamma = Some(gamma);
                    let rates = Rates {
                        alpha,
                        overhead: alpha,
                        beta,
                        gamma,
                    };
                    let bytes = 8 * units;
                    let call = call(ranks, Parameters::default());
                    check(algorithm, rates, Call { bytes, ..call });
                }
            }
        }
    }
    assert!(calls > 1000 && missed * 100 < calls, "{missed} of {calls}");
}

#[test]
fn pipelined_algorithms_are_cut() {
    for name in [
        "bcast/chain",
        "allreduce/pipelined_tree",
        "allreduce/dual_root",
    ] {
        let best = predict_best(algorithm(name), RATES, &call(100, Parameters::default()));
        let Prediction {
            blocks,
            block_bytes,
            ..
        } = best.expect("closed form");
        assert!(blocks > 10, "{name}: {blocks}");
        assert_eq!(block_bytes % 8, 0, "{name}");
        assert!(block_bytes * u64::from(blocks) >= BYTES, "{name}");
    }
}

#[test]
fn block_sizes_count_units() {
    let chain = algorithm("bcast/chain");
    let sized = Parameters {
        blocks: Some(Blocks::Size(1 << 10)),
        ..Parameters::default()
    };
    let found = predict(chain, RATES, &call(4, sized)).expect("closed form");
    assert_eq!((found.blocks, found.block_bytes), (128, 8 << 10));
}

#[test]
fn predictions_need_their_parameters() {
    let no_gamma = Rates {
        gamma: None,
        ..RATES
    };
    let call = call(8, Parameters::default());
    assert!(predict(algorithm("bcast/binomial"), no_gamma, &call).is_some());
    assert_eq!(predict(algorithm("reduce/binomial"), no_gamma, &call), None);
    let alone = Call { ranks: 1, ..call };
    assert_eq!(predict(algorithm("bcast/binomial"), RATES, &alone), None);
}

/// The compositions of an algorithm, each inner algorithm with the default of the other, with blocks if it takes them.
fn variants(algorithm: &Algorithm, blocks: u32) -> Vec<Parameters<'static>> {
    let cut = |given: &Algorithm| Parameters {
        blocks: given
            .takes(Parameter::Blocks)
            .then_some(Blocks::Count(blocks)),
        ..Parameters::default()
    };
    let parts = |parameter, collective| {
        schedule::part_algorithms_of(collective).filter(move |_| algorithm.takes(parameter))
    };
    let reduces = parts(Parameter::Reduce, Collective::Reduce).map(|part| Parameters {
        reduce: Some(part.id),
        ..cut(part)
    });
    let bcasts = parts(Parameter::Bcast, Collective::Bcast).map(|part| Parameters {
        bcast: Some(part.id),
        ..cut(part)
    });
    let alone = [cut(algorithm)].into_iter();
    alone.chain(reduces).chain(bcasts).collect()
}

/// Whether the closed forms of an algorithm and of its parts are exact for a number of blocks.
fn is_exact(algorithm: &Algorithm, parameters: Parameters<'_>, ranks: u32, blocks: u32) -> bool {
    let part =
        |collective, id: Option<&str>| schedule::find_algorithm(&format!("{collective}/{}", id?));
    [
        Some(algorithm),
        part(Collective::Reduce, parameters.reduce),
        part(Collective::Bcast, parameters.bcast),
    ]
    .into_iter()
    .flatten()
    .all(|algorithm| match algorithm.cost(ranks) {
        Some(Cost::Pipelined { exact, .. }) => exact.includes_blocks(blocks),
        _ => true,
    })
}

/// Predictions count the messages, bytes moved and bytes combined on the critical paths of the schedules, also of
/// compositions.
#[test]
fn predictions_count_what_the_schedules_do() {
    let mut predicted = Vec::new();
    // Where phases overlap, the closed form is an estimate; `simulate/tiers.rs` tests its accuracy.
    for algorithm in ALGORITHMS.iter().filter(|a| !a.is_pipelined) {
        let shapes = [2, 3, 4, 5, 8];
        let shapes = shapes
            .into_iter()
            .flat_map(|ranks| [(ranks, 5), (ranks, 6)]);
        for (ranks, blocks) in shapes {
            for parameters in variants(algorithm, blocks) {
                if !is_exact(algorithm, parameters, ranks, blocks) {
                    continue;
                }
                // A length that every algorithm here cuts into even pieces.
                let units = u64::from(ranks * blocks) * 8;
                let time = |alpha, beta, gamma| {
                    let gamma = Some(gamma);
                    let rates = Rates {
                        alpha,
                        // Messages that leave at once take one step, as in the tally.
                        overhead: 0.0,
                        beta,
                        gamma,
                    };
                    let call = Call {
                        ranks,
                        bytes: units,
                        unit_bytes: 1,
                        parameters,
                        ..Call::default()
                    };
                    predict(algorithm, rates, &call).map(|found| found.seconds.round() as u64)
                };
                let Some(messages) = time(1.0, 0.0, 0.0) else {
                    continue;
                };
                let request = Request {
                    units,
                    parameters,
                    ..Request::among_ranks(ranks)
                };
                let schedule = Schedule::new(algorithm, &request).expect("predicted");
                let tally = verify::verify_schedule(&schedule).expect("correct").tally;
                // Their bytes pass one port, which the tally does not know.
                let moved = if matches!(algorithm.cost(ranks), Some(Cost::AtOnce { .. })) {
                    tally.most_sent
                } else {
                    tally.moved
                };
                assert_eq!(
                    (Some(messages), time(0.0, 1.0, 0.0), time(0.0, 0.0, 1.0)),
                    (Some(tally.steps), Some(moved), Some(tally.combined)),
                    "{algorithm} p={ranks} {parameters:?}"
                );
                predicted.push(algorithm.name());
            }
        }
    }
    for composed in ALGORITHMS
        .iter()
        .filter(|a| a.takes(Parameter::Reduce) || a.takes(Parameter::Bcast))
    {
        assert!(predicted.contains(&composed.name()), "{composed}");
    }
}
