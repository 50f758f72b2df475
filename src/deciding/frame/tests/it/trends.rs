//! Aggregates of points, compared with values that are known.

use frame::{LevelComparison, SeriesPoint, compare_newest_level};

const DAY: i64 = 24 * 60 * 60 * 1000;
const WEEK: i64 = 7 * DAY;

/// A point of a night.
fn point(series: u64, night: i64, seconds: f64, default_seconds: f64) -> SeriesPoint {
    SeriesPoint {
        series,
        at: night * DAY,
        seconds,
        default_seconds,
        is_busy: false,
    }
}

fn compare(points: &[SeriesPoint]) -> LevelComparison {
    compare_newest_level(points, WEEK).unwrap()
}

#[track_caller]
fn assert_near(factor: Option<f64>, expected: f64) {
    let found = factor.unwrap();
    assert!((found / expected - 1.0).abs() < 1e-12, "{found}");
}

/// The default of the first series becomes four times as slow while its ratio stays; the ratio of the second one
/// doubles.
#[test]
fn factors_are_geometric_means_over_series() {
    let mut points = Vec::new();
    for night in 0..30 {
        let is_newest = night >= 23;
        let (times, ratio) = if is_newest { (4.0, 2.0) } else { (1.0, 1.0) };
        points.push(point(1, night, 3.0 * times, 6.0 * times));
        points.push(point(2, night, 1.5 * ratio, 2.0));
    }
    let found = compare(&points);
    assert_eq!(found.newest_at, Some(29 * DAY));
    assert_eq!((found.series, found.compared_series), (2, 2));
    assert_eq!(found.points, 60);
    assert_near(found.default_factor, 2.0);
    assert_near(found.ratio_factor, 2.0_f64.sqrt());
    // The order of the points does not matter.
    points.reverse();
    let reversed = compare(&points);
    assert_eq!(reversed.points, 60);
    assert_near(reversed.default_factor, 2.0);
    assert_near(reversed.ratio_factor, 2.0_f64.sqrt());
}

/// Points of one series have the geometric means 2 before and 6 since then; the other one, with many more points, does
/// not change.
#[test]
fn series_count_alike_however_many_points_they_have() {
    let mut points = vec![
        point(1, 0, 1.0, 1.0),
        point(1, 1, 4.0, 4.0),
        point(1, 20, 3.0, 3.0),
        point(1, 21, 12.0, 12.0),
    ];
    points.extend((0..22).map(|night| point(2, night, 5.0, 10.0)));
    let found = compare(&points);
    assert_eq!((found.compared_series, found.points), (2, 26));
    assert_near(found.default_factor, 3.0_f64.sqrt());
    assert_near(found.ratio_factor, 1.0);
}

#[test]
fn busy_nights_and_series_without_both_sides_are_not_compared() {
    let busy = SeriesPoint {
        is_busy: true,
        ..point(1, 31, 100.0, 50.0)
    };
    let points = [
        point(1, 10, 1.0, 2.0),
        point(1, 30, 1.0, 3.0),
        busy,
        // A new choice, and one that is no longer made.
        point(2, 30, 7.0, 1.0),
        point(3, 10, 7.0, 1.0),
    ];
    let found = compare(&points);
    assert_eq!(found.newest_at, Some(31 * DAY));
    assert_eq!((found.series, found.points), (3, 4));
    assert_eq!(found.compared_series, 1);
    assert_near(found.default_factor, 1.5);
    assert_near(found.ratio_factor, 2.0 / 3.0);
}

/// The point exactly a week before the newest one is an earlier one: the newest are those of seven nights.
#[test]
fn the_newest_level_has_seven_nights() {
    let points = [
        point(1, 23, 1.0, 1.0),
        point(1, 24, 1.0, 5.0),
        point(1, 30, 1.0, 5.0),
    ];
    assert_near(compare(&points).default_factor, 5.0);
}

#[test]
fn without_a_comparison_there_is_no_factor() {
    assert_eq!(compare(&[]), LevelComparison::default());
    let one_side = LevelComparison {
        newest_at: Some(0),
        points: 1,
        series: 1,
        ..LevelComparison::default()
    };
    assert_eq!(compare(&[point(1, 0, 1.0, 1.0)]), one_side);
    let busy = SeriesPoint {
        is_busy: true,
        ..point(1, 0, 1.0, 1.0)
    };
    let nothing = LevelComparison {
        newest_at: Some(0),
        ..LevelComparison::default()
    };
    assert_eq!(compare(&[busy]), nothing);
}
