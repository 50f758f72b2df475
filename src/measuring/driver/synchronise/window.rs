//! Starts at agreed times on a global clock.
//!
//! Rank 0 plans a short series of starts at a time.

use std::cell::Cell;
use std::time::Instant;

use benchmarking::clocks::{
    Clock, ClockPair, Nanoseconds, Pace, Readings, RepetitionTimes, Windows, judge_series,
    synchronisation_rounds,
};
use benchmarking::{Calls, Samples};
use exec::{Communicator, Wait};
use vocabulary::Pattern;

use crate::clock::{self, GlobalClock};
use crate::error::DriverError;

/// The clocks are compared again after this time, unless their drifts require it earlier.
const PERIOD_SECONDS: f64 = 0.5;

/// The windows of one task. The state is the same on all ranks, since it decides what all of them do next.
#[derive(Debug)]
pub(crate) struct WindowSynchroniser<'a> {
    clock: &'a GlobalClock,
    communicator: &'a Communicator,
    pairs: Vec<Vec<ClockPair>>,
    wait: Wait,
    /// The largest disagreement found by the last comparison.
    current_seconds: Cell<f64>,
    /// The largest disagreement found by any comparison in this task.
    worst_seconds: Cell<f64>,
    drift_error: Cell<f64>,
    /// The time of the last comparison, on this rank.
    compared: Cell<Instant>,
    /// Whether another comparison is due.
    is_due: Cell<bool>,
}

impl<'a> WindowSynchroniser<'a> {
    /// Ensures that the global clock is correct. Collective over the communicator, with its ranks on these nodes.
    pub(crate) fn new(
        clock: &'a GlobalClock,
        communicator: &'a Communicator,
        nodes: &[Vec<u32>],
        wait: Wait,
    ) -> Result<Self, DriverError> {
        let window = Self {
            clock,
            communicator,
            pairs: synchronisation_rounds(nodes),
            wait,
            current_seconds: Cell::new(0.0),
            worst_seconds: Cell::new(0.0),
            drift_error: Cell::new(0.0),
            compared: Cell::new(Instant::now()),
            is_due: Cell::new(false),
        };
        window.compare_clocks()?;
        // An error that the comparison has just corrected does not affect this task's measurements.
        window.worst_seconds.set(window.current_seconds.get());
        Ok(window)
    }

    /// Compares the clocks, and learns them again if they have become wrong.
    fn compare_clocks(&self) -> Result<(), DriverError> {
        let mut found = self.clock.compare_clocks(self.communicator, &self.pairs)?;
        self.note_residual(found.residual_seconds);
        if found.is_stale {
            self.clock.learn_again(self.communicator, &self.pairs)?;
            found = self.clock.compare_clocks(self.communicator, &self.pairs)?;
            self.note_residual(found.residual_seconds);
        }
        self.current_seconds.set(found.residual_seconds);
        self.drift_error.set(found.drift_error);
        self.compared.set(Instant::now());
        self.is_due.set(false);
        Ok(())
    }

    fn note_residual(&self, residual_seconds: f64) {
        let worst = self.worst_seconds.get().max(residual_seconds);
        self.worst_seconds.set(worst);
    }

    /// The largest disagreement of the clocks in seconds. Collective.
    pub(super) fn residual_seconds(&self) -> Result<f64, DriverError> {
        let found = self.clock.compare_clocks(self.communicator, &self.pairs)?;
        self.note_residual(found.residual_seconds);
        Ok(self.worst_seconds.get())
    }

    /// Plans a series of windows; compares the clocks first if that is due. Collective.
    pub(super) fn begin_series<'s>(
        &'s self,
        pace: &'s mut Pace,
        repetitions: usize,
        calls: Calls,
        offsets: Vec<Nanoseconds>,
    ) -> Result<WindowSeries<'s>, DriverError> {
        let compared = Instant::now();
        if self.is_due.get() {
            self.compare_clocks()?;
        }
        let comparing_seconds = compared.elapsed().as_secs_f64();
        // The time for learning clocks again is not part of the candidate's.
        let began = Instant::now();
        let mut plan = Vec::new();
        if self.communicator.rank() == 0 {
            let (now, residual_seconds) = (self.clock.global_now()?, self.current_seconds.get());
            let windows = pace.plan_windows(now, residual_seconds, calls.latest_seconds());
            plan = windows.to_bytes().to_vec();
        }
        self.communicator.broadcast_bytes(&mut plan, 0)?;
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&plan);
        let windows = Windows::from_bytes(&bytes);
        Ok(WindowSeries {
            window: self,
            longest_wait: pace.longest_wait(&windows),
            windows,
            pace,
            pattern: calls.pattern(),
            offsets,
            readings: Vec::with_capacity(repetitions),
            current: Readings::default(),
            began,
            comparing_seconds,
        })
    }
}

/// A running series of repetitions.
#[derive(Debug)]
pub(crate) struct WindowSeries<'a> {
    window: &'a WindowSynchroniser<'a>,
    windows: Windows,
    longest_wait: Nanoseconds,
    pace: &'a mut Pace,
    pattern: Pattern,
    /// This rank's delays after each start; empty if it arrives at the start.
    offsets: Vec<Nanoseconds>,
    /// The readings of each repetition, from this rank's clock.
    readings: Vec<Readings>,
    /// The readings of the current repetition.
    current: Readings,
    began: Instant,
    /// The time spent comparing clocks before the series.
    comparing_seconds: f64,
}

impl WindowSeries<'_> {
    #[inline]
    pub(super) fn wait_for_start(&mut self) -> Result<(), DriverError> {
        let repetition = self.readings.len();
        let due = self.windows.start_of_repetition(repetition) + self.arrival_offset(repetition);
        let due = self.window.clock.to_local(due);
        let mut ready = clock::monotonic_now()?;
        let mut begin = ready;
        if due - ready > self.longest_wait {
            // No rank waits this long, so this clock or rank 0's is wrong. Counts as late.
            ready = due + 1000;
        } else {
            while begin < due {
                match self.window.wait {
                    Wait::Block => std::hint::spin_loop(),
                    Wait::Yield => std::thread::yield_now(),
                }
                begin = clock::monotonic_now()?;
            }
        }
        self.current = Readings {
            ready,
            begin,
            timed: begin,
            end: begin,
        };
        Ok(())
    }

    fn arrival_offset(&self, repetition: usize) -> Nanoseconds {
        self.offsets.get(repetition).copied().unwrap_or(0)
    }

    #[inline]
    pub(super) fn begin_timing(&mut self) -> Result<(), DriverError> {
        self.current.timed = clock::monotonic_now()?;
        Ok(())
    }

    #[inline]
    pub(super) fn end_repetition(&mut self) -> Result<(), DriverError> {
        self.current.end = clock::monotonic_now()?;
        self.readings.push(self.current);
        Ok(())
    }

    pub(super) fn agree_on_samples(self) -> Result<Samples, DriverError> {
        let window = self.window;
        let own_elapsed_seconds = self.began.elapsed().as_secs_f64();
        let busy = self.readings.iter().map(|taken| taken.end - taken.ready);
        let busy_seconds = busy.sum::<Nanoseconds>() as f64 * 1e-9 + self.comparing_seconds;
        let own_spans = self.readings.iter().zip(0..).map(|(readings, place)| {
            let readings = readings.by_clock(|reading| window.clock.global(reading));
            self.windows
                .times_of_rank(place, self.arrival_offset(place), readings)
        });
        let mut maxima: Vec<f64> = own_spans.flat_map(RepetitionTimes::to_maxima).collect();
        maxima.push(window.compared.get().elapsed().as_secs_f64());
        maxima.push(own_elapsed_seconds);
        window.communicator.maximum_over_ranks(&mut maxima)?;
        let elapsed_seconds = maxima.pop().unwrap_or_default();
        let age_seconds = maxima.pop().unwrap_or_default();
        let spans: Vec<RepetitionTimes> = maxima
            .as_chunks()
            .0
            .iter()
            .map(|maxima| RepetitionTimes::from_maxima(*maxima))
            .collect();
        let punctuality_seconds = match window.wait {
            Wait::Block => self.windows.punctuality_seconds(),
            // A rank that shares a core gets it only when others yield it.
            Wait::Yield => f64::INFINITY,
        };
        let length = self.windows.length;
        let judged = judge_series(&spans, self.pattern, punctuality_seconds, length);
        self.pace.adapt_to_series(&spans, judged.invalid.len());
        // A clock that has become wrong makes many repetitions invalid.
        let is_suspect = 2 * judged.invalid.len() > spans.len();
        let is_old = age_seconds > PERIOD_SECONDS
            || Clock::may_have_gone_astray(window.drift_error.get(), age_seconds);
        window.is_due.set(is_suspect || is_old);
        Ok(Samples::new(
            judged.seconds,
            judged.invalid,
            elapsed_seconds,
            busy_seconds,
        ))
    }
}
