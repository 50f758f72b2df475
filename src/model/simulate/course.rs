//! Calls that ranks do not begin together, and calls that follow each other.

use schedule::{Program, Rank, Round, Schedule};

use super::prices::Prices;
use super::trace::Observer;
use super::{Setting, Simulation, SimulationError, run};

/// What ranks do with their programs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Course<'a> {
    /// How often each carries it out, going on at once.
    pub(super) calls: u32,
    /// When each begins, in seconds; empty where all do at 0.
    pub(super) starts: &'a [f64],
}

impl Course<'_> {
    /// Once, together.
    pub(super) const ONCE: Self = Self {
        calls: 1,
        starts: &[],
    };

    pub(super) fn start(&self, rank: Rank) -> f64 {
        self.starts.get(rank as usize).copied().unwrap_or(0.0)
    }

    pub(super) fn program(&self, schedule: &Schedule, rank: Rank) -> Box<dyn Program> {
        let program = schedule.program(rank);
        match self.calls {
            1 => program,
            calls => Box::new(Again { program, calls }),
        }
    }
}

/// A program that is carried out several times.
struct Again {
    program: Box<dyn Program>,
    calls: u32,
}

impl Program for Again {
    fn rounds(&self) -> u64 {
        self.program.rounds() * u64::from(self.calls)
    }

    fn round(&self, index: u64, round: &mut Round) {
        self.program.round(index % self.program.rounds(), round);
    }
}

/// Simulates a schedule that each rank begins at a time of its own, in seconds; times in the result count
/// from the same moment as these. Ranks without a time begin at 0.
///
/// # Errors
/// As of [`super::simulate()`].
pub fn simulate_from(
    schedule: &Schedule,
    setting: &Setting<'_>,
    starts: &[f64],
) -> Result<Simulation, SimulationError> {
    let prices = Prices::new(schedule, setting)?;
    let course = Course { calls: 1, starts };
    run(schedule, &prices, &course, || super::trace::Unobserved).map(|(found, _)| found)
}

/// The time of a call in seconds where calls follow each other: each rank begins the next one as soon as it
/// has done its part in the one before. The slowest rank's own time for `timed` calls that follow `before`
/// others, divided by `timed`.
///
/// Takes as long as `before + timed` simulations.
///
/// # Errors
/// As of [`super::simulate()`].
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
    let (simulation, marks) = run(schedule, &prices, &course, marks)?;
    let own = simulation.finished.iter().zip(&marks.passed);
    let slowest = own.map(|(end, begin)| end - begin).fold(0.0, f64::max);
    Ok(slowest / f64::from(timed.max(1)))
}

/// Sees when each rank has done its first calls.
struct Marks {
    /// The last round of these; none where a rank has none.
    last: Vec<Option<u64>>,
    passed: Vec<f64>,
}

impl Marks {
    fn new(schedule: &Schedule, calls: u32) -> Self {
        let ranks = schedule.shape().ranks;
        let rounds = |rank| schedule.program(rank).rounds() * u64::from(calls);
        Self {
            last: (0..ranks).map(|rank| rounds(rank).checked_sub(1)).collect(),
            passed: vec![0.0; ranks as usize],
        }
    }
}

impl Observer for Marks {
    fn round(&mut self, rank: Rank, round: u64, end: f64) {
        if self.last[rank as usize] == Some(round) {
            self.passed[rank as usize] = end;
        }
    }
}
