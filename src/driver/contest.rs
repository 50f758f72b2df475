//! Candidates compared in one cell of one launch.

use std::time::Instant;

use exec::{Bytes, Call, Communicator, ExecError, Runner, Wait};
use sampling::{Progress, has_settled, is_hopeless, is_too_slow};
use schedule::Collective;
use wire::units::format_seconds;
use wire::{Candidate, Cell, FailureKind, Measurement, Record, Repetition};

use crate::data;
use crate::error::{DriverError, failure_kind};
use crate::spool::Spool;
use crate::watchdog::Watchdog;

/// Turns of warming up before a candidate is measured whether or not it has settled.
const WARMUP_TURNS: u32 = 8;

/// A candidate in the contest.
struct Seat {
    index: u32,
    runner: Runner,
    /// Its own, so that what a failed candidate left under way meets nobody.
    communicator: Communicator,
    progress: Progress,
    estimate_seconds: f64,
    warmup: u32,
    done: bool,
}

/// A failure that all ranks know of.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Failure {
    kind: FailureKind,
    message: String,
}

/// The buffers of one rank.
struct Buffers {
    input: Bytes,
    output: Bytes,
    /// What must arrive, where something does.
    expected: Option<Bytes>,
}

/// The contest in one cell.
pub(crate) struct Contest<'a> {
    pub(crate) task: u32,
    pub(crate) cell: &'a Cell,
    pub(crate) candidates: &'a [Candidate],
    pub(crate) repetition: &'a Repetition,
    /// How long the watchdog lets a turn last.
    pub(crate) patience_seconds: f64,
    pub(crate) seed: u64,
    /// How our candidates wait for messages.
    pub(crate) wait: Wait,
    /// The ranks that take part.
    pub(crate) communicator: &'a Communicator,
    pub(crate) spool: &'a Spool,
    pub(crate) watchdog: &'a Watchdog,
}

impl Contest<'_> {
    /// Checks, warms up and measures every candidate; those that fail are recorded and left out.
    /// Collective.
    pub(crate) fn run(&self) -> Result<Vec<Measurement>, DriverError> {
        let call = Call::from(self.cell);
        let (rank, ranks) = (self.communicator.rank(), self.communicator.size());
        let mut buffers = Buffers {
            input: data::input(&call, rank, ranks),
            output: Bytes::zeroed(call.output_bytes(rank, ranks) as usize),
            expected: data::expected(&call, rank, ranks),
        };
        let mut seats: Vec<Seat> = Vec::new();
        let mut fastest = f64::INFINITY;
        for (index, candidate) in (0..).zip(self.candidates) {
            self.begin_turn(index)?;
            match self.admit((index, candidate), fastest, &call, &mut buffers)? {
                Ok(seat) => {
                    fastest = fastest.min(seat.estimate_seconds);
                    seats.push(seat);
                }
                Err(failure) => self.record(index, failure)?,
            }
        }
        let mut order = fastrand::Rng::with_seed(self.seed ^ u64::from(self.task));
        while seats.iter().any(|seat| !seat.done) {
            order.shuffle(&mut seats);
            let mut failed = None;
            for (place, seat) in seats.iter_mut().enumerate().filter(|(_, seat)| !seat.done) {
                self.begin_turn(seat.index)?;
                if let Err(failure) = self.take_turn(seat, &mut buffers)? {
                    self.record(seat.index, failure)?;
                    failed = Some(place);
                    break;
                }
                // The default is measured in any case, but then no more than once a launch.
                let mut calls = seat.progress.seconds().iter();
                seat.done |= calls.all(|call| is_too_slow(*call, fastest, self.repetition));
            }
            if let Some(place) = failed {
                seats.remove(place);
            }
        }
        self.watchdog.rest();
        seats.sort_by_key(|seat| seat.index);
        Ok(seats.into_iter().map(Seat::into_measurement).collect())
    }

    fn begin_turn(&self, candidate: u32) -> Result<(), DriverError> {
        self.watchdog.begin(self.task, candidate);
        self.spool.write(&Record::Trying {
            task: self.task,
            candidate,
        })
    }

    fn record(&self, candidate: u32, failure: Failure) -> Result<(), DriverError> {
        let Failure { kind, message } = failure;
        self.spool.write(&Record::Failed {
            task: self.task,
            candidate,
            kind,
            message,
        })
    }

    /// The first call, whose result is checked, and warming up. `fastest_seconds` is what a call of
    /// the fastest candidate so far takes.
    fn admit(
        &self,
        (index, candidate): (u32, &Candidate),
        fastest_seconds: f64,
        call: &Call,
        buffers: &mut Buffers,
    ) -> Result<Result<Seat, Failure>, DriverError> {
        let communicator = self.communicator.duplicate()?;
        let runner = Runner::new(candidate, call, &communicator, self.wait);
        if let Err(failure) = self.agree(runner.as_ref().map(|_| ()).map_err(Failure::of))? {
            return Ok(Err(failure));
        }
        let mut seat = Seat {
            index,
            runner: runner?,
            communicator,
            progress: Progress::default(),
            estimate_seconds: 0.0,
            warmup: 1,
            done: false,
        };
        let checked = self.check(&mut seat, call, buffers);
        if let Err(failure) = self.agree(checked)? {
            return Ok(Err(failure));
        }
        let mut first = [seat.estimate_seconds];
        self.communicator.maximum(&mut first)?;
        let may_leave = *candidate != Candidate::Default;
        if may_leave && is_hopeless(first[0], fastest_seconds, self.repetition) {
            return Ok(Err(Failure::too_slow(first[0], fastest_seconds)));
        }
        if let Err(failure) = self.warm_up(&mut seat, buffers)? {
            return Ok(Err(failure));
        }
        let seconds = seat.estimate_seconds;
        if may_leave && is_too_slow(seconds, fastest_seconds, self.repetition) {
            return Ok(Err(Failure::too_slow(seconds, fastest_seconds)));
        }
        Ok(Ok(seat))
    }

    /// Calls the candidate once and compares its result with what it must be.
    fn check(&self, seat: &mut Seat, call: &Call, buffers: &mut Buffers) -> Result<(), Failure> {
        let rank = self.communicator.rank();
        let Buffers {
            input,
            output,
            expected,
        } = buffers;
        match expected {
            Some(vector) if call.collective == Collective::Bcast && rank == call.root => {
                output.as_mut_slice().copy_from_slice(vector.as_slice());
            }
            _ => output.as_mut_slice().fill(0xa5),
        }
        let start = Instant::now();
        seat.runner
            .call(&seat.communicator, input.as_slice(), output.as_mut_slice())
            .map_err(|error| Failure::of(&error))?;
        seat.estimate_seconds = start.elapsed().as_secs_f64();
        let Some(expected) = expected else {
            return Ok(());
        };
        match data::first_difference(call, output.as_slice(), expected.as_slice()) {
            None => Ok(()),
            Some(element) => Err(Failure {
                kind: FailureKind::WrongResult,
                message: format!("element {element} of the result is wrong on rank {rank}"),
            }),
        }
    }

    fn warm_up(
        &self,
        seat: &mut Seat,
        buffers: &mut Buffers,
    ) -> Result<Result<(), Failure>, DriverError> {
        let mut before = Vec::new();
        let mut spent = 0.0;
        for turn in 0..WARMUP_TURNS {
            let calls = match turn {
                0 => 1,
                _ => self.calls(seat, seat.estimate_seconds * 4.0).min(25),
            };
            self.watchdog.begin(self.task, seat.index);
            let (seconds, elapsed) = match self.repeat(seat, calls, buffers)? {
                Ok(turn) => turn,
                Err(failure) => return Ok(Err(failure)),
            };
            seat.warmup += calls as u32;
            spent += elapsed;
            if has_settled(&before, &seconds) || spent > self.repetition.slice_seconds / 4.0 {
                break;
            }
            before = seconds;
        }
        Ok(Ok(()))
    }

    fn take_turn(
        &self,
        seat: &mut Seat,
        buffers: &mut Buffers,
    ) -> Result<Result<(), Failure>, DriverError> {
        let calls = self.calls(seat, seat.estimate_seconds);
        match self.repeat(seat, calls, buffers)? {
            Err(failure) => Ok(Err(failure)),
            Ok((seconds, elapsed)) => {
                seat.progress.add(&seconds, elapsed);
                seat.done = seat.progress.is_enough(self.repetition);
                Ok(Ok(()))
            }
        }
    }

    /// How many calls the next turn should have if one takes so long.
    fn calls(&self, seat: &Seat, estimate_seconds: f64) -> usize {
        seat.progress
            .turn(estimate_seconds, self.repetition, self.patience_seconds)
    }

    /// Repeats the candidate: a barrier, then the call, timed on every rank. Returns the slowest
    /// rank's time of each repetition and the time of all, the same on all ranks.
    ///
    /// Where a call fails the candidate is not called any more, but the barriers are made: other
    /// ranks may have seen nothing of the failure.
    fn repeat(
        &self,
        seat: &mut Seat,
        calls: usize,
        buffers: &mut Buffers,
    ) -> Result<Result<(Vec<f64>, f64), Failure>, DriverError> {
        let (input, output) = (buffers.input.as_slice(), buffers.output.as_mut_slice());
        let mut seconds = Vec::with_capacity(calls + 1);
        let mut outcome = Ok(());
        // Until it has ended the driver calls no collective of the library.
        let mut turn = seat.runner.turn()?;
        let start = Instant::now();
        for _ in 0..calls {
            self.communicator.dissemination_barrier()?;
            if outcome.is_err() {
                continue;
            }
            let start = Instant::now();
            let called = turn.call(&seat.communicator, input, output);
            seconds.push(start.elapsed().as_secs_f64());
            if let Err(error) = called {
                outcome = Err(Failure::of(&error));
            }
        }
        seconds.push(start.elapsed().as_secs_f64());
        turn.end()?;
        if let Err(failure) = self.agree(outcome)? {
            return Ok(Err(failure));
        }
        self.communicator.maximum(&mut seconds)?;
        let elapsed = seconds.pop().unwrap_or_default();
        seat.estimate_seconds = elapsed / calls as f64;
        Ok(Ok((seconds, elapsed)))
    }

    /// Makes one rank's failure known to all: the failure of the lowest rank that has one.
    fn agree(&self, mine: Result<(), Failure>) -> Result<Result<(), Failure>, DriverError> {
        let size = self.communicator.size();
        let mut failing = [match mine {
            Ok(()) => 0.0,
            Err(_) => f64::from(size - self.communicator.rank()),
        }];
        self.communicator.maximum(&mut failing)?;
        if failing[0] == 0.0 {
            return Ok(Ok(()));
        }
        let mut text = match &mine {
            Ok(()) => Vec::new(),
            Err(failure) => serde_json::to_vec(failure)?,
        };
        self.communicator
            .share(&mut text, size - failing[0] as u32)?;
        Ok(Err(serde_json::from_slice(&text)?))
    }
}

impl Seat {
    fn into_measurement(self) -> Measurement {
        Measurement {
            candidate: self.index,
            warmup: self.warmup,
            batch: 1,
            seconds: self.progress.into_seconds(),
        }
    }
}

impl Failure {
    fn too_slow(seconds: f64, fastest_seconds: f64) -> Self {
        Self {
            kind: FailureKind::TooSlow,
            message: format!(
                "one call took {}, that of another candidate {}: it was not called again",
                format_seconds(seconds),
                format_seconds(fastest_seconds)
            ),
        }
    }

    fn of(error: &ExecError) -> Self {
        Self {
            kind: failure_kind(error),
            message: error.to_string(),
        }
    }
}
