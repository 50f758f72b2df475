//! The comparison of candidates in one cell of one launch.
//!
//! The default is admitted first, the others in an order of the launch's own, since places in memory matter. Then they
//! take turns in an order that is shuffled again in each round.

use std::num::NonZero;

use statistics::clock::ClockResolution;
use vocabulary::{Candidate, Pattern, Racing, Repetition};
use wire::{Measurement, TimeBreakdown};

use crate::{Attempt, Calls, Executor, Failure, Race, Samples, is_unaffordable};

/// The benchmark of a cell's candidates, or of an experiment, in one launch.
///
/// Each candidate is called once and its result checked; it is warmed up, or left out if the cell cannot afford it.
/// Then the candidates take turns until all are known well enough or have left. All ranks see the same times and so
/// make the same decisions.
#[derive(Clone, Copy, Debug)]
pub struct CellBenchmark<'a> {
    /// The candidates; results refer to them by index.
    pub candidates: &'a [Candidate],
    /// The pattern of calls.
    pub pattern: Pattern,
    /// The number of calls per repetition of calls that begin together; by default it depends on the clock and the
    /// fastest candidate.
    pub together: Option<NonZero<u32>>,
    /// The conditions under which a candidate is repeated no further.
    pub repetition: &'a Repetition,
    /// The condition under which slow candidates leave early, if any.
    pub racing: Option<Racing>,
    /// The resolution of the coarsest clock of all ranks.
    pub timer: ClockResolution,
    /// The time limit of a turn by the watchdog, in seconds.
    pub patience_seconds: f64,
    /// The seed of random orders, the same on all ranks and different in each launch. Without it, as where the order
    /// does not matter, candidates keep theirs.
    pub seed: Option<u64>,
}

/// An admitted candidate.
#[derive(Debug)]
pub(crate) struct Entrant<P> {
    /// Its place among the task's candidates.
    pub(crate) index: u32,
    pub(crate) prepared: P,
    /// All repetitions since it was warmed up.
    pub(crate) samples: Samples,
    /// The time of a call in seconds, in the last turn of warm-up.
    pub(crate) call_seconds: f64,
    /// The time of a repetition in seconds, common start included.
    pub(crate) estimate_seconds: f64,
    /// Calls before measuring.
    pub(crate) warmup: u32,
    /// The calls of a repetition.
    pub(crate) calls: Calls,
}

impl CellBenchmark<'_> {
    /// Checks, warms up and measures every candidate; those that fail are recorded and left out. Also returns the parts
    /// of the time.
    ///
    /// # Errors
    /// The executor's errors, which end the launch.
    pub fn measure_candidates<E: Executor>(
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
        let race = self.race_candidates(executor, &mut entrants, &mut spent)?;
        let looking = executor.elapsed_seconds();
        let residual_seconds = executor.residual_seconds()?;
        spent.starting_seconds += executor.elapsed_seconds() - looking;
        let results = entrants
            .into_iter()
            .zip(race.eliminations_by_entrant(&indices));
        let measured = results.filter_map(|(entrant, left)| {
            let entrant = entrant?;
            Some(Measurement {
                candidate: entrant.index,
                warmup: entrant.warmup,
                batch: entrant.calls.recorded_batch(),
                seconds: entrant.samples.seconds,
                invalid: entrant.samples.invalid,
                residual_seconds,
                left,
            })
        });
        Ok((measured.collect(), spent))
    }

    /// The generator of the orders of this launch.
    pub(crate) fn shuffling_generator(&self) -> Option<fastrand::Rng> {
        self.seed.map(fastrand::Rng::with_seed)
    }

    /// Lets the candidates take turns, in an order shuffled again each round, until all are known well enough or have
    /// left. A candidate that fails is dropped.
    fn race_candidates<E: Executor>(
        &self,
        executor: &mut E,
        entrants: &mut [Option<Entrant<E::Prepared>>],
        spent: &mut TimeBreakdown,
    ) -> Result<Race, E::Error> {
        let admitted = || entrants.iter().flatten();
        let candidates = admitted().map(|entrant| self.candidate_of_entrant(entrant));
        let mut wanted = *self.repetition;
        // All candidates have the same calls.
        if let Some(entrant) = admitted().next() {
            wanted.minimum = entrant.calls.least_repetitions(wanted.minimum);
        }
        let mut race = Race::between_candidates(candidates, self.racing, wanted);
        let call_seconds = admitted().map(|entrant| entrant.call_seconds);
        let fastest_seconds = call_seconds.fold(f64::INFINITY, f64::min);
        let mut random = self.shuffling_generator();
        while !race.is_over() {
            let mut order = race.running_entrants();
            if let Some(random) = &mut random {
                random.shuffle(&mut order);
            }
            for place in order {
                let Some(entrant) = &mut entrants[place] else {
                    continue;
                };
                executor.begin_turn(entrant.index)?;
                let repetitions =
                    race.turn_repetitions(place, entrant.estimate_seconds, self.patience_seconds);
                let samples = match self.repeat_until_valid(executor, entrant, repetitions)? {
                    Ok(samples) => samples,
                    Err(failure) => {
                        executor.record_failure(entrant.index, failure)?;
                        race.withdraw(place);
                        entrants[place] = None;
                        // Candidates without a turn so far miss this round.
                        break;
                    }
                };
                let seconds = samples.valid_seconds();
                spent.calling_seconds += samples.calling_seconds;
                spent.starting_seconds += samples.starting_seconds;
                race.add_turn(place, &seconds, samples.elapsed_seconds);
                entrant.samples.append(samples);
                let is_unaffordable =
                    is_unaffordable(&race, place, fastest_seconds, self.repetition);
                if seconds.is_empty() || is_unaffordable {
                    // Its repetitions so far must suffice for this launch.
                    race.withdraw(place);
                }
                if is_unaffordable && *self.candidate_of_entrant(entrant) != Candidate::Default {
                    let failure = Failure::too_slow(entrant.call_seconds, fastest_seconds);
                    executor.record_failure(entrant.index, failure)?;
                    entrants[place] = None;
                }
            }
            race.end_round();
        }
        Ok(race)
    }

    fn candidate_of_entrant<P>(&self, entrant: &Entrant<P>) -> &Candidate {
        &self.candidates[entrant.index as usize]
    }

    /// Repeats a candidate, and again if too few repetitions are valid and the slice is not used up. Possibly none is
    /// valid in the end.
    pub(crate) fn repeat_until_valid<E: Executor>(
        &self,
        executor: &mut E,
        entrant: &mut Entrant<E::Prepared>,
        repetitions: usize,
    ) -> Attempt<Samples, E::Error> {
        let mut samples = Samples::default();
        while let Some(missing) = samples.missing_repetitions(repetitions) {
            let is_slice_used_up = samples.elapsed_seconds > self.repetition.slice_seconds;
            if !samples.seconds.is_empty() && is_slice_used_up {
                break;
            }
            let taken = entrant.samples.seconds.len() + samples.seconds.len();
            let (prepared, calls) = (
                &mut entrant.prepared,
                entrant.calls.after_repetitions(taken),
            );
            let starts = calls.starts_per_repetition();
            let most = (executor.most_repetitions(prepared) / starts).max(1);
            match executor.repeat(prepared, missing.min(most) * starts, calls)? {
                Ok(series) => {
                    samples.append(series.merge_into_repetitions(starts, calls.recorded_batch()))
                }
                Err(failure) => return Ok(Err(failure)),
            }
        }
        if executor.known_times(&entrant.prepared).is_none() {
            entrant.estimate_seconds = samples.elapsed_seconds / samples.seconds.len() as f64;
        }
        Ok(Ok(samples))
    }
}
