//! A barrier before each repetition.

use std::time::{Duration, Instant};

use benchmarking::Samples;
use exec::{Communicator, ExecError};

/// A running series; the time of a repetition is that of its slowest rank.
#[derive(Debug)]
pub(crate) struct BarrierSeries<'a> {
    communicator: &'a Communicator,
    seconds: Vec<f64>,
    began: Instant,
    /// The times at which this rank reached the last barrier, and started the timed calls.
    ready: Instant,
    start: Instant,
    /// The time spent in barriers and calls.
    busy: Duration,
}

impl<'a> BarrierSeries<'a> {
    pub(super) fn new(communicator: &'a Communicator, calls: usize) -> Self {
        let began = Instant::now();
        Self {
            communicator,
            seconds: Vec::with_capacity(calls + 1),
            began,
            ready: began,
            start: began,
            busy: Duration::ZERO,
        }
    }

    #[inline]
    pub(super) fn wait_for_start(&mut self) -> Result<(), ExecError> {
        self.ready = Instant::now();
        self.communicator.dissemination_barrier()?;
        self.start = Instant::now();
        Ok(())
    }

    #[inline]
    pub(super) fn begin_timing(&mut self) {
        self.start = Instant::now();
    }

    #[inline]
    pub(super) fn end_repetition(&mut self) {
        let end = Instant::now();
        self.seconds.push((end - self.start).as_secs_f64());
        self.busy += end - self.ready;
    }

    pub(super) fn agree_on_samples(self) -> Result<Samples, ExecError> {
        let mut seconds = self.seconds;
        seconds.push(self.began.elapsed().as_secs_f64());
        self.communicator.maximum_over_ranks(&mut seconds)?;
        let elapsed_seconds = seconds.pop().unwrap_or_default();
        Ok(Samples::new(
            seconds,
            Vec::new(),
            elapsed_seconds,
            self.busy.as_secs_f64(),
        ))
    }
}
