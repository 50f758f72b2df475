//! Predicted blocks beside measured ones.

use fit::{BlockComparison, MachineFit, compare_blocks, predicted_seconds, summarise};
use model::{Link, Machine};
use wire::{Candidate, Sample, Subject};

use crate::synthetic::{Noise, allreduce, ours, sample};

const DUAL_ROOT: &str = "allreduce/dual_root";
const BYTES: u64 = 1 << 22;

fn machine() -> MachineFit {
    let link = Link {
        alpha: 1e-6,
        overhead: None,
        beta: 2e-10,
        eager_limit: None,
    };
    let machine = Machine {
        name: "test".to_owned(),
        ranks_per_node: 16,
        network: None,
        node: Some(link),
        injection_beta: None,
        gamma: Some(1e-10),
        copy: None,
        noise: None,
    };
    MachineFit {
        machine: Some(machine),
        gammas: Vec::new(),
        parameters: Vec::new(),
    }
}

/// Samples that the closed form gives for some blocks.
fn samples(blocks: &[u64]) -> Vec<Sample> {
    let cell = allreduce(16, BYTES);
    let mut noise = Noise::realistic(9);
    let mut samples = Vec::new();
    for block in blocks {
        let candidate = ours(DUAL_ROOT, Some(*block));
        let seconds = predicted_seconds(&machine(), &cell, &candidate).expect("closed form");
        let times = noise.repetitions(seconds, 50);
        samples.push(sample(1, Subject::Cell(cell), &candidate, times));
    }
    samples
}

fn compared(samples: &[Sample], machine: Option<&MachineFit>) -> Vec<BlockComparison> {
    compare_blocks(&summarise(samples).expect("valid"), machine)
}

#[test]
fn the_measured_optimum_of_a_perfect_machine_is_the_predicted_one() {
    let blocks: Vec<u64> = (10..22).map(|exponent| 1 << exponent).collect();
    let [found] = &compared(&samples(&blocks), Some(&machine()))[..] else {
        panic!("one")
    };
    let predicted = found.predicted.expect("closed form");
    let ratio = found.measured.block_bytes as f64 / predicted.block_bytes as f64;
    assert!((0.5..=2.0).contains(&ratio), "{found:?}");
    let near = found.measured_near_prediction.expect("measured");
    assert!(near.seconds <= 1.05 * found.measured.seconds, "{found:?}");
    let of_measured = found.predicted_of_measured.expect("closed form");
    assert!(
        (found.measured.seconds / of_measured - 1.0).abs() < 0.05,
        "{found:?}"
    );
    assert!(predicted.seconds <= of_measured);
    assert_eq!(
        (found.algorithm.as_str(), found.blocks_measured),
        (DUAL_ROOT, 12)
    );
}

#[test]
fn the_nearest_measured_block_is_taken_by_ratio() {
    let [found] = &compared(&samples(&[64, 1 << 22]), Some(&machine()))[..] else {
        panic!("one")
    };
    let near = found.measured_near_prediction.expect("measured");
    let predicted = found.predicted.expect("closed form").block_bytes as f64;
    let distance = |bytes: u64| (bytes as f64 / predicted).ln().abs();
    assert!(distance(near.block_bytes) <= distance(64).min(distance(1 << 22)));
}

#[test]
fn without_a_machine_only_measurements() {
    let found = compared(&samples(&[4096, 65_536]), None);
    assert_eq!(
        (
            found.len(),
            found[0].predicted,
            found[0].predicted_of_measured
        ),
        (1, None, None)
    );
    assert_eq!(
        found[0].measured.blocks,
        (BYTES / found[0].measured.block_bytes) as u32
    );
}

#[test]
fn only_what_is_cut_in_blocks_is_compared() {
    let cell = Subject::Cell(allreduce(16, BYTES));
    let samples = [
        sample(1, cell, &Candidate::Default, vec![1.0]),
        sample(1, cell, &ours("allreduce/ring", None), vec![1.0]),
        sample(
            1,
            cell,
            &ours("allreduce/reduce_broadcast", None),
            vec![1.0],
        ),
    ];
    assert!(compared(&samples, Some(&machine())).is_empty());
}

#[test]
fn the_default_is_not_predicted() {
    let cell = allreduce(16, BYTES);
    assert_eq!(
        predicted_seconds(&machine(), &cell, &Candidate::Default),
        None
    );
    let network = wire::Cell {
        shape: wire::CommShape { nodes: 2, ppn: 8 },
        ..cell
    };
    assert_eq!(
        predicted_seconds(&machine(), &network, &ours(DUAL_ROOT, None)),
        None
    );
}
