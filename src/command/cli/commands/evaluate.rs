use std::path::PathBuf;

use report::text_table;
use results::{HeldOut, ModelScore, Score, SplitScores, Worst};
use schemars::JsonSchema;
use serde::Serialize;
use statistics::Interval;
use table::Deployment;
use tuner::SampleOrigin;
use vocabulary::units::format_counted;

use super::in_force::JudgedTable;
use super::stored::StoreArgs;
use super::{Answer, CliError, Console};
use crate::values;

/// Evaluate decisions at measured points that are held out
///
/// Holds points out, decides from the others, and shows the regret of the choices: their extra time over the best
/// candidate measured at each held-out point. Holds out every second size, except the smallest and the largest; then,
/// in turn, each shape between measured ones, with fewer and more nodes or ranks per node. Compares colltune's table
/// with the library's default, the best single candidate, the fastest candidate at the next lower and at the nearest
/// size, and the fastest by straight lines, by log-log interpolation and by the fits of candidates that `colltune fit`
/// prints. Lists the points at which the table takes over 5 % longer than the default, the measurement at the next
/// lower or the nearest size, or log-log interpolation, with the reason.
///
/// The line below the methods compares the table's mean regret with that of log-log interpolation. The interval is a
/// bootstrap over launches (at least 6): 200 times, launches are drawn at random with replacement; each draw is decided
/// from and judged by itself; 95 % of the differences lie in the interval. If it does not contain 0, the difference is
/// beyond noise. A table keeps the default if a candidate gains less than the campaign's `materiality` or is not
/// certain to be faster; log-log interpolation takes the fastest candidate in any case.
///
/// Then prints the number of points at which times predicted from the machine's parameters are off by more than 30 %,
/// for parameters fitted to all sizes, and for parameters fitted to every second size at the other sizes. Simpler
/// models are shown for comparison: one line for all messages of a level, lines by size, and these with the costs of
/// exchanges, shifts and fans.
///
/// With --table, judges that table instead, for example one from a shorter campaign: the regret of its choices at all
/// points of the store, beside that of the library's default.
///
/// `colltune schema evaluate` describes what --json prints.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune evaluate .colltune/quickstart.db
  colltune evaluate .colltune/night.db --table tables/ten-minutes.yaml
  colltune evaluate .colltune/quickstart.db --library mpich-4.0.2 --json")]
pub(crate) struct EvaluateArgs {
    #[command(flatten)]
    store: StoreArgs,
    /// Judge this table, made from other measurements, at all points of the store
    #[arg(long, value_name = "TABLE")]
    table: Option<PathBuf>,
    /// The deployment of that table: `colltune` for all candidates, `library` for the library's own
    #[arg(long, value_parser = values::deployment_parser(), default_value = "colltune", requires = "table")]
    deployment: Deployment,
    /// Print the regrets as JSON
    #[arg(long)]
    json: bool,
}

impl EvaluateArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let analysis = self.store.analyse()?;
        let splits = match &self.table {
            None => analysis.score_held_out_points()?,
            Some(table) => {
                let mut table = JudgedTable::read(table, None, console)?.table;
                // What `validate` found slower is not in force.
                table.turn_back_refuted();
                analysis.score_table(&table, self.deployment)?
            }
        };
        let models = match self.table {
            None => analysis.found.model_scores(),
            Some(_) => Vec::new(),
        };
        let answers = EvaluateOutput {
            origin: &analysis.origin,
            splits: &splits,
            models: &models,
        };
        console.print_answer(self.json, &answers, || describe_scores(&answers))
    }
}

/// The output of `--json`.
#[derive(JsonSchema, Serialize)]
pub(super) struct EvaluateOutput<'a> {
    #[serde(flatten)]
    origin: &'a SampleOrigin,
    /// The scores of the methods, for each way to hold points out.
    splits: &'a [SplitScores],
    /// The errors of the times predicted from the machine's parameters, for each model.
    models: &'a [ModelScore],
}

fn describe_scores(answers: &EvaluateOutput<'_>) -> String {
    let EvaluateOutput {
        origin,
        splits,
        models,
    } = answers;
    let is_of_table = splits.iter().any(|split| split.held_out == HeldOut::All);
    let what = if is_of_table {
        "regret of a table"
    } else {
        "regret at points held out from the decision"
    };
    let heading = format!("{} with {}: {what}", origin.name, origin.library);
    let parts = splits.iter().map(|split| {
        let scores = text_table(
            "method | mean> | median> | maximum> | within 5 %> | points> | \
             mean at all points>? | maximum at",
            split.scores.iter().map(score_row),
        )
        .to_text();
        format!(
            "{}\n{scores}{}{}",
            split_title(split),
            compare_with_log_log(split),
            describe_losses(split)
        )
    });
    let mut parts: Vec<String> = std::iter::once(heading).chain(parts).collect();
    if !models.is_empty() {
        let models = text_table(
            "model | off by 30 %> | off, sizes held out>",
            models.iter().map(model_row),
        )
        .to_text();
        parts.push(format!(
            "times that the machine's parameters predict\n{models}"
        ));
    }
    parts.join("\n\n")
}

/// Lines that compare the table with log-log interpolation at the same points: the mean regrets if these are known at
/// fewer points, and for all collectives together the difference with its interval.
fn compare_with_log_log(split: &SplitScores) -> String {
    let Some(common) = split.common else {
        return String::new();
    };
    let mut lines = String::new();
    if common.points < split.points {
        lines = format!(
            "\nboth regrets are known at {}: there log-log interpolation has {}, colltune's table {}",
            format_counted(common.points, "point"),
            format_percent(Some(common.log_log)),
            format_percent(Some(common.table))
        );
    }
    let difference = common.difference.filter(|_| split.collective.is_none());
    if let Some(Interval { low, high, .. }) = difference {
        let verdict = match (low > 0.0, high < 0.0) {
            (true, _) => "worse, beyond noise",
            (_, true) => "better, beyond noise",
            _ => "within noise",
        };
        let percentage_points = |share: f64| format!("{:+.2}", 100.0 * share);
        lines += &format!(
            "\ncolltune's table minus log-log interpolation: {} percentage points, {} to {} with launches resampled; \
             {verdict}",
            percentage_points(common.table - common.log_log),
            percentage_points(low),
            percentage_points(high)
        );
    }
    lines
}

/// The most points of a split that are listed because the table loses there.
const MOST_LOSSES: usize = 5;

/// The points at which the table loses and the reasons, for all collectives together.
fn describe_losses(split: &SplitScores) -> String {
    let losses = &split.losses;
    if losses.is_empty() || split.collective.is_some() {
        return String::new();
    }
    let mut lines = vec![format!(
        "\ncolltune's table takes over 5 % longer than a simpler method at {} of {}{}",
        losses.len(),
        format_counted(split.points, "point"),
        if losses.len() > MOST_LOSSES {
            "; most at"
        } else {
            ":"
        }
    )];
    lines.extend(losses.iter().take(MOST_LOSSES).map(|loss| {
        let Worst {
            cell,
            chosen,
            regret,
        } = &loss.table;
        format!(
            "  {cell}: {chosen} has a regret of {}, {} (by {}) of {}; {}",
            format_percent(Some(*regret)),
            loss.better,
            loss.method,
            format_percent(Some(loss.better_regret)),
            loss.reason
        )
    }));
    lines.join("\n")
}

fn split_title(split: &SplitScores) -> String {
    let collective = match split.collective {
        Some(collective) => format!("{collective}, "),
        None => String::new(),
    };
    let points = format_counted(split.points, "point");
    match (split.held_out, split.decided_on) {
        (HeldOut::Sizes, Some(others)) => {
            format!("{collective}every second size held out: {points}, decided on {others} others")
        }
        (HeldOut::Sizes, None) => format!("{collective}every second size held out: {points}"),
        (HeldOut::Shapes, _) => {
            format!("{collective}each shape between others held out in turn: {points}")
        }
        (HeldOut::All, _) => format!("{collective}the table at all points measured here: {points}"),
    }
}

fn share_of_points(wrong: usize, points: usize, share: f64) -> String {
    format!("{wrong} of {points} ({})", format_percent(Some(share)))
}

fn model_row(score: &ModelScore) -> [String; 3] {
    [
        score.model.name().to_owned(),
        share_of_points(score.wrong, score.points, score.wrong_share),
        share_of_points(
            score.wrong_held_out,
            score.points_held_out,
            score.wrong_held_out_share,
        ),
    ]
}

fn score_row(score: &Score) -> [String; 8] {
    let worst = score.worst.as_ref();
    // A maximum of 0 has no particular place.
    let place = worst.filter(|worst| worst.regret > 0.0);
    [
        score.method.to_string(),
        format_percent(score.mean),
        format_percent(score.median),
        format_percent(worst.map(|worst| worst.regret)),
        format_percent(score.within),
        score.points.to_string(),
        match score.mean_everywhere {
            Some(mean) => format_percent(Some(mean)),
            None => String::new(),
        },
        place.map_or_else(String::new, |maximum| maximum.cell.to_string()),
    ]
}

fn format_percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", 100.0 * share))
}
