//! The executor that simulates calls.

use benchmarking::{Arrivals, Attempt, Calls, Executor, Failure, KnownTimes, Samples};
use vocabulary::{Candidate, Pattern, Subject, Synchronisation};
use wire::{FailureKind, Record};

use crate::disturbance::Disturbance;
use crate::session::{Session, Stopped};
use crate::times::Refusal;

/// Simulates the calls of the candidates of one task.
pub(crate) struct SimulatedExecutor<'a> {
    pub(crate) session: &'a Session<'a>,
    pub(crate) task: u32,
    /// The number of launches that have measured part of this before.
    pub(crate) round: u32,
    pub(crate) subject: Subject,
    pub(crate) pattern: Pattern,
    pub(crate) barrier_seconds: f64,
    pub(crate) elapsed_seconds: f64,
}

/// A candidate that can be simulated.
pub(crate) struct Prepared {
    candidate: Candidate,
    /// The undisturbed time of a call.
    seconds: f64,
    /// The undisturbed time of a call for each of the arrivals, once known.
    skewed: Vec<f64>,
    disturbance: Disturbance,
}

impl Executor for SimulatedExecutor<'_> {
    type Prepared = Prepared;
    type Error = Stopped;

    /// Nothing to record, since no candidate can end a simulated launch.
    fn begin_turn(&mut self, _candidate: u32) -> Result<(), Stopped> {
        Ok(())
    }

    fn record_failure(&mut self, candidate: u32, failure: Failure) -> Result<(), Stopped> {
        self.session
            .write_record(&failure.into_record(self.task, candidate))
    }

    fn prepare(&mut self, index: u32, candidate: &Candidate) -> Attempt<Prepared, Stopped> {
        self.session.write_record(&Record::Trying {
            task: self.task,
            candidate: index,
        })?;
        let chance = (self.session.launch.plan().seed, self.round);
        let noise = self.session.times.machine().noise.unwrap_or_default();
        let times = &self.session.times;
        let seconds = times.undisturbed_seconds(self.subject, candidate, self.pattern);
        Ok(seconds
            .map_err(failure_from_refusal)
            .map(|seconds| Prepared {
                candidate: candidate.clone(),
                seconds,
                skewed: Vec::new(),
                disturbance: Disturbance::new(
                    noise,
                    chance,
                    &self.subject,
                    candidate,
                    self.pattern,
                ),
            }))
    }

    fn first_call(&mut self, prepared: &mut Prepared) -> Attempt<f64, Stopped> {
        let patience = self.session.launch.plan().watchdog_seconds;
        if prepared.seconds > patience {
            // There is nothing to kill: the launch continues.
            self.elapsed_seconds += patience;
            return Ok(Err(Failure {
                kind: FailureKind::Hang,
                message: format!("no end after {patience} s"),
            }));
        }
        let seconds = prepared.disturbance.disturbed_seconds(prepared.seconds);
        self.elapsed_seconds += self.barrier_seconds + seconds;
        Ok(Ok(seconds))
    }

    fn known_times(&self, prepared: &Prepared) -> Option<KnownTimes> {
        Some(KnownTimes {
            call_seconds: prepared.seconds,
            repetition_seconds: prepared.seconds + self.barrier_seconds,
        })
    }

    fn repeat(
        &mut self,
        prepared: &mut Prepared,
        repetitions: usize,
        calls: Calls,
    ) -> Attempt<Samples, Stopped> {
        let mut starting_seconds = self.barrier_seconds;
        let undisturbed: Vec<f64> = match calls {
            Calls::Together(timed)
            | Calls::Repeated { timed, .. }
            | Calls::Nonblocking(timed)
            | Calls::Overlapped { calls: timed, .. } => {
                starting_seconds += prepared.seconds * f64::from(calls.untimed_calls());
                vec![prepared.seconds * f64::from(timed); repetitions]
            }
            Calls::Skewed {
                longest_seconds,
                first,
            } => {
                starting_seconds += longest_seconds;
                if let Err(refusal) = self.prepare_skewed(prepared, longest_seconds) {
                    return Ok(Err(failure_from_refusal(refusal)));
                }
                let skewed = prepared.skewed.iter().cycle();
                skewed
                    .skip(first % Arrivals::PERIOD)
                    .take(repetitions)
                    .copied()
                    .collect()
            }
        };
        let disturbance = &mut prepared.disturbance;
        let disturbed = undisturbed.into_iter();
        let seconds: Vec<f64> = disturbed
            .map(|seconds| disturbance.disturbed_seconds(seconds))
            .collect();
        let calling_seconds = seconds.iter().sum::<f64>();
        let starting_seconds = starting_seconds * repetitions as f64;
        self.elapsed_seconds += calling_seconds + starting_seconds;
        Ok(Ok(Samples {
            seconds,
            elapsed_seconds: calling_seconds + starting_seconds,
            calling_seconds,
            starting_seconds,
            ..Samples::default()
        }))
    }

    /// All ranks read the same clock; experiments need none.
    fn residual_seconds(&mut self) -> Result<Option<f64>, Stopped> {
        let is_window = self.session.launch.plan().synchronisation == Synchronisation::Window;
        Ok((is_window && matches!(self.subject, Subject::Cell(_))).then_some(0.0))
    }

    fn elapsed_seconds(&self) -> f64 {
        self.elapsed_seconds
    }
}

impl SimulatedExecutor<'_> {
    /// Simulates a call with each of the launch's arrivals, once.
    fn prepare_skewed(&self, prepared: &mut Prepared, longest_seconds: f64) -> Result<(), Refusal> {
        let Subject::Cell(cell) = &self.subject else {
            return Ok(());
        };
        let arrivals = Arrivals {
            longest_seconds,
            seed: self.session.launch.plan().seed ^ u64::from(self.round).rotate_left(32),
        };
        let ranks = cell.shape.ranks();
        for place in prepared.skewed.len()..Arrivals::PERIOD {
            let offset = |rank| arrivals.offset_seconds(place, rank, ranks);
            let starts: Vec<f64> = (0..ranks).map(offset).collect();
            let times = &self.session.times;
            prepared
                .skewed
                .push(times.skewed_seconds(cell, &prepared.candidate, &starts)?);
        }
        Ok(())
    }
}

fn failure_from_refusal(refusal: Refusal) -> Failure {
    Failure::unsupported(refusal.to_string())
}
