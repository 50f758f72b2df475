//! How ranks are brought to a common start, and what the time of a repetition is then.

mod barrier;
mod window;

use exec::Communicator;

use crate::error::DriverError;
use barrier::BarrierSeries;
use window::WindowSeries;
pub(crate) use window::WindowSynchroniser;

/// So many times what a turn should have is taken at the most, if that is what it needs for half of it
/// to be valid; turns of fewer calls than that are tried as often as if they had so many.
const MOST_TIMES: usize = 6;
const FEW_CALLS: usize = 16;

/// The way of a task, for the ranks that take part in it.
#[derive(Debug)]
pub(crate) enum Synchroniser<'a> {
    /// A dissemination barrier of our own before each repetition; its time is that of the slowest
    /// rank.
    Barrier(&'a Communicator),
    /// Starts on a global clock; from the first rank's start to the last one's end.
    Window(WindowSynchroniser<'a>),
}

impl Synchroniser<'_> {
    /// Begins a series of repetitions of the candidate that has this pace. Collective.
    pub(crate) fn begin<'s>(
        &'s self,
        pace: &'s mut Pace,
        calls: usize,
    ) -> Result<Series<'s>, DriverError> {
        Ok(match self {
            Self::Barrier(communicator) => Series::Barrier(BarrierSeries::new(communicator, calls)),
            Self::Window(window) => Series::Window(window.begin(pace, calls)?),
        })
    }

    /// The most repetitions of a series.
    pub(crate) fn most_calls(&self, pace: &Pace) -> usize {
        match self {
            Self::Barrier(_) => usize::MAX,
            Self::Window(_) => pace.most_calls(),
        }
    }

    /// By how much the clocks disagreed at most in this task, which has ended; none without a global
    /// clock. Collective.
    pub(crate) fn residual_seconds(&self) -> Result<Option<f64>, DriverError> {
        match self {
            Self::Barrier(_) => Ok(None),
            Self::Window(window) => window.residual_seconds().map(Some),
        }
    }
}

/// What is known of how one candidate keeps to its windows.
pub(crate) type Pace = benchmarking::clocks::Pace;

/// Repetitions under way.
#[derive(Debug)]
pub(crate) enum Series<'a> {
    Barrier(BarrierSeries<'a>),
    Window(WindowSeries<'a>),
}

impl Series<'_> {
    /// Waits for the next repetition's start. All ranks do so, also if they have failed meanwhile.
    #[inline]
    pub(crate) fn start(&mut self) -> Result<(), DriverError> {
        match self {
            Self::Barrier(series) => Ok(series.start()?),
            Self::Window(series) => series.start(),
        }
    }

    /// The repetition has ended on this rank.
    #[inline]
    pub(crate) fn end(&mut self) -> Result<(), DriverError> {
        match self {
            Self::Barrier(series) => {
                series.end();
                Ok(())
            }
            Self::Window(series) => series.end(),
        }
    }

    /// What all ranks together have seen; the same on all. Collective.
    pub(crate) fn agree(self) -> Result<Taken, DriverError> {
        match self {
            Self::Barrier(series) => Ok(series.agree()?),
            Self::Window(series) => series.agree(),
        }
    }
}

/// Repetitions, the same on all ranks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Taken {
    /// The time of each.
    pub(crate) seconds: Vec<f64>,
    /// Which of them are not to be used, by place, ascending.
    pub(crate) invalid: Vec<u32>,
    /// The time of all, waiting included.
    pub(crate) elapsed_seconds: f64,
    /// What of it passed within the calls, on the slowest rank of each.
    pub(crate) calling_seconds: f64,
    /// What of it passed in coming to common starts, and looking at clocks before.
    pub(crate) starting_seconds: f64,
}

impl Taken {
    /// Repetitions that took so long in all, and so much of it neither in calls nor in coming to
    /// common starts, on the rank on which that is most.
    fn new(seconds: Vec<f64>, invalid: Vec<u32>, elapsed_seconds: f64, own_seconds: f64) -> Self {
        let calling_seconds = seconds.iter().sum();
        Self {
            seconds,
            invalid,
            elapsed_seconds,
            calling_seconds,
            starting_seconds: (elapsed_seconds - own_seconds - calling_seconds).max(0.0),
        }
    }

    /// Adds another series.
    pub(crate) fn add(&mut self, more: Self) {
        let before = self.seconds.len() as u32;
        self.seconds.extend(more.seconds);
        let places = more.invalid.iter().map(|place| before + place);
        self.invalid.extend(places);
        self.elapsed_seconds += more.elapsed_seconds;
        self.calling_seconds += more.calling_seconds;
        self.starting_seconds += more.starting_seconds;
    }

    /// How many more should be taken where a turn should have so many, if any: more than that if
    /// fewer than half of them are valid, but not without end.
    pub(crate) fn missing(&self, calls: usize) -> Option<usize> {
        let taken = self.seconds.len();
        let valid = taken - self.invalid.len();
        if taken < calls {
            return Some(calls - taken);
        }
        let most = MOST_TIMES * calls.max(FEW_CALLS);
        (taken < most && 2 * valid < calls).then_some(calls - valid)
    }

    /// The times that may be used, in the order in which they were taken.
    pub(crate) fn valid(&self) -> Vec<f64> {
        let mut invalid = self.invalid.iter().peekable();
        let is_valid = |place: u32| invalid.next_if_eq(&&place).is_none();
        let times = self.seconds.iter().zip((0..).map(is_valid));
        times
            .filter_map(|(seconds, is_valid)| is_valid.then_some(*seconds))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{FEW_CALLS, MOST_TIMES, Taken};

    fn series(seconds: &[f64], invalid: &[u32]) -> Taken {
        Taken {
            seconds: seconds.to_vec(),
            invalid: invalid.to_vec(),
            elapsed_seconds: 1.0,
            ..Taken::default()
        }
    }

    #[test]
    fn what_is_left_of_the_time_passed_in_coming_to_common_starts() {
        let check = |elapsed, own, starting| {
            let mut taken = Taken::new(vec![1.0, 2.0], vec![0], elapsed, own);
            assert_eq!(
                (taken.calling_seconds, taken.starting_seconds),
                (3.0, starting)
            );
            taken.add(taken.clone());
            assert_eq!(taken.calling_seconds, 6.0);
            assert_eq!(taken.starting_seconds, 2.0 * starting);
        };
        check(5.0, 0.5, 1.5);
        // The slowest ranks of calls may have been different ones.
        check(3.0, 0.5, 0.0);
    }

    #[test]
    fn what_is_invalid_is_taken_again_within_reason() {
        let mut taken = Taken::default();
        assert_eq!(taken.missing(4), Some(4));
        taken.add(series(&[1.0], &[0]));
        assert_eq!(taken.missing(4), Some(3));
        taken.add(series(&[2.0, 3.0, 4.0], &[1, 2]));
        assert_eq!(taken.missing(4), Some(3));
        taken.add(series(&[5.0, 6.0, 7.0], &[1]));
        assert_eq!(taken.missing(4), None);
        assert_eq!(taken.invalid, [0, 2, 3, 5]);
        assert_eq!(taken.valid(), [2.0, 5.0, 7.0]);
        assert_eq!(taken.elapsed_seconds, 3.0);
        let mut hopeless = Taken::default();
        let mut rounds = 0;
        while hopeless.missing(1).is_some() {
            hopeless.add(series(&[1.0], &[0]));
            rounds += 1;
        }
        assert_eq!(rounds, MOST_TIMES * FEW_CALLS);
        assert!(hopeless.valid().is_empty());
    }
}
