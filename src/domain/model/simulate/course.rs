//! Calls that ranks begin at different times, and successive calls.

use schedule::{Program, Rank, Round, Schedule};

use super::prices::Prices;
use super::trace::Observer;
use super::{Setting, Simulation, SimulationError, run_to_end};

/// The number of calls and their start times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Course<'a> {
    /// The number of calls that each rank makes without a pause.
    pub(super) calls: u32,
    /// The start time of each rank in seconds; empty if all start at 0.
    pub(super) starts: &'a [f64],
}

impl Course<'_> {
    /// One call that all ranks start together.
    pub(super) const ONCE: Self = Self {
        calls: 1,
        starts: &[],
    };

    pub(super) fn start_of_rank(&self, rank: Rank) -> f64 {
        self.starts.get(rank as usize).copied().unwrap_or(0.0)
    }

    pub(super) fn program_of_rank(&self, schedule: &Schedule, rank: Rank) -> Box<dyn Program> {
        let program = schedule.program(rank);
        match self.calls {
            1 => program,
            calls => Box::new(RepeatedProgram { program, calls }),
        }
    }
}

/// A program that is carried out several times.
struct RepeatedProgram {
    program: Box<dyn Program>,
    calls: u32,
}

impl Program for RepeatedProgram {
    fn rounds(&self) -> u64 {
        self.program.rounds() * u64::from(self.calls)
    }

    fn round(&self, index: u64, round: &mut Round) {
        self.program.round(index % self.program.rounds(), round);
    }
}

/// Simulates a schedule that each rank begins at its own time, in seconds; times in the result have the same origin.
/// Ranks without a time begin at 0.
///
/// # Errors
/// The errors of [`super::simulate()`].
pub fn simulate_from(
    schedule: &Schedule,
    setting: &Setting<'_>,
    starts: &[f64],
) -> Result<Simulation, SimulationError> {
    let prices = Prices::new(schedule, setting)?;
    let course = Course { calls: 1, starts };
    run_to_end(schedule, &prices, &course, || super::trace::Unobserved).map(|(found, _)| found)
}

/// The time per call in seconds for successive calls, where each rank begins the next one as soon as it has finished
/// its part of the one before: the slowest rank's time for `timed` calls after `before` others, divided by `timed`.
///
/// Takes as long as `before + timed` simulations.
///
/// # Errors
/// The errors of [`super::simulate()`].
pub fn simulate_repeated(
    schedule: &Schedule,
    setting: &Setting<'_>,
    before: u32,
    timed: u32,
) -> Result<f64, SimulationError> {
    let prices = Prices::new(schedule, setting)?;
    let course = Course {
        calls: before + timed,
        starts: &[],
    };
    let marks = || Marks::new(schedule, before);
    let (simulation, marks) = run_to_end(schedule, &prices, &course, marks)?;
    let own = simulation.finished.iter().zip(&marks.passed);
    let slowest = own.map(|(end, begin)| end - begin).fold(0.0, f64::max);
    Ok(slowest / f64::from(timed.max(1)))
}

/// An observer that records when each rank has finished its first calls.
struct Marks {
    /// The last round of these calls; `None` if a rank has no rounds.
    last: Vec<Option<u64>>,
    passed: Vec<f64>,
}

impl Marks {
    fn new(schedule: &Schedule, calls: u32) -> Self {
        let ranks = 0..schedule.shape().ranks;
        let rounds = |rank| schedule.program(rank).rounds() * u64::from(calls);
        let last: Vec<Option<u64>> = ranks.map(|rank| rounds(rank).checked_sub(1)).collect();
        // A rank that is not simulated, as it is like another one, does not count.
        let passed = last.iter().map(|last| last.map_or(0.0, |_| f64::INFINITY));
        Self {
            passed: passed.collect(),
            last,
        }
    }
}

impl Observer for Marks {
    fn round_ended(&mut self, rank: Rank, round: u64, end: f64) {
        if self.last[rank as usize] == Some(round) {
            self.passed[rank as usize] = end;
        }
    }
}
