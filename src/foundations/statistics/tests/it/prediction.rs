//! Intervals for one further value.

use statistics::{median_interval, prediction_interval};

use crate::nights::Random;

#[test]
fn the_extremes_of_n_values_enclose_a_further_one_in_n_minus_1_of_n_plus_1_cases() {
    assert_eq!(prediction_interval(&[], 0.95), None);
    let one = prediction_interval(&[2.0], 0.95).expect("values");
    assert_eq!([one.low, one.high, one.coverage], [2.0, 2.0, 0.0]);
    assert_eq!(one.known_ends(), None);
    let six = prediction_interval(&[1.4, 1.1, 1.6, 1.2, 1.5, 1.3], 0.95).expect("values");
    assert_eq!([six.low, six.high], [1.1, 1.6]);
    assert!((six.coverage - 5.0 / 7.0).abs() < 1e-12);
}

#[test]
fn many_values_do_without_their_extremes_and_stay_wide() {
    let values: Vec<f64> = (1..=99).map(f64::from).collect();
    let interval = prediction_interval(&values, 0.95).expect("values");
    // Leaving out one value more at each end would make it 94 %.
    assert_eq!([interval.low, interval.high], [2.0, 98.0]);
    assert!((interval.coverage - 0.96).abs() < 1e-12);
    let of_median = median_interval(&values, 0.95).expect("values");
    assert!(of_median.high - of_median.low < 25.0, "{of_median:?}");
}

#[test]
fn further_values_are_enclosed_as_often_as_is_said() {
    let mut random = Random(20_261_130);
    for count in [3, 6, 20, 45] {
        let mut enclosed = 0;
        const SERIES: usize = 4000;
        let mut coverage = 0.0;
        for _ in 0..SERIES {
            let values: Vec<f64> = (0..=count).map(|_| random.uniform()).collect();
            let (further, known) = values.split_last().expect("values");
            let interval = prediction_interval(known, 0.95).expect("values");
            coverage = interval.coverage;
            enclosed += usize::from(!interval.excludes(*further));
        }
        let share = enclosed as f64 / SERIES as f64;
        // Four standard deviations of a share of one half are 3.2 %.
        assert!(
            (share - coverage).abs() < 0.032,
            "{count}: {share}, not {coverage}"
        );
    }
}
