//! A barrier before each repetition.

use std::time::Instant;

use exec::{Communicator, ExecError};

use super::Taken;

/// Repetitions under way; each lasts as long as on its slowest rank.
#[derive(Debug)]
pub(crate) struct BarrierSeries<'a> {
    communicator: &'a Communicator,
    seconds: Vec<f64>,
    began: Instant,
    start: Instant,
}

impl<'a> BarrierSeries<'a> {
    pub(super) fn new(communicator: &'a Communicator, calls: usize) -> Self {
        let began = Instant::now();
        Self {
            communicator,
            seconds: Vec::with_capacity(calls + 1),
            began,
            start: began,
        }
    }

    #[inline]
    pub(super) fn start(&mut self) -> Result<(), ExecError> {
        self.communicator.dissemination_barrier()?;
        self.start = Instant::now();
        Ok(())
    }

    #[inline]
    pub(super) fn end(&mut self) {
        self.seconds.push(self.start.elapsed().as_secs_f64());
    }

    pub(super) fn agree(self) -> Result<Taken, ExecError> {
        let mut seconds = self.seconds;
        seconds.push(self.began.elapsed().as_secs_f64());
        self.communicator.maximum(&mut seconds)?;
        let elapsed_seconds = seconds.pop().unwrap_or_default();
        Ok(Taken {
            seconds,
            elapsed_seconds,
            ..Taken::default()
        })
    }
}
