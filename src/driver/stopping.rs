//! When a candidate has been repeated often enough. Pure: all ranks decide alike.

use statistics::{median, median_interval};
use wire::Repetition;

/// The repetitions of one candidate and the time they took, barriers included.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress {
    /// Completion times of the slowest rank.
    pub(crate) seconds: Vec<f64>,
    spent_seconds: f64,
    /// The number of repetitions at which the interval is looked at next: looking costs a sort.
    next_look: usize,
}

impl Progress {
    /// Adds a turn.
    pub(crate) fn add(&mut self, seconds: &[f64], spent_seconds: f64) {
        self.seconds.extend(seconds);
        self.spent_seconds += spent_seconds;
    }

    /// Whether no further repetition is wanted.
    pub(crate) fn is_enough(&mut self, wanted: &Repetition) -> bool {
        let count = self.seconds.len();
        if count < wanted.minimum as usize {
            return false;
        }
        if count >= wanted.maximum as usize || self.spent_seconds >= wanted.slice_seconds {
            return true;
        }
        if count < self.next_look {
            return false;
        }
        self.next_look = count + count / 4;
        is_precise(&self.seconds, wanted)
    }

    /// How many repetitions the next turn should have: a tenth of the slice, so that candidates
    /// alternate often, and no more than are still wanted.
    pub(crate) fn turn(&self, estimate_seconds: f64, wanted: &Repetition) -> usize {
        let left = (wanted.maximum as usize)
            .saturating_sub(self.seconds.len())
            .max(1);
        let fitting = wanted.slice_seconds / 10.0 / estimate_seconds.max(1e-9);
        (fitting as usize).clamp(1, 100).min(left)
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
pub(crate) fn has_settled(before: &[f64], after: &[f64]) -> bool {
    match (median(before), median(after)) {
        (Some(before), Some(after)) => (after - before).abs() <= 0.1 * before,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{Progress, has_settled};
    use wire::Repetition;

    const WANTED: Repetition = Repetition {
        minimum: 10,
        maximum: 1000,
        precision: 0.03,
        confidence: 0.95,
        slice_seconds: 1.0,
    };

    fn enough(seconds: &[f64], spent: f64) -> bool {
        let mut progress = Progress::default();
        progress.add(seconds, spent);
        progress.is_enough(&WANTED)
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
    fn turns_fit_in_a_tenth_of_the_slice() {
        let progress = Progress::default();
        assert_eq!(progress.turn(10e-3, &WANTED), 10);
        assert_eq!(progress.turn(1e-6, &WANTED), 100);
        assert_eq!(progress.turn(10.0, &WANTED), 1);
    }

    #[test]
    fn warming_up_ends_when_medians_agree() {
        assert!(has_settled(&[1.0, 1.0, 9.0], &[1.05, 1.0, 1.05]));
        assert!(!has_settled(&[2.0, 2.0], &[1.0, 1.0]));
        assert!(!has_settled(&[], &[1.0]));
    }
}
