use answers::{
    ChangeControl, FindingCause, FindingState, FoundChange, ListedFinding, Page, TrendFinding,
    TrendQuantity, Triage,
};
use client::{Ask, encode_query};
use report::text_table;
use serde_json::{Value, json};
use vocabulary::units::format_seconds;

use super::{Answer, CliError, RemoteSession};
use crate::values;

/// List findings, newest first
///
/// A finding is a change of the times that checks and validations measure, from night to night.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  colltune remote findings --state open --machine cluster")]
pub(super) struct FindingsArgs {
    /// Only findings in this state
    #[arg(long, value_parser = values::finding_state_parser())]
    state: Option<FindingState>,
    /// Only findings of this machine
    #[arg(long)]
    machine: Option<String>,
    /// Only findings before this one
    #[arg(long, value_name = "ID")]
    before: Option<u64>,
    /// The most findings
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: u32,
}

impl FindingsArgs {
    pub(super) fn run(&self, asking: &RemoteSession) -> Result<Answer, CliError> {
        let (before, limit) = (self.before.map(|id| id.to_string()), self.limit.to_string());
        let state = self.state.map(|state| state.to_string());
        let values = [
            ("state", state.as_deref()),
            ("machine", self.machine.as_deref()),
            ("before", before.as_deref()),
            ("limit", Some(&*limit)),
        ];
        let given = values
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)));
        let path = format!("/findings{}", encode_query(&given.collect::<Vec<_>>()));
        let (answer, page): (Value, Page<ListedFinding>) =
            asking.remote.request_as(Ask::get(&path))?;
        asking.print_answer(&answer, || {
            let columns = "finding> | state | what | machine | library | found | changes>";
            let mut list = text_table(columns, page.items.iter().map(finding_row)).to_text();
            if let Some(next) = page.next {
                list += &format!("\nthere are more: --before {next}");
            }
            list
        })
    }
}

fn finding_row(finding: &ListedFinding) -> [String; 7] {
    [
        finding.id.to_string(),
        finding.state.to_string(),
        describe_change(finding.cause, finding.slower).to_owned(),
        finding.machine.clone(),
        finding.library.clone(),
        finding.found_at.to_string(),
        finding.changes.to_string(),
    ]
}

/// What was found, in a few words.
fn describe_change(cause: FindingCause, slower: bool) -> &'static str {
    match (cause, slower) {
        (FindingCause::Algorithm, true) => "choice slower",
        (FindingCause::Algorithm, false) => "choice faster",
        (FindingCause::Machine, true) => "machine slower",
        (FindingCause::Machine, false) => "machine faster",
    }
}

/// Show a finding: its changes, and what was decided about it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  colltune remote finding 3")]
pub(super) struct FindingArgs {
    /// The finding's number
    id: u64,
}

impl FindingArgs {
    pub(super) fn run(&self, asking: &RemoteSession) -> Result<Answer, CliError> {
        let path = format!("/findings/{}", self.id);
        let (answer, finding): (Value, TrendFinding) = asking.remote.request_as(Ask::get(&path))?;
        asking.print_answer(&answer, || describe_finding(&finding))
    }
}

/// A finding with its changes and decisions.
fn describe_finding(finding: &TrendFinding) -> String {
    let mut lines = vec![format!(
        "finding {} ({}) on {} with {}: {}",
        finding.id,
        finding.state,
        finding.machine,
        finding.library,
        describe_change(finding.cause, finding.slower)
    )];
    let columns = "series> | name | what | before> | after> | control | since";
    let changes = finding.changes.iter().map(change_row);
    lines.push(text_table(columns, changes).to_text());
    for note in &finding.notes {
        lines.push(format!(
            "{} {}: {}, {}",
            note.at, note.actor, note.state, note.reason
        ));
    }
    lines.join("\n")
}

fn change_row(change: &FoundChange) -> [String; 7] {
    let value = |value| match change.quantity {
        TrendQuantity::Ratio => format!("{value:.3}"),
        TrendQuantity::Default => format_seconds(value),
    };
    let what = match change.quantity {
        TrendQuantity::Ratio => "time / default's",
        TrendQuantity::Default => "default's time",
    };
    [
        change.series.to_string(),
        change.name.clone(),
        what.to_owned(),
        value(change.before),
        value(change.after),
        change
            .control
            .as_ref()
            .map_or_else(String::new, describe_control),
        change.began_at.to_string(),
    ]
}

/// What another table's choice for the same call did meanwhile.
fn describe_control(control: &ChangeControl) -> String {
    let ChangeControl {
        chosen,
        before,
        after,
        ..
    } = control;
    format!("{chosen}: {before:.3}, then {after:.3}")
}

/// Decide about a finding
///
/// Needs a token with the scope publish for the finding's machine. The decision and its reason stay, and are in the
/// audit.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune remote triage 3 acknowledged --reason 'see ticket 12'
  colltune remote triage 3 accepted --reason 'new switch'")]
pub(super) struct TriageArgs {
    /// The finding's number
    id: u64,
    /// The decision: acknowledged (a person examines the cause), accepted (this is the new level), fixed (the reason is
    /// gone), invalid (no change of the machine or the table), or open again
    #[arg(value_name = "STATE", value_parser = values::finding_state_parser())]
    state: FindingState,
    /// The reason, for others
    #[arg(long)]
    reason: String,
}

impl TriageArgs {
    pub(super) fn run(&self, asking: &RemoteSession) -> Result<Answer, CliError> {
        let body = json!(Triage {
            state: self.state,
            reason: self.reason.clone(),
        });
        let path = format!("/findings/{}", self.id);
        let answer = asking.remote.request_json(Ask::patch(&path, &body))?;
        asking.print_answer(&answer, || format!("finding {} is {}", self.id, self.state))
    }
}
