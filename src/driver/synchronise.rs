//! How ranks are brought to a common start, and what the time of a repetition is then.

mod barrier;
mod window;

use benchmarking::clocks::Nanoseconds;
use benchmarking::{Calls, Samples};
use exec::Communicator;

use crate::error::DriverError;
use barrier::BarrierSeries;
use window::WindowSeries;
pub(crate) use window::WindowSynchroniser;

/// The way of a task, for the ranks that take part in it.
#[derive(Debug)]
pub(crate) enum Synchroniser<'a> {
    /// A dissemination barrier of our own before each repetition; its time is that of the slowest
    /// rank.
    Barrier(&'a Communicator),
    /// Starts on a global clock; from the first rank's start to the last one's end, unless calls are
    /// repeated or skewed.
    Window(WindowSynchroniser<'a>),
}

impl Synchroniser<'_> {
    /// Begins a series of repetitions of these calls by the candidate that has this pace. In each this rank
    /// arrives so much later than the start as `offsets` say; without a global clock it cannot. Collective.
    pub(crate) fn begin<'s>(
        &'s self,
        pace: &'s mut Pace,
        repetitions: usize,
        calls: Calls,
        offsets: Vec<Nanoseconds>,
    ) -> Result<Series<'s>, DriverError> {
        Ok(match self {
            Self::Barrier(communicator) => {
                Series::Barrier(BarrierSeries::new(communicator, repetitions))
            }
            Self::Window(window) => {
                Series::Window(window.begin(pace, repetitions, calls, offsets)?)
            }
        })
    }

    /// The most repetitions of a series.
    pub(crate) fn most_calls(&self, pace: &Pace) -> usize {
        match self {
            Self::Barrier(_) => usize::MAX,
            Self::Window(_) => pace.most_calls(),
        }
    }

    /// The largest disagreement of the clocks in this task, which has ended; none without a global
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

    /// What has been called in the repetition so far is not timed on this rank.
    #[inline]
    pub(crate) fn begin_timing(&mut self) -> Result<(), DriverError> {
        match self {
            Self::Barrier(series) => {
                series.begin_timing();
                Ok(())
            }
            Self::Window(series) => series.begin_timing(),
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
    pub(crate) fn agree(self) -> Result<Samples, DriverError> {
        match self {
            Self::Barrier(series) => Ok(series.agree()?),
            Self::Window(series) => series.agree(),
        }
    }
}
