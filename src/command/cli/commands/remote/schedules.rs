use answers::{
    Digest, Overrides, PauseRequest, Schedule, ScheduleDefinition, ScheduleEvents,
    ScheduledChannel, TaskKind, TaskRequest,
};
use client::{Ask, RemoteError, encode_query};
use report::text_table;
use serde_json::{Value, json};
use table::Deployment;

use super::{Answer, CliError, RemoteSession};
use crate::values;

/// List schedules
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  colltune remote schedules --machine cluster")]
pub(super) struct SchedulesArgs {
    /// Only schedules of this machine
    #[arg(long)]
    machine: Option<String>,
}

impl SchedulesArgs {
    pub(super) fn run(&self, asking: &RemoteSession) -> Result<Answer, CliError> {
        let machine = self.machine.as_deref().map(|name| ("machine", name));
        let path = format!("/schedules{}", encode_query(machine.as_slice()));
        let (answer, schedules): (Value, Vec<Schedule>) =
            asking.remote.request_as(Ask::get(&path))?;
        asking.print_answer(&answer, || {
            let columns =
                "schedule | machine | does | times? | next? | paused by? | failures> | task>?";
            text_table(columns, schedules.iter().map(schedule_row)).to_text()
        })
    }
}

fn schedule_row(schedule: &Schedule) -> [String; 8] {
    let ScheduleDefinition { task, times, .. } = &schedule.definition;
    let next = schedule.next_at.map(|at| at.to_string());
    let pause = schedule.paused.as_ref();
    let pause = pause.map(|pause| format!("{}: {}", pause.by, pause.reason));
    let last_task = schedule.last_task.map(|id| id.to_string());
    [
        schedule.name.clone(),
        task.machine.clone().unwrap_or_default(),
        task.kind.to_string(),
        times.clone().unwrap_or_default(),
        next.unwrap_or_default(),
        pause.unwrap_or_default(),
        schedule.failures.to_string(),
        last_task.unwrap_or_default(),
    ]
}

/// Make or replace a schedule, which submits a task at times and after events
///
/// Times and windows are those of the service's time zone. Times have the five fields of cron: minute, hour, day of the
/// month, month, day of the week. While a task of the schedule waits or runs, the schedule submits no other one; times
/// that came while the service did not run are made up for by one task. After three failures in a row the schedule
/// pauses itself.
///
/// Needs a token with the scope submit for the machine.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune remote schedule nightly check --machine cluster --channel openmpi-4.1.4/production --times '30 2 * * *' \
   --window 22:00-06:00 --on suspicion
  colltune remote schedule monthly tune --campaign tuning/night.yaml --age-days 30 --window 'Sat,Sun 00:00-24:00'")]
pub(super) struct ScheduleArgs {
    /// The name: 1 to 64 of a-z, digits, `-`, `_` and `.`
    name: String,
    /// The kind of task
    #[arg(value_name = "KIND", value_parser = values::task_kind_parser())]
    kind: TaskKind,
    /// The machine; optional if the service has only one
    #[arg(long)]
    machine: Option<String>,
    /// The campaign, by its path in the service's folder: as for submit
    #[arg(long, value_name = "PATH")]
    campaign: Option<String>,
    /// The channel whose released table is measured: for validate and check
    #[arg(long, value_name = "LIBRARY/CHANNEL", value_parser = parse_channel, conflicts_with = "table")]
    channel: Option<ScheduledChannel>,
    /// The digest of the table that is measured: for validate and check
    #[arg(long, value_name = "DIGEST")]
    table: Option<Digest>,
    /// The decisions to measure: as for submit
    #[arg(long, value_parser = values::deployment_parser())]
    deployment: Option<Deployment>,
    /// The budget, as in 10m; by default the campaign's
    #[arg(long, value_name = "DURATION")]
    budget: Option<String>,
    /// Times, as in `30 2 * * mon-fri`
    #[arg(long, value_name = "CRON")]
    times: Option<String>,
    /// Events: another fingerprint of the machine, or points of a trend that suggest a change
    #[arg(long, value_name = "EVENT", value_delimiter = ',', value_parser = ["fingerprint", "suspicion"])]
    on: Vec<String>,
    /// Days after the last tuning of the campaign at which it is tuned again: for tune
    #[arg(long, value_name = "DAYS")]
    age_days: Option<u32>,
    /// A window in which the task may start, as in 22:00-06:00 or `Sat,Sun 00:00-24:00`; by default any time
    #[arg(long, value_name = "WINDOW")]
    window: Vec<String>,
    /// Do it only if the schedule is at this revision, 0 for a new one; by default, only if it does not change meanwhile
    #[arg(long, value_name = "NUMBER")]
    expect: Option<u64>,
}

fn parse_channel(text: &str) -> Result<ScheduledChannel, String> {
    let wrong = || "write LIBRARY/CHANNEL, as in openmpi-4.1.4/production".to_owned();
    let (library, channel) = text.split_once('/').ok_or_else(wrong)?;
    Ok(ScheduledChannel {
        library: library.to_owned(),
        channel: channel.parse().map_err(|_| wrong())?,
    })
}

impl ScheduleArgs {
    pub(super) fn run(&self, asking: &RemoteSession) -> Result<Answer, CliError> {
        let body = json!(self.to_definition());
        let path = schedule_path(&self.name);
        let tag = match self.expect {
            Some(0) => None,
            Some(revision) => Some(format!("\"{revision}\"")),
            None => schedule_etag(asking, &path)?,
        };
        let ask = match &tag {
            Some(tag) => Ask::put(&path, &body).with_header("if-match", tag),
            None => Ask::put(&path, &body).with_header("if-none-match", "*"),
        };
        print_schedule(asking, ask)
    }

    fn to_definition(&self) -> ScheduleDefinition {
        let has_event = |name: &str| self.on.iter().any(|event| event == name);
        ScheduleDefinition {
            task: TaskRequest {
                kind: self.kind,
                machine: self.machine.clone(),
                campaign: self.campaign.clone(),
                table: self.table.clone(),
                deployment: self.deployment,
                overrides: Overrides {
                    budget: self.budget.clone(),
                    ..Overrides::default()
                },
            },
            channel: self.channel.clone(),
            times: self.times.clone(),
            events: ScheduleEvents {
                fingerprint: has_event("fingerprint"),
                suspicion: has_event("suspicion"),
                age_days: self.age_days,
            },
            windows: self.window.clone(),
        }
    }
}

/// Sends a request whose answer is a schedule, and prints it.
fn print_schedule(asking: &RemoteSession, ask: Ask<'_>) -> Result<Answer, CliError> {
    if asking.json {
        // It is done whether or not this version understands all of the answer.
        let answer = asking.remote.request_json(ask)?;
        return asking.print_answer(&answer, String::new);
    }
    let (answer, schedule): (Value, Schedule) = asking.remote.request_as(ask)?;
    asking.print_answer(&answer, || describe_schedule(&schedule))
}

/// A schedule on one line.
fn describe_schedule(schedule: &Schedule) -> String {
    let Schedule { name, revision, .. } = schedule;
    let state = match (&schedule.paused, schedule.next_at) {
        (Some(pause), _) => format!("is paused by {}: {}", pause.by, pause.reason),
        (None, Some(at)) => format!("comes next at {at}"),
        (None, None) => "waits for an event".to_owned(),
    };
    format!("schedule {name} {state} (revision {revision})")
}

fn schedule_path(name: &str) -> String {
    format!("/schedules/{}", client::encode_step(name))
}

/// The schedule's ETag; `None` if there is no such schedule.
fn schedule_etag(asking: &RemoteSession, path: &str) -> Result<Option<String>, CliError> {
    match asking.remote.request_json_with_etag(Ask::get(path)) {
        Ok((_, tag)) => Ok(tag),
        Err(RemoteError::Refused { problem, .. }) if problem.status == 404 => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Pause a schedule
///
/// It submits nothing until it is resumed, and its waiting tasks do not start. Running tasks go on.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  colltune remote pause nightly --reason 'maintenance until Monday'")]
pub(super) struct PauseArgs {
    /// The schedule's name
    name: String,
    /// The reason, for others
    #[arg(long)]
    reason: String,
}

impl PauseArgs {
    pub(super) fn run(&self, asking: &RemoteSession) -> Result<Answer, CliError> {
        change_pause(asking, &self.name, &self.reason, "pause")
    }
}

/// Resume a paused schedule
///
/// Times and events during the pause are left out, and failures before it are forgotten.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  colltune remote resume nightly --reason 'maintenance is over'")]
pub(super) struct ResumeArgs {
    /// The schedule's name
    name: String,
    /// The reason, for others
    #[arg(long)]
    reason: String,
}

impl ResumeArgs {
    pub(super) fn run(&self, asking: &RemoteSession) -> Result<Answer, CliError> {
        change_pause(asking, &self.name, &self.reason, "resume")
    }
}

fn change_pause(
    asking: &RemoteSession,
    name: &str,
    reason: &str,
    verb: &str,
) -> Result<Answer, CliError> {
    let reason = reason.to_owned();
    let body = json!(PauseRequest { reason });
    let path = format!("{}/{verb}", schedule_path(name));
    print_schedule(asking, Ask::post(&path, &body))
}

/// Remove a schedule; its tasks stay
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  colltune remote unschedule nightly")]
pub(super) struct UnscheduleArgs {
    /// The schedule's name
    name: String,
    /// Do it only if the schedule is at this revision; by default at any
    #[arg(long, value_name = "NUMBER")]
    expect: Option<u64>,
}

impl UnscheduleArgs {
    pub(super) fn run(&self, asking: &RemoteSession) -> Result<Answer, CliError> {
        let path = schedule_path(&self.name);
        let tag = match self.expect {
            Some(revision) => format!("\"{revision}\""),
            None => "*".to_owned(),
        };
        let ask = Ask::delete(&path).with_header("if-match", &tag);
        let answer = asking.remote.request_json(ask)?;
        asking.print_answer(&answer, || format!("schedule {} is removed", self.name))
    }
}
