//! The costs of several messages at once, and of copies.

use fit::MachineFit;
use results::{ParameterEstimate, Status};
use vocabulary::{CommShape, ExperimentKind, Sample};

use crate::machine::{MANY, NODE, SIZES, experiment, fitted, near};
use crate::synthetic::Noise;

const ALPHA: f64 = 1.3e-6;
const OVERHEAD: f64 = 0.35e-6;
const BETA: f64 = 2.1e-10;
const COPY: f64 = 0.6e-10;
const BURST_SIZES: [u64; 6] = [1, 4, 16, 64, 256, 1024];

/// The time per message of a burst of messages that take `overhead` each.
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
fn overhead_is_found_within_5_percent() {
    for seed in 0..10 {
        let mut noise = Noise::realistic(seed);
        let mut samples = ping_pongs(&mut noise);
        samples.extend(bursts(&mut noise, OVERHEAD));
        let found = fitted(&samples);
        let link = found
            .machine
            .as_ref()
            .and_then(|machine| machine.node.clone());
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
        let link = found
            .machine
            .as_ref()
            .and_then(|machine| machine.node.clone());
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

/// Sends to a receiver that is late, if messages of up to `limit` do not wait for it.
fn lates(noise: &mut Noise, limit: f64) -> Vec<Sample> {
    let kind = (ExperimentKind::Late, NODE);
    let sizes = [256, 512, 1024, 2048, 4096, 8192, 16_384];
    experiment(noise, kind, &sizes, 6, |n| {
        let waiting = if n <= limit {
            0.0
        } else {
            ExperimentKind::LATE_SECONDS
        };
        waiting + OVERHEAD + BETA * n
    })
}

#[test]
fn the_eager_limit_is_the_largest_size_that_does_not_wait() {
    let check = |limit: f64, expected: Option<u64>| {
        let mut samples = ping_pongs(&mut Noise::realistic(11));
        samples.extend(lates(&mut Noise::realistic(12), limit));
        let found = fitted(&samples);
        let link = found
            .machine
            .as_ref()
            .and_then(|machine| machine.node.clone());
        assert_eq!(link.expect("a link").eager_limit, expected, "{limit}");
        named(&found, "node.eager_limit").status.clone()
    };
    assert_eq!(check(4096.0, Some(4096)), Status::Identified);
    assert_eq!(check(4095.0, Some(2048)), Status::Identified);
    assert_eq!(check(0.0, None), Status::NoneEager { bytes: 256 });
    assert_eq!(check(1e9, None), Status::AllEager { bytes: 16_384 });
    let alone = fitted(&lates(&mut Noise::realistic(13), 4096.0));
    let status = &named(&alone, "node.eager_limit").status;
    assert!(matches!(status, Status::Needs { .. }), "{status:?}");
}

#[test]
fn copies_have_a_separate_rate() {
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

#[test]
fn sending_to_one_while_receiving_from_another_is_compared_with_one_message() {
    for (factor, seed) in [(1.0, 5), (1.3, 6), (2.0, 7)] {
        let mut noise = Noise::realistic(seed);
        let mut samples = ping_pongs(&mut noise);
        let kind = (ExperimentKind::Shift, CommShape { nodes: 1, ppn: 3 });
        // These are some of the ping-pongs' sizes.
        let sizes = [8, 512, 32_768, 2_097_152];
        samples.extend(experiment(&mut noise, kind, &sizes, MANY, |n| {
            factor * (ALPHA + BETA * n)
        }));
        let found = fitted(&samples);
        near(named(&found, "node.shift_latency").value(), factor, 0.05);
        near(named(&found, "node.shift_bandwidth").value(), factor, 0.05);
    }
}

#[test]
fn a_fan_shows_whether_messages_of_a_rank_take_turns() {
    const LARGE: [u64; 3] = [16 << 10, 64 << 10, 256 << 10];
    let check = |kind: ExperimentKind, partners: u32, at_once: f64| {
        let mut noise = Noise::realistic(8);
        let shape = CommShape {
            nodes: partners + 1,
            ppn: 1,
        };
        let pair = CommShape { nodes: 2, ppn: 1 };
        let ping_pong = (ExperimentKind::PingPong, pair);
        let mut samples = experiment(&mut noise, ping_pong, &SIZES, MANY, |n| ALPHA + BETA * n);
        let turns = f64::from(partners) / at_once;
        samples.extend(experiment(&mut noise, (kind, shape), &LARGE, MANY, |n| {
            2.0 * ALPHA + turns * BETA * n
        }));
        let name = format!("network.{}.{partners}", kind.name());
        near(named(&fitted(&samples), &name).value(), 1.0 / at_once, 0.07);
    };
    check(ExperimentKind::FanOut, 4, 1.0);
    check(ExperimentKind::FanOut, 4, 4.0);
    check(ExperimentKind::FanIn, 2, 1.0);
    check(ExperimentKind::FanIn, 3, 1.5);
}

/// Samples of pairs between two nodes with ranks that share a port.
fn injections(noise: &mut Noise, pairs: &[u32], shared: f64) -> Vec<Sample> {
    const LARGE: [u64; 3] = [16 << 10, 64 << 10, 256 << 10];
    let mut samples = Vec::new();
    for &ppn in pairs {
        let kind = (ExperimentKind::Injection, CommShape { nodes: 2, ppn });
        samples.extend(experiment(noise, kind, &LARGE, MANY, |n| {
            2.0 * ALPHA + BETA.max(f64::from(ppn) * shared) * n
        }));
    }
    samples
}

#[test]
fn the_gap_of_a_port_is_found_if_ranks_wait_for_it() {
    let gap = OVERHEAD / 10.0;
    let fit = |most: u32| {
        let mut noise = Noise::realistic(50);
        let pairs = |ppn| CommShape { nodes: 2, ppn };
        let messages = (ExperimentKind::PingPong, pairs(1));
        let mut samples = experiment(&mut noise, messages, &SIZES, MANY, |n| ALPHA + BETA * n);
        for ppn in [1, most] {
            let between = OVERHEAD.max(f64::from(ppn) * gap);
            let kind = (ExperimentKind::Burst, pairs(ppn));
            let share = burst(between);
            samples.extend(experiment(&mut noise, kind, &BURST_SIZES, MANY, share));
        }
        fitted(&samples)
    };
    for ppn in [16, 32, 128] {
        let machine = fit(ppn).machine.expect("identified");
        near(machine.injection_gap, gap, 0.05);
        near(machine.network.expect("measured").overhead, OVERHEAD, 0.05);
    }
    // With ten ranks the port limits the rate of messages.
    let found = fit(10);
    let status = &named(&found, "injection_gap").status;
    assert!(
        matches!(status, Status::NotShared { ranks: 10, .. }),
        "{status}"
    );
    assert_eq!(found.machine.expect("a link").injection_gap, None);
}

#[test]
fn the_shared_port_of_a_node_is_found_within_5_percent() {
    let shared = BETA / 2.0;
    for seed in 0..5 {
        let mut noise = Noise::realistic(20 + seed);
        let found = fitted(&injections(&mut noise, &[1, 2, 4, 8, 12], shared));
        near(named(&found, "injection_beta").value(), shared, 0.05);
        // Ping-pongs are missing.
        assert_eq!(found.machine, None);
    }
    let mut samples = ping_pongs(&mut Noise::realistic(30));
    samples.extend(injections(&mut Noise::realistic(31), &[1, 8], shared));
    let machine = fitted(&samples).machine.expect("identified");
    near(machine.injection_beta, shared, 0.05);
}

#[test]
fn a_port_without_observed_sharing_is_no_parameter() {
    let check = |pairs: &[u32], shared: f64, expected: fn(&Status) -> bool| {
        let mut samples = ping_pongs(&mut Noise::realistic(9));
        samples.extend(injections(&mut Noise::realistic(10), pairs, shared));
        let found = fitted(&samples);
        let parameter = named(&found, "injection_beta");
        assert!(expected(&parameter.status), "{parameter:?}");
        assert_eq!(found.machine.expect("a link").injection_beta, None);
    };
    check(&[1, 2, 4], 0.0, |status| {
        matches!(status, Status::NotShared { ranks: 4, .. })
    });
    check(&[1, 2], BETA / 2.0, |status| {
        matches!(status, Status::NotShared { ranks: 2, .. })
    });
    check(&[1], BETA, |status| matches!(status, Status::Needs { .. }));
    check(&[4], BETA, |status| matches!(status, Status::Needs { .. }));
}
