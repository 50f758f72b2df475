//! Change points: of series with known changes, with drifts, with outliers, and without any.

use statistics::{ChangeDetector, ChangeRule, LevelChange, SeriesChanges};

use crate::nights::{
    FoundShifts, NightNoise, Random, SHIFT, YEAR, count_false_findings, find_shifts, nightly_rule,
};

const USUAL: NightNoise = NightNoise::normal(0.03);

fn detector() -> ChangeDetector {
    ChangeDetector::new(nightly_rule())
}

/// A year of noise, on levels that begin at nights.
fn series_with_levels(seed: u64, levels: &[(usize, f64)]) -> Vec<f64> {
    let mut values = USUAL.series(YEAR, &mut Random(seed));
    for (night, value) in values.iter_mut().enumerate() {
        let level = levels.iter().rfind(|(from, _)| *from <= night);
        *value += level.map_or(0.0, |(_, level)| *level);
    }
    values
}

#[test]
fn known_changes_are_found_where_they_are() {
    let levels = [(90, SHIFT), (150, -SHIFT), (280, 0.0)];
    for seed in 0..10 {
        let found = detector().find_changes(&series_with_levels(seed, &levels));
        assert_eq!(found.changes.len(), levels.len(), "{seed}: {found:?}");
        for (change, (begins, level)) in found.changes.iter().zip(levels) {
            assert!(change.first.abs_diff(begins) <= 3, "{seed}: {change:?}");
            assert!(change.found_at < begins + 10, "{seed}: {change:?}");
            assert!((change.after - level).abs() < 0.04, "{seed}: {change:?}");
        }
        assert_eq!(found.level_start(), found.changes[2].first);
    }
}

#[test]
fn findings_are_final_and_the_same_night_by_night() {
    let detector = detector();
    let values = series_with_levels(3, &[(60, SHIFT), (200, 0.0)]);
    let whole = detector.find_changes(&values);
    assert_eq!(whole, detector.find_changes(&values));
    let mut nightly = SeriesChanges::default();
    for nights in 1..=values.len() {
        let known = detector.find_changes(&values[..nights]);
        let until_now = whole
            .changes
            .iter()
            .filter(|change| change.found_at < nights);
        assert!(known.changes.iter().eq(until_now), "{nights}");
        let start = nightly.level_start();
        nightly
            .changes
            .extend(detector.look_at_newest(&values[..nights], start));
        assert_eq!(nightly.changes, known.changes, "{nights}");
    }
}

#[test]
fn a_tail_is_suspected_before_it_is_a_change() {
    let detector = detector();
    let values = series_with_levels(5, &[(100, SHIFT)]);
    let found_at = detector.find_changes(&values).changes[0].found_at;
    let suspected: Vec<usize> = (100..found_at)
        .filter_map(|last| detector.find_changes(&values[..=last]).suspected_from)
        .collect();
    assert!(suspected.len() >= 2, "{suspected:?}");
    assert!(
        suspected.iter().all(|from| from.abs_diff(100) <= 3),
        "{suspected:?}"
    );
    let after = detector.find_changes(&values);
    assert!(
        after.changes.len() == 1 && after.suspected_from.is_none(),
        "{after:?}"
    );
}

#[test]
fn a_drift_is_found_once_it_is_large_and_a_small_one_is_not() {
    let drift = |a_year: f64| {
        let mut values = USUAL.series(YEAR, &mut Random(11));
        for (night, value) in values.iter_mut().enumerate() {
            *value += a_year * night as f64 / YEAR as f64;
        }
        detector().find_changes(&values).changes
    };
    let found = drift(0.3);
    assert!(!found.is_empty() && found.len() <= 5, "{found:?}");
    assert!(
        found.iter().all(|change| change.after > change.before),
        "{found:?}"
    );
    assert_eq!(drift(0.03), []);
}

#[test]
fn a_few_nights_that_are_far_off_are_no_change() {
    let detector = detector();
    for (nights, is_change) in [(1, false), (4, false), (14, true)] {
        let mut values = USUAL.series(YEAR, &mut Random(17));
        for value in &mut values[200..200 + nights] {
            *value += 1.0;
        }
        let found = detector.find_changes(&values).changes;
        assert_eq!(!found.is_empty(), is_change, "{nights}: {found:?}");
    }
}

#[test]
fn equal_values_missing_ones_and_short_series_show_nothing() {
    let detector = detector();
    for values in [
        vec![0.5; YEAR],
        vec![f64::NAN; YEAR],
        Vec::new(),
        vec![1.0; 3],
    ] {
        assert_eq!(detector.find_changes(&values), SeriesChanges::default());
    }
    let mut rounded = vec![1.0; 60];
    rounded.extend([2.0; 30]);
    // Without noise, five nights suffice.
    let expected = LevelChange {
        first: 60,
        found_at: 64,
        before: 1.0,
        after: 2.0,
    };
    assert_eq!(detector.find_changes(&rounded).changes, [expected]);
    rounded[61..].fill(f64::NAN);
    assert_eq!(detector.find_changes(&rounded).changes, []);
}

#[test]
fn changes_that_do_not_matter_are_not_told() {
    let mut values = NightNoise::normal(0.002).series(YEAR, &mut Random(23));
    for value in &mut values[100..] {
        *value += 0.04;
    }
    assert_eq!(detector().find_changes(&values), SeriesChanges::default());
    let sensitive = ChangeRule {
        least_size: 0.03,
        ..nightly_rule()
    };
    let found = ChangeDetector::new(sensitive).find_changes(&values).changes;
    assert_eq!(
        found.iter().map(|change| change.first).collect::<Vec<_>>(),
        [100]
    );
}

/// The short form of `examples/trend_findings.rs`, which has the figures. A year is expected to have at most one
/// finding; five in two years would happen in less than 6 of 100 such tests.
#[test]
fn series_without_changes_rarely_have_findings() {
    let detector = detector();
    let slow_nights = NightNoise {
        slow_nights: 0.05,
        slow_by: 0.3,
        ..USUAL
    };
    for noise in [USUAL, slow_nights] {
        let found = count_false_findings(&detector, noise, 2, 1);
        assert!(found <= 4, "{noise:?}: {found}");
    }
}

#[test]
fn shifts_of_a_tenth_are_found_within_a_week() {
    let history = |random: &mut Random| random.between(30, YEAR);
    let FoundShifts {
        series,
        within_week,
        ..
    } = find_shifts(&detector(), USUAL, 1000, 2, history);
    assert!(
        within_week * 100 >= series * 95,
        "{within_week} of {series}"
    );
}
