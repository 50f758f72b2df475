//! The executor of `benchmarking` on MPI.

use std::rc::Rc;
use std::time::Instant;

use benchmarking::clocks::{Nanoseconds, Pace, span_in_nanoseconds};
use benchmarking::{Arrivals, Attempt, Calls, Executor, Failure, Ranks, Samples, Spool};
use exec::{Call, Communicator, NoChannels, NodeChannels};
use schedule::Collective;
use vocabulary::{Candidate, Pattern};
use wire::{FailureKind, Record};

use crate::buffers::Buffers;
use crate::candidate::CandidateCall;
use crate::computation::Computation;
use crate::data;
use crate::error::{DriverError, failure_from_error};
use crate::synchronise::Synchroniser;
use crate::watchdog::Watchdog;

/// Runs the candidates of one cell on this rank.
pub(crate) struct MpiExecutor<'a> {
    pub(crate) task: u32,
    pub(crate) call: Call,
    /// The pattern of the task's calls.
    pub(crate) pattern: Pattern,
    /// The computation beside calls, if the pattern has any.
    pub(crate) computation: Option<Computation>,
    /// The seed of arrivals, the same on all ranks.
    pub(crate) seed: u64,
    /// Brings the ranks to common starts.
    pub(crate) synchroniser: &'a Synchroniser<'a>,
    /// The ranks that take part.
    pub(crate) communicator: &'a Communicator,
    /// Their channels, for the candidates that use them, or the reason why there are none.
    pub(crate) channels: Result<Rc<NodeChannels>, NoChannels>,
    pub(crate) spool: &'a Spool,
    pub(crate) watchdog: &'a Watchdog,
    /// The start of the work on the cell.
    pub(crate) began: Instant,
    pub(crate) buffers: Buffers,
}

/// A candidate that is ready to be called.
pub(crate) struct Prepared<'a> {
    /// Its index among the task's candidates.
    index: u32,
    call: CandidateCall<'a>,
    pace: Pace,
}

impl<'a> Executor for MpiExecutor<'a> {
    type Prepared = Prepared<'a>;
    type Error = DriverError;

    fn begin_turn(&mut self, candidate: u32) -> Result<(), DriverError> {
        self.watchdog.begin_turn(self.task, candidate);
        Ok(self.spool.write_record(&Record::Trying {
            task: self.task,
            candidate,
        })?)
    }

    fn record_failure(&mut self, candidate: u32, failure: Failure) -> Result<(), DriverError> {
        let record = failure.into_record(self.task, candidate);
        Ok(self.spool.write_record(&record)?)
    }

    fn prepare(&mut self, index: u32, candidate: &Candidate) -> Attempt<Prepared<'a>, DriverError> {
        let channels = self.channels.as_ref().map_err(|reason| *reason);
        let call = CandidateCall::new(
            candidate,
            &self.call,
            self.pattern,
            self.communicator,
            channels,
        )?;
        Ok(self.agree_on_failure(call)?.map(|call| Prepared {
            index,
            call,
            pace: Pace::default(),
        }))
    }

    fn first_call(&mut self, prepared: &mut Prepared<'a>) -> Attempt<f64, DriverError> {
        let checked = self.call_and_check(prepared);
        let mut seconds = match self.agree_on_failure(checked)? {
            Ok(seconds) => [seconds],
            Err(failure) => return Ok(Err(failure)),
        };
        self.communicator.maximum_over_ranks(&mut seconds)?;
        Ok(Ok(seconds[0]))
    }

    fn most_repetitions(&self, prepared: &Prepared<'a>) -> usize {
        self.synchroniser.most_calls(&prepared.pace)
    }

    /// If a call fails, the candidate is not called again, but this rank still awaits the starts: other ranks may not
    /// have noticed the failure.
    fn repeat(
        &mut self,
        prepared: &mut Prepared<'a>,
        repetitions: usize,
        calls: Calls,
    ) -> Attempt<Samples, DriverError> {
        let mut outcome = Ok(());
        let offsets = self.arrival_offsets(repetitions, calls);
        self.watchdog.begin_comparison(self.communicator.size());
        let pace = &mut prepared.pace;
        let mut series = self
            .synchroniser
            .begin_series(pace, repetitions, calls, offsets)?;
        self.watchdog.begin_turn(self.task, prepared.index);
        let computing_seconds = calls.computing_seconds();
        let computation = self.computation;
        let steps = computation.map_or(0, |known| known.steps_in(computing_seconds));
        // Until the turn has ended, the driver calls no collective of the library.
        let mut turn = prepared.call.begin_turn()?;
        for _ in 0..repetitions {
            series.wait_for_start()?;
            if outcome.is_err() {
                continue;
            }
            let mut call = |count| {
                (0..count).try_for_each(|_| {
                    let (input, output) = self.buffers.next();
                    turn.carry_out(input, output, steps)
                })
            };
            let mut called = call(calls.untimed_calls());
            if calls.untimed_calls() > 0 {
                series.begin_timing()?;
            }
            called = called.and_then(|()| call(calls.timed_calls()));
            series.end_repetition()?;
            if let Err(error) = called {
                outcome = Err(failure_from_error(&error));
            }
        }
        turn.end_turn()?;
        match self.agree_on_failure(outcome)? {
            Ok(()) => {
                let subtracted = computing_seconds * f64::from(calls.timed_calls());
                let samples = series.agree_on_samples()?;
                Ok(Ok(samples.without_computation(subtracted)))
            }
            Err(failure) => Ok(Err(failure)),
        }
    }

    fn residual_seconds(&mut self) -> Result<Option<f64>, DriverError> {
        self.watchdog.begin_comparison(self.communicator.size());
        let residual_seconds = self.synchroniser.residual_seconds()?;
        self.watchdog.end_step();
        Ok(residual_seconds)
    }

    fn elapsed_seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }
}

impl MpiExecutor<'_> {
    /// This rank's delays after each start; empty if all ranks arrive together.
    fn arrival_offsets(&self, repetitions: usize, calls: Calls) -> Vec<Nanoseconds> {
        let Calls::Skewed {
            longest_seconds,
            first,
        } = calls
        else {
            return Vec::new();
        };
        let arrivals = Arrivals {
            longest_seconds,
            seed: self.seed,
        };
        let (rank, ranks) = (self.communicator.rank(), self.communicator.size());
        let places = first..first + repetitions;
        let offsets = places.map(|place| arrivals.offset_seconds(place, rank, ranks));
        offsets.map(span_in_nanoseconds).collect()
    }

    /// Calls the candidate once and checks its result. Returns this rank's time in seconds.
    fn call_and_check(&mut self, prepared: &mut Prepared<'_>) -> Result<f64, Failure> {
        let rank = self.communicator.rank();
        let (input, output, expected) = self.buffers.next_with_expected_output();
        match expected {
            Some(vector) if self.call.collective == Collective::Bcast && rank == self.call.root => {
                output.copy_from_slice(vector);
            }
            _ => output.fill(0xa5),
        }
        let start = Instant::now();
        prepared.call.call_first_time(input, output)?;
        let seconds = start.elapsed().as_secs_f64();
        match expected.and_then(|expected| data::first_difference(&self.call, output, expected)) {
            None => Ok(seconds),
            Some(element) => Err(Failure {
                kind: FailureKind::WrongResult,
                message: format!("element {element} of the result is wrong on rank {rank}"),
            }),
        }
    }
}

impl Ranks for MpiExecutor<'_> {
    type Error = DriverError;

    fn rank(&self) -> u32 {
        self.communicator.rank()
    }

    fn size(&self) -> u32 {
        self.communicator.size()
    }

    fn maximum_over_ranks(&self, values: &mut [f64]) -> Result<(), DriverError> {
        Ok(self.communicator.maximum_over_ranks(values)?)
    }

    fn broadcast_bytes(&self, bytes: &mut Vec<u8>, root: u32) -> Result<(), DriverError> {
        Ok(self.communicator.broadcast_bytes(bytes, root)?)
    }
}
