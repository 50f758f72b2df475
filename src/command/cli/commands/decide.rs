use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;
use table::{Group, Table};
use tuner::{DecisionOverrides, SampleOrigin, load_replaced_table};

use super::stored::StoreArgs;
use super::{Answer, CliError, Console};
use crate::values;

/// Decide from a store, and print or write the table
///
/// Compares the candidates of every cell with the library's default and makes rules of the winners; the same store
/// always gives the same table. If the campaign confirms its choices, only candidates that fresh launches confirmed
/// replace the default, and their rules are marked `confirmed`. Candidates that `validate` found slower than the
/// default are not used until newer launches confirm them; the verdicts are in the store, or in the table that
/// --output replaces. Of a campaign with `pattern: nonblocking`, the rules for nonblocking calls of that table are replaced;
/// otherwise these stay.
///
/// `colltune schema decide` describes what --json prints.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune decide .colltune/quickstart.db
  colltune decide .colltune/quickstart.db --output tables/quickstart.yaml
  colltune decide .colltune/quickstart.db --max-regret 0.03")]
pub(crate) struct DecideArgs {
    #[command(flatten)]
    store: StoreArgs,
    /// Write the table to this file instead of printing it
    #[arg(long, short, value_name = "TABLE")]
    output: Option<PathBuf>,
    /// The largest regret for a shorter table, as a share: neighbouring sizes share a rule if its candidate beats the
    /// default at all of them and is slower than the best by at most this share; by default the campaign's, or 0.01
    #[arg(long, value_name = "SHARE", value_parser = values::parse_share)]
    max_regret: Option<f64>,
    /// Decide by exploring launches, without confirmation, as with `confirmation: off`
    #[arg(long)]
    unconfirmed: bool,
    /// Print the rules as JSON
    #[arg(long)]
    json: bool,
}

impl DecideArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        self.store
            .protect_from(&[("`--output`", self.output.as_deref())])?;
        let before = self
            .output
            .as_deref()
            .map(load_replaced_table)
            .transpose()?
            .flatten();
        let deciding = DecisionOverrides {
            max_regret: self.max_regret,
            unconfirmed: self.unconfirmed,
            verdicts: before
                .as_ref()
                .map_or_else(Vec::new, |old| old.verdicts.clone()),
        };
        let analysis = self.store.analyse_with(deciding)?;
        let table = analysis.table()?;
        let whole = table.clone().join_with_replaced(before.as_ref());
        if let Some(path) = &self.output {
            whole.save(path)?;
        }
        if self.json {
            console.print_json(&Rules::from_table(&analysis.origin, &table))?;
        } else if let Some(path) = &self.output {
            console.remark_written(path)?;
        } else {
            console.print(whole.to_yaml().trim_end())?;
        }
        Ok(Answer::Good)
    }
}

/// The rules of a table.
#[derive(JsonSchema, Serialize)]
pub(super) struct Rules<'a> {
    #[serde(flatten)]
    origin: &'a SampleOrigin,
    /// The rules of all entries of the table.
    rules: Vec<Rule<'a>>,
}

/// A rule, which holds from its size up to that of the next rule.
#[derive(JsonSchema, Serialize)]
struct Rule<'a> {
    #[serde(flatten)]
    group: Group,
    #[serde(flatten)]
    rule: &'a table::Rule,
}

impl<'a> Rules<'a> {
    fn from_table(origin: &'a SampleOrigin, table: &'a Table) -> Self {
        let mut rules = Vec::new();
        for (collective, entries) in &table.collectives {
            for entry in entries {
                let group = Group {
                    collective: *collective,
                    shape: entry.shape,
                    order: entry.order,
                    operators: entry.operators,
                    deployments: entry.deployments,
                };
                let group_rules = entry.rules.iter().map(|rule| Rule { group, rule });
                rules.extend(group_rules);
            }
        }
        Self { origin, rules }
    }
}
