//! Candidates compared in one cell of one launch.

use exec::{Bytes, Call, Communicator, ExecError, Runner, Wait};
use sampling::{Progress, has_settled};
use schedule::Collective;
use wire::{Candidate, Cell, FailureKind, Measurement, Record, Repetition};

use crate::data;
use crate::error::{DriverError, failure_kind};
use crate::spool::Spool;
use crate::synchronise::{Pace, Synchroniser, Taken};
use crate::watchdog::Watchdog;

/// Turns of warming up before a candidate is measured whether or not it has settled.
const WARMUP_TURNS: u32 = 8;

/// A candidate in the contest.
struct Seat {
    index: u32,
    runner: Runner,
    /// Its own, so that what a failed candidate left under way meets nobody.
    communicator: Communicator,
    /// What is valid.
    progress: Progress,
    /// All repetitions, in the order in which they were taken, and which of them are not valid.
    raw: Vec<f64>,
    invalid: Vec<u32>,
    pace: Pace,
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
    /// Brings the ranks to common starts.
    pub(crate) synchroniser: &'a Synchroniser<'a>,
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
        let mut seats = Vec::new();
        for (index, candidate) in (0..).zip(self.candidates) {
            self.begin_turn(index)?;
            match self.admit(index, candidate, &call, &mut buffers)? {
                Ok(seat) => seats.push(seat),
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
            }
            if let Some(place) = failed {
                seats.remove(place);
            }
        }
        self.watchdog.rest();
        seats.sort_by_key(|seat| seat.index);
        let residual_seconds = self.synchroniser.residual_seconds()?;
        let measurement = |seat: Seat| seat.into_measurement(residual_seconds);
        Ok(seats.into_iter().map(measurement).collect())
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

    /// The first call, whose result is checked, and warming up.
    fn admit(
        &self,
        index: u32,
        candidate: &Candidate,
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
            raw: Vec::new(),
            invalid: Vec::new(),
            pace: Pace::default(),
            estimate_seconds: 0.0,
            warmup: 1,
            done: false,
        };
        let checked = self.check(&mut seat, call, buffers);
        if let Err(failure) = self.agree(checked)? {
            return Ok(Err(failure));
        }
        Ok(self.warm_up(&mut seat, buffers)?.map(|()| seat))
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
        seat.runner
            .call(&seat.communicator, input.as_slice(), output.as_mut_slice())
            .map_err(|error| Failure::of(&error))?;
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
            let taken = match self.repeat(seat, calls, buffers)? {
                Ok(taken) => taken,
                Err(failure) => return Ok(Err(failure)),
            };
            let seconds = taken.valid();
            seat.warmup += taken.seconds.len() as u32;
            spent += taken.elapsed_seconds;
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
            Ok(taken) => {
                seat.progress.add(&taken.valid(), taken.elapsed_seconds);
                seat.keep(taken);
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

    /// Repeats the candidate, again where too few repetitions are valid; the same on all ranks.
    fn repeat(
        &self,
        seat: &mut Seat,
        calls: usize,
        buffers: &mut Buffers,
    ) -> Result<Result<Taken, Failure>, DriverError> {
        let mut taken = Taken::default();
        while let Some(missing) = taken.missing(calls) {
            self.watchdog.begin(self.task, seat.index);
            let calls = missing.min(self.synchroniser.most_calls(&seat.pace));
            match self.series(seat, calls, buffers)? {
                Ok(series) => taken.add(series),
                Err(failure) => return Ok(Err(failure)),
            }
        }
        seat.estimate_seconds = taken.elapsed_seconds / taken.seconds.len() as f64;
        Ok(match taken.valid().is_empty() {
            true => Err(Failure::never_valid()),
            false => Ok(taken),
        })
    }

    /// Repeats the candidate: a common start, then the call, timed on every rank.
    ///
    /// Where a call fails the candidate is not called any more, but the starts are awaited: other
    /// ranks may have seen nothing of the failure.
    fn series(
        &self,
        seat: &mut Seat,
        calls: usize,
        buffers: &mut Buffers,
    ) -> Result<Result<Taken, Failure>, DriverError> {
        let (input, output) = (buffers.input.as_slice(), buffers.output.as_mut_slice());
        let mut outcome = Ok(());
        let mut series = self.synchroniser.begin(&mut seat.pace, calls)?;
        // Until it has ended the driver calls no collective of the library.
        let mut turn = seat.runner.turn()?;
        for _ in 0..calls {
            series.start()?;
            if outcome.is_err() {
                continue;
            }
            let called = turn.call(&seat.communicator, input, output);
            series.end()?;
            if let Err(error) = called {
                outcome = Err(Failure::of(&error));
            }
        }
        turn.end()?;
        match self.agree(outcome)? {
            Err(failure) => Ok(Err(failure)),
            Ok(()) => Ok(Ok(series.agree()?)),
        }
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
    /// Keeps a turn as it was.
    fn keep(&mut self, taken: Taken) {
        let before = self.raw.len() as u32;
        let places = taken.invalid.iter().map(|place| before + place);
        self.invalid.extend(places);
        self.raw.extend(taken.seconds);
    }

    fn into_measurement(self, residual_seconds: Option<f64>) -> Measurement {
        Measurement {
            candidate: self.index,
            warmup: self.warmup,
            batch: 1,
            seconds: self.raw,
            invalid: self.invalid,
            residual_seconds,
            left: None,
        }
    }
}

impl Failure {
    /// For a candidate that is measured nowhere with windows, since it never kept to one.
    fn never_valid() -> Self {
        Self {
            kind: FailureKind::Unsupported,
            message: "no repetition began and ended in time on all ranks; measure with \
                      `synchronisation: barrier`"
                .to_owned(),
        }
    }

    fn of(error: &ExecError) -> Self {
        Self {
            kind: failure_kind(error),
            message: error.to_string(),
        }
    }
}
