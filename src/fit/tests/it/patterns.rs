//! What messages cost that do not come one by one, and copies.

use fit::{MachineFit, ParameterEstimate, Status};
use wire::{ExperimentKind, Sample};

use crate::machine::{MANY, NODE, SIZES, experiment, fitted, near};
use crate::synthetic::Noise;

const ALPHA: f64 = 1.3e-6;
const OVERHEAD: f64 = 0.35e-6;
const BETA: f64 = 2.1e-10;
const COPY: f64 = 0.6e-10;
const BURST_SIZES: [u64; 6] = [1, 4, 16, 64, 256, 1024];

/// A message's share of a burst of those that take `overhead` each.
fn burst(overhead: f64) -> impl Fn(f64) -> f64 {
    let messages = f64::from(ExperimentKind::BURST);
    move |n| {
        let one = overhead + BETA * n;
        ((messages - 1.0) * one + 2.0 * ALPHA + BETA * n) / messages
    }
}

fn ping_pongs(noise: &mut Noise) -> Vec<Sample> {
    let kind = (ExperimentKind::PingPong, NODE);
    experiment(noise, kind, &SIZES, MANY, |n| ALPHA + BETA * n)
}

fn bursts(noise: &mut Noise, overhead: f64) -> Vec<Sample> {
    let kind = (ExperimentKind::Burst, NODE);
    experiment(noise, kind, &BURST_SIZES, MANY, burst(overhead))
}

fn named<'a>(found: &'a MachineFit, name: &str) -> &'a ParameterEstimate {
    let mut parameters = found.parameters.iter();
    parameters
        .find(|parameter| parameter.name == name)
        .expect("measured")
}

#[test]
fn what_starting_a_message_costs_is_found_within_5_percent() {
    for seed in 0..10 {
        let mut noise = Noise::realistic(seed);
        let mut samples = ping_pongs(&mut noise);
        samples.extend(bursts(&mut noise, OVERHEAD));
        let found = fitted(&samples);
        let link = found.machine.as_ref().and_then(|machine| machine.node);
        near(link.and_then(|link| link.overhead), OVERHEAD, 0.05);
        let overhead = named(&found, "node.overhead").estimate.expect("estimated");
        assert!(
            (overhead.low..=overhead.high).contains(&overhead.value),
            "{overhead:?}"
        );
    }
}

#[test]
fn overhead_is_used_only_as_a_part_of_alpha() {
    let mut noise = Noise::realistic(1);
    let alone = fitted(&bursts(&mut noise, OVERHEAD));
    let needed = |parameter: &str| Status::Needs {
        parameter: parameter.to_owned(),
    };
    assert_eq!(named(&alone, "node.overhead").status, needed("node.alpha"));
    assert_eq!(alone.machine, None);

    let check = |overhead: f64, expected: fn(&Status) -> bool| {
        let mut samples = ping_pongs(&mut Noise::realistic(2));
        samples.extend(bursts(&mut Noise::realistic(3), overhead));
        let found = fitted(&samples);
        let parameter = named(&found, "node.overhead");
        assert!(expected(&parameter.status), "{parameter:?}");
        let link = found.machine.as_ref().and_then(|machine| machine.node);
        assert_eq!(link.expect("alpha and beta").overhead, None);
    };
    check(1.5 * ALPHA, |status| {
        matches!(status, Status::AboveAlpha { .. })
    });
    // The answer's share is most of the time.
    check(0.002 * ALPHA, |status| {
        matches!(status, Status::Negligible { .. } | Status::Uncertain { .. })
    });
}

#[test]
fn copies_have_a_rate_of_their_own() {
    let mut noise = Noise::realistic(4);
    let mut samples = ping_pongs(&mut noise);
    let kind = (ExperimentKind::Copy, NODE);
    samples.extend(experiment(&mut noise, kind, &SIZES, MANY, |n| {
        1e-8 + COPY * n
    }));
    let machine = fitted(&samples).machine.expect("identified");
    near(machine.copy, COPY, 0.05);
    assert_eq!(machine.gamma, None);
}
