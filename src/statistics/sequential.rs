//! Intervals that stay valid however often one looks at them.

use crate::{Interval, sorted};

/// The stakes of [`ln_capital`]: the first, each next half as high, with half the weight.
const FIRST_STAKE: f64 = 0.95;
const STAKES: u32 = 8;

/// Like [`crate::median_interval`], for values that come one after another and are looked at again
/// and again: with probability `confidence` the intervals after 1, 2, 3, ... values *all* cover the
/// median. Such a confidence sequence may decide when to stop; an interval for a fixed number of
/// values may not, since sooner or later it excludes any value. `None` if there are no values.
///
/// Rank-based: the ends are order statistics, whatever the distribution. A value may be above the
/// median with probability one half at most, also given all values before it, and below likewise.
/// A bettor on "above" at even odds therefore does not get rich: the capital is a
/// supermartingale, and it ever reaches `c` times what it was with probability `1 / c` at most
/// (Ville 1939). An end excludes what would make one of two bettors, for "above" and for "below",
/// `2 / (1 - confidence)` times richer. The construction is that of Howard and Ramdas 2022,
/// "Sequential estimation of quantiles", with the mixture of stakes of Robbins 1970.
///
/// The price is width: 1.5 times that of the interval for a fixed number of 100 values, 1.8 times
/// for 1000. If even the extremes do not reach `confidence`, they are the interval, with what they
/// attain: 59 % for 3 values, 93.5 % for 6, 96.6 % for 7, 99.5 % for 10.
pub fn sequential_median_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let values = sorted(values);
    let count = values.len();
    let last = count.checked_sub(1)?;
    // The same values on the wrong side of both bettors.
    let excluded = |wrong: usize| 1.0 - 2.0 * (-ln_capital(count - wrong, wrong)).exp();
    let mut place = 0;
    while 2 * (place + 1) < count && excluded(place + 1) >= confidence {
        place += 1;
    }
    Some(Interval {
        low: values[place],
        high: values[last - place],
        coverage: excluded(place).max(0.0),
    })
}

/// The logarithm of what has become of a capital of 1 after `won` won and `lost` lost bets at even odds,
/// a part of it staked in each: `sum of w (1 + s)^won (1 - s)^lost` over stakes `s` of weights `w`.
///
/// High stakes win soon where one side wins always, low ones where it wins a little more often. The
/// weights sum to less than 1; the rest is never staked.
fn ln_capital(won: usize, lost: usize) -> f64 {
    let (won, lost) = (won as f64, lost as f64);
    let terms = (0..STAKES as i32).map(|halvings| {
        let weight = 0.5_f64.powi(halvings + 1);
        let stake = FIRST_STAKE * 0.5_f64.powi(halvings);
        weight.ln() + won * stake.ln_1p() + lost * (-stake).ln_1p()
    });
    let largest = terms.clone().fold(f64::NEG_INFINITY, f64::max);
    // Relative to the largest, since 1.95^n is soon too large for a number.
    largest + terms.map(|term| (term - largest).exp()).sum::<f64>().ln()
}
