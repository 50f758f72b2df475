//! The gain that a table gives a whole program.
//!
//! The program runs in turns without and with the table. A run without it and one with it make a pair, and which of them
//! comes first alternates, so that a machine that becomes slower favours neither. The gain is the median of the pairs'
//! ratios, with the interval that [`statistics::median_interval`] gives for any distribution. The number of pairs is
//! fixed beforehand; time that runs out may reduce it, but not what the pairs show.

use schemars::JsonSchema;
use serde::Serialize;
use statistics::{Interval, median, median_interval, values_for_sign_test};

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
    /// It took longer than it may, and was ended.
    TooLong,
}

/// What runs a program.
pub trait ProgramRunner {
    /// The error that ends the test.
    type Error: From<GuardError>;

    /// Runs the program once, for at most this many seconds.
    ///
    /// # Errors
    /// If it cannot be run, as opposed to a program that fails.
    fn run_program(
        &mut self,
        variant: ProgramVariant,
        limit_seconds: Option<f64>,
    ) -> Result<RunResult, Self::Error>;
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
}

/// A run that failed, or that took much longer than the program takes without the table.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ProgramFailure {
    /// The number of its pair, from 1; 0 for runs that do not count.
    pub pair: u32,
    /// How it ran.
    pub variant: ProgramVariant,
    /// Why it failed, in words.
    pub reason: String,
}

/// A program's runs without and with a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimedProgram {
    /// All runs that succeeded, in the order in which they were made.
    pub runs: Vec<ProgramRun>,
    /// The runs that failed.
    pub failures: Vec<ProgramFailure>,
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
    /// A material loss is excluded, and no gain is shown.
    NoLoss,
    /// Neither a gain nor a material loss is shown, and such a loss is not excluded.
    NothingShown,
    /// The program is significantly slower with the table, by more than is tolerated.
    Slower,
    /// The program fails repeatedly with the table, and not without it.
    Fails,
}

impl TimedProgram {
    /// Whether the program fails with the table, and never did without it: a run and its repetition, or so many runs that
    /// a program that fails now and then by itself would have failed without the table, too.
    pub fn fails_with_table(&self) -> bool {
        let is_with = |failure: &ProgramFailure| failure.variant == ProgramVariant::With;
        let enough = values_for_sign_test(1.0 - COVERAGE, 0) as usize;
        let mut pairs = self.failures.windows(2);
        let is_repeated = pairs.any(|two| two[0].pair == two[1].pair);
        self.failures.iter().all(is_with) && (is_repeated || self.failures.len() >= enough)
    }

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
        if self.fails_with_table() {
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

/// How many times as long as the longest run without the table a run may take.
const MOST_TIMES_AS_LONG: f64 = 10.0;

/// What any run may take, however short those without the table are.
const SHORTEST_LIMIT_SECONDS: f64 = 60.0;

/// Runs a program in turns without and with a table, and keeps its runs in `timed`, also if it ends early. A run that
/// fails is made again once; the test ends when that shows that the program [fails with the
/// table](TimedProgram::fails_with_table).
///
/// # Errors
/// [`GuardError::ProgramFails`] if the program fails twice without the table, and no less often than with it; errors of
/// the runner.
pub fn time_program<R: ProgramRunner>(
    plan: &TimingPlan,
    runner: &mut R,
    timed: &mut TimedProgram,
) -> Result<(), R::Error> {
    let mut spent = SpentTime {
        budget: plan.budget_seconds,
        ..SpentTime::default()
    };
    for turn in 0..plan.warmups + plan.pairs {
        // A pair that cannot be ended in time is not begun, since a run without its partner says nothing.
        if turn > 0 && spent.is_over(spent.longest_pair) {
            timed.is_out_of_time = true;
            return Ok(());
        }
        let pair = (turn + 1).saturating_sub(plan.warmups);
        let mut order = [ProgramVariant::Without, ProgramVariant::With];
        // The first run of all is one without the table: a program that fails is then not said to fail because of it.
        if turn % 2 == 1 {
            order.reverse();
        }
        let before = spent.total;
        for variant in order {
            let run = Turn { pair, variant };
            if !run.make(runner, &mut spent, timed)? {
                return Ok(());
            }
        }
        spent.longest_pair = spent.longest_pair.max(spent.total - before);
    }
    Ok(())
}

/// The time that runs took, in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct SpentTime {
    /// The time that all runs may take.
    budget: Option<f64>,
    total: f64,
    longest_pair: f64,
    /// The longest run without the table.
    longest_without: Option<f64>,
}

impl SpentTime {
    /// Whether the budget does not suffice for this further time.
    fn is_over(&self, further: f64) -> bool {
        self.budget
            .is_some_and(|budget| self.total + further > budget)
    }

    /// What a run may take because of the runs without the table; `None` before the first of them.
    fn limit_of_run(&self) -> Option<f64> {
        let longest = self.longest_without?;
        Some((MOST_TIMES_AS_LONG * longest).max(SHORTEST_LIMIT_SECONDS))
    }

    /// What is left of the budget.
    fn left(&self) -> Option<f64> {
        self.budget.map(|budget| (budget - self.total).max(0.0))
    }
}

/// A run to be made.
#[derive(Clone, Copy, Debug)]
struct Turn {
    pair: u32,
    variant: ProgramVariant,
}

impl Turn {
    /// Makes the run, once more if it fails. Returns whether the test goes on.
    fn make<R: ProgramRunner>(
        self,
        runner: &mut R,
        spent: &mut SpentTime,
        timed: &mut TimedProgram,
    ) -> Result<bool, R::Error> {
        let Self { pair, variant } = self;
        let is_without = variant == ProgramVariant::Without;
        for _ in 0..2 {
            let (limit, left) = (spent.limit_of_run(), spent.left());
            let shorter = [limit, left].into_iter().flatten().reduce(f64::min);
            let reason = match runner.run_program(variant, shorter)? {
                RunResult::Succeeded { seconds, figure } => {
                    spent.total += seconds;
                    if is_without {
                        let longest = spent.longest_without.unwrap_or_default();
                        spent.longest_without = Some(longest.max(seconds));
                    }
                    timed.runs.push(ProgramRun {
                        pair,
                        variant,
                        seconds,
                        figure,
                    });
                    return Ok(true);
                }
                RunResult::TooLong => {
                    spent.total += shorter.unwrap_or_default();
                    // Then the budget was the shorter limit, which says nothing about the program.
                    if shorter != limit {
                        timed.is_out_of_time = true;
                        return Ok(false);
                    }
                    let seconds = shorter.unwrap_or_default();
                    format!("did not end within {seconds:.0} s, much longer than without the table")
                }
                RunResult::Failed(reason) => reason,
            };
            timed.failures.push(ProgramFailure {
                pair,
                variant,
                reason: reason.clone(),
            });
            if timed.fails_with_table() {
                return Ok(false);
            }
            let count_of = |wanted: ProgramVariant| {
                let all = timed.failures.iter();
                all.filter(|failure| failure.variant == wanted).count()
            };
            let (without, with) = (
                count_of(ProgramVariant::Without),
                count_of(ProgramVariant::With),
            );
            if without >= 2 && without >= with {
                return Err(GuardError::ProgramFails { reason }.into());
            }
        }
        // It failed twice in a row with the table, and failed without it, too: this pair does not count.
        Ok(true)
    }
}
