use std::path::PathBuf;

use results::{HeldOut, ModelScore, Score, SplitScores, Worst};
use schemars::JsonSchema;
use serde::Serialize;
use statistics::Interval;
use table::{Deployment, Table};
use tuner::{CampaignAnalysis, SampleOrigin};

use super::grid::grid;
use super::stored::StoreArgs;
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Answer;
use crate::values;

/// Judge decisions at measured points that are held out
///
/// Holds points out, decides from the others alone, and shows how much longer the choices take than the
/// best candidate measured at each point held out: their regret. Every second size is held out, but not
/// the smallest and the largest; then, in turn, each shape between measured ones, with fewer and more
/// nodes or ranks a node. Beside colltune's table stand the library's default, the best single
/// candidate, the fastest one at the next lower size and at the nearest one, and the fastest ones by straight lines,
/// by log-log interpolation and by the fits of candidates that `colltune fit` prints. Points at which the table
/// costs over 5 % more than the default, the measurement at the next lower or the nearest size, or log-log
/// interpolation are listed, with the reason.
///
/// The line below the methods compares the table's mean regret with that of log-log interpolation. Its interval
/// is a bootstrap over launches: 200 times, as many launches as the store has (at least 6) are drawn from these
/// with repetition, and decide and judge; 95 % of the differences lie in the interval. If it does not contain
/// 0, the difference is beyond noise. A table keeps the default where a candidate gains less than the
/// campaign's `materiality` or is not certain to be faster; log-log interpolation takes the fastest, certain or
/// not.
///
/// Then it prints at how many points the times that follow from the machine's parameters are off by more than
/// 30 %, with the parameters of all sizes and with those of every second size at the others, beside simpler
/// models: one line for all messages of a level, lines by size, and these with what exchanges, shifts and fans
/// cost.
///
/// With --table, judges that table instead, for example one that a shorter campaign made: what its
/// choices cost at everything that the store has, beside the library's default.
///
/// `colltune schema evaluate` describes what --json prints.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
    /// Judge this table, made from other measurements, at everything that the store has
    #[arg(long, value_name = "TABLE")]
    table: Option<PathBuf>,
    /// How that table is used: `colltune` has all candidates, `library` only the library's own
    #[arg(long, value_parser = values::deployment(), default_value = "colltune", requires = "table")]
    deployment: Deployment,
    /// Print the regrets as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  colltune evaluate .colltune/quickstart.db
  colltune evaluate .colltune/night.db --table tables/ten-minutes.yaml
  colltune evaluate .colltune/quickstart.db --library mpich-4.0.2 --json";

impl Args {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let analysis = self.store.analyse()?;
        let splits = match &self.table {
            None => analysis.evaluate()?,
            Some(table) => analysis.judge(&Table::load(table)?, self.deployment)?,
        };
        let models = match self.table {
            None => analysis.found.model_scores(),
            Some(_) => Vec::new(),
        };
        if self.json {
            console.json(&Answers {
                origin: &analysis.origin,
                splits: &splits,
                models: &models,
            })?;
        } else {
            console.print(describe(&analysis, &splits, &models))?;
        }
        Ok(Answer::Good)
    }
}

/// What `--json` prints.
#[derive(JsonSchema, Serialize)]
pub(super) struct Answers<'a> {
    #[serde(flatten)]
    origin: &'a SampleOrigin,
    splits: &'a [SplitScores],
    models: &'a [ModelScore],
}

fn describe(analysis: &CampaignAnalysis, splits: &[SplitScores], models: &[ModelScore]) -> String {
    let origin = &analysis.origin;
    let is_of_table = splits.iter().any(|split| split.held_out == HeldOut::All);
    let what = match is_of_table {
        true => "regret of a table",
        false => "regret where nothing was measured",
    };
    let heading = format!("{} with {}: {what}", origin.name, origin.library);
    let parts = splits.iter().map(|split| {
        let scores = grid(
            [
                "method",
                "mean>",
                "median>",
                "maximum>",
                "within 5 %>",
                "points>",
                "mean at all points>?",
                "maximum at",
            ],
            split.scores.iter().map(score_row),
        );
        format!(
            "{}\n{scores}{}{}",
            title(split),
            common(split),
            losses(split)
        )
    });
    let mut parts: Vec<String> = std::iter::once(heading).chain(parts).collect();
    if !models.is_empty() {
        let models = grid(
            ["model", "off by 30 %>", "off, sizes held out>"],
            models.iter().map(model_row),
        );
        parts.push(format!(
            "times that the machine's parameters predict\n{models}"
        ));
    }
    parts.join("\n\n")
}

/// How the table compares with log-log interpolation at the same points: if it knows fewer, and for all collectives
/// together beside noise.
fn common(split: &SplitScores) -> String {
    let Some(common) = split.common else {
        return String::new();
    };
    let mut lines = String::new();
    if common.points < split.points {
        lines = format!(
            "\nat the {} points where the costs of both are known, log-log interpolation costs {}, colltune's table {}",
            common.points,
            percent(Some(common.log_log)),
            percent(Some(common.table))
        );
    }
    let difference = common.difference.filter(|_| split.collective.is_none());
    if let Some(Interval { low, high, .. }) = difference {
        let verdict = match (low > 0.0, high < 0.0) {
            (true, _) => "worse, beyond noise",
            (_, true) => "better, beyond noise",
            _ => "within noise",
        };
        let points = |share: f64| format!("{:+.2}", 100.0 * share);
        lines += &format!(
            "\ncolltune's table minus log-log interpolation: {} percentage points, {} to {} with launches resampled; \
             {verdict}",
            points(common.table - common.log_log),
            points(low),
            points(high)
        );
    }
    lines
}

/// Points at which the table loses that are told, of each split.
const MOST_TOLD: usize = 5;

/// Where and why the table loses, for all collectives together.
fn losses(split: &SplitScores) -> String {
    let losses = &split.losses;
    if losses.is_empty() || split.collective.is_some() {
        return String::new();
    }
    let mut lines = vec![format!(
        "\ncolltune's table costs over 5 % more than a simpler method at {} of {} points{}",
        losses.len(),
        split.points,
        if losses.len() > MOST_TOLD {
            "; most at"
        } else {
            ":"
        }
    )];
    lines.extend(losses.iter().take(MOST_TOLD).map(|loss| {
        let Worst {
            cell,
            chosen,
            regret,
        } = &loss.table;
        format!(
            "  {cell}: {chosen} costs {}, {} by {} {}; {}",
            percent(Some(*regret)),
            loss.better,
            loss.method,
            percent(Some(loss.better_regret)),
            loss.reason
        )
    }));
    lines.join("\n")
}

fn title(split: &SplitScores) -> String {
    let collective = match split.collective {
        Some(collective) => format!("{collective}, "),
        None => String::new(),
    };
    let points = match split.points {
        1 => "1 point".to_owned(),
        points => format!("{points} points"),
    };
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

fn model_row(score: &ModelScore) -> [String; 3] {
    let of = |wrong: usize, points: usize, share| {
        format!("{wrong} of {points} ({})", percent(Some(share)))
    };
    [
        score.model.name().to_owned(),
        of(score.wrong, score.points, score.share()),
        of(
            score.wrong_held_out,
            score.points_held_out,
            score.share_held_out(),
        ),
    ]
}

fn score_row(score: &Score) -> [String; 8] {
    let worst = score.worst.as_ref();
    // A maximum of 0 is everywhere.
    let place = worst.filter(|worst| worst.regret > 0.0);
    [
        score.method.to_string(),
        percent(score.mean),
        percent(score.median),
        percent(worst.map(|worst| worst.regret)),
        percent(score.within),
        score.points.to_string(),
        match score.mean_everywhere {
            Some(mean) => percent(Some(mean)),
            None => String::new(),
        },
        place.map_or_else(String::new, |worst| worst.cell.to_string()),
    ]
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", 100.0 * share))
}
