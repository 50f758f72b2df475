use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use agenda::{Agenda, ExpectedTimes, Forecast, LeastBudgets};
use campaign::{Campaign, LauncherConfig};
use indicatif::HumanDuration;
use launcher::Allocation;
use schedule::Collective;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use store::Store;
use tuner::{MeasurementContext, Script, TunerError};
use vocabulary::units::{format_bytes, format_counted, format_duration, format_duration_up};
use vocabulary::{Candidate, CommShape, Library, Warning};

use super::campaign::ContextArgs;
use super::{Answer, CliError, Console};

/// Show what `tune` would do, without measuring
///
/// Shows the library, the cells and candidates of each collective, the measurements in the store, and an estimate of
/// the remaining time. A measurement is one cell, or one experiment on the machine, in one launch. Candidates with the
/// same schedule in a cell count once, under the name of the simplest: on two ranks, linear, binomial and chained
/// broadcasts are the same message. Predicted block sizes are added to the candidates after the first launch, which
/// measures the machine's parameters.
///
/// `colltune schema plan` describes what --json prints.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune plan tuning/quickstart.yaml
  colltune plan --render tuning/cluster.yaml")]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    context: ContextArgs,
    /// Print the job scripts that `tune` would submit to the batch system
    #[arg(long)]
    render: bool,
    /// Print the plan as JSON
    #[arg(long)]
    json: bool,
}

impl PlanArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let at = self.context.prepare_context()?;
        let path = at.store_path();
        let store = path.exists().then(|| Store::open(path)).transpose()?;
        let scripts = if self.render {
            tuner::render_job_scripts(&at, store.as_ref())?
        } else {
            Vec::new()
        };
        if self.render && scripts.is_empty() {
            return Err(CliError::NothingSubmitted);
        }
        for warning in measuring_warnings(&at).filter(|_| self.render || !self.json) {
            console.warn(format_args!("{warning}."));
        }
        if self.render && !self.json {
            for script in scripts {
                console.print(script.text.trim_end())?;
            }
            return Ok(Answer::Good);
        }
        let history = tuner::read_history(store.as_ref(), &at.library, &at.campaign)?;
        let agenda = Agenda::new(&at.campaign, &history, &at.library, &at.natives)
            .map_err(TunerError::from)?;
        let forecast = agenda.forecast(&at.campaign, &history);
        let scripts = self.render.then_some(&*scripts);
        let least = tuner::least_budgets(&at, &history)?;
        let answers = PlanOutput::from_agenda(&at, &agenda, forecast, least, scripts);
        console.print_answer(self.json, &answers, || answers.describe())
    }
}

/// The output of `--json`.
#[derive(JsonSchema, Serialize)]
pub(super) struct PlanOutput<'a> {
    #[serde(skip)]
    at: &'a MeasurementContext,
    #[serde(skip)]
    agenda: &'a Agenda,
    /// The campaign.
    name: &'a str,
    /// The library that would be measured.
    library: &'a Library,
    /// The measuring program; null in simulations.
    driver: Option<&'a Path>,
    /// The file of the store.
    store: &'a Path,
    /// The file for the table.
    table: &'a Path,
    /// The file for the report in Markdown.
    report: &'a Path,
    /// The file for the report in HTML.
    page: PathBuf,
    /// The shapes that would be measured.
    shapes: &'a [CommShape],
    /// The number of launches in which each cell is measured.
    launches: u32,
    /// The number of experiments on the machine.
    experiments: usize,
    /// The number of cells.
    cells: usize,
    /// The number of candidates over all cells.
    candidates: usize,
    /// The number of further candidates that are not measured, since a simpler one of their cell has the same schedule.
    merged: usize,
    #[serde(flatten)]
    forecast: Forecast,
    /// The strategy, as in `guided`.
    strategy: String,
    /// The number of turns for measuring everything.
    exhaustive_turns: u64,
    /// The campaign's budget: the time that all launches may take.
    budget_seconds: f64,
    /// The budgets that the campaign needs at least, estimated.
    least_budgets: LeastBudgets,
    /// The number of nodes that each job holds, by shape; null without jobs.
    nodes_of_jobs: Option<BTreeMap<String, u32>>,
    /// The cells and candidates of each collective.
    collectives: Vec<Share<'a>>,
    /// Warnings about the measuring conditions, as sentences.
    warnings: Vec<String>,
    /// The scripts of jobs, with --render.
    #[serde(skip_serializing_if = "Option::is_none")]
    scripts: Option<&'a [Script]>,
}

/// The cells of a collective.
#[derive(Default, JsonSchema, Serialize)]
struct Share<'a> {
    /// Name of the collective, as in `allreduce`.
    #[schemars(schema_with = "vocabulary::collective_name::list_in_schema")]
    collective: &'static str,
    #[serde(skip)]
    has_data: bool,
    /// The number of cells.
    cells: usize,
    /// The sizes in bytes.
    bytes: BTreeSet<u64>,
    /// The distributions of the data, as in `skewed`; empty unless the collective is irregular.
    distributions: BTreeSet<&'static str>,
    /// Full names.
    #[serde(serialize_with = "serialize_names")]
    #[schemars(with = "Vec<String>")]
    candidates: BTreeSet<&'a Candidate>,
    /// The number of candidates with the same schedule as a simpler one of their cell, by shape.
    merged: BTreeMap<String, usize>,
}

fn serialize_names<S: Serializer>(
    candidates: &BTreeSet<&Candidate>,
    to: S,
) -> Result<S::Ok, S::Error> {
    to.collect_seq(candidates.iter().map(ToString::to_string))
}

/// The number of nodes that a job holds while it measures a shape, by shape; `None` without jobs.
fn nodes_of_jobs(campaign: &Campaign) -> Option<BTreeMap<String, u32>> {
    let LauncherConfig::Batch(batch) = &campaign.launcher else {
        return None;
    };
    let largest = campaign.largest_shape().nodes;
    let held = |shape: &CommShape| match batch.allocation {
        Allocation::Shared => largest,
        Allocation::Separate => shape.nodes,
    };
    let shapes = campaign.shapes.iter();
    Some(
        shapes
            .map(|shape| (shape.to_string(), held(shape)))
            .collect(),
    )
}

/// The cells of each collective.
fn shares_by_collective(agenda: &Agenda) -> Vec<Share<'_>> {
    let mut shares: BTreeMap<Collective, Share<'_>> = BTreeMap::new();
    for (cell, candidates) in &agenda.scope.cells {
        let share = shares.entry(cell.collective).or_default();
        share.cells += 1;
        share.bytes.insert(cell.bytes);
        if cell.collective.is_irregular() {
            share.distributions.insert(cell.distribution.name());
        }
        share.candidates.extend(candidates);
    }
    for (cell, merged) in &agenda.scope.merged {
        let share = shares.entry(cell.collective).or_default();
        *share.merged.entry(cell.shape.to_string()).or_default() += merged.len();
    }
    let shares = shares.into_iter();
    let named = shares.map(|(collective, share)| Share {
        collective: collective.name(),
        has_data: collective.has_data(),
        ..share
    });
    named.collect()
}

impl<'a> PlanOutput<'a> {
    fn from_agenda(
        at: &'a MeasurementContext,
        agenda: &'a Agenda,
        forecast: Forecast,
        least_budgets: LeastBudgets,
        scripts: Option<&'a [Script]>,
    ) -> Self {
        let output = &at.campaign.output;
        Self {
            at,
            agenda,
            name: &at.campaign.name,
            library: &at.library,
            driver: at.driver.as_deref(),
            store: at.store_path(),
            table: &output.table,
            report: &output.report,
            page: output.report_page(),
            shapes: &at.campaign.shapes,
            launches: agenda.launches,
            experiments: agenda.scope.experiments.len(),
            cells: agenda.scope.cells.len(),
            candidates: agenda.scope.candidate_count(),
            merged: agenda.scope.merged_count(),
            forecast,
            strategy: at.campaign.strategy.to_string(),
            exhaustive_turns: agenda.exhaustive_turns(),
            budget_seconds: at.campaign.budget_seconds,
            least_budgets,
            nodes_of_jobs: nodes_of_jobs(&at.campaign),
            collectives: shares_by_collective(agenda),
            warnings: measuring_warnings(at).collect(),
            scripts,
        }
    }

    fn describe(&self) -> String {
        let Self {
            candidates,
            experiments,
            merged,
            forecast,
            ..
        } = self;
        let shapes: Vec<String> = self.shapes.iter().map(CommShape::to_string).collect();
        let mut lines = vec![
            ("campaign", self.name.to_owned()),
            ("library", self.library.to_string()),
            ("program", describe_driver(self.driver)),
            ("shapes", shapes.join(", ")),
            (
                "cells",
                format!(
                    "{}, with {} in total, and {} on the machine",
                    self.cells,
                    format_counted(*candidates, "candidate"),
                    format_counted(*experiments, "experiment")
                ),
            ),
        ];
        // Says why the number of candidates above is below that in the campaign file.
        if *merged > 0 {
            let merged = format!(
                "not measured: {} with the same schedule as a simpler one of the cell",
                format_counted(*merged, "more candidate")
            );
            lines.push(("", merged));
        }
        let shares = self.collectives.iter();
        lines.extend(shares.map(|share| (share.collective, share.describe())));
        lines.extend(self.describe_further_sizes().map(|text| ("", text)));
        if self.at.campaign.parameters.predicted && !forecast.calibrated {
            let later = "and predicted block sizes, once the machine's parameters are measured";
            lines.push(("", later.to_owned()));
        }
        lines.extend([
            (
                "store",
                format!(
                    "{}: {} of {} measurements done, each of a cell or an experiment in one launch",
                    self.store.display(),
                    forecast.progress.done,
                    forecast.progress.total
                ),
            ),
            ("launches", self.describe_launches()),
            ("strategy", self.describe_strategy()),
            ("time", self.describe_time()),
            ("budget", self.describe_budgets()),
        ]);
        lines.extend(self.describe_jobs().map(|text| ("jobs", text)));
        lines.extend(self.describe_gains().map(|text| ("gains", text)));
        lines.extend([
            ("table", self.table.display().to_string()),
            ("report", self.report.display().to_string()),
            ("page", self.page.display().to_string()),
        ]);
        // Names of collectives may be longer than the other words of the first column.
        let names = lines.iter().map(|(name, _)| name.len());
        let width = names.max().unwrap_or(0).max(11);
        let lines: Vec<String> = lines
            .iter()
            .map(|(name, text)| format!("{name:<width$} {text}"))
            .collect();
        lines.join("\n")
    }

    fn describe_launches(&self) -> String {
        let Forecast {
            launches_left,
            confirming_seconds,
            ..
        } = self.forecast;
        let confirming = if confirming_seconds > 0.0 {
            ", then launches that confirm choices"
        } else {
            ""
        };
        let left = match launches_left {
            0 => String::new(),
            1 => "; the measuring program starts once more".to_owned(),
            left => format!("; the measuring program starts {left} more times"),
        };
        let launches = self.launches;
        format!("{launches} for each cell{left}{confirming}")
    }

    /// The sizes that are measured beside those of the campaign; `None` if there are none.
    fn describe_further_sizes(&self) -> Option<String> {
        let mut shares = self.collectives.iter();
        let has_neighbours = shares.any(|share| share.bytes.len() > 1);
        let why = match (self.agenda.scope.is_guided, self.agenda.keeps_time()) {
            (true, true) => "where the choice changes, and to confirm choices",
            (true, false) => "where the choice changes",
            (false, true) => "to confirm choices",
            (false, false) => return None,
        };
        has_neighbours.then(|| format!("further sizes between these are measured {why}"))
    }

    fn describe_strategy(&self) -> String {
        let (all, name) = (self.exhaustive_turns, &self.strategy);
        if !self.agenda.scope.is_guided {
            format!("{name}: {all} turns, each of one candidate in one cell and launch")
        } else {
            format!(
                "{name}: about {} turns left, each of one candidate in one cell and launch, of {all} for measuring \
             everything; their results decide what else is measured",
                self.forecast.turns_left
            )
        }
    }

    /// The smallest gains that are confirmed, by the noise between launches; `None` if nothing is confirmed.
    fn describe_gains(&self) -> Option<String> {
        let [low, high] = self.forecast.detectable_gains?;
        Some(format!(
            "where speed-ups vary by {:.0} % between launches, a gain of {:.2}x is confirmed in four of five cases; where \
             they vary by {:.0} %, one of {:.2}x",
            low.noise * 100.0,
            low.gain,
            high.noise * 100.0,
            high.gain
        ))
    }

    /// The budgets that the campaign needs at least, and what they are estimated from.
    fn describe_budgets(&self) -> String {
        let LeastBudgets {
            once_seconds,
            confirming_seconds,
            times,
        } = self.least_budgets;
        // An estimate has no fractions of a second, unless it is shorter.
        let rounded = |seconds: f64| {
            if seconds > 1.0 {
                format_duration(seconds.ceil())
            } else {
                format_duration_up(seconds)
            }
        };
        let once = rounded(once_seconds);
        let confirming = match confirming_seconds {
            Some(seconds) => {
                let seconds = rounded(seconds);
                format!(", and the least that can confirm a choice at each about {seconds}")
            }
            None => String::new(),
        };
        let origin = match times {
            ExpectedTimes::Measured => "by the times in the store",
            ExpectedTimes::SimulatedMachine => "by the closed forms on the simulated machine",
            ExpectedTimes::Assumed => {
                "assumed: by closed forms on the reference machine, until messages are measured here"
            }
        };
        let given = format_duration(self.budget_seconds);
        format!(
            "{given}; the least that measures each point once is about {once}{confirming} ({origin})"
        )
    }

    /// The nodes that jobs hold; `None` without jobs.
    fn describe_jobs(&self) -> Option<String> {
        let nodes = self.nodes_of_jobs.as_ref()?;
        let most = nodes.values().copied().max()?;
        let is_separate = nodes.values().any(|held| *held != most);
        if is_separate {
            let held = nodes
                .iter()
                .map(|(shape, held)| format!("{held} for {shape}"));
            let held: Vec<String> = held.collect();
            return Some(format!("nodes that a job holds: {}", held.join(", ")));
        }
        let smaller = self.shapes.iter().any(|shape| shape.nodes < most);
        let also = if smaller {
            ", also while it measures smaller shapes; with `allocation: separate` it holds those of its shape"
        } else {
            ""
        };
        Some(format!("each holds {}{also}", format_counted(most, "node")))
    }

    fn describe_time(&self) -> String {
        let Forecast {
            progress,
            launches_left,
            spent_seconds,
            seconds,
            node_hours,
            needed_budget_seconds,
            ..
        } = self.forecast;
        let budget = format_duration(self.budget_seconds);
        let missing = progress.total.saturating_sub(progress.done);
        let is_spent = spent_seconds >= self.budget_seconds;
        // Choices that the budget cannot confirm are missing, but no launch is left that would measure them.
        if missing == 0 || (launches_left == 0 && !is_spent && needed_budget_seconds.is_none()) {
            return "nothing is left to measure".to_owned();
        }
        if launches_left == 0 || is_spent {
            let state = if is_spent {
                "is spent"
            } else {
                "does not suffice"
            };
            let needed = needed_budget_seconds.map_or_else(String::new, |least_seconds| {
                let needed = format_duration_up(least_seconds);
                format!("; at least `budget: {needed}` is needed to confirm all choices")
            });
            return format!(
                "the budget of {} {state}; a larger one makes the other {}{needed}",
                budget,
                format_counted(missing, "measurement")
            );
        }
        // The budget is time; what a site bills is nodes times time.
        let held = match node_hours {
            None => " of the simulated machine's time".to_owned(),
            Some(hours) if hours < 0.1 => " (under 0.1 node-hours)".to_owned(),
            Some(hours) => format!(" ({hours:.1} node-hours)"),
        };
        let rest = self.budget_seconds - spent_seconds;
        if seconds < rest {
            format!(
                "at most about {}{held}; spent: {} of the budget of {}",
                human_duration(seconds),
                human_duration(spent_seconds),
                budget
            )
        } else if spent_seconds > 0.0 {
            format!(
                "up to the rest of the budget, {} of {budget}{held}",
                human_duration(rest),
            )
        } else {
            format!("up to the whole budget of {budget}{held}")
        }
    }
}

/// The warnings about the measuring conditions, before there is a table.
fn measuring_warnings(at: &MeasurementContext) -> impl Iterator<Item = String> {
    at.warnings.iter().map(|warning| match warning {
        Warning::Simulated { machine } => format!(
            "the campaign simulates the machine `{machine}` and measures nothing: its table is not to be deployed"
        ),
        other => other.to_string(),
    })
}

fn describe_driver(driver: Option<&Path>) -> String {
    driver.map_or_else(
        || "none: times are simulated".to_owned(),
        |driver| driver.display().to_string(),
    )
}

fn human_duration(seconds: f64) -> HumanDuration {
    HumanDuration(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

impl Share<'_> {
    fn describe(&self) -> String {
        let sizes = match (self.bytes.first(), self.bytes.last()) {
            _ if !self.has_data => String::new(),
            (Some(first), Some(last)) if first != last => format!(
                ", {} sizes from {} to {} bytes",
                self.bytes.len(),
                format_bytes(*first),
                format_bytes(*last)
            ),
            (Some(only), _) => format!(", {} bytes", format_bytes(*only)),
            _ => String::new(),
        };
        let distributions: Vec<&str> = self.distributions.iter().copied().collect();
        let distributed = match &distributions[..] {
            [] => String::new(),
            names => format!(", {}", names.join(" and ")),
        };
        // Full names, as in campaigns.
        let names = self
            .candidates
            .iter()
            .map(|candidate| candidate.algorithm());
        let mut algorithms: Vec<&str> = names.collect();
        algorithms.dedup();
        format!(
            "{}{sizes}{distributed}, {} of {}: {}",
            format_counted(self.cells, "cell"),
            format_counted(self.candidates.len(), "candidate"),
            format_counted(algorithms.len(), "algorithm"),
            algorithms.join(", ")
        )
    }
}
