use answers::ListedMachine;
use client::Ask;
use jiff::Timestamp;
use report::text_table;
use serde_json::Value;
use vocabulary::units::format_counted;

use super::{Answer, CliError, RemoteSession};

/// List the machines, and when their agents were last heard
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  colltune remote machines")]
pub(super) struct MachinesArgs {}

impl MachinesArgs {
    pub(super) fn run(&self, asking: &RemoteSession) -> Result<Answer, CliError> {
        let (answer, machines): (Value, Vec<ListedMachine>) =
            asking.remote.request_as(Ask::get("/machines"))?;
        asking.print_answer(&answer, || {
            let now = Timestamp::now();
            let columns =
                "machine | campaigns | node-hours this month> | of?> | agent? | last heard?";
            let rows = machines.iter().map(|machine| machine_row(machine, now));
            text_table(columns, rows).to_text()
        })
    }
}

fn machine_row(machine: &ListedMachine, now: Timestamp) -> [String; 6] {
    let host = machine.agent.as_ref().map(|agent| agent.host.clone());
    let heard = machine.agent.as_ref();
    let heard = heard.map(|agent| format_age(now.as_second() - agent.heard_at.as_second()));
    let never = if machine.has_agent { "never" } else { "" };
    [
        machine.name.clone(),
        machine.campaigns.join(", "),
        format!("{:.1}", machine.node_hours_this_month),
        machine
            .node_hours
            .map_or_else(String::new, |most| most.to_string()),
        host.unwrap_or_default(),
        heard.unwrap_or_else(|| never.to_owned()),
    ]
}

/// A time in the past, by its distance in seconds.
fn format_age(seconds: i64) -> String {
    let minutes = seconds / 60;
    match minutes {
        ..1 => "just now".to_owned(),
        1..60 => format!("{minutes} min ago"),
        60..1440 => format!("{} ago", format_counted(minutes / 60, "hour")),
        _ => format!("{} ago", format_counted(minutes / 1440, "day")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_one_unit() {
        for (seconds, expected) in [
            (-5, "just now"),
            (59, "just now"),
            (190, "3 min ago"),
            (7199, "1 hour ago"),
            (3 * 86_400, "3 days ago"),
        ] {
            assert_eq!(format_age(seconds), expected, "{seconds}");
        }
    }
}
