//! Rank-based statistics, which assume nothing about the distribution of times.

mod change;
pub mod clock;
mod sequential;
mod sign;

use serde::Serialize;

pub use change::{ChangeDetector, ChangeRule, FEWEST_OF_LEVEL, LevelChange, SeriesChanges};
pub use sequential::sequential_median_interval;
pub use sign::{holm_rejections, sign_test, values_for_sign_test};

/// An interval for an unknown value.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The attained probability that such an interval covers the value; it may be less than the requested confidence.
    pub coverage: f64,
}

impl Interval {
    /// An interval of a single value of unknown accuracy, with a coverage of 0.
    pub const fn single_value(value: f64) -> Self {
        Self {
            low: value,
            high: value,
            coverage: 0.0,
        }
    }

    /// Both ends; `None` if the coverage is 0, as with a single launch.
    pub fn known_ends(&self) -> Option<[f64; 2]> {
        (self.coverage > 0.0).then_some([self.low, self.high])
    }

    /// The least interval that contains both, with the smaller coverage.
    #[must_use]
    pub fn hull(self, other: Self) -> Self {
        Self {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            coverage: self.coverage.min(other.coverage),
        }
    }

    /// The least interval that contains this one and `value`.
    #[must_use]
    pub fn with_value(self, value: f64) -> Self {
        Self {
            low: self.low.min(value),
            high: self.high.max(value),
            coverage: self.coverage,
        }
    }

    /// Whether the interval leaves out `value`.
    pub fn excludes(&self, value: f64) -> bool {
        value < self.low || self.high < value
    }
}

/// The ratio of two candidates' times, from launches that measured both.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PairedRatio {
    /// Median over launches of the ratio within a launch.
    pub median: f64,
    /// Confidence interval of that median.
    pub interval: Interval,
    /// Launches that measured both.
    pub launches: u32,
}

impl PairedRatio {
    /// A ratio of unknown accuracy.
    pub const fn single_value(value: f64) -> Self {
        Self {
            median: value,
            interval: Interval::single_value(value),
            launches: 0,
        }
    }
}

/// The value below which a share `q` (0 to 1) of ascending values lies, interpolated linearly
/// between order statistics (Hyndman and Fan 1996, type 7); `None` if there are no values.
pub fn quantile(ascending: &[f64], q: f64) -> Option<f64> {
    let last = ascending.len().checked_sub(1)?;
    let place = q.clamp(0.0, 1.0) * last as f64;
    let below = place.floor();
    let (low, high) = (ascending[below as usize], ascending[place.ceil() as usize]);
    Some(low + (high - low) * (place - below))
}

/// The median; `None` if there are no values.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(&sorted_ascending(values), 0.5)
}

/// The geometric mean of positive values; `None` if there are no values.
pub fn geometric_mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let logarithms: Vec<f64> = values.into_iter().map(f64::ln).collect();
    let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
    (!logarithms.is_empty()).then(|| mean.exp())
}

/// The narrowest pair of order statistics, equally far from both ends, that covers the median of
/// the distribution with probability `confidence`; `None` if there are no values.
///
/// Each of `n` independent values lies below the median with probability one half, so the `k`-th
/// smallest and `k`-th largest enclose it with probability `1 - 2 P(Binomial(n, 1/2) < k)`,
/// whatever the distribution. If even the extremes do not reach `confidence`, they are the
/// interval, with the coverage that they have: 75 % for 3 values, 93.75 % for 5, 96.9 % for 6.
///
/// The values must be independent, as the medians of launches are and the repetitions of one launch are not. Where one
/// launch in eight is slow as a whole, the median is that of all launches, slow ones included: 4 in 7 of the other
/// launches lie below it. An interval that is computed again with each further value sooner or later excludes the
/// median; [`sequential_median_interval`] serves that case.
pub fn median_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let values = sorted_ascending(values);
    let count = values.len();
    let last = count.checked_sub(1)?;
    // In logarithms, since 2^-n underflows for large n.
    let mut ln_term = -(count as f64) * std::f64::consts::LN_2;
    let mut tail = ln_term.exp();
    let mut place = 0;
    for next in 1..count.div_ceil(2) {
        ln_term += ((count - next + 1) as f64 / next as f64).ln();
        let wider_tail = tail + ln_term.exp();
        if 1.0 - 2.0 * wider_tail < confidence {
            break;
        }
        (place, tail) = (next, wider_tail);
    }
    Some(Interval {
        low: values[place],
        high: values[last - place],
        coverage: (1.0 - 2.0 * tail).max(0.0),
    })
}

/// The narrowest pair of order statistics, equally far from both ends, that encloses a further value of the same distribution
/// with probability `confidence`; `None` if there are no values.
///
/// The further value is as likely to fall into each of the `n + 1` gaps that `n` independent values leave, so it lies between
/// the `k`-th smallest and the `k`-th largest with probability `(n + 1 - 2 k) / (n + 1)`, whatever the distribution (Wilks
/// 1941). If even the extremes do not reach `confidence`, they are the interval, with the coverage that they have: 50 % for 3
/// values, 71 % for 6, 95 % for 39. In contrast to [`median_interval`], it does not become narrower without end as
/// values are added: it is about what one launch will show, not about the median of all.
pub fn prediction_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let values = sorted_ascending(values);
    let last = values.len().checked_sub(1)?;
    let gaps = (values.len() + 1) as f64;
    let coverage_without = |outside: usize| 1.0 - 2.0 * outside as f64 / gaps;
    let mut place = 0;
    while 2 * (place + 1) < last && coverage_without(place + 2) >= confidence {
        place += 1;
    }
    Some(Interval {
        low: values[place],
        high: values[last - place],
        coverage: coverage_without(place + 1).max(0.0),
    })
}

/// The ratio of two candidates' times, paired within launches, since a slow launch slows both. Both lists hold
/// (launch, seconds) by ascending launch, with positive times. `None` if no launch measured both.
pub fn paired_ratio(
    numerator: &[(u32, f64)],
    denominator: &[(u32, f64)],
    confidence: f64,
) -> Option<PairedRatio> {
    let ratios = paired_ratios(numerator, denominator);
    Some(PairedRatio {
        median: median(&ratios)?,
        interval: median_interval(&ratios, confidence)?,
        launches: ratios.len() as u32,
    })
}

/// The ratios of the values with the same launch (or round) number in both lists, by ascending number. Both lists must
/// ascend, and the times must be positive.
pub fn paired_ratios(numerator: &[(u32, f64)], denominator: &[(u32, f64)]) -> Vec<f64> {
    numerator
        .iter()
        .filter_map(|(launch, seconds)| {
            let place = denominator
                .binary_search_by_key(launch, |(launch, _)| *launch)
                .ok()?;
            Some(seconds / denominator[place].1)
        })
        .collect()
}

fn sorted_ascending(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}
