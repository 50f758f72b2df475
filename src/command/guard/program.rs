//! The gain that a table gives a whole program.
//!
//! The program runs in turns without and with the table. A run without it and one with it make a pair, and which of them
//! comes first alternates, so that a machine that becomes slower favours neither. The gain is the median of the pairs'
//! ratios, with the interval that [`statistics::median_interval`] gives for any distribution. The number of pairs is
//! fixed beforehand; time that runs out may reduce it, but not what the pairs show.

use schemars::JsonSchema;
use serde::Serialize;
use statistics::{Interval, median, median_interval};

use crate::GuardError;

/// The coverage of the gain's interval.
const COVERAGE: f64 = 0.95;

/// The fewest pairs whose interval has this coverage.
pub const FEWEST_PAIRS: u32 = 6;

/// How a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProgramVariant {
    /// As it would run without colltune.
    Without,
    /// With the table.
    With,
}

impl ProgramVariant {
    /// The name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Without => "without",
            Self::With => "with",
        }
    }
}

/// A run of a program that succeeded.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ProgramRun {
    /// The number of its pair, from 1; 0 for runs that do not count.
    pub pair: u32,
    /// How it ran.
    pub variant: ProgramVariant,
    /// Its run time.
    pub seconds: f64,
    /// The figure in its output; null if the run time is compared.
    pub figure: Option<f64>,
}

impl ProgramRun {
    /// What is compared: the figure, or else the run time.
    pub fn value(&self) -> f64 {
        self.figure.unwrap_or(self.seconds)
    }
}

/// What one run of a program gave.
#[derive(Clone, Debug, PartialEq)]
pub enum RunResult {
    /// It succeeded.
    Succeeded {
        /// Its run time.
        seconds: f64,
        /// The figure in its output, if one is compared. It is positive.
        figure: Option<f64>,
    },
    /// It failed, for the reason in these words: `ended with exit code 1: ...`.
    Failed(String),
}

/// What runs a program.
pub trait ProgramRunner {
    /// The error that ends the test.
    type Error: From<GuardError>;

    /// Runs the program once.
    ///
    /// # Errors
    /// If it cannot be run, as opposed to a program that fails.
    fn run_program(&mut self, variant: ProgramVariant) -> Result<RunResult, Self::Error>;
}

/// How often a program runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimingPlan {
    /// The pairs of runs that do not count.
    pub warmups: u32,
    /// The pairs that count.
    pub pairs: u32,
    /// The time that all runs may take; no pair is begun that would probably take longer.
    pub budget_seconds: Option<f64>,
    /// Whether larger figures are better.
    pub is_higher_better: bool,
}

/// A run with the table that failed, while all runs without it succeeded.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ProgramFailure {
    /// The number of its pair, from 1; 0 for runs that do not count.
    pub pair: u32,
    /// Why it failed, in words.
    pub reason: String,
}

/// A program's runs without and with a table.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedProgram {
    /// All runs that succeeded, in the order in which they were made.
    pub runs: Vec<ProgramRun>,
    /// The run with the table that failed, after which no other was made.
    pub failure: Option<ProgramFailure>,
    /// Whether time ran out before all pairs were made.
    pub is_out_of_time: bool,
    /// Whether larger figures are better.
    pub is_higher_better: bool,
}

/// The speed-up of a program by a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProgramGain {
    /// The median over pairs of how many times as good the program is with the table.
    pub speedup: f64,
    /// Its interval.
    pub interval: Interval,
    /// The pairs.
    pub pairs: u32,
}

impl ProgramGain {
    /// Whether there are enough pairs to tell a difference from chance.
    pub fn is_reliable(&self) -> bool {
        self.interval.coverage >= COVERAGE
    }
}

/// What a program's runs show about a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProgramVerdict {
    /// The program is significantly faster with the table.
    Faster,
    /// No difference is shown, and a material loss is excluded.
    NoLoss,
    /// No difference is shown, and a material loss is not excluded.
    NothingShown,
    /// The program is significantly slower with the table, by more than is tolerated.
    Slower,
    /// The program fails with the table.
    Fails,
}

impl TimedProgram {
    /// The gain; `None` without a pair.
    pub fn gain(&self) -> Option<ProgramGain> {
        let values_of = |variant: ProgramVariant| {
            let counted = self.runs.iter().filter(move |run| run.pair > 0);
            counted
                .filter(move |run| run.variant == variant)
                .map(|run| (run.pair, run.value()))
                .collect::<Vec<_>>()
        };
        let (without, with) = (
            values_of(ProgramVariant::Without),
            values_of(ProgramVariant::With),
        );
        let ratios = if self.is_higher_better {
            statistics::paired_ratios(&with, &without)
        } else {
            statistics::paired_ratios(&without, &with)
        };
        Some(ProgramGain {
            speedup: median(&ratios)?,
            interval: median_interval(&ratios, COVERAGE)?,
            pairs: ratios.len() as u32,
        })
    }

    /// What the runs show if a loss of this share, the `materiality`, is tolerated.
    pub fn verdict(&self, materiality: f64) -> ProgramVerdict {
        if self.failure.is_some() {
            return ProgramVerdict::Fails;
        }
        let tolerated = 1.0 / (1.0 + materiality);
        match self.gain().filter(ProgramGain::is_reliable) {
            Some(gain) if gain.interval.low > 1.0 => ProgramVerdict::Faster,
            Some(gain) if gain.interval.high < tolerated => ProgramVerdict::Slower,
            Some(gain) if gain.interval.low >= tolerated => ProgramVerdict::NoLoss,
            _ => ProgramVerdict::NothingShown,
        }
    }
}

/// Runs a program in turns without and with a table. Ends at the first run with the table that fails.
///
/// # Errors
/// [`GuardError::ProgramFails`] if the program fails without the table; errors of the runner.
pub fn time_program<R: ProgramRunner>(
    plan: &TimingPlan,
    runner: &mut R,
) -> Result<TimedProgram, R::Error> {
    let mut timed = TimedProgram {
        runs: Vec::new(),
        failure: None,
        is_out_of_time: false,
        is_higher_better: plan.is_higher_better,
    };
    let (mut spent, mut longest_pair) = (0.0, 0.0_f64);
    for turn in 0..plan.warmups + plan.pairs {
        // A pair that cannot be ended in time is not begun, since a run without its partner says nothing.
        if plan
            .budget_seconds
            .is_some_and(|budget| turn > 0 && spent + longest_pair > budget)
        {
            timed.is_out_of_time = true;
            break;
        }
        let pair = (turn + 1).saturating_sub(plan.warmups);
        let mut order = [ProgramVariant::Without, ProgramVariant::With];
        // The first run of all is one without the table: a program that fails is then not said to fail because of it.
        if turn % 2 == 1 {
            order.reverse();
        }
        let before = spent;
        for variant in order {
            match runner.run_program(variant)? {
                RunResult::Succeeded { seconds, figure } => {
                    spent += seconds;
                    timed.runs.push(ProgramRun {
                        pair,
                        variant,
                        seconds,
                        figure,
                    });
                }
                RunResult::Failed(reason) if variant == ProgramVariant::Without => {
                    return Err(GuardError::ProgramFails { reason }.into());
                }
                RunResult::Failed(reason) => {
                    timed.failure = Some(ProgramFailure { pair, reason });
                    return Ok(timed);
                }
            }
        }
        longest_pair = longest_pair.max(spent - before);
    }
    Ok(timed)
}
