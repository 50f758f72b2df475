//! Intervals cover the true value as often as their coverage.

use statistics::{Interval, median, median_interval, paired_ratio, sequential_median_interval};

use crate::synthetic::{Draw, Noise, QUIET, ROUGH};

const TRIALS: usize = 4000;

/// Three standard deviations of a share of about `share` found in [`TRIALS`].
fn slack(share: f64) -> f64 {
    3.0 * (share * (1.0 - share) / TRIALS as f64).sqrt()
}

/// Draws intervals of these numbers of launches and checks how often they cover `truth`: at least as often as their
/// coverage, and in 93 % of the cases if 95 % is requested and attainable.
fn check(
    name: &str,
    launches: &[usize],
    truth: f64,
    mut interval: impl FnMut(&mut Draw, usize) -> Interval,
) {
    for &count in launches {
        let mut draw = Draw::with_seed(count as u64);
        let (mut covered, mut stated) = (0, 1.0_f64);
        for _ in 0..TRIALS {
            let found = interval(&mut draw, count);
            covered += usize::from(!found.excludes(truth));
            stated = stated.min(found.coverage);
        }
        let share = covered as f64 / TRIALS as f64;
        println!(
            "{name}, {count} launches: {:.1} % covered, {:.1} % stated",
            100.0 * share,
            100.0 * stated
        );
        assert!(
            share >= stated - slack(stated),
            "{name}, {count}: {share} instead of {stated}"
        );
        assert!(
            count < 6 || (share >= 0.93 && stated >= 0.95),
            "{name}, {count}: {share}, {stated} stated"
        );
    }
}

const MANY: [usize; 12] = [2, 3, 4, 5, 6, 7, 8, 9, 12, 20, 30, 51];
const SOME: [usize; 4] = [6, 7, 9, 20];

#[test]
fn medians_of_log_normal_launches_are_covered() {
    check("log-normal", &MANY, 1.0, |draw, count| {
        let values: Vec<f64> = (0..count).map(|_| draw.factor(0.3)).collect();
        median_interval(&values, 0.95).expect("values")
    });
}

#[test]
fn medians_of_coarse_clocks_are_covered() {
    // A clock with few steps causes ties, which intervals cover.
    check("two digits", &MANY, 1.0, |draw, count| {
        let coarse = |value: f64| (value * 20.0).round() / 20.0;
        let values: Vec<f64> = (0..count).map(|_| coarse(draw.factor(0.1))).collect();
        median_interval(&values, 0.95).expect("values")
    });
}

/// If one launch in eight is slow, the median of all launches is the value below which 4 in 7 of the others lie.
#[test]
fn medians_of_bimodal_launches_are_covered() {
    let noise = Noise {
        launch_sigma: 0.05,
        slow_launches: 0.125,
        ..QUIET
    };
    // The normal quantile of 4/7.
    let truth = (0.05_f64 * 0.180_012_4).exp();
    check("one in eight slow", &MANY, truth, |draw, count| {
        let values: Vec<f64> = (0..count)
            .map(|_| draw.launch(&noise) * draw.factor(noise.launch_sigma))
            .collect();
        median_interval(&values, 0.95).expect("values")
    });
}

/// The unit is the launch: with any spikes and drift inside it, its median is one value.
#[test]
fn medians_of_rough_launches_are_covered() {
    const REPETITIONS: usize = 15;
    let draw_launch = |draw: &mut Draw| {
        let launch = draw.launch(&ROUGH);
        draw.launch_median(1.0, launch, REPETITIONS, &ROUGH)
    };
    // There is no formula for this distribution's median.
    let mut truth_draw = Draw::with_seed(0);
    let many: Vec<f64> = (0..200_000).map(|_| draw_launch(&mut truth_draw)).collect();
    let truth = median(&many).expect("values");
    check(
        "spikes, drift, slow launches",
        &SOME,
        truth,
        |draw, count| {
            let values: Vec<f64> = (0..count).map(|_| draw_launch(draw)).collect();
            median_interval(&values, 0.95).expect("values")
        },
    );
}

/// Repetitions of one launch are not independent values: an interval that treats them as independent says nothing about
/// other launches. This is why the launch is the unit.
#[test]
fn repetitions_of_one_launch_do_not_cover_the_median_over_launches() {
    let noise = Noise {
        sigma: 0.1,
        launch_sigma: 0.1,
        ..QUIET
    };
    let mut draw = Draw::with_seed(1);
    let mut covered = 0;
    for _ in 0..TRIALS {
        let seconds = draw.factor(noise.launch_sigma);
        let values: Vec<f64> = (0..50).map(|_| draw.repetition(seconds, &noise)).collect();
        let interval = median_interval(&values, 0.95).expect("values");
        covered += usize::from(!interval.excludes(1.0));
    }
    let share = covered as f64 / TRIALS as f64;
    println!("one launch taken for all: {:.1} % covered", 100.0 * share);
    assert!(share < 0.5, "{share}");
}

#[test]
fn paired_ratios_are_covered_although_launches_are_bimodal() {
    const REPETITIONS: usize = 15;
    let quiet = Noise {
        spikes: 0.0,
        ..ROUGH
    };
    for (name, noise) in [("quiet pairs", quiet), ("pairs with spikes", ROUGH)] {
        check(name, &SOME, 1.1, |draw, count| {
            let (mut ours, mut default) = (Vec::new(), Vec::new());
            for launch in 0..count as u32 {
                let slow = draw.launch(&noise);
                ours.push((launch, draw.launch_median(1.1, slow, REPETITIONS, &noise)));
                default.push((launch, draw.launch_median(1.0, slow, REPETITIONS, &noise)));
            }
            let ratio = paired_ratio(&ours, &default, 0.95).expect("paired");
            assert_eq!(ratio.launches, count as u32);
            ratio.interval
        });
    }
}

/// An interval for a fixed number of values that is computed after each value is wrong sooner or later; a confidence
/// sequence is not.
#[test]
fn only_confidence_sequences_may_be_computed_after_each_value() {
    const VALUES: usize = 200;
    const TRIALS: usize = 1000;
    let mut draw = Draw::with_seed(2);
    let (mut fixed_wrong, mut sequence_wrong) = (0, 0);
    for _ in 0..TRIALS {
        let values: Vec<f64> = (0..VALUES).map(|_| draw.factor(0.3)).collect();
        let ever_wrong = |interval: fn(&[f64], f64) -> Option<Interval>| {
            (7..=VALUES).any(|count| {
                let found = interval(&values[..count], 0.95).expect("values");
                assert!(found.coverage >= 0.95);
                found.excludes(1.0)
            })
        };
        fixed_wrong += usize::from(ever_wrong(median_interval));
        sequence_wrong += usize::from(ever_wrong(sequential_median_interval));
    }
    println!("looked at after each of {VALUES} values, {TRIALS} times: fixed numbers' intervals");
    println!("wrong {fixed_wrong} times, confidence sequences {sequence_wrong} times");
    assert!(fixed_wrong > TRIALS / 5, "{fixed_wrong}");
    assert!(sequence_wrong <= TRIALS / 20, "{sequence_wrong}");
    assert!(sequence_wrong > 0, "the sequence is too wide");
}

#[test]
fn confidence_sequences_are_order_statistics() {
    let check = |count: u32, confidence: f64, low: f64, high: f64, coverage: f64| {
        let values: Vec<f64> = (1..=count).rev().map(f64::from).collect();
        let found = sequential_median_interval(&values, confidence).expect("values");
        assert_eq!((found.low, found.high), (low, high), "{count}");
        assert!((found.coverage - coverage).abs() < 5e-5, "{found:?}");
    };
    check(1, 0.95, 1.0, 1.0, 0.0);
    check(3, 0.95, 1.0, 3.0, 0.5919);
    check(7, 0.95, 1.0, 7.0, 0.9656);
    check(10, 0.95, 1.0, 10.0, 0.9951);
    check(100, 0.95, 34.0, 67.0, 0.9652);
    assert_eq!(sequential_median_interval(&[], 0.95), None);
    // Here 1.95^n overflows.
    let large = sequential_median_interval(&[1.0; 10_000], 0.95).expect("values");
    assert!((0.95..0.96).contains(&large.coverage), "{large:?}");
}
