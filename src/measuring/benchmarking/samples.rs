//! Repetitions of a candidate, as seen by all ranks together.
//!
//! Invalid repetitions are kept and counted, but decide nothing. If more than half of a turn is invalid, it continues,
//! up to six times as long.

use crate::batch::seconds_a_call;

/// The most repetitions of a turn, as a multiple of the requested number, until half of these are valid.
const MOST_TIMES: usize = 6;
/// A turn of fewer requested repetitions may try as many as one of this number.
const FEW_CALLS: usize = 16;
/// The accuracy of the time of a computation, as a share.
const COMPUTING_ACCURACY: f64 = 0.05;

/// Repetitions, the same on all ranks, but for the time that this rank spent on common starts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// The time of each.
    pub seconds: Vec<f64>,
    /// The indices of invalid repetitions, ascending.
    pub invalid: Vec<u32>,
    /// The total time, waiting included.
    pub elapsed_seconds: f64,
    /// The part within the calls, on the slowest rank of each.
    pub calling_seconds: f64,
    /// The part for common starts and for reading clocks before them, on this rank. A maximum over ranks would count
    /// some time twice: while a rank is late, others wait for it.
    pub starting_seconds: f64,
}

impl Samples {
    /// Repetitions that took `elapsed_seconds` in total. This rank spent `busy_seconds` in calls and on common starts,
    /// including comparisons of clocks before the series, which `elapsed_seconds` leaves out.
    pub fn new(
        seconds: Vec<f64>,
        invalid: Vec<u32>,
        elapsed_seconds: f64,
        busy_seconds: f64,
    ) -> Self {
        let calling_seconds = seconds.iter().sum();
        Self {
            seconds,
            invalid,
            elapsed_seconds,
            calling_seconds,
            starting_seconds: (busy_seconds - calling_seconds).max(0.0),
        }
    }

    /// The samples without the time of the computation in each, in seconds. Less than a twentieth of that time cannot be
    /// told from nothing: the collective was hidden entirely then, and candidates do not differ.
    #[must_use]
    pub fn without_computation(mut self, computing_seconds: f64) -> Self {
        if computing_seconds > 0.0 {
            let least = COMPUTING_ACCURACY * computing_seconds;
            for seconds in &mut self.seconds {
                *seconds = (*seconds - computing_seconds).max(least);
            }
        }
        self
    }

    /// Merges `starts` samples into a repetition with their sum divided by `calls` as its time. A repetition is invalid
    /// if one of its samples is; samples that do not fill a repetition are dropped.
    pub(crate) fn merge_into_repetitions(self, starts: usize, calls: u32) -> Self {
        let repetitions = self.seconds.chunks_exact(starts);
        let sums = repetitions.map(|repetition| repetition.iter().sum());
        let seconds: Vec<f64> = sums.map(|sum| seconds_a_call(sum, calls)).collect();
        let places = self.invalid.iter().map(|place| place / starts as u32);
        let mut invalid: Vec<u32> = places
            .filter(|place| (*place as usize) < seconds.len())
            .collect();
        invalid.dedup();
        Self {
            seconds,
            invalid,
            ..self
        }
    }

    /// Appends samples that were taken later.
    pub fn append(&mut self, more: Self) {
        let before = self.seconds.len() as u32;
        self.seconds.extend(more.seconds);
        let places = more.invalid.iter().map(|place| before + place);
        self.invalid.extend(places);
        self.elapsed_seconds += more.elapsed_seconds;
        self.calling_seconds += more.calling_seconds;
        self.starting_seconds += more.starting_seconds;
    }

    /// The number of further repetitions that a turn of `calls` repetitions needs, if any. It needs more than `calls`
    /// if fewer than half of `calls` are valid, up to a limit.
    pub fn missing_repetitions(&self, calls: usize) -> Option<usize> {
        let taken = self.seconds.len();
        let valid = taken - self.invalid.len();
        if taken < calls {
            return Some(calls - taken);
        }
        let most = MOST_TIMES * calls.max(FEW_CALLS);
        (taken < most && 2 * valid < calls).then_some(calls - valid)
    }

    /// The valid times, in the order in which they were taken.
    pub fn valid_seconds(&self) -> Vec<f64> {
        let mut invalid = self.invalid.iter().peekable();
        let is_valid_at = |place: u32| invalid.next_if_eq(&&place).is_none();
        let times = self.seconds.iter().zip((0..).map(is_valid_at));
        times
            .filter_map(|(seconds, is_valid)| is_valid.then_some(*seconds))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Samples;

    #[test]
    fn computation_is_not_counted() {
        let taken = |seconds: &[f64]| Samples {
            seconds: seconds.to_vec(),
            ..Samples::default()
        };
        let beside = taken(&[150.0, 106.0, 104.0, 90.0]).without_computation(100.0);
        assert_eq!(beside, taken(&[50.0, 6.0, 5.0, 5.0]));
        assert_eq!(taken(&[150.0]).without_computation(0.0), taken(&[150.0]));
    }

    #[test]
    fn starts_are_put_together() {
        let taken = |seconds: &[f64], invalid: &[u32]| Samples {
            seconds: seconds.to_vec(),
            invalid: invalid.to_vec(),
            ..Samples::default()
        };
        let alone = taken(&[4.0, 2.0], &[1]).merge_into_repetitions(1, 2);
        assert_eq!(alone, taken(&[2.0, 1.0], &[1]));
        let seven = taken(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], &[3, 5, 6]);
        // The seventh sample does not fill a repetition.
        assert_eq!(seven.merge_into_repetitions(3, 3), taken(&[2.0, 5.0], &[1]));
    }
}
