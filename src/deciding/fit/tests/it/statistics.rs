//! Known values, and the coverage of intervals.

use proptest::prelude::*;
use statistics::{median, median_interval, paired_ratio, quantile};

use crate::synthetic::Noise;

#[test]
fn known_quantiles() {
    assert_eq!(median(&[]), None);
    assert_eq!(median(&[3.0]), Some(3.0));
    assert_eq!(median(&[4.0, 1.0]), Some(2.5));
    assert_eq!(median(&[9.0, 1.0, 5.0]), Some(5.0));
    assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.25), Some(1.75));
    assert_eq!(quantile(&[1.0, 2.0, 3.0], 1.0), Some(3.0));
}

#[test]
fn known_coverages() {
    let check = |count: u32, coverage: f64, low: f64, high: f64| {
        let values: Vec<f64> = (1..=count).rev().map(f64::from).collect();
        let found = median_interval(&values, 0.95).expect("not empty");
        assert!(
            (found.coverage - coverage).abs() < 5e-5,
            "{count}: {}",
            found.coverage
        );
        assert_eq!((found.low, found.high), (low, high), "{count}");
    };
    check(1, 0.0, 1.0, 1.0);
    check(2, 0.5, 1.0, 2.0);
    check(3, 0.75, 1.0, 3.0);
    check(5, 0.9375, 1.0, 5.0);
    check(6, 0.96875, 1.0, 6.0);
    check(8, 0.992_187_5, 1.0, 8.0);
    // From the tables of the sign test (Conover 1999, table A3).
    check(9, 0.9609, 2.0, 8.0);
    check(20, 0.9586, 6.0, 15.0);
    check(100, 0.9648, 40.0, 61.0);
    assert_eq!(median_interval(&[], 0.95), None);
    let large = median_interval(&[1.0; 100_000], 0.95).expect("not empty");
    assert!((0.95..0.96).contains(&large.coverage), "{}", large.coverage);
}

#[test]
fn intervals_cover_the_median_as_often_as_their_coverage() {
    let check = |launches: usize, confidence: f64| {
        let mut noise = Noise::realistic(launches as u64);
        let (mut covered, mut claimed) = (0, 0.0);
        let trials = 4000;
        for _ in 0..trials {
            let values: Vec<f64> = (0..launches).map(|_| 2e-6 * noise.factor(0.8)).collect();
            let interval = median_interval(&values, confidence).expect("not empty");
            covered += usize::from(!interval.excludes(2e-6));
            claimed = interval.coverage;
        }
        let found = covered as f64 / trials as f64;
        // Three standard deviations of the found share are at most 2.4 %.
        assert!(
            (found - claimed).abs() < 0.024,
            "{launches}: {found} instead of {claimed}"
        );
    };
    for launches in [2, 3, 5, 6, 9, 20, 51] {
        check(launches, 0.95);
        check(launches, 0.8);
    }
}

#[test]
fn pairing_removes_the_slowness_of_whole_launches() {
    let mut noise = Noise::realistic(1);
    let (mut ours, mut default) = (Vec::new(), Vec::new());
    for launch in 1..=6 {
        let slow = if launch == 3 { 2.8 } else { noise.factor(0.3) };
        ours.push((launch, 0.8 * slow));
        default.push((launch, slow));
    }
    let found = paired_ratio(&ours, &default, 0.95).expect("paired");
    assert!((found.median - 0.8).abs() < 1e-12);
    assert!(found.interval.excludes(1.0));
    assert_eq!(found.launches, 6);
}

#[test]
fn only_common_launches_are_paired() {
    let found = paired_ratio(&[(1, 1.0), (4, 6.0)], &[(2, 5.0), (4, 3.0)], 0.95).expect("launch 4");
    assert_eq!(
        (found.median, found.launches, found.interval.coverage),
        (2.0, 1, 0.0)
    );
    assert_eq!(paired_ratio(&[(1, 1.0)], &[(2, 1.0)], 0.95), None);
}

proptest! {
    #[test]
    fn intervals_enclose_the_sample_median(values in prop::collection::vec(1e-9..1.0, 1..80)) {
        let interval = median_interval(&values, 0.95).expect("not empty");
        let middle = median(&values).expect("not empty");
        prop_assert!(!interval.excludes(middle));
        prop_assert!((0.0..=1.0).contains(&interval.coverage));
        // A wider interval has more coverage.
        let wide = median_interval(&values, 0.99).expect("not empty");
        prop_assert!(wide.low <= interval.low && interval.high <= wide.high);
    }
}
