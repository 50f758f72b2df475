//! Change points of a series of values that is looked at again with each new value.
//!
//! Offline methods find the changes of a complete series: E-divisive means (Matteson and James 2014; with performance
//! data: Daly et al. 2020), or PELT (Killick, Fearnhead and Eckley 2012). Their probability of a false alarm holds for
//! one look. A series that is looked at nightly is tested 365 times a year, and a change point near its end comes and
//! goes. This is instead a control chart: at each new value, the newest ones are compared with the level before by the
//! test of Mann and Whitney (1947), as in Pettitt (1979) for one look and in Hawkins and Deng (2010) for many. A change
//! that was found is final, and the next level begins with it.
//!
//! - The test compares ranks, so that the probability of a false alarm is the same whatever the distribution of the
//!   noise is, as long as it does not depend on the night before. Neither a night that is far off nor a few of them are
//!   a change.
//! - The limits are exact, from the number of orders of the values, with no random permutations: equal series give
//!   equal changes.
//! - The probability that a look at a series without changes finds one is at most
//!   [`ChangeRule::false_alarms_per_look`], the sum over all tests of the look and over both directions.
//! - A change is found only if it is at least [`ChangeRule::least_size`] large, by the estimate of Hodges and Lehmann
//!   (1963).
//!
//! A look tests the newest 5, 7, 10, 14 and 21 values, and gives most of the probability to 7: a change of the size for
//! which the rule is made should be found within a week. `examples/trend_findings.rs` simulates years of looks.

use serde::Serialize;

use crate::median;

/// The fewest values of a level.
pub const FEWEST_OF_LEVEL: usize = 5;

/// The most values of the level before that are compared: the newest ones.
const MOST_BEFORE: usize = 120;

/// The numbers of newest values that are tested, with the share of the probability of a false alarm that each test has.
const TESTS: [TailTest; 5] = [
    TailTest::new(5, 0.05),
    TailTest::new(7, 0.65),
    TailTest::new(10, 0.10),
    TailTest::new(14, 0.10),
    TailTest::new(21, 0.10),
];

/// As [`TESTS`], for a suspicion.
const SUSPECTING_TESTS: [TailTest; 3] = [
    TailTest::new(3, 0.40),
    TailTest::new(5, 0.40),
    TailTest::new(10, 0.20),
];

/// The most newest values among which a change that was found may begin.
const LONGEST_TAIL: usize = 21;

/// When a change is one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangeRule {
    /// The largest probability that a look at a series without changes finds one.
    pub false_alarms_per_look: f64,
    /// The largest probability that such a look suspects one.
    pub suspicions_per_look: f64,
    /// The smallest change that counts, in the unit of the values.
    pub least_size: f64,
}

/// A change of level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LevelChange {
    /// The index of the first value of the new level.
    pub first: usize,
    /// The index of the value with which the change was found.
    pub found_at: usize,
    /// The median of the level before, over the values that were compared.
    pub before: f64,
    /// The median of the new level when the change was found.
    pub after: f64,
}

/// What a series shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SeriesChanges {
    /// The changes, in order. Further values never alter them.
    pub changes: Vec<LevelChange>,
    /// The index of the value with which a new level may have begun, if the newest values only suggest a change:
    /// further values will show whether it is one.
    pub suspected_from: Option<usize>,
}

impl SeriesChanges {
    /// The index of the first value of the newest level.
    pub fn level_start(&self) -> usize {
        self.changes.last().map_or(0, |change| change.first)
    }
}

/// Finds changes by a rule.
#[derive(Clone, Debug)]
pub struct ChangeDetector {
    least_size: f64,
    finding: Vec<TailLimits>,
    suspecting: Vec<TailLimits>,
}

impl ChangeDetector {
    /// Prepares the limits of a rule, which takes some milliseconds.
    pub fn new(rule: ChangeRule) -> Self {
        Self {
            least_size: rule.least_size,
            finding: compute_limits(&TESTS, rule.false_alarms_per_look),
            suspecting: compute_limits(&SUSPECTING_TESTS, rule.suspicions_per_look),
        }
    }

    /// The changes of a series, as looks at it after each value have found them. Values that are not finite contradict
    /// any change.
    pub fn find_changes(&self, values: &[f64]) -> SeriesChanges {
        let mut found = SeriesChanges::default();
        for newest in 0..values.len() {
            let start = found.level_start();
            found
                .changes
                .extend(self.look_at_newest(&values[..=newest], start));
        }
        found.suspected_from = self.suspect_newest(values, found.level_start());
        found
    }

    /// The change that the newest value shows, if it shows one; `level_start` is the index at which the level before
    /// begins ([`SeriesChanges::level_start`]). A caller that looks at each new value finds what
    /// [`ChangeDetector::find_changes`] finds.
    pub fn look_at_newest(&self, values: &[f64], level_start: usize) -> Option<LevelChange> {
        let level = values.get(level_start..)?;
        let is_change = |limits: &TailLimits| self.test_tail(level, limits);
        if !self.finding.iter().any(is_change) {
            return None;
        }
        let length = find_new_level(level)?;
        let (before, after) = split_tail(level, length);
        Some(LevelChange {
            first: values.len() - length,
            found_at: values.len() - 1,
            before: median(before)?,
            after: median(after)?,
        })
    }

    /// The index of the value with which a change may have begun, if the newest values suggest one; as
    /// [`SeriesChanges::suspected_from`].
    pub fn suspect_newest(&self, values: &[f64], level_start: usize) -> Option<usize> {
        let level = values.get(level_start..)?;
        let mut suspicions = self.suspecting.iter();
        let shown = suspicions.find(|limits| self.test_tail(level, limits))?;
        Some(values.len() - shown.length)
    }

    /// Whether the newest values differ from those before them, significantly and by at least the least size.
    fn test_tail(&self, level: &[f64], limits: &TailLimits) -> bool {
        if level.len() < limits.length + FEWEST_OF_LEVEL {
            return false;
        }
        let (before, after) = split_tail(level, limits.length);
        limits.limit(before.len()).is_some_and(|limit| {
            has_few_contrary_pairs(before, after, limit)
                && typical_difference(before, after).abs() >= self.least_size
        })
    }
}

/// A test of the newest values.
#[derive(Clone, Copy, Debug)]
struct TailTest {
    /// The number of newest values.
    length: usize,
    /// Its share of the probability of a false alarm.
    share: f64,
}

impl TailTest {
    const fn new(length: usize, share: f64) -> Self {
        Self { length, share }
    }
}

/// The limits of a test of the newest `length` values.
#[derive(Clone, Debug)]
struct TailLimits {
    length: usize,
    /// By the number of values before: the most pairs of a value before and a newest one whose order contradicts the
    /// change; `None` if even no such pair would be too likely by chance.
    limits: Vec<Option<u32>>,
}

impl TailLimits {
    fn limit(&self, before: usize) -> Option<u32> {
        self.limits.get(before).copied().flatten()
    }
}

/// The limits of tests that share a probability of a false alarm, in both directions.
///
/// Without a change, all orders of `n + k` values are equally likely. The orders in which `u` pairs contradict an
/// increase are as many as the partitions of `u` into at most `k` parts of at most `n`. Their number `f(k, n, u)` is
/// `f(k, n - 1, u - k) + f(k - 1, n, u)` (Mann and Whitney 1947).
fn compute_limits(tests: &[TailTest], probability: f64) -> Vec<TailLimits> {
    let longest = tests.iter().map(|test| test.length).max().unwrap_or(0);
    // Half of all pairs contradict a change that is none, so no limit is larger.
    let most_pairs = longest * MOST_BEFORE / 2;
    let mut orders = vec![vec![0.0; most_pairs + 1]; MOST_BEFORE + 1];
    for of_before in &mut orders {
        of_before[0] = 1.0;
    }
    let mut all = Vec::new();
    for length in 1..=longest {
        // With no values before, there is one order.
        for before in 1..=MOST_BEFORE {
            let (shorter, these) = orders.split_at_mut(before);
            let shorter = &shorter[before - 1];
            for pairs in length..=most_pairs {
                these[0][pairs] += shorter[pairs - length];
            }
        }
        if let Some(test) = tests.iter().find(|test| test.length == length) {
            let one_sided = probability * test.share / 2.0;
            let limits = (0..=MOST_BEFORE)
                .map(|before| limit_of_orders(&orders[before], before, length, one_sided));
            let limits = limits.collect();
            all.push(TailLimits { length, limits });
        }
    }
    all
}

/// The most contrary pairs that are less likely than `probability`; `orders` are the numbers of orders by contrary
/// pairs.
fn limit_of_orders(orders: &[f64], before: usize, length: usize, probability: f64) -> Option<u32> {
    let ratio = |index: usize| (before + index) as f64 / index as f64;
    let all: f64 = (1..=length).map(ratio).product();
    let mut sum = 0.0;
    let possible = orders.iter().take(before * length / 2 + 1);
    let unlikely = possible.take_while(|of_pairs| {
        sum += **of_pairs;
        sum <= probability * all
    });
    unlikely.count().checked_sub(1).map(|limit| limit as u32)
}

/// The newest `length` values, and the values before them that are compared with these.
fn split_tail(level: &[f64], length: usize) -> (&[f64], &[f64]) {
    let (before, after) = level.split_at(level.len() - length);
    (&before[before.len().saturating_sub(MOST_BEFORE)..], after)
}

/// Whether at most `limit` pairs of both lists contradict an increase, or a decrease. Equal values contradict both.
fn has_few_contrary_pairs(before: &[f64], after: &[f64], limit: u32) -> bool {
    let (mut not_up, mut not_down) = (0, 0);
    for new in after {
        for old in before {
            not_up += u32::from(!matches!(
                old.partial_cmp(new),
                Some(std::cmp::Ordering::Less)
            ));
            not_down += u32::from(!matches!(
                old.partial_cmp(new),
                Some(std::cmp::Ordering::Greater)
            ));
        }
        if not_up > limit && not_down > limit {
            return false;
        }
    }
    true
}

/// The median of all differences of a value after and a value before (Hodges and Lehmann 1963).
fn typical_difference(before: &[f64], after: &[f64]) -> f64 {
    let differences = after
        .iter()
        .flat_map(|new| before.iter().map(move |old| new - old));
    let differences: Vec<f64> = differences.collect();
    median(&differences).unwrap_or(0.0)
}

/// The number of newest values with which the new level begins: the one that leaves the smallest sum of distances from
/// the medians of both levels, which a few values that are far off do not move.
fn find_new_level(level: &[f64]) -> Option<usize> {
    let longest = LONGEST_TAIL.min(level.len().checked_sub(FEWEST_OF_LEVEL)?);
    let distances = |values: &[f64]| {
        let middle = median(values).unwrap_or(0.0);
        let distance = |value: &f64| (value - middle).abs();
        values.iter().map(distance).sum::<f64>()
    };
    // The same values for all lengths.
    let (_, compared) = split_tail(level, level.len().min(longest + MOST_BEFORE));
    let sum_of = |length: &usize| {
        let (before, after) = compared.split_at(compared.len() - length);
        distances(before) + distances(after)
    };
    (FEWEST_OF_LEVEL..=longest).min_by(|a, b| sum_of(a).total_cmp(&sum_of(b)))
}

#[cfg(test)]
mod tests {
    use super::{TailTest, compute_limits};

    /// The probability of few contrary pairs, by going through all orders.
    fn probability_by_counting(before: u32, after: u32, limit: u32) -> f64 {
        let values = before + after;
        let (mut all, mut few) = (0_u32, 0_u32);
        for newest in 0_u32..1 << values {
            if newest.count_ones() != after {
                continue;
            }
            let contrary = (0..values).filter(|place| newest >> place & 1 == 1);
            let above = |place: u32| (place..values).filter(|other| newest >> other & 1 == 0);
            let pairs: usize = contrary.map(|place| above(place).count()).sum();
            all += 1;
            few += u32::from(pairs <= limit as usize);
        }
        f64::from(few) / f64::from(all)
    }

    #[test]
    fn limits_are_the_largest_that_are_unlikely_enough() {
        let level = 0.01;
        let tests = [TailTest::new(3, 0.5), TailTest::new(5, 0.5)];
        for limits in compute_limits(&tests, level) {
            for before in 1..=12 {
                let probability =
                    |limit| probability_by_counting(before, limits.length as u32, limit);
                let one_sided = level / 4.0;
                match limits.limit(before as usize) {
                    Some(limit) => {
                        assert!(probability(limit) <= one_sided, "{before}: {limit}");
                        assert!(probability(limit + 1) > one_sided, "{before}: {limit}");
                    }
                    None => assert!(probability(0) > one_sided, "{before}"),
                }
            }
        }
    }
}
