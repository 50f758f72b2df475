//! Known parameters are found again, and undetermined ones are reported as such.

use fit::{MachineFit, fit_machine, summarise_samples};
use results::Status;
use vocabulary::{
    Candidate, CommShape, Datatype, Experiment, ExperimentKind, Operator, Pattern, Sample, Subject,
};

use crate::synthetic::{Noise, allreduce, sample};

const ALPHA: f64 = 1.3e-6;
const BETA: f64 = 2.1e-10;
const GAMMA: f64 = 0.9e-10;
pub(crate) const NODE: CommShape = CommShape { nodes: 1, ppn: 4 };
const COMBINE: ExperimentKind = ExperimentKind::Combine {
    datatype: Datatype::Float64,
    operator: Operator::Sum,
};
pub(crate) const SIZES: [u64; 7] = [8, 64, 512, 4096, 32_768, 262_144, 2_097_152];

/// The number of launches that give a median within 5 %; 6 launches give a correct interval.
pub(crate) const MANY: u32 = 30;

/// Samples of an experiment that takes `seconds(bytes)`.
pub(crate) fn experiment(
    noise: &mut Noise,
    (kind, shape): (ExperimentKind, CommShape),
    sizes: &[u64],
    launches: u32,
    seconds: impl Fn(f64) -> f64,
) -> Vec<Sample> {
    let mut samples = Vec::new();
    for launch in 1..=launches {
        for &bytes in sizes {
            let subject = Subject::Experiment(Experiment {
                kind,
                shape,
                bytes,
                through: vocabulary::Through::Mpi,
            });
            let seconds = noise.in_launch(launch, seconds(bytes as f64));
            let times = noise.repetitions(seconds, 30);
            samples.push(sample(launch, subject, &Candidate::Default, times));
        }
    }
    samples
}

pub(crate) fn fitted(samples: &[Sample]) -> MachineFit {
    fit_machine(
        "test",
        &summarise_samples(samples, Pattern::Together).expect("valid"),
    )
    .expect("fitted")
}

fn full(noise: &mut Noise, launches: u32) -> Vec<Sample> {
    let one_way = |n| ALPHA + BETA * n;
    let mut samples = experiment(
        noise,
        (ExperimentKind::PingPong, NODE),
        &SIZES,
        launches,
        one_way,
    );
    let exchange = |n| ALPHA + 1.6 * BETA * n;
    samples.extend(experiment(
        noise,
        (ExperimentKind::Exchange, NODE),
        &SIZES,
        launches,
        exchange,
    ));
    samples.extend(experiment(noise, (COMBINE, NODE), &SIZES, launches, |n| {
        2e-8 + GAMMA * n
    }));
    samples
}

pub(crate) fn near(found: Option<f64>, truth: f64, tolerance: f64) {
    let found = found.expect("identified");
    assert!(
        (found / truth - 1.0).abs() < tolerance,
        "{found} instead of {truth}"
    );
}

#[test]
fn known_parameters_are_found_within_5_percent() {
    for seed in 0..10 {
        let found = fitted(&full(&mut Noise::realistic(seed), MANY));
        let machine = found.machine.as_ref().expect("identified");
        assert_eq!((machine.ranks_per_node, &machine.network), (4, &None));
        let rates = found
            .message_rates(&allreduce(4, 8), vocabulary::Through::Mpi, 8)
            .expect("one node");
        near(Some(rates.alpha), ALPHA, 0.05);
        near(Some(rates.beta), BETA, 0.05);
        near(rates.gamma, GAMMA, 0.05);
        for parameter in found.parameters.iter().filter(|p| p.unit != "1") {
            let estimate = parameter.estimate.expect("estimated");
            // The error of a point consists of its launch's error and its own, 5 % each.
            assert!(estimate.residual < 0.07, "{parameter:?}");
        }
        let factor = |name: &str| {
            let named = |p: &&results::ParameterEstimate| p.name == name;
            found
                .parameters
                .iter()
                .find(named)
                .expect("measured")
                .value()
        };
        // The larger of the sizes below alpha / beta already depend on the bandwidth.
        near(factor("node.exchange_latency"), 1.02, 0.05);
        near(factor("node.exchange_bandwidth"), 1.58, 0.07);
    }
}

#[test]
fn intervals_cover_the_truth_as_often_as_their_coverage() {
    let check = |launches: u32, stated: f64, widest: f64| {
        let (mut covered, mut widths) = ([0; 2], 0.0);
        let seeds: u32 = 400;
        for seed in 0..seeds {
            let ping_pong = (ExperimentKind::PingPong, NODE);
            let mut noise = Noise::realistic(1000 + u64::from(seed));
            let one_way = |n| ALPHA + BETA * n;
            let found = fitted(&experiment(
                &mut noise, ping_pong, &SIZES, launches, one_way,
            ));
            let truths = [ALPHA, BETA].into_iter().zip(&mut covered);
            for (parameter, (truth, hits)) in found.parameters.iter().zip(truths) {
                let estimate = parameter.estimate.expect("estimated");
                assert_eq!(estimate.coverage, stated, "{launches}");
                *hits += u32::from((estimate.low..=estimate.high).contains(&truth));
                widths += estimate.high / estimate.low - 1.0;
            }
        }
        for hits in covered {
            let found = f64::from(hits) / f64::from(seeds);
            // Three standard deviations of the found share.
            let tolerance = 3.0 * (stated * (1.0 - stated) / f64::from(seeds)).sqrt();
            assert!(
                (found - stated).abs() <= tolerance,
                "{launches}: {found} instead of {stated}"
            );
        }
        let width = widths / f64::from(2 * seeds);
        assert!(width < widest, "{launches}: width {width}");
    };
    check(3, 0.75, 0.15);
    check(6, 0.96875, 0.2);
}

#[test]
fn one_launch_gives_values_without_certainty() {
    let found = fitted(&full(&mut Noise::realistic(8), 1));
    let rates = found
        .message_rates(&allreduce(4, 8), vocabulary::Through::Mpi, 8)
        .expect("identified");
    // An error of the launch affects every value.
    near(Some(rates.alpha), ALPHA, 0.2);
    near(Some(rates.beta), BETA, 0.2);
    near(rates.gamma, GAMMA, 0.2);
    for parameter in found.parameters {
        let estimate = parameter.estimate.expect("estimated");
        assert_eq!(estimate.coverage, 0.0, "{parameter:?}");
        assert_eq!(
            (estimate.low, estimate.high),
            (estimate.value, estimate.value)
        );
        assert_eq!(parameter.status, Status::Identified);
    }
}

#[test]
fn a_launch_counts_for_the_parameters_that_it_determines() {
    let ping_pong = (ExperimentKind::PingPong, NODE);
    let one_way = |n| ALPHA + BETA * n;
    let mut noise = Noise::realistic(11);
    let mut samples = experiment(&mut noise, ping_pong, &SIZES, 6, one_way);
    let coverages = |measured: &[Sample]| {
        let parameters = fitted(measured).parameters;
        assert!(parameters.iter().all(|p| p.status == Status::Identified));
        parameters
            .iter()
            .map(|p| p.estimate.expect("estimated").coverage)
            .collect::<Vec<_>>()
    };
    let keep = |measured: &mut Vec<Sample>, kept: fn(u32, u64) -> bool| {
        measured.retain(|sample| match sample.subject {
            Subject::Experiment(Experiment { bytes, .. }) => kept(sample.launch, bytes),
            Subject::Cell(_) => true,
        });
    };
    // The sixth launch was interrupted before the larger sizes, the fifth after two.
    keep(&mut samples, |launch, bytes| launch < 6 || bytes <= 512);
    keep(&mut samples, |launch, bytes| launch != 5 || bytes <= 64);
    assert_eq!(coverages(&samples), [0.9375, 0.875]);
    // No launch measured three sizes, but all together did.
    keep(&mut samples, |launch, bytes| match launch {
        1 => bytes <= 64,
        2 => (512..=4096).contains(&bytes),
        3 => bytes > 4096 && bytes < 2_097_152,
        _ => false,
    });
    assert_eq!(coverages(&samples), [0.0, 0.0]);
    near(
        fitted(&samples)
            .machine
            .and_then(|m| m.node)
            .map(|link| link.beta),
        BETA,
        0.2,
    );
}

#[test]
fn an_interrupted_launch_and_its_replacement_count_as_one() {
    let whole = full(&mut Noise::realistic(7), 6);
    // The second launch stopped after 512 bytes, a seventh measured the rest, and the numbers continue after it.
    let mut pieces = whole.clone();
    for sample in &mut pieces {
        let Subject::Experiment(Experiment { bytes, .. }) = sample.subject else {
            continue;
        };
        if sample.launch > 2 || (sample.launch == 2 && bytes > 512) {
            sample.launch += 1;
        }
    }
    pieces.sort_by_key(|sample| (sample.subject, sample.launch));
    assert_eq!(fitted(&pieces), fitted(&whole));
}

#[test]
fn outliers_do_not_affect_the_parameters() {
    let mut samples = full(&mut Noise::realistic(5), 6);
    for slow in samples
        .iter_mut()
        .filter(|sample| sample.launch == 2)
        .step_by(4)
    {
        slow.seconds.iter_mut().for_each(|seconds| *seconds *= 5.0);
    }
    let rates = fitted(&samples)
        .message_rates(&allreduce(4, 8), vocabulary::Through::Mpi, 8)
        .expect("one node");
    near(Some(rates.alpha), ALPHA, 0.1);
    near(Some(rates.beta), BETA, 0.1);
}

#[test]
fn levels_have_separate_parameters() {
    let mut noise = Noise::realistic(2);
    let ping_pong = ExperimentKind::PingPong;
    let network = CommShape { nodes: 2, ppn: 1 };
    let mut samples = experiment(&mut noise, (ping_pong, NODE), &SIZES, MANY, |n| {
        ALPHA + BETA * n
    });
    samples.extend(experiment(
        &mut noise,
        (ping_pong, network),
        &SIZES,
        MANY,
        |n| 4.0 * ALPHA + 2.0 * BETA * n,
    ));
    let machine = fitted(&samples).machine.expect("identified");
    near(machine.node.map(|link| link.alpha), ALPHA, 0.05);
    near(
        machine.network.as_ref().map(|link| link.alpha),
        4.0 * ALPHA,
        0.05,
    );
    near(
        machine.network.as_ref().map(|link| link.beta),
        2.0 * BETA,
        0.05,
    );
    assert_eq!(machine.gamma, None);
}

#[test]
fn undetermined_parameters_are_reported() {
    let ping_pong = |sizes: &[u64], launches| {
        let kind = (ExperimentKind::PingPong, NODE);
        let mut noise = Noise::realistic(3);
        fitted(&experiment(&mut noise, kind, sizes, launches, |n| {
            ALPHA + BETA * n
        }))
    };
    let few = ping_pong(&[8, 2_097_152], 6);
    assert_eq!(few.machine, None);
    assert!(few.parameters.iter().all(|p| p.status
        == Status::TooFewSizes {
            sizes: 2,
            needed: 3
        }));

    // The time per byte is invisible in small messages, and the start-up time in large ones.
    let [alpha, beta] = &ping_pong(&[1, 8, 32, 64], 6).parameters[..] else {
        panic!("two")
    };
    assert_eq!(alpha.status, Status::Identified);
    assert!(matches!(beta.status, Status::Negligible { .. }), "{beta:?}");
    assert_eq!(beta.value(), None);
    let large = ping_pong(&[1 << 22, 1 << 23, 1 << 24], 6);
    let [large_alpha, large_beta] = &large.parameters[..] else {
        panic!("two")
    };
    assert!(large_alpha.value().is_none(), "{large_alpha:?}");
    assert_eq!(large_beta.status, Status::Identified);
    assert_eq!(large.machine, None);
}

#[test]
fn times_off_a_line_increase_the_residual() {
    let kind = (ExperimentKind::PingPong, NODE);
    // Differences between launches also increase the residual; this test is about the bend alone.
    let mut noise = Noise::realistic(4);
    (noise.launch_sigma, noise.point_sigma) = (0.0, 0.0);
    let bent = |n: f64| {
        if n > 4096.0 {
            3e-6 + 5.0 * BETA * n
        } else {
            ALPHA + BETA * n
        }
    };
    let found = fitted(&experiment(&mut noise, kind, &SIZES, 6, bent));
    let straight = fitted(&experiment(&mut noise, kind, &SIZES, 6, |n| {
        ALPHA + BETA * n
    }));
    let residual = |fit: &MachineFit| fit.parameters[0].estimate.expect("estimated").residual;
    assert!(
        residual(&found) > 2.0 * residual(&straight),
        "{}",
        residual(&found)
    );
}

#[test]
fn the_same_samples_give_the_same_fit() {
    let mut samples = full(&mut Noise::realistic(6), 3);
    let first = fitted(&samples);
    samples.reverse();
    assert_eq!(fitted(&samples), first);
}

#[test]
fn without_experiments_there_is_no_machine() {
    let found = fitted(&[]);
    assert_eq!((found.machine, found.parameters), (None, Vec::new()));
}
