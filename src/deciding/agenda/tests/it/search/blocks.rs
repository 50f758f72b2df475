//! The search for the best block size.

use std::collections::BTreeMap;

use agenda::search::blocks::{MOST_PROBES, next_sizes, protocol_segments, snap_to_lattice};
use proptest::prelude::*;

/// The time of a pipelined algorithm as a function of its blocks.
struct Curve {
    bytes: f64,
    /// The latency of the first block and the time per block, in messages.
    fill: f64,
    steady: f64,
    alpha: f64,
    beta: f64,
    /// A message of a block above this size takes `jump` more.
    limit: u64,
    jump: f64,
}

impl Curve {
    fn seconds(&self, block: u64) -> f64 {
        let blocks = (self.bytes / block as f64).ceil();
        let jump = if block > self.limit { self.jump } else { 0.0 };
        let message = self.alpha + jump + self.beta * (self.bytes / blocks);
        (self.fill + self.steady * (blocks - 1.0)) * message
    }
}

/// Searches a segment; returns the measured times and their number.
fn search(
    segment: &[u64],
    start: u64,
    tolerance: f64,
    mut measure: impl FnMut(u64) -> f64,
) -> BTreeMap<u64, f64> {
    let mut known = BTreeMap::new();
    loop {
        let probes = next_sizes(segment, &known, start, tolerance);
        if probes.is_empty() {
            return known;
        }
        for size in probes {
            assert!(segment.contains(&size), "{size} is not in the segment");
            let before = known.insert(size, measure(size));
            assert!(before.is_none(), "{size} was measured twice");
        }
    }
}

fn fastest(known: &BTreeMap<u64, f64>) -> u64 {
    let best = known.iter().min_by(|a, b| a.1.total_cmp(b.1));
    *best.expect("something was measured").0
}

#[test]
fn segments_are_half_octaves_cut_at_the_eager_limit() {
    assert_eq!(
        protocol_segments(8192, None),
        [vec![1024, 1536, 2048, 3072, 4096, 8192]]
    );
    let cut = [vec![1024, 1536, 2048], vec![3072, 4096, 8192]];
    assert_eq!(protocol_segments(8192, Some(2048)), cut);
    let odd = [vec![1024, 1536, 2000], vec![2048, 3072, 4096, 8192]];
    assert_eq!(protocol_segments(8192, Some(2000)), odd);
    assert_eq!(protocol_segments(100, Some(64)), [vec![100]]);
    assert_eq!(protocol_segments(5000, Some(1 << 20)).len(), 1);
    assert_eq!(
        protocol_segments(5000, None)[0],
        [1024, 1536, 2048, 3072, 5000]
    );
    assert!(protocol_segments(u64::MAX, None)[0].is_sorted());
}

#[test]
fn sizes_are_snapped_to_the_lattice() {
    for (size, snapped) in [
        (1, 1024),
        (1700, 1536),
        (1800, 2000),
        (2500, 2048),
        (1 << 30, 8192),
    ] {
        let found = snap_to_lattice(8192, Some(2000), size);
        assert!(
            protocol_segments(8192, Some(2000))
                .concat()
                .contains(&found)
        );
        assert_eq!(found, snapped, "{size}");
    }
}

#[test]
fn a_second_minimum_far_away_is_found() {
    let segment = &protocol_segments(16 << 20, None)[0];
    // The curve has a minimum at 4 KiB and a deeper one at 2 MiB.
    let valley = |size: u64, at: f64| ((size as f64 / at).log2().abs() / 4.0).min(1.0);
    let time = |size: u64| 1.0 + valley(size, 4096.0).min(valley(size, 2097152.0) - 0.3);
    let known = search(segment, 4096, 0.02, time);
    let best = fastest(&known);
    assert!((1 << 20..=4 << 20).contains(&best), "{best}: {known:?}");
}

#[test]
fn a_flat_curve_is_not_searched_further() {
    let segment = &protocol_segments(8 << 20, None)[0];
    let known = search(segment, 65536, 0.02, |size| 1.0 + 1e-9 * size as f64 / 1e6);
    assert!(known.len() <= 6, "{known:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// The search finds the optimum within noise, in at most 8 measurements per protocol segment, from any start and
    /// with any jump at the eager limit.
    #[test]
    fn the_optimum_is_found(
        log_bytes in 12.0..26.0_f64,
        // The first block takes at least as long as each further one: the lemma's constants are not negative.
        depth in 1.0..40.0_f64,
        steady in 1.0..4.0_f64,
        log_alpha in -6.5..-4.5_f64,
        log_beta in -10.0..-8.0_f64,
        log_limit in 10_u32..18,
        jump in 0.0..3.0_f64,
        wrong in -4.0..4.0_f64,
        noise in 0.0..0.02_f64,
        seed: u64,
    ) {
        let (alpha, beta) = (10f64.powf(log_alpha), 10f64.powf(log_beta));
        let bytes = log_bytes.exp2().round();
        let curve = Curve {
            bytes, fill: depth * steady, steady, alpha, beta,
            limit: 1 << log_limit,
            jump: jump * alpha,
        };
        let lemma = (bytes * alpha / (beta * depth)).sqrt();
        let start = (lemma * wrong.exp2()).clamp(1.0, bytes) as u64;
        let mut random = fastrand::Rng::with_seed(seed);
        let mut known = BTreeMap::new();
        let segments = protocol_segments(bytes as u64, Some(curve.limit));
        for segment in &segments {
            let found = search(segment, start, 0.02, |size| {
                curve.seconds(size) * (1.0 + noise * (2.0 * random.f64() - 1.0))
            });
            prop_assert!(found.len() <= MOST_PROBES);
            known.extend(found);
        }
        let chosen = curve.seconds(fastest(&known));
        let all = segments.iter().flatten().map(|&size| curve.seconds(size));
        let best = all.fold(f64::INFINITY, f64::min);
        // Times within the tolerance count as equal, and each comparison has noise.
        let regret = chosen / best - 1.0;
        prop_assert!(regret <= 0.02 + 3.0 * noise, "{regret}: {known:?}");
    }
}
