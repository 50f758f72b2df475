//! When a candidate has been repeated often enough.

use statistics::{median, median_interval};
use vocabulary::Repetition;

/// A candidate takes at least this many turns, unless it uses up its slice or maximum before: only
/// then do its repetitions and those of the others share good and bad moments.
const TURNS: u32 = 5;

/// The most calls of a turn, and of each of the first [`TURNS`] if the minimum is low.
const CALLS: usize = 100;
const FIRST_CALLS: usize = 20;

/// The repetitions of one candidate and the time they took, barriers included.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Completion times of the slowest rank.
    seconds: Vec<f64>,
    spent_seconds: f64,
    turns: u32,
    /// The number of repetitions at which the interval is looked at next: looking costs a sort.
    next_look: usize,
}

impl Progress {
    /// Adds a turn: the slowest ranks' times, and the time that all of it took.
    pub fn add(&mut self, seconds: &[f64], spent_seconds: f64) {
        self.seconds.extend(seconds);
        self.spent_seconds += spent_seconds;
        self.turns += 1;
    }

    /// Whether no further repetition is wanted.
    ///
    /// Stopping when the interval is narrow prefers moments at which it is narrow by chance. On
    /// independent times that costs up to 1 % of its coverage, so that one of 95 % may have 94, and
    /// nothing else: high and low play no part, so that the median is not biased. That is little
    /// since the interval is looked at seldom, each time after a quarter more repetitions.
    pub fn is_enough(&mut self, wanted: &Repetition) -> bool {
        let count = self.seconds.len();
        if count < wanted.minimum as usize {
            return false;
        }
        if self.is_used_up(wanted) {
            return true;
        }
        if self.turns < TURNS || count < self.next_look {
            return false;
        }
        self.next_look = count + count / 4;
        is_precise(&self.seconds, wanted)
    }

    /// Whether it has its minimum, and its maximum or its slice is used up.
    pub fn is_used_up(&self, wanted: &Repetition) -> bool {
        let count = self.seconds.len();
        count >= wanted.minimum as usize
            && (count >= wanted.maximum as usize || self.spent_seconds >= wanted.slice_seconds)
    }

    /// The time that its turns took, barriers included.
    pub fn spent_seconds(&self) -> f64 {
        self.spent_seconds
    }

    /// About how many more repetitions it would take, and how many seconds, until no further one is
    /// wanted: intervals narrow with the square root of the number of repetitions.
    pub fn expected_rest(&self, wanted: &Repetition) -> (f64, f64) {
        let count = self.seconds.len() as f64;
        let (Some(median), Some(interval)) = (
            median(&self.seconds),
            median_interval(&self.seconds, wanted.confidence),
        ) else {
            return (0.0, 0.0);
        };
        let excess = (interval.high - interval.low) / (wanted.precision * median);
        let call_seconds = self.spent_seconds / count;
        let precise = if excess > 0.0 {
            count * excess.powi(2)
        } else {
            count
        };
        let end = precise
            .min(wanted.slice_seconds / call_seconds)
            .min(f64::from(wanted.maximum))
            .max(f64::from(wanted.minimum));
        let rest = (end - count).max(0.0);
        (rest, rest * call_seconds)
    }

    /// Completion times of the slowest rank, in the order in which they were added.
    pub fn seconds(&self) -> &[f64] {
        &self.seconds
    }

    /// The same, when no more are to be added.
    pub fn into_seconds(self) -> Vec<f64> {
        self.seconds
    }

    /// How many repetitions the next turn should have: a tenth of the slice, so that candidates
    /// alternate often, no more than are still wanted, and so few that no watchdog of that patience
    /// takes them for one that hangs.
    pub fn turn(&self, estimate_seconds: f64, wanted: &Repetition, patience_seconds: f64) -> usize {
        let maximum = wanted.maximum as usize;
        let left = maximum.saturating_sub(self.seconds.len()).max(1);
        let most = if self.turns < TURNS {
            let first = (wanted.minimum / TURNS) as usize;
            first.max(FIRST_CALLS).min(maximum.div_ceil(TURNS as usize))
        } else {
            CALLS
        };
        let turn_seconds = (wanted.slice_seconds / 10.0).min(patience_seconds / 4.0);
        let fitting = turn_seconds / estimate_seconds.max(1e-9);
        (fitting as usize).min(most).min(CALLS).min(left).max(1)
    }
}

fn is_precise(seconds: &[f64], wanted: &Repetition) -> bool {
    let (Some(median), Some(interval)) =
        (median(seconds), median_interval(seconds, wanted.confidence))
    else {
        return false;
    };
    interval.coverage >= wanted.confidence
        && interval.high - interval.low <= wanted.precision * median
}

/// Whether warming up has settled: the medians of the last two turns differ by less than a tenth.
///
/// What settles over no more calls than two turns have is seen. What gets faster by less than a
/// tenth from turn to turn passes for settled, however far it still has to go: with turns of 1 and
/// 25 calls, what is three times as slow at first and settles over 100 calls passes at once.
pub fn has_settled(before: &[f64], after: &[f64]) -> bool {
    match (median(before), median(after)) {
        (Some(before), Some(after)) => (after - before).abs() <= 0.1 * before,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{Progress, has_settled};
    use vocabulary::Repetition;

    const WANTED: Repetition = Repetition {
        minimum: 10,
        maximum: 1000,
        precision: 0.03,
        confidence: 0.95,
        slice_seconds: 1.0,
    };

    const PATIENCE_SECONDS: f64 = 60.0;

    /// Whether these repetitions are enough when they come in five turns.
    fn enough(seconds: &[f64], spent: f64) -> bool {
        let mut progress = Progress::default();
        for turn in seconds.chunks(seconds.len().div_ceil(5)) {
            progress.add(turn, spent / 5.0);
        }
        progress.is_enough(&WANTED)
    }

    fn after(turns: u32) -> Progress {
        Progress {
            turns,
            ..Progress::default()
        }
    }

    #[test]
    fn steady_times_stop_at_the_minimum_and_noisy_ones_at_slice_or_maximum() {
        let noisy = |count: usize| {
            (0..count)
                .map(|i| 1e-6 * (1 + i % 7) as f64)
                .collect::<Vec<_>>()
        };
        assert!(!enough(&[1e-6; 9], 0.0));
        assert!(enough(&[1e-6; 10], 0.0));
        assert!(!enough(&noisy(100), 0.5));
        assert!(enough(&noisy(100), 1.0));
        assert!(!enough(&noisy(9), 1.0));
        assert!(enough(&noisy(1000), 0.5));
    }

    #[test]
    fn steady_times_need_turns_unless_slice_or_maximum_is_used_up() {
        let check = |count, spent, turns: u32, expected| {
            let mut progress = after(turns - 1);
            progress.add(&vec![1e-6; count], spent);
            assert_eq!(progress.is_enough(&WANTED), expected, "{count} in {turns}");
        };
        check(100, 0.0, 4, false);
        check(100, 0.0, 5, true);
        check(100, 1.0, 1, true);
        check(1000, 0.0, 1, true);
        check(9, 1.0, 5, false);
    }

    #[test]
    fn the_rest_is_what_narrows_the_interval_or_what_slice_and_maximum_allow() {
        // The 40th and the 61st of these are 0.0424 apart, twice as many repetitions make it 0.03.
        let times: Vec<f64> = (0..100).map(|i| 0.9 + 0.2 * f64::from(i) / 99.0).collect();
        let check = |spent, maximum, expected: f64| {
            let mut progress = Progress::default();
            progress.add(&times, spent);
            let (repetitions, seconds) = progress.expected_rest(&Repetition { maximum, ..WANTED });
            assert!((repetitions - expected).abs() < 1.0, "{repetitions}");
            assert!((seconds - repetitions * spent / 100.0).abs() < 1e-9);
        };
        check(0.01, 1000, 100.0);
        check(0.01, 150, 50.0);
        check(0.8, 1000, 25.0);
        check(2.0, 1000, 0.0);
        assert_eq!(Progress::default().expected_rest(&WANTED), (0.0, 0.0));
    }

    #[test]
    fn turns_fit_in_a_tenth_of_the_slice() {
        let check = |turns, estimate, expected| {
            let calls = after(turns).turn(estimate, &WANTED, PATIENCE_SECONDS);
            assert_eq!(calls, expected, "{estimate} s after {turns} turns");
        };
        check(5, 10e-3, 10);
        check(5, 1e-6, 100);
        check(5, 10.0, 1);
        check(0, 10e-3, 10);
        check(0, 10.0, 1);
    }

    #[test]
    fn the_first_turns_are_short() {
        let check = |minimum, maximum, turns, expected| {
            let wanted = Repetition {
                minimum,
                maximum,
                ..WANTED
            };
            let calls = after(turns).turn(1e-6, &wanted, PATIENCE_SECONDS);
            assert_eq!(
                calls, expected,
                "{minimum} to {maximum} after {turns} turns"
            );
        };
        check(10, 1000, 0, 20);
        check(10, 1000, 4, 20);
        check(10, 1000, 5, 100);
        check(200, 1000, 0, 40);
        check(2000, 9000, 0, 100);
        check(10, 30, 0, 6);
        check(1, 1, 0, 1);
        check(0, 0, 0, 1);
    }

    #[test]
    fn turns_end_long_before_the_watchdog_barks() {
        let wanted = Repetition {
            slice_seconds: 600.0,
            ..WANTED
        };
        let check = |estimate, expected| {
            assert_eq!(after(5).turn(estimate, &wanted, 20.0), expected);
        };
        check(1.0, 5);
        check(0.5, 10);
        check(10.0, 1);
    }

    #[test]
    fn warming_up_ends_when_medians_agree() {
        assert!(has_settled(&[1.0, 1.0, 9.0], &[1.05, 1.0, 1.05]));
        assert!(!has_settled(&[2.0, 2.0], &[1.0, 1.0]));
        assert!(!has_settled(&[], &[1.0]));
    }
}
