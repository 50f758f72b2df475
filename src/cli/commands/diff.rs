use std::path::PathBuf;

use serde_json::{Value, json};
use table::{Change, Choice, DefaultChange, Diff, Group, Operators, Side, Table};
use vocabulary::units::format_bytes;

use super::grid::grid;
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Answer;

/// Show what changed between two tables, and what each change is worth
///
/// Ranges of sizes in which the tables choose differently on shapes that both have; shapes that only
/// one has; and how the times of the library's default differ where both measured them. What a change
/// is worth is the speed-up over the default that AFTER expects, divided by the one that BEFORE
/// expects, each by its own measurements: above 1 the new choice promises more. What the old choice
/// would take today is in the store: `colltune explain`.
///
/// With --json, prints one object: `before` and `after`, each with `table`, `library`, `date`,
/// `launches` and `campaign`; `changes`, each with `collective`, `nodes`, `ppn`, `order` (of ranks:
/// `block`, `cyclic`, `other`), `operators` (`any`, `commutative`, `noncommutative`), `deployment`
/// (`any`, `colltune`, `library`), `from_bytes`,
/// `below_bytes` (null without end), `before` and `after` (each `candidate`, `algorithm`,
/// `parameters`, `speedup`, `confidence`) and `worth`; `only_in_one`, each with the same place and
/// `side` (`before`, `after`); `defaults`, each with `collective`, `points`, `mean` (time after divided
/// by time before), `extreme`, and its `nodes`, `ppn`, `bytes`. Unknown values are null.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The earlier table
    #[arg(value_name = "BEFORE")]
    before: PathBuf,
    /// The later table
    #[arg(value_name = "AFTER")]
    after: PathBuf,
    /// Exit with 1 if the tables decide differently anywhere
    #[arg(long)]
    exit_code: bool,
    /// Print the differences as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  colltune diff tables/last-year.yaml tables/cluster.yaml
  colltune diff tables/a.yaml tables/b.yaml --exit-code --json";

impl Args {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let before = Table::load(&self.before)?;
        let after = Table::load(&self.after)?;
        let diff = before.diff(&after);
        if self.json {
            console.json(&self.to_json([&before, &after], &diff))?;
        } else {
            console.print(self.describe([&before, &after], &diff))?;
        }
        match self.exit_code && !diff.is_empty() {
            true => Ok(Answer::No),
            false => Ok(Answer::Good),
        }
    }

    fn describe(&self, [before, after]: [&Table; 2], diff: &Diff) -> String {
        let origin = |path: &PathBuf, table: &Table| {
            let of = &table.provenance;
            format!(
                "{}: {}, {}, {} launches",
                path.display(),
                of.library,
                of.date,
                of.launches
            )
        };
        let mut parts = vec![format!(
            "before  {}\nafter   {}",
            origin(&self.before, before),
            origin(&self.after, after)
        )];
        parts.push(match diff.changes.len() {
            0 => "Where both have rules they choose alike.".to_owned(),
            _ => format!("{}\n\n{}", changes(&diff.changes), verdict(&diff.changes)),
        });
        for (side, name) in [(Side::Before, "before"), (Side::After, "after")] {
            let only: Vec<String> = diff
                .only_in_one
                .iter()
                .filter(|only| only.side == side)
                .map(|only| place(&only.group))
                .collect();
            if !only.is_empty() {
                parts.push(format!("Rules only {name}: {}.", only.join("; ")));
            }
        }
        if !diff.defaults.is_empty() {
            let heading = "Time of the library's default, after divided by before:";
            parts.push(format!("{heading}\n{}", defaults(&diff.defaults)));
        }
        parts.join("\n\n")
    }

    fn to_json(&self, [before, after]: [&Table; 2], diff: &Diff) -> Value {
        let origin = |path: &PathBuf, table: &Table| {
            json!({
                "table": path,
                "library": table.provenance.library,
                "date": table.provenance.date,
                "launches": table.provenance.launches,
                "campaign": table.provenance.campaign,
            })
        };
        let only = diff.only_in_one.iter().map(|only| {
            let mut value = group_json(&only.group);
            value["side"] = json!(only.side);
            value
        });
        let defaults = diff.defaults.iter().map(|change| {
            json!({
                "collective": change.collective.name(),
                "points": change.points,
                "mean": change.mean,
                "extreme": change.extreme,
                "nodes": change.shape.nodes,
                "ppn": change.shape.ppn,
                "bytes": change.bytes,
            })
        });
        json!({
            "before": origin(&self.before, before),
            "after": origin(&self.after, after),
            "changes": diff.changes.iter().map(change_json).collect::<Vec<_>>(),
            "only_in_one": only.collect::<Vec<_>>(),
            "defaults": defaults.collect::<Vec<_>>(),
        })
    }
}

fn changes(changes: &[Change]) -> String {
    let rows = changes.iter().map(|change| {
        let Group {
            collective,
            shape,
            order,
            operators,
            deployments,
        } = change.group;
        let order = order.told_on(shape);
        [
            collective.to_string(),
            shape.to_string(),
            order.map_or_else(String::new, |order| order.to_string()),
            match operators {
                Operators::Any => String::new(),
                class => class.to_string(),
            },
            deployments.to_string(),
            format_bytes(change.from_bytes),
            change
                .below_bytes
                .map_or_else(|| "-".to_owned(), format_bytes),
            choice(&change.before),
            choice(&change.after),
            times(change.worth),
        ]
    });
    grid(
        [
            "collective",
            "shape",
            "order?",
            "operators?",
            "deployment",
            "from>",
            "below>",
            "before",
            "after",
            "worth>",
        ],
        rows,
    )
}

/// How many changes promise more and how many less.
fn verdict(changes: &[Change]) -> String {
    let count = |is: fn(f64) -> bool| {
        let worth = changes.iter().filter_map(|change| change.worth);
        worth.filter(|worth| is(*worth)).count()
    };
    let ranges = match changes.len() {
        1 => "1 range changed".to_owned(),
        many => format!("{many} ranges changed"),
    };
    format!(
        "{ranges}: {} promise more over the default than before, {} less.",
        count(|worth| worth > 1.0),
        count(|worth| worth < 1.0)
    )
}

fn choice(choice: &Choice) -> String {
    match choice.candidate.id() {
        "default" => "default".to_owned(),
        _ => format!("{} ({})", choice.candidate, times(choice.speedup)),
    }
}

fn times(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "unknown".to_owned(), |ratio| format!("{ratio:.2}x"))
}

fn place(group: &Group) -> String {
    let mut text = format!("{} on {}", group.collective, group.shape);
    if let Some(order) = group.order.told_on(group.shape) {
        text.push_str(&format!(" in {order} order"));
    }
    if group.operators != Operators::Any {
        text.push_str(&format!(", {} operators", group.operators));
    }
    match group.deployments {
        table::Deployments::Any => {}
        deployment => text.push_str(&format!(", deployment {deployment}")),
    }
    text
}

fn defaults(defaults: &[DefaultChange]) -> String {
    let rows = defaults.iter().map(|change| {
        [
            change.collective.to_string(),
            times(Some(change.mean)),
            times(Some(change.extreme)),
            format!("{} on {}", format_bytes(change.bytes), change.shape),
            change.points.to_string(),
        ]
    });
    grid(
        ["collective", "mean>", "farthest from 1>", "at", "points>"],
        rows,
    )
}

fn group_json(group: &Group) -> Value {
    json!({
        "collective": group.collective.name(),
        "nodes": group.shape.nodes,
        "ppn": group.shape.ppn,
        "order": group.order.known(),
        "operators": group.operators.name(),
        "deployment": group.deployments.name(),
    })
}

fn change_json(change: &Change) -> Value {
    let choice = |choice: &Choice| {
        json!({
            "candidate": choice.candidate.to_string(),
            "algorithm": choice.candidate.id(),
            "parameters": choice.candidate.parameters(),
            "speedup": choice.speedup,
            "confidence": choice.confidence,
        })
    };
    let mut value = group_json(&change.group);
    value["from_bytes"] = json!(change.from_bytes);
    value["below_bytes"] = json!(change.below_bytes);
    value["before"] = choice(&change.before);
    value["after"] = choice(&change.after);
    value["worth"] = json!(change.worth);
    value
}
