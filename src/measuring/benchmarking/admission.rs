//! The admission of candidates: those that give the right result and that the cell can afford.

use statistics::median;
use vocabulary::{Candidate, Pattern};

use crate::cell::Entrant;
use crate::{
    Attempt, Calls, CellBenchmark, Executor, Failure, Progress, Samples, batch, has_settled,
    is_hopeless, is_too_slow,
};

/// The most turns of warm-up; then a candidate is measured whether or not it has settled.
const WARMUP_TURNS: u32 = 8;

impl CellBenchmark<'_> {
    /// Checks and warms up every candidate; those that fail are recorded and left out.
    pub(crate) fn admit_all<E: Executor>(
        &self,
        executor: &mut E,
    ) -> Result<Vec<Entrant<E::Prepared>>, E::Error> {
        let mut entrants: Vec<Entrant<E::Prepared>> = Vec::new();
        let mut fastest_seconds = f64::INFINITY;
        for (index, candidate) in self.order_of_admission() {
            executor.begin_turn(index)?;
            match self.admit_candidate(executor, (index, candidate), fastest_seconds)? {
                Ok(entrant) => {
                    fastest_seconds = fastest_seconds.min(entrant.call_seconds);
                    entrants.push(entrant);
                }
                Err(failure) => executor.record_failure(index, failure)?,
            }
        }
        entrants.sort_by_key(|entrant| entrant.index);
        // All candidates have equally many calls in a repetition, since only such times can be compared.
        let call_seconds = entrants.iter().map(|entrant| entrant.call_seconds);
        let slowest_seconds = call_seconds.fold(0.0, f64::max);
        let calls = self.choose_calls(fastest_seconds, slowest_seconds);
        for entrant in &mut entrants {
            let more = f64::from(calls.calls_per_repetition())
                - f64::from(entrant.calls.calls_per_repetition());
            entrant.calls = calls;
            let computing_seconds = calls.computing_seconds() * f64::from(calls.timed_calls());
            entrant.estimate_seconds += entrant.call_seconds * more + computing_seconds;
        }
        Ok(entrants)
    }

    /// The calls of a repetition, if the candidates' calls take times between these two.
    fn choose_calls(&self, fastest_seconds: f64, slowest_seconds: f64) -> Calls {
        match self.pattern {
            Pattern::Together => Calls::Together(self.batch_of_calls(fastest_seconds)),
            Pattern::Repeated => {
                // The watchdog must not mistake a turn for a hang.
                let most_seconds = self.patience_seconds / 4.0;
                let timer = &self.timer;
                let timed =
                    batch::calls_per_block(fastest_seconds, slowest_seconds, most_seconds, timer);
                Calls::steady_block(timed)
            }
            // All candidates meet the same arrivals.
            Pattern::Skewed => Calls::Skewed {
                longest_seconds: fastest_seconds,
                first: 0,
            },
            Pattern::Nonblocking => Calls::Nonblocking(self.batch_of_calls(fastest_seconds)),
            // All candidates have the same computation beside them.
            Pattern::Overlapped => Calls::Overlapped {
                calls: self.batch_of_calls(fastest_seconds),
                computing_seconds: fastest_seconds,
            },
        }
    }

    /// The number of calls in a repetition that begin from one start: several if a call is too short for the clock.
    fn batch_of_calls(&self, fastest_seconds: f64) -> u32 {
        match self.together {
            Some(calls) => calls.get(),
            None => batch::calls_per_batch(fastest_seconds, &self.timer),
        }
    }

    /// The calls of a warm-up repetition, given the time of a first call. Calls that overlap in steady state are warmed
    /// up in it, so that their time there is known. The computation beside a call follows from its time without any.
    fn first_calls(&self, first_seconds: f64) -> Calls {
        match self.pattern {
            Pattern::Repeated => self.choose_calls(first_seconds, first_seconds),
            Pattern::Together | Pattern::Skewed => Calls::Together(1),
            Pattern::Nonblocking | Pattern::Overlapped => Calls::Nonblocking(1),
        }
    }

    /// The order of admission: the default, with which others are compared, comes first; the others are shuffled again
    /// in each launch. The place of a candidate's communicator in memory changes calls of a few bytes by up to a tenth,
    /// so a fixed order would favour the same candidates in all launches.
    fn order_of_admission(&self) -> Vec<(u32, &Candidate)> {
        let mut order: Vec<(u32, &Candidate)> = (0..).zip(self.candidates).collect();
        if let Some(mut random) = self.shuffling_generator() {
            random.shuffle(&mut order);
        }
        order.sort_by_key(|(_, candidate)| **candidate != Candidate::Default);
        order
    }

    /// Makes the first call, checks its result, and warms up. `fastest_seconds` is the time of a call of the fastest
    /// candidate so far.
    fn admit_candidate<E: Executor>(
        &self,
        executor: &mut E,
        (index, candidate): (u32, &Candidate),
        fastest_seconds: f64,
    ) -> Attempt<Entrant<E::Prepared>, E::Error> {
        let mut prepared = match executor.prepare(index, candidate)? {
            Ok(prepared) => prepared,
            Err(failure) => return Ok(Err(failure)),
        };
        let first_seconds = match executor.first_call(&mut prepared)? {
            Ok(seconds) => seconds,
            Err(failure) => return Ok(Err(failure)),
        };
        let may_leave = *candidate != Candidate::Default;
        if may_leave && is_hopeless(first_seconds, fastest_seconds, self.repetition) {
            return Ok(Err(Failure::too_slow(first_seconds, fastest_seconds)));
        }
        let calls = self.first_calls(first_seconds);
        let mut entrant = Entrant {
            index,
            prepared,
            samples: Samples::default(),
            call_seconds: first_seconds,
            estimate_seconds: first_seconds * f64::from(calls.calls_per_repetition()),
            warmup: 1,
            calls,
        };
        match executor.known_times(&entrant.prepared) {
            Some(known) => {
                entrant.call_seconds = known.call_seconds;
                let further = known.call_seconds * f64::from(calls.calls_per_repetition() - 1);
                entrant.estimate_seconds = known.repetition_seconds + further;
            }
            None => {
                if let Err(failure) = self.warm_up(executor, &mut entrant)? {
                    return Ok(Err(failure));
                }
            }
        }
        let seconds = entrant.call_seconds;
        if may_leave && is_too_slow(seconds, fastest_seconds, self.repetition) {
            return Ok(Err(Failure::too_slow(seconds, fastest_seconds)));
        }
        Ok(Ok(entrant))
    }

    fn warm_up<E: Executor>(
        &self,
        executor: &mut E,
        entrant: &mut Entrant<E::Prepared>,
    ) -> Attempt<(), E::Error> {
        let mut before = Vec::new();
        let mut spent = 0.0;
        for turn in 0..WARMUP_TURNS {
            let repetitions = match turn {
                0 => 1,
                _ => self.warm_up_repetitions(entrant.estimate_seconds),
            };
            let samples = match self.repeat_until_valid(executor, entrant, repetitions)? {
                Ok(samples) => samples,
                Err(failure) => return Ok(Err(failure)),
            };
            let seconds = samples.valid_seconds();
            entrant.warmup += samples.seconds.len() as u32 * entrant.calls.calls_per_repetition();
            // If no repetition is valid, the time includes the common starts.
            let counted_in =
                entrant.estimate_seconds / f64::from(entrant.calls.calls_per_repetition());
            entrant.call_seconds = median(&seconds).unwrap_or(counted_in);
            spent += samples.elapsed_seconds;
            if has_settled(&before, &seconds) || spent > self.repetition.slice_seconds / 4.0 {
                break;
            }
            before = seconds;
        }
        Ok(Ok(()))
    }

    /// The number of repetitions of a warm-up turn, given the time of one.
    fn warm_up_repetitions(&self, estimate_seconds: f64) -> usize {
        Progress::default()
            .turn_repetitions(
                4.0 * estimate_seconds,
                self.repetition,
                self.patience_seconds,
            )
            .min(25)
    }
}
