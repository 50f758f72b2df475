//! Candidates compared in one cell of one launch, as the driver does it, on simulated time.

use benchmarking::{Race, is_unaffordable};
use model::Noise;
use vocabulary::{Candidate, Subject, Synchronisation};
use wire::{Measurement, Plan, Spending};

use crate::disturbance::Disturbance;

/// A candidate that can be simulated.
pub(crate) struct Entrant<'a> {
    /// Its place among the task's candidates.
    pub(crate) index: u32,
    pub(crate) candidate: &'a Candidate,
    /// How long it takes undisturbed.
    pub(crate) seconds: f64,
}

/// What a contest came to.
pub(crate) struct Ended {
    pub(crate) measurements: Vec<Measurement>,
    /// The candidates that the cell cannot afford, by their places in the task, and what to say.
    pub(crate) failed: Vec<(u32, String)>,
    /// Where the time went, all of it.
    pub(crate) spent: Spending,
}

/// The contest in one cell.
pub(crate) struct Contest<'a> {
    pub(crate) plan: &'a Plan,
    /// How many launches have measured some of this before.
    pub(crate) round: u32,
    /// What a barrier takes.
    pub(crate) barrier_seconds: f64,
    pub(crate) noise: Noise,
    pub(crate) subject: Subject,
}

impl Contest<'_> {
    /// Lets the candidates take turns.
    pub(crate) fn run(&self, entrants: &[Entrant<'_>]) -> Ended {
        let chance = (self.plan.seed, self.round);
        let mut disturbances: Vec<Disturbance> = entrants
            .iter()
            .map(|entrant| Disturbance::new(self.noise, chance, &self.subject, entrant.candidate))
            .collect();
        // The first calls, whose results would be checked.
        let first = entrants.iter().zip(&mut disturbances);
        let first_calls =
            first.map(|(entrant, chance)| self.barrier_seconds + chance.disturb(entrant.seconds));
        let mut spent = Spending {
            preparing_seconds: first_calls.sum(),
            ..Spending::default()
        };
        let candidates = entrants.iter().map(|entrant| entrant.candidate);
        let mut race = Race::between(candidates, self.plan.racing, self.plan.repetition);
        let undisturbed = entrants.iter().map(|entrant| entrant.seconds);
        let fastest = undisturbed.fold(f64::INFINITY, f64::min);
        let mut too_slow = Vec::new();
        while !race.is_over() {
            // No order of turns makes a difference here.
            for place in race.running() {
                let seconds = entrants[place].seconds;
                let estimate = seconds + self.barrier_seconds;
                let calls = race.turn(place, estimate, self.plan.watchdog_seconds);
                let disturbed = (0..calls).map(|_| disturbances[place].disturb(seconds));
                let turn: Vec<f64> = disturbed.collect();
                let calling_seconds = turn.iter().sum::<f64>();
                let starting_seconds = self.barrier_seconds * calls as f64;
                spent.calling_seconds += calling_seconds;
                spent.starting_seconds += starting_seconds;
                race.add(place, &turn, calling_seconds + starting_seconds);
                if is_unaffordable(&race, place, fastest, &self.plan.repetition) {
                    race.withdraw(place);
                    if *entrants[place].candidate != Candidate::Default {
                        too_slow.push(place);
                    }
                }
            }
            race.end_round();
        }
        let failure = |place: &usize| {
            let entrant = &entrants[*place];
            (
                entrant.index,
                benchmarking::too_slow(entrant.seconds, fastest),
            )
        };
        Ended {
            failed: too_slow.iter().map(failure).collect(),
            measurements: self.measurements(entrants, &too_slow, race),
            spent,
        }
    }

    /// What the entrants gave that did not fail.
    fn measurements(
        &self,
        entrants: &[Entrant<'_>],
        failed: &[usize],
        race: Race,
    ) -> Vec<Measurement> {
        // All ranks read one clock; and experiments need none.
        let is_window = self.plan.synchronisation == Synchronisation::Window;
        let residual_seconds =
            (is_window && matches!(self.subject, Subject::Cell(_))).then_some(0.0);
        let indices: Vec<u32> = entrants.iter().map(|entrant| entrant.index).collect();
        let results = race.into_results(&indices);
        let measured = (0..).zip(indices.iter().zip(results));
        measured
            .filter(|(place, _)| !failed.contains(place))
            .map(|(_, (&candidate, (progress, left)))| Measurement {
                candidate,
                warmup: 1,
                batch: 1,
                seconds: progress.into_seconds(),
                invalid: Vec::new(),
                residual_seconds,
                left,
            })
            .collect()
    }
}
