//! Known parameters must be found again, and unknowable ones reported as such.

use fit::{MachineFit, Status, fit_machine, summarise};
use wire::{Candidate, CommShape, Datatype, Experiment, ExperimentKind, Operator, Sample, Subject};

use crate::synthetic::{Noise, allreduce, sample};

const ALPHA: f64 = 1.3e-6;
const BETA: f64 = 2.1e-10;
const GAMMA: f64 = 0.9e-10;
const NODE: CommShape = CommShape { nodes: 1, ppn: 4 };
const COMBINE: ExperimentKind = ExperimentKind::Combine {
    datatype: Datatype::Float64,
    operator: Operator::Sum,
};
const SIZES: [u64; 7] = [8, 64, 512, 4096, 32_768, 262_144, 2_097_152];

/// Samples of an experiment that takes `seconds(bytes)`.
fn experiment(
    noise: &mut Noise,
    (kind, shape): (ExperimentKind, CommShape),
    sizes: &[u64],
    launches: u32,
    seconds: impl Fn(f64) -> f64,
) -> Vec<Sample> {
    let mut samples = Vec::new();
    for launch in 1..=launches {
        for &bytes in sizes {
            let subject = Subject::Experiment(Experiment { kind, shape, bytes });
            let times = noise.repetitions(seconds(bytes as f64), 30);
            samples.push(sample(launch, subject, &Candidate::Default, times));
        }
    }
    samples
}

fn fitted(samples: &[Sample]) -> MachineFit {
    fit_machine("test", &summarise(samples).expect("valid")).expect("fitted")
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

fn near(found: Option<f64>, truth: f64, tolerance: f64) {
    let found = found.expect("identified");
    assert!(
        (found / truth - 1.0).abs() < tolerance,
        "{found} instead of {truth}"
    );
}

#[test]
fn known_parameters_are_found_within_5_percent() {
    for seed in 0..10 {
        let found = fitted(&full(&mut Noise::realistic(seed), 3));
        let machine = found.machine.as_ref().expect("identified");
        assert_eq!((machine.ranks_per_node, machine.network), (4, None));
        let rates = found.rates(&allreduce(4, 8)).expect("one node");
        near(Some(rates.alpha), ALPHA, 0.05);
        near(Some(rates.beta), BETA, 0.05);
        near(rates.gamma, GAMMA, 0.05);
        for parameter in found.parameters.iter().filter(|p| p.unit != "1") {
            let estimate = parameter.estimate.expect("estimated");
            assert!(estimate.residual < 0.05, "{parameter:?}");
        }
        let factor = |name: &str| {
            let named = |p: &&fit::ParameterEstimate| p.name == name;
            found
                .parameters
                .iter()
                .find(named)
                .expect("measured")
                .value()
        };
        // At the sizes below alpha / beta the larger ones already feel the bandwidth.
        near(factor("node.exchange_latency"), 1.02, 0.05);
        near(factor("node.exchange_bandwidth"), 1.58, 0.07);
    }
}

#[test]
fn intervals_cover_the_truth_and_are_not_vast() {
    let (mut covered, mut widths) = (0, 0.0);
    let seeds = 40;
    for seed in 0..seeds {
        let ping_pong = (ExperimentKind::PingPong, NODE);
        let mut noise = Noise::realistic(1000 + seed);
        let found = fitted(&experiment(&mut noise, ping_pong, &SIZES, 3, |n| {
            ALPHA + BETA * n
        }));
        for (parameter, truth) in found.parameters.iter().zip([ALPHA, BETA]) {
            let estimate = parameter.estimate.expect("estimated");
            covered += u64::from((estimate.low..=estimate.high).contains(&truth));
            widths += estimate.high / estimate.low - 1.0;
        }
    }
    let (share, width) = (
        covered as f64 / (2 * seeds) as f64,
        widths / (2 * seeds) as f64,
    );
    // The bootstrap of three launches is a little too narrow.
    assert!(share >= 0.8, "covered {share}");
    assert!(width < 0.1, "width {width}");
}

#[test]
fn outliers_do_not_pull() {
    let mut samples = full(&mut Noise::realistic(5), 3);
    for slow in samples
        .iter_mut()
        .filter(|sample| sample.launch == 2)
        .step_by(4)
    {
        slow.seconds.iter_mut().for_each(|seconds| *seconds *= 5.0);
    }
    let rates = fitted(&samples).rates(&allreduce(4, 8)).expect("one node");
    near(Some(rates.alpha), ALPHA, 0.1);
    near(Some(rates.beta), BETA, 0.1);
}

#[test]
fn levels_are_kept_apart() {
    let mut noise = Noise::realistic(2);
    let ping_pong = ExperimentKind::PingPong;
    let network = CommShape { nodes: 2, ppn: 1 };
    let mut samples = experiment(&mut noise, (ping_pong, NODE), &SIZES, 3, |n| {
        ALPHA + BETA * n
    });
    samples.extend(experiment(
        &mut noise,
        (ping_pong, network),
        &SIZES,
        3,
        |n| 4.0 * ALPHA + 2.0 * BETA * n,
    ));
    let machine = fitted(&samples).machine.expect("identified");
    near(machine.node.map(|link| link.alpha), ALPHA, 0.05);
    near(machine.network.map(|link| link.alpha), 4.0 * ALPHA, 0.05);
    near(machine.network.map(|link| link.beta), 2.0 * BETA, 0.05);
    assert_eq!(machine.gamma, None);
}

#[test]
fn what_is_not_determined_is_said() {
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

    // A byte more or less is invisible in small messages, and the start in large ones.
    let [alpha, beta] = &ping_pong(&[1, 8, 32, 64], 6).parameters[..] else {
        panic!("two")
    };
    assert_eq!(alpha.status, Status::Identified);
    assert!(matches!(beta.status, Status::Negligible { .. }), "{beta:?}");
    assert_eq!(beta.value(), None);
    let large = ping_pong(&[1 << 22, 1 << 23, 1 << 24], 6);
    let [alpha, beta] = &large.parameters[..] else {
        panic!("two")
    };
    assert!(alpha.value().is_none(), "{alpha:?}");
    assert_eq!(beta.status, Status::Identified);
    assert_eq!(large.machine, None);
}

#[test]
fn a_time_that_is_no_line_shows_in_the_residual() {
    let kind = (ExperimentKind::PingPong, NODE);
    let mut noise = Noise::realistic(4);
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
fn no_experiments_no_machine() {
    let found = fitted(&[]);
    assert_eq!((found.machine, found.parameters), (None, Vec::new()));
}
