//! Carries out calls on simulated time.

use benchmarking::{Attempt, Executor, Failure, KnownTimes, Samples};
use vocabulary::{Candidate, Subject, Synchronisation};
use wire::{FailureKind, Record};

use crate::disturbance::Disturbance;
use crate::session::{Session, Stopped};

/// Calls the candidates of one task.
pub(crate) struct SimulatedExecutor<'a> {
    pub(crate) session: &'a Session<'a>,
    pub(crate) task: u32,
    /// How many launches have measured some of this before.
    pub(crate) round: u32,
    pub(crate) subject: Subject,
    /// What a barrier takes.
    pub(crate) barrier_seconds: f64,
    pub(crate) elapsed_seconds: f64,
}

/// A candidate that can be simulated.
pub(crate) struct Prepared {
    /// How long a call takes undisturbed.
    seconds: f64,
    disturbance: Disturbance,
}

impl Executor for SimulatedExecutor<'_> {
    type Prepared = Prepared;
    type Error = Stopped;

    /// Nothing takes a launch down here: that a candidate was tried at all says enough.
    fn begin_turn(&mut self, _candidate: u32) -> Result<(), Stopped> {
        Ok(())
    }

    fn record_failure(&mut self, candidate: u32, failure: Failure) -> Result<(), Stopped> {
        let Failure { kind, message } = failure;
        self.session.write(&Record::Failed {
            task: self.task,
            candidate,
            kind,
            message,
        })
    }

    fn prepare(&mut self, index: u32, candidate: &Candidate) -> Attempt<Prepared, Stopped> {
        self.session.write(&Record::Trying {
            task: self.task,
            candidate: index,
        })?;
        let chance = (self.session.plan.seed, self.round);
        let noise = self.session.times.machine().noise.unwrap_or_default();
        let prepared = match self.session.times.of(self.subject, candidate) {
            Ok(seconds) => Ok(Prepared {
                seconds,
                disturbance: Disturbance::new(noise, chance, &self.subject, candidate),
            }),
            Err(refusal) => Err(Failure {
                kind: FailureKind::Unsupported,
                message: refusal.to_string(),
            }),
        };
        Ok(prepared)
    }

    fn first_call(&mut self, prepared: &mut Prepared) -> Attempt<f64, Stopped> {
        let patience = self.session.plan.watchdog_seconds;
        if prepared.seconds > patience {
            // Nothing has to be killed: the launch goes on.
            self.elapsed_seconds += patience;
            return Ok(Err(Failure {
                kind: FailureKind::Hang,
                message: format!("no end after {patience} s"),
            }));
        }
        let seconds = prepared.disturbance.disturb(prepared.seconds);
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
        calls: u32,
    ) -> Attempt<Samples, Stopped> {
        let Prepared {
            seconds: call_seconds,
            disturbance,
        } = prepared;
        let batch_seconds = *call_seconds * f64::from(calls);
        let disturbed = (0..repetitions).map(|_| disturbance.disturb(batch_seconds));
        let seconds: Vec<f64> = disturbed.collect();
        let calling_seconds = seconds.iter().sum::<f64>();
        let starting_seconds = self.barrier_seconds * repetitions as f64;
        self.elapsed_seconds += calling_seconds + starting_seconds;
        Ok(Ok(Samples {
            seconds,
            elapsed_seconds: calling_seconds + starting_seconds,
            calling_seconds,
            starting_seconds,
            ..Samples::default()
        }))
    }

    /// All ranks read one clock; and experiments need none.
    fn residual_seconds(&mut self) -> Result<Option<f64>, Stopped> {
        let is_window = self.session.plan.synchronisation == Synchronisation::Window;
        Ok((is_window && matches!(self.subject, Subject::Cell(_))).then_some(0.0))
    }

    fn elapsed_seconds(&self) -> f64 {
        self.elapsed_seconds
    }
}
