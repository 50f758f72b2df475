//! Statistics of values with known results.

mod change;
mod nights;
mod prediction;
mod sign;

use statistics::{clock, geometric_mean};

#[test]
fn means_of_ratios_are_geometric() {
    for (values, expected) in [(&[0.5, 2.0], 1.0), (&[2.0, 8.0], 4.0)] {
        let mean = geometric_mean(values.iter().copied()).expect("values");
        assert!((mean - expected).abs() < 1e-12, "{values:?}: {mean}");
    }
    assert_eq!(geometric_mean([]), None);
}

#[test]
fn the_clock_of_this_machine_advances() {
    let clock = clock::examine_clock();
    assert!(clock.overhead_seconds > 0.0 && clock.resolution_seconds >= 1e-9);
}
