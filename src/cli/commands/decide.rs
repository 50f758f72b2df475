use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use table::{Confidence, Deployments, Operators, Table};
use tuner::{Deciding, written_before};
use vocabulary::{Candidate, CandidateParts, CommShape, Library, RankOrder};

use super::stored::StoreArgs;
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Answer;
use crate::values;

/// Decide from a store, and print or write the table
///
/// Compares the candidates of every cell with the library's default and makes rules of the winners; the same store
/// always gives the same table. If the campaign confirms its choices, only candidates that fresh launches confirmed
/// replace the default, and their rules are marked `confirmed`. Candidates that `validate` found slower than the
/// default are not used until newer launches confirm them; the verdicts are in the store, or in the table that
/// --output replaces.
///
/// `colltune schema decide` describes what --json prints.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
    /// Write the table to this file instead of printing it
    #[arg(long, short, value_name = "TABLE")]
    output: Option<PathBuf>,
    /// The largest regret for a shorter table, as a share: neighbouring sizes share a rule if its candidate beats the
    /// default at all of them and is slower than the best by at most this share; by default the campaign's, or 0.01
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    max_regret: Option<f64>,
    /// Decide by exploring launches, without confirmation, as with `confirmation: off`
    #[arg(long)]
    unconfirmed: bool,
    /// Print the rules as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  colltune decide .colltune/quickstart.db
  colltune decide .colltune/quickstart.db --output tables/quickstart.yaml
  colltune decide .colltune/quickstart.db --max-regret 0.03";

impl Args {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        self.store.keep(&[("`--output`", self.output.as_deref())])?;
        let before = self.output.as_deref().map(written_before).transpose()?;
        let deciding = Deciding {
            max_regret: self.max_regret,
            unconfirmed: self.unconfirmed,
            verdicts: before.flatten().map_or_else(Vec::new, |old| old.verdicts),
        };
        let table = self.store.analyse_with(deciding)?.table()?;
        if let Some(path) = &self.output {
            table.save(path)?;
        }
        if self.json {
            console.json(&Rules::of(&table))?;
        } else if let Some(path) = &self.output {
            console.remark(format_args!("{} is written", path.display()))?;
        } else {
            console.print(table.to_yaml().trim_end())?;
        }
        Ok(Answer::Good)
    }
}

/// The rules of a table.
#[derive(JsonSchema, Serialize)]
pub(super) struct Rules<'a> {
    /// The campaign.
    name: &'a str,
    library: &'a Library,
    store: &'a str,
    rules: Vec<Rule<'a>>,
}

/// A rule, which holds from its size up to that of the next rule.
#[derive(JsonSchema, Serialize)]
struct Rule<'a> {
    collective: &'static str,
    #[serde(flatten)]
    shape: CommShape,
    /// The order of ranks on their nodes; null if unknown.
    order: Option<RankOrder>,
    operators: Operators,
    deployment: Deployments,
    /// The size in bytes from which the rule holds.
    from_bytes: u64,
    #[serde(flatten, serialize_with = "in_parts")]
    #[schemars(with = "CandidateParts")]
    candidate: &'a Candidate,
    /// The default's time divided by the candidate's; null for the default.
    speedup: Option<f64>,
    confidence: Confidence,
    /// Whether fresh launches confirmed the candidate.
    confirmed: bool,
}

fn in_parts<S: Serializer>(candidate: &&Candidate, to: S) -> Result<S::Ok, S::Error> {
    candidate.in_parts(to)
}

impl<'a> Rules<'a> {
    fn of(table: &'a Table) -> Self {
        let mut rules = Vec::new();
        for (collective, entries) in &table.collectives {
            for entry in entries {
                rules.extend(entry.rules.iter().map(|rule| Rule {
                    collective: collective.name(),
                    shape: entry.shape,
                    order: entry.order.known(),
                    operators: entry.operators,
                    deployment: entry.deployments,
                    from_bytes: rule.from_bytes,
                    candidate: &rule.candidate,
                    speedup: rule.speedup,
                    confidence: rule.confidence,
                    confirmed: rule.confirmed,
                }));
            }
        }
        Self {
            name: &table.name,
            library: &table.provenance.library,
            store: &table.provenance.store,
            rules,
        }
    }
}
