//! Candidates compared in one cell of one launch.

use std::time::Instant;

use exec::{Bytes, Call, Communicator, ExecError, Runner, Wait};
use sampling::{Progress, Race, batch, has_settled, is_hopeless, is_too_slow};
use schedule::Collective;
use statistics::clock::Clock;
use statistics::median;
use wire::units::format_seconds;
use wire::{Candidate, Cell, FailureKind, Measurement, Racing, Record, Repetition};

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
    /// Of a call, by the last turn of warming up.
    call_seconds: f64,
    /// Of a repetition, its barrier included.
    estimate_seconds: f64,
    warmup: u32,
    /// Calls in a repetition.
    batch: u32,
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
    pub(crate) racing: Option<Racing>,
    /// The coarsest of all ranks' clocks.
    pub(crate) clock: Clock,
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
        let mut seats: Vec<Option<Seat>> = Vec::new();
        let mut fastest = f64::INFINITY;
        for (index, candidate) in (0..).zip(self.candidates) {
            self.begin_turn(index)?;
            match self.admit((index, candidate), fastest, &call, &mut buffers)? {
                Ok(seat) => {
                    fastest = fastest.min(seat.estimate_seconds);
                    seats.push(Some(seat));
                }
                Err(failure) => self.record(index, failure)?,
            }
        }
        self.batch(&mut seats);
        let indices: Vec<u32> = seats.iter().flatten().map(|seat| seat.index).collect();
        let race = self.race(&mut seats, fastest, &mut buffers)?;
        self.watchdog.rest();
        Ok(measurements(seats, &indices, race))
    }

    /// Where a call is too short for the clock, several make a repetition: of all candidates as
    /// many, since only such times can be compared.
    fn batch(&self, seats: &mut [Option<Seat>]) {
        let seconds = seats.iter().flatten().map(|seat| seat.call_seconds);
        let shortest = seconds.fold(f64::INFINITY, f64::min);
        let batch = batch::calls(shortest, &self.clock);
        for seat in seats.iter_mut().flatten() {
            seat.batch = batch;
            seat.estimate_seconds += seat.call_seconds * f64::from(batch - 1);
        }
    }

    /// Lets the candidates take turns, in an order shuffled anew each round, until all are known
    /// well enough or have left. A seat of one that fails becomes empty.
    /// `fastest` is the shortest of their calls so far.
    fn race(
        &self,
        seats: &mut [Option<Seat>],
        fastest: f64,
        buffers: &mut Buffers,
    ) -> Result<Race, DriverError> {
        let candidates = seats
            .iter()
            .flatten()
            .map(|seat| &self.candidates[seat.index as usize]);
        let mut race = Race::between(candidates, self.racing, *self.repetition);
        let mut order = fastrand::Rng::with_seed(self.seed ^ u64::from(self.task));
        while !race.is_over() {
            let mut entrants = race.running();
            order.shuffle(&mut entrants);
            for entrant in entrants {
                let Some(seat) = &mut seats[entrant] else {
                    continue;
                };
                self.begin_turn(seat.index)?;
                let calls = race.turn(entrant, seat.estimate_seconds, self.patience_seconds);
                match self.repeat(seat, calls, buffers)? {
                    Ok((seconds, elapsed)) => {
                        race.add(entrant, &seconds, elapsed);
                        // The default is measured in any case, but then no more than once a launch.
                        let mut calls = race.progress(entrant).seconds().iter();
                        if calls.all(|call| is_too_slow(*call, fastest, self.repetition)) {
                            race.withdraw(entrant);
                        }
                    }
                    Err(failure) => {
                        self.record(seat.index, failure)?;
                        race.withdraw(entrant);
                        seats[entrant] = None;
                        break;
                    }
                }
            }
            race.end_round();
        }
        Ok(race)
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
            call_seconds: 0.0,
            estimate_seconds: 0.0,
            warmup: 1,
            batch: 1,
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
                _ => self.calls(seat.estimate_seconds * 4.0).min(25),
            };
            self.watchdog.begin(self.task, seat.index);
            let (seconds, elapsed) = match self.repeat(seat, calls, buffers)? {
                Ok(turn) => turn,
                Err(failure) => return Ok(Err(failure)),
            };
            seat.warmup += calls as u32;
            seat.call_seconds = median(&seconds).unwrap_or_default();
            spent += elapsed;
            if has_settled(&before, &seconds) || spent > self.repetition.slice_seconds / 4.0 {
                break;
            }
            before = seconds;
        }
        Ok(Ok(()))
    }

    /// How many calls a turn of warming up should have if one takes so long.
    fn calls(&self, estimate_seconds: f64) -> usize {
        Progress::default().turn(estimate_seconds, self.repetition, self.patience_seconds)
    }

    /// Repeats the candidate: a barrier, then the calls of a batch, timed on every rank. Returns
    /// the slowest rank's time a call in each repetition and the time of all, the same on all ranks.
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
            let called =
                (0..seat.batch).try_for_each(|_| turn.call(&seat.communicator, input, output));
            let elapsed = start.elapsed().as_secs_f64();
            seconds.push(batch::seconds_a_call(elapsed, seat.batch));
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

/// What the candidates gave that did not fail. `indices` are those of the entrants.
fn measurements(seats: Vec<Option<Seat>>, indices: &[u32], race: Race) -> Vec<Measurement> {
    let results = seats.into_iter().zip(race.into_results(indices));
    results
        .filter_map(|(seat, (progress, left))| {
            let seat = seat?;
            Some(Measurement {
                candidate: seat.index,
                warmup: seat.warmup,
                batch: seat.batch,
                seconds: progress.into_seconds(),
                invalid: Vec::new(),
                residual_seconds: None,
                left,
            })
        })
        .collect()
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
