//! Candidates compared in one cell of one launch.

use std::time::Instant;

use benchmarking::{Progress, Race, batch, has_settled, is_hopeless, is_too_slow, is_unaffordable};
use exec::{Call, Communicator, Runner, Wait};
use schedule::Collective;
use statistics::clock::Clock;
use statistics::median;
use vocabulary::{Candidate, Cell, Racing, Repetition};
use wire::{FailureKind, Measurement, Record, Spending};

use crate::buffers::Buffers;
use crate::data;
use crate::error::DriverError;
use crate::seat::{Failure, Seat, measurements};
use crate::spool::Spool;
use crate::synchronise::{Pace, Synchroniser, Taken};
use crate::watchdog::Watchdog;

/// Turns of warming up before a candidate is measured whether or not it has settled.
const WARMUP_TURNS: u32 = 8;

/// The contest in one cell.
pub(crate) struct Contest<'a> {
    pub(crate) task: u32,
    pub(crate) cell: &'a Cell,
    pub(crate) candidates: &'a [Candidate],
    pub(crate) repetition: &'a Repetition,
    pub(crate) racing: Option<Racing>,
    /// The coarsest of all ranks' clocks.
    pub(crate) timer: Clock,
    /// How long the watchdog lets a turn last.
    pub(crate) patience_seconds: f64,
    pub(crate) seed: u64,
    /// How many copies of this rank's buffers calls take in turns.
    pub(crate) copies: usize,
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
    /// Checks, warms up and measures every candidate; those that fail are recorded and left out. Says
    /// where the time went, too. Collective.
    pub(crate) fn run(&self) -> Result<(Vec<Measurement>, Spending), DriverError> {
        let begin = Instant::now();
        let call = Call::from(self.cell);
        let (rank, ranks) = (self.communicator.rank(), self.communicator.size());
        let mut buffers = Buffers::new(&call, rank, ranks, self.copies);
        let mut seats: Vec<Option<Seat>> = Vec::new();
        let mut fastest = f64::INFINITY;
        for (index, candidate) in self.order_of_admission() {
            self.begin_turn(index)?;
            match self.admit((index, candidate), fastest, &call, &mut buffers)? {
                Ok(seat) => {
                    fastest = fastest.min(seat.call_seconds);
                    seats.push(Some(seat));
                }
                Err(failure) => self.record(index, failure)?,
            }
        }
        seats.sort_by_key(|seat| seat.as_ref().map(|seat| seat.index));
        self.batch(&mut seats);
        let indices: Vec<u32> = seats.iter().flatten().map(|seat| seat.index).collect();
        let mut spent = Spending {
            preparing_seconds: begin.elapsed().as_secs_f64(),
            ..Spending::default()
        };
        let race = self.race(&mut seats, fastest, &mut buffers, &mut spent)?;
        let looking = Instant::now();
        self.watchdog.begin_look(self.communicator.size());
        let residual_seconds = self.synchroniser.residual_seconds()?;
        self.watchdog.rest();
        spent.starting_seconds += looking.elapsed().as_secs_f64();
        Ok((measurements(seats, &indices, race, residual_seconds), spent))
    }

    /// The default, by which others are judged, first; the others in an order shuffled anew in each
    /// launch. Where a candidate's communicator comes to lie in memory moves calls of a few bytes by up
    /// to a tenth: a fixed order would favour the same ones in all launches.
    fn order_of_admission(&self) -> Vec<(u32, &Candidate)> {
        let mut order: Vec<(u32, &Candidate)> = (0..).zip(self.candidates).collect();
        self.random().shuffle(&mut order);
        order.sort_by_key(|(_, candidate)| **candidate != Candidate::Default);
        order
    }

    /// The same on all ranks, another in each launch.
    fn random(&self) -> fastrand::Rng {
        fastrand::Rng::with_seed(self.seed ^ u64::from(self.task))
    }

    /// Where a call is too short for the clock, several make a repetition: of all candidates as
    /// many, since only such times can be compared.
    fn batch(&self, seats: &mut [Option<Seat>]) {
        let seconds = seats.iter().flatten().map(|seat| seat.call_seconds);
        let shortest = seconds.fold(f64::INFINITY, f64::min);
        let batch = batch::calls(shortest, &self.timer);
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
        spent: &mut Spending,
    ) -> Result<Race, DriverError> {
        let candidates = seats
            .iter()
            .flatten()
            .map(|seat| &self.candidates[seat.index as usize]);
        let mut race = Race::between(candidates, self.racing, *self.repetition);
        let mut order = self.random();
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
                    Ok(taken) => {
                        let seconds = taken.valid();
                        spent.calling_seconds += taken.calling_seconds;
                        spent.starting_seconds += taken.starting_seconds;
                        race.add(entrant, &seconds, taken.elapsed_seconds);
                        seat.keep(taken);
                        let is_unaffordable =
                            is_unaffordable(&race, entrant, fastest, self.repetition);
                        if seconds.is_empty() || is_unaffordable {
                            // That must do for this launch.
                            race.withdraw(entrant);
                        }
                        if is_unaffordable && !self.is_default(seat) {
                            let failure = Failure::too_slow(seat.call_seconds, fastest);
                            self.record(seat.index, failure)?;
                            seats[entrant] = None;
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

    fn is_default(&self, seat: &Seat) -> bool {
        self.candidates[seat.index as usize] == Candidate::Default
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
            raw: Vec::new(),
            invalid: Vec::new(),
            pace: Pace::default(),
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
        let seconds = seat.call_seconds;
        if may_leave && is_too_slow(seconds, fastest_seconds, self.repetition) {
            return Ok(Err(Failure::too_slow(seconds, fastest_seconds)));
        }
        Ok(Ok(seat))
    }

    /// Calls the candidate once and compares its result with what it must be.
    fn check(&self, seat: &mut Seat, call: &Call, buffers: &mut Buffers) -> Result<(), Failure> {
        let rank = self.communicator.rank();
        let (input, output, expected) = buffers.next_and_expected();
        match expected {
            Some(vector) if call.collective == Collective::Bcast && rank == call.root => {
                output.copy_from_slice(vector);
            }
            _ => output.fill(0xa5),
        }
        let start = Instant::now();
        seat.runner
            .call(&seat.communicator, input, output)
            .map_err(|error| Failure::of(&error))?;
        seat.estimate_seconds = start.elapsed().as_secs_f64();
        let Some(expected) = expected else {
            return Ok(());
        };
        match data::first_difference(call, output, expected) {
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
            let taken = match self.repeat(seat, calls, buffers)? {
                Ok(taken) => taken,
                Err(failure) => return Ok(Err(failure)),
            };
            let seconds = taken.valid();
            seat.warmup += taken.seconds.len() as u32;
            // Where nothing is valid the common starts are counted in.
            seat.call_seconds = median(&seconds).unwrap_or(seat.estimate_seconds);
            spent += taken.elapsed_seconds;
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

    /// Repeats the candidate, again where too few repetitions are valid and the slice is not used
    /// up; the same on all ranks. None may be valid in the end.
    fn repeat(
        &self,
        seat: &mut Seat,
        calls: usize,
        buffers: &mut Buffers,
    ) -> Result<Result<Taken, Failure>, DriverError> {
        let mut taken = Taken::default();
        while let Some(missing) = taken.missing(calls) {
            if !taken.seconds.is_empty() && taken.elapsed_seconds > self.repetition.slice_seconds {
                break;
            }
            self.watchdog.begin(self.task, seat.index);
            let calls = missing.min(self.synchroniser.most_calls(&seat.pace));
            match self.series(seat, calls, buffers)? {
                Ok(series) => taken.add(series),
                Err(failure) => return Ok(Err(failure)),
            }
        }
        seat.estimate_seconds = taken.elapsed_seconds / taken.seconds.len() as f64;
        Ok(Ok(taken))
    }

    /// Repeats the candidate: a common start, then the calls of a batch, timed on every rank.
    ///
    /// Where a call fails the candidate is not called any more, but the starts are awaited: other
    /// ranks may have seen nothing of the failure.
    fn series(
        &self,
        seat: &mut Seat,
        calls: usize,
        buffers: &mut Buffers,
    ) -> Result<Result<Taken, Failure>, DriverError> {
        let mut outcome = Ok(());
        self.watchdog.begin_look(self.communicator.size());
        let mut series = self.synchroniser.begin(&mut seat.pace, calls)?;
        self.watchdog.begin(self.task, seat.index);
        // Until it has ended the driver calls no collective of the library.
        let mut turn = seat.runner.turn()?;
        for _ in 0..calls {
            series.start()?;
            if outcome.is_err() {
                continue;
            }
            let called = (0..seat.batch).try_for_each(|_| {
                let (input, output) = buffers.next();
                turn.call(&seat.communicator, input, output)
            });
            series.end()?;
            if let Err(error) = called {
                outcome = Err(Failure::of(&error));
            }
        }
        turn.end()?;
        if let Err(failure) = self.agree(outcome)? {
            return Ok(Err(failure));
        }
        let mut taken = series.agree()?;
        for seconds in &mut taken.seconds {
            *seconds = batch::seconds_a_call(*seconds, seat.batch);
        }
        Ok(Ok(taken))
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
