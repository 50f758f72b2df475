//! Starts that are agreed upon on a global clock.

use std::cell::Cell;
use std::time::Instant;

use benchmarking::clocks::{
    Clock, Lesson, Nanoseconds, Readings, RepetitionTimes, Windows, judge, rounds,
};
use benchmarking::{Calls, Samples};
use exec::{Communicator, Wait};
use vocabulary::Pattern;

use super::Pace;
use crate::clock::{self, GlobalClock};
use crate::error::DriverError;

/// Clocks are looked at again after so much time, if their drifts do not ask for it before.
const PERIOD_SECONDS: f64 = 0.5;

/// Windows of one task. What it remembers is the same on all ranks, since what all do next depends
/// on it.
#[derive(Debug)]
pub(crate) struct WindowSynchroniser<'a> {
    clock: &'a GlobalClock,
    communicator: &'a Communicator,
    lessons: Vec<Vec<Lesson>>,
    wait: Wait,
    /// Found by the last look.
    current_seconds: Cell<f64>,
    /// Found by any look in this task.
    worst_seconds: Cell<f64>,
    drift_error: Cell<f64>,
    /// When the last look was, on this rank.
    looked: Cell<Instant>,
    /// Whether another look is due.
    is_due: Cell<bool>,
}

impl<'a> WindowSynchroniser<'a> {
    /// Makes sure that the global clock is right. Collective over the communicator, the ranks of
    /// which stand on these nodes.
    pub(crate) fn new(
        clock: &'a GlobalClock,
        communicator: &'a Communicator,
        nodes: &[Vec<u32>],
        wait: Wait,
    ) -> Result<Self, DriverError> {
        let window = Self {
            clock,
            communicator,
            lessons: rounds(nodes),
            wait,
            current_seconds: Cell::new(0.0),
            worst_seconds: Cell::new(0.0),
            drift_error: Cell::new(0.0),
            looked: Cell::new(Instant::now()),
            is_due: Cell::new(false),
        };
        window.look()?;
        // A clock that had gone astray before is no fault of this task's measurements.
        window.worst_seconds.set(window.current_seconds.get());
        Ok(window)
    }

    /// Looks at the clocks, and learns anew what has become wrong.
    fn look(&self) -> Result<(), DriverError> {
        let mut look = self.clock.look(self.communicator, &self.lessons)?;
        self.note(look.residual_seconds);
        if look.is_stale {
            self.clock.learn_anew(self.communicator, &self.lessons)?;
            look = self.clock.look(self.communicator, &self.lessons)?;
            self.note(look.residual_seconds);
        }
        self.current_seconds.set(look.residual_seconds);
        self.drift_error.set(look.drift_error);
        self.looked.set(Instant::now());
        self.is_due.set(false);
        Ok(())
    }

    fn note(&self, residual_seconds: f64) {
        let worst = self.worst_seconds.get().max(residual_seconds);
        self.worst_seconds.set(worst);
    }

    /// The largest disagreement of the clocks. Collective.
    pub(super) fn residual_seconds(&self) -> Result<f64, DriverError> {
        let look = self.clock.look(self.communicator, &self.lessons)?;
        self.note(look.residual_seconds);
        Ok(self.worst_seconds.get())
    }

    /// Plans a series of windows, and looks at the clocks before if that is due. Collective.
    pub(super) fn begin<'s>(
        &'s self,
        pace: &'s mut Pace,
        repetitions: usize,
        calls: Calls,
        offsets: Vec<Nanoseconds>,
    ) -> Result<WindowSeries<'s>, DriverError> {
        let looked = Instant::now();
        if self.is_due.get() {
            self.look()?;
        }
        let looking_seconds = looked.elapsed().as_secs_f64();
        // Learning clocks anew takes a while, which is no candidate's.
        let began = Instant::now();
        let mut plan = Vec::new();
        if self.communicator.rank() == 0 {
            let (now, residual_seconds) = (self.clock.now()?, self.current_seconds.get());
            let windows = pace.plan(now, residual_seconds, calls.latest_seconds());
            plan = windows.to_bytes().to_vec();
        }
        self.communicator.share(&mut plan, 0)?;
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
            looking_seconds,
        })
    }
}

/// Repetitions under way.
#[derive(Debug)]
pub(crate) struct WindowSeries<'a> {
    window: &'a WindowSynchroniser<'a>,
    windows: Windows,
    longest_wait: Nanoseconds,
    pace: &'a mut Pace,
    pattern: Pattern,
    /// How much later than each start this rank arrives; nothing where it does at the start.
    offsets: Vec<Nanoseconds>,
    /// The readings of each repetition, by this rank's clock.
    readings: Vec<Readings>,
    /// The readings of the repetition under way.
    current: Readings,
    began: Instant,
    /// Looking at clocks took so long before.
    looking_seconds: f64,
}

impl WindowSeries<'_> {
    #[inline]
    pub(super) fn start(&mut self) -> Result<(), DriverError> {
        let repetition = self.readings.len();
        let due = self.windows.start(repetition) + self.offset(repetition);
        let due = self.window.clock.local(due);
        let mut ready = clock::now()?;
        let mut begin = ready;
        if due - ready > self.longest_wait {
            // This clock or rank 0's is wrong, since no rank waits so long. Counts as late.
            ready = due + 1000;
        } else {
            while begin < due {
                match self.window.wait {
                    Wait::Block => std::hint::spin_loop(),
                    Wait::Yield => std::thread::yield_now(),
                }
                begin = clock::now()?;
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

    fn offset(&self, repetition: usize) -> Nanoseconds {
        self.offsets.get(repetition).copied().unwrap_or(0)
    }

    #[inline]
    pub(super) fn begin_timing(&mut self) -> Result<(), DriverError> {
        self.current.timed = clock::now()?;
        Ok(())
    }

    #[inline]
    pub(super) fn end(&mut self) -> Result<(), DriverError> {
        self.current.end = clock::now()?;
        self.readings.push(self.current);
        Ok(())
    }

    pub(super) fn agree(self) -> Result<Samples, DriverError> {
        let window = self.window;
        let elapsed_seconds = self.began.elapsed().as_secs_f64();
        let busy = self.readings.iter().map(|taken| taken.end - taken.ready);
        let own_seconds = elapsed_seconds - busy.sum::<Nanoseconds>() as f64 * 1e-9;
        let spans = self.readings.iter().zip(0..).map(|(readings, place)| {
            let readings = readings.map(|reading| window.clock.global(reading));
            self.windows.span(place, self.offset(place), readings)
        });
        let mut maxima: Vec<f64> = spans.flat_map(RepetitionTimes::to_maxima).collect();
        maxima.push(window.looked.get().elapsed().as_secs_f64());
        maxima.extend([own_seconds, elapsed_seconds, self.looking_seconds]);
        window.communicator.maximum(&mut maxima)?;
        let looking_seconds = maxima.pop().unwrap_or_default();
        let elapsed_seconds = maxima.pop().unwrap_or_default();
        let own_seconds = maxima.pop().unwrap_or_default();
        let age_seconds = maxima.pop().unwrap_or_default();
        let spans: Vec<RepetitionTimes> = maxima
            .as_chunks()
            .0
            .iter()
            .map(|maxima| RepetitionTimes::of_maxima(*maxima))
            .collect();
        let punctuality_seconds = match window.wait {
            Wait::Block => self.windows.punctuality_seconds(),
            // A rank that shares a core gets it when the others leave it.
            Wait::Yield => f64::INFINITY,
        };
        let length = self.windows.length;
        let judged = judge(&spans, self.pattern, punctuality_seconds, length);
        self.pace.adapt(&spans);
        // A clock that is suddenly wrong makes many invalid.
        let is_suspect = 2 * judged.invalid.len() > spans.len();
        let is_old = age_seconds > PERIOD_SECONDS
            || Clock::may_have_gone_astray(window.drift_error.get(), age_seconds);
        window.is_due.set(is_suspect || is_old);
        let mut samples =
            Samples::new(judged.seconds, judged.invalid, elapsed_seconds, own_seconds);
        samples.starting_seconds += looking_seconds;
        Ok(samples)
    }
}
