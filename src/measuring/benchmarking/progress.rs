//! The progress of a candidate's repetitions.

use statistics::{median, median_interval};
use vocabulary::Repetition;

/// The fewest turns of a candidate, unless it uses up its slice or maximum before, so that all candidates meet the same
/// disturbances.
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
    /// The number of repetitions at which the interval is computed next, since this costs a sort.
    next_look: usize,
}

impl Progress {
    /// Adds a turn: the slowest ranks' times, and the total time of the turn.
    pub fn add_turn(&mut self, seconds: &[f64], spent_seconds: f64) {
        self.seconds.extend(seconds);
        self.spent_seconds += spent_seconds;
        self.turns += 1;
    }

    /// Whether no further repetition is wanted.
    ///
    /// Stopping when the interval is narrow favours times at which it is narrow by chance. On independent times this
    /// costs up to 1 % of its coverage, so an interval of 95 % may have 94 %. It has no other effect: the median is not
    /// biased, since high and low values play no part. The loss is small because the interval is computed rarely, each
    /// time after a quarter more repetitions.
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

    /// The approximate numbers of further repetitions and of seconds until no more are wanted: the width of intervals
    /// falls with the square root of the number of repetitions.
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

    /// The number of repetitions of the next turn: a tenth of the slice, so that candidates alternate often; no more
    /// than are still wanted; and so few that a watchdog of that patience does not take them for a hang.
    pub fn turn_repetitions(
        &self,
        estimate_seconds: f64,
        wanted: &Repetition,
        patience_seconds: f64,
    ) -> usize {
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

/// Whether warm-up has settled: the medians of the last two turns differ by less than a tenth.
///
/// This detects settling within the calls of two turns. A candidate that gets faster by less than a tenth per turn
/// counts as settled, however far it still has to go: with turns of 1 and 25 calls, one that is three times as slow at
/// first and settles over 100 calls passes at once.
pub fn has_settled(before: &[f64], after: &[f64]) -> bool {
    match (median(before), median(after)) {
        (Some(before), Some(after)) => (after - before).abs() <= 0.1 * before,
        _ => false,
    }
}
