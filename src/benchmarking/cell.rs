//! Candidates compared in one cell of one launch.

use std::num::NonZero;

use statistics::clock::ClockResolution;
use vocabulary::{Candidate, Pattern, Racing, Repetition};
use wire::{Measurement, TimeBreakdown};

use crate::{Attempt, Calls, Executor, Failure, Race, Samples, is_unaffordable};

/// The benchmark of a cell's candidates, or of an experiment, in one launch: the loop that measures.
///
/// Each candidate is called once and its result checked, warmed up, and left out if the cell cannot
/// afford it; then they take turns until all are known well enough or have left. All ranks see the same
/// times and hence decide alike.
#[derive(Clone, Copy, Debug)]
pub struct CellBenchmark<'a> {
    /// What is compared; results name a candidate by its index here.
    pub candidates: &'a [Candidate],
    /// How calls follow each other.
    pub pattern: Pattern,
    /// How many calls that begin together are a repetition; otherwise the clock and the fastest candidate decide.
    pub together: Option<NonZero<u32>>,
    /// When a candidate has been repeated often enough.
    pub repetition: &'a Repetition,
    /// When a slow candidate is not repeated any further, if ever.
    pub racing: Option<Racing>,
    /// The coarsest of all ranks' clocks.
    pub timer: ClockResolution,
    /// How long a watchdog lets a turn last, in seconds.
    pub patience_seconds: f64,
    /// What orders are drawn from, the same on all ranks and another in each launch. Without it, as where
    /// no order makes a difference, candidates keep theirs.
    pub seed: Option<u64>,
}

/// A candidate that was admitted.
#[derive(Debug)]
pub(crate) struct Entrant<P> {
    /// Its place among the task's candidates.
    pub(crate) index: u32,
    pub(crate) prepared: P,
    /// All repetitions since it was warmed up.
    pub(crate) samples: Samples,
    /// Seconds of a call, by the last turn of warming up.
    pub(crate) call_seconds: f64,
    /// Seconds of a repetition, its common start included.
    pub(crate) estimate_seconds: f64,
    /// Calls before it was measured.
    pub(crate) warmup: u32,
    /// The calls of a repetition.
    pub(crate) calls: Calls,
}

impl CellBenchmark<'_> {
    /// Checks, warms up and measures every candidate; those that fail are recorded and left out. Says
    /// where the time went, too.
    ///
    /// # Errors
    /// What the executor takes for a reason to end the launch.
    pub fn run<E: Executor>(
        &self,
        executor: &mut E,
    ) -> Result<(Vec<Measurement>, TimeBreakdown), E::Error> {
        let admitted = self.admit_all(executor)?;
        let indices: Vec<u32> = admitted.iter().map(|entrant| entrant.index).collect();
        let mut entrants: Vec<_> = admitted.into_iter().map(Some).collect();
        let mut spent = TimeBreakdown {
            preparing_seconds: executor.elapsed_seconds(),
            ..TimeBreakdown::default()
        };
        let race = self.race(executor, &mut entrants, &mut spent)?;
        let looking = executor.elapsed_seconds();
        let residual_seconds = executor.residual_seconds()?;
        spent.starting_seconds += executor.elapsed_seconds() - looking;
        let results = entrants.into_iter().zip(race.left(&indices));
        let measured = results.filter_map(|(entrant, left)| {
            let entrant = entrant?;
            Some(Measurement {
                candidate: entrant.index,
                warmup: entrant.warmup,
                batch: entrant.calls.batch(),
                seconds: entrant.samples.seconds,
                invalid: entrant.samples.invalid,
                residual_seconds,
                left,
            })
        });
        Ok((measured.collect(), spent))
    }

    /// Draws the orders of this launch, from the first one on.
    pub(crate) fn random(&self) -> Option<fastrand::Rng> {
        self.seed.map(fastrand::Rng::with_seed)
    }

    /// Lets the candidates take turns, in an order shuffled anew each round, until all are known
    /// well enough or have left. One that fails leaves its place empty.
    fn race<E: Executor>(
        &self,
        executor: &mut E,
        entrants: &mut [Option<Entrant<E::Prepared>>],
        spent: &mut TimeBreakdown,
    ) -> Result<Race, E::Error> {
        let admitted = || entrants.iter().flatten();
        let candidates = admitted().map(|entrant| self.candidate(entrant));
        let mut wanted = *self.repetition;
        // The calls are the same for all.
        if let Some(entrant) = admitted().next() {
            wanted.minimum = entrant.calls.least_repetitions(wanted.minimum);
        }
        let mut race = Race::between(candidates, self.racing, wanted);
        let call_seconds = admitted().map(|entrant| entrant.call_seconds);
        let fastest_seconds = call_seconds.fold(f64::INFINITY, f64::min);
        let mut random = self.random();
        while !race.is_over() {
            let mut order = race.running();
            if let Some(random) = &mut random {
                random.shuffle(&mut order);
            }
            for place in order {
                let Some(entrant) = &mut entrants[place] else {
                    continue;
                };
                executor.begin_turn(entrant.index)?;
                let repetitions = race.turn(place, entrant.estimate_seconds, self.patience_seconds);
                let samples = match self.repeat(executor, entrant, repetitions)? {
                    Ok(samples) => samples,
                    Err(failure) => {
                        executor.record_failure(entrant.index, failure)?;
                        race.withdraw(place);
                        entrants[place] = None;
                        // Candidates that had no turn yet miss this round.
                        break;
                    }
                };
                let seconds = samples.valid();
                spent.calling_seconds += samples.calling_seconds;
                spent.starting_seconds += samples.starting_seconds;
                race.add(place, &seconds, samples.elapsed_seconds);
                entrant.samples.add(samples);
                let is_unaffordable =
                    is_unaffordable(&race, place, fastest_seconds, self.repetition);
                if seconds.is_empty() || is_unaffordable {
                    // That must do for this launch.
                    race.withdraw(place);
                }
                if is_unaffordable && *self.candidate(entrant) != Candidate::Default {
                    let failure = Failure::too_slow(entrant.call_seconds, fastest_seconds);
                    executor.record_failure(entrant.index, failure)?;
                    entrants[place] = None;
                }
            }
            race.end_round();
        }
        Ok(race)
    }

    fn candidate<P>(&self, entrant: &Entrant<P>) -> &Candidate {
        &self.candidates[entrant.index as usize]
    }

    /// Repeats a candidate, again where too few repetitions are valid and the slice is not used up. None
    /// may be valid in the end.
    pub(crate) fn repeat<E: Executor>(
        &self,
        executor: &mut E,
        entrant: &mut Entrant<E::Prepared>,
        repetitions: usize,
    ) -> Attempt<Samples, E::Error> {
        let mut samples = Samples::default();
        while let Some(missing) = samples.missing(repetitions) {
            let is_slice_used_up = samples.elapsed_seconds > self.repetition.slice_seconds;
            if !samples.seconds.is_empty() && is_slice_used_up {
                break;
            }
            let taken = entrant.samples.seconds.len() + samples.seconds.len();
            let (prepared, calls) = (&mut entrant.prepared, entrant.calls.after(taken));
            let starts = calls.starts();
            let most = (executor.most_repetitions(prepared) / starts).max(1);
            match executor.repeat(prepared, missing.min(most) * starts, calls)? {
                Ok(series) => samples.add(series.a_call(starts, calls.batch())),
                Err(failure) => return Ok(Err(failure)),
            }
        }
        if executor.known_times(&entrant.prepared).is_none() {
            entrant.estimate_seconds = samples.elapsed_seconds / samples.seconds.len() as f64;
        }
        Ok(Ok(samples))
    }
}
