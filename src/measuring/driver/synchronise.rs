//! Synchronisation: how ranks start together, and how the time of a repetition is defined.

mod barrier;
mod window;

use benchmarking::clocks::{Nanoseconds, Pace};
use benchmarking::{Calls, Samples};
use exec::Communicator;

use crate::error::DriverError;
use barrier::BarrierSeries;
use window::WindowSeries;
pub(crate) use window::WindowSynchroniser;

/// The synchronisation of a task, for the ranks that take part in it.
#[derive(Debug)]
pub(crate) enum Synchroniser<'a> {
    /// A dissemination barrier of our own before each repetition; the time is that of the slowest rank.
    Barrier(&'a Communicator),
    /// Starts on a global clock; the time is from the first rank's start to the last one's end, unless calls are
    /// repeated or skewed.
    Window(WindowSynchroniser<'a>),
}

impl Synchroniser<'_> {
    /// Begins a series of repetitions. In each repetition this rank arrives later than the start by the given offset;
    /// offsets require a global clock. Collective.
    pub(crate) fn begin_series<'s>(
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
                Series::Window(window.begin_series(pace, repetitions, calls, offsets)?)
            }
        })
    }

    /// The most repetitions in a series.
    pub(crate) fn most_calls(&self, pace: &Pace) -> usize {
        match self {
            Self::Barrier(_) => usize::MAX,
            Self::Window(_) => pace.most_calls(),
        }
    }

    /// The largest disagreement of the clocks in this task, in seconds; `None` without a global clock. Collective.
    pub(crate) fn residual_seconds(&self) -> Result<Option<f64>, DriverError> {
        match self {
            Self::Barrier(_) => Ok(None),
            Self::Window(window) => window.residual_seconds().map(Some),
        }
    }
}

/// A running series of repetitions.
#[derive(Debug)]
pub(crate) enum Series<'a> {
    Barrier(BarrierSeries<'a>),
    Window(WindowSeries<'a>),
}

impl Series<'_> {
    /// Waits for the next repetition's start. Every rank calls this, even after a failure.
    #[inline]
    pub(crate) fn wait_for_start(&mut self) -> Result<(), DriverError> {
        match self {
            Self::Barrier(series) => Ok(series.wait_for_start()?),
            Self::Window(series) => series.wait_for_start(),
        }
    }

    /// Excludes the calls so far in this repetition from the time, on this rank.
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

    /// Ends the repetition on this rank.
    #[inline]
    pub(crate) fn end_repetition(&mut self) -> Result<(), DriverError> {
        match self {
            Self::Barrier(series) => {
                series.end_repetition();
                Ok(())
            }
            Self::Window(series) => series.end_repetition(),
        }
    }

    /// The samples of all ranks together, the same on all ranks. Collective.
    pub(crate) fn agree_on_samples(self) -> Result<Samples, DriverError> {
        match self {
            Self::Barrier(series) => Ok(series.agree_on_samples()?),
            Self::Window(series) => series.agree_on_samples(),
        }
    }
}
