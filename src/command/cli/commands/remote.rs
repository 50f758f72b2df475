mod findings;
mod lookup;
mod machines;
mod release;
mod schedules;
mod submit;
mod tasks;
mod tokens;
mod webhooks;

use client::{Remote, ServiceUrl};
use serde::Serialize;
use serde_json::Value;

use super::connection::ConnectionArgs;
use super::{Answer, CliError, Console};
use crate::args::verbs;

/// Use a service: submit and watch tasks, schedule them, release tables and roll them back
///
/// Exits with 0 on success; with 1 if the answer is "no": a gate of a release is closed, the channel has a newer
/// release, or the task that was waited for answers "no"; with 2 if the request, the URL or the token is wrong; with 3
/// if the service is unreachable, busy or gives an invalid answer. Scripts can thus distinguish "regressed" from
/// "unreachable".
///
/// With --json, every verb prints the service's answer, which the interface /api/v1 documents.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  export COLLTUNE_URL=http://127.0.0.1:7878 COLLTUNE_TOKEN=$(cat service/token)
  colltune remote submit tune --campaign tuning/night.yaml --wait
  colltune remote release DIGEST --machine local --library openmpi-4.1.4 --channel production
  colltune remote --url https://tables.site --token-file ~/.colltune-token tasks --state running")]
pub(crate) struct RemoteArgs {
    #[arg(
        long,
        global = true,
        value_name = "URL",
        help = "The service: https://HOST[:PORT], http://HOST[:PORT] or unix:/SOCKET; by default the value of the variable \
                COLLTUNE_URL"
    )]
    url: Option<String>,
    #[command(flatten)]
    connection: ConnectionArgs,
    /// Print the service's answer as JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    verb: Verb,
}

verbs! {
    &RemoteSession:
    Machines(machines::MachinesArgs),
    Submit(submit::SubmitArgs),
    Tasks(tasks::TasksArgs),
    Task(tasks::TaskArgs),
    Log(tasks::LogArgs),
    Cancel(tasks::CancelTaskArgs),
    Watch(tasks::WatchArgs),
    Release(release::ReleaseArgs),
    Rollback(release::RollbackArgs),
    Withdraw(release::WithdrawArgs),
    Channels(release::ChannelsArgs),
    Schedules(schedules::SchedulesArgs),
    Schedule(schedules::ScheduleArgs),
    Pause(schedules::PauseArgs),
    Resume(schedules::ResumeArgs),
    Unschedule(schedules::UnscheduleArgs),
    Findings(findings::FindingsArgs),
    Finding(findings::FindingArgs),
    Triage(findings::TriageArgs),
    Lookup(lookup::RemoteLookupArgs),
    Tokens(tokens::TokensArgs),
    Webhooks(webhooks::WebhooksArgs),
}

/// A service, and the format of its answers.
struct RemoteSession {
    remote: Remote,
    json: bool,
    console: Console,
}

impl RemoteArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let variable = || std::env::var("COLLTUNE_URL").ok();
        let url = self.url.clone().or_else(variable);
        let url = url
            .filter(|url| !url.is_empty())
            .ok_or(CliError::NoService)?;
        let asking = RemoteSession {
            remote: self.connection.connect_to(ServiceUrl::parse(&url)?)?,
            json: self.json,
            console,
        };
        self.verb.run(&asking)
    }
}

impl RemoteSession {
    /// Prints an answer as JSON or as this text.
    fn print_answer(
        &self,
        answer: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> Result<Answer, CliError> {
        self.console.print_answer(self.json, answer, text)
    }
}

/// The value at a place of an answer as text; empty if there is none.
fn text_at_pointer(value: &Value, place: &str) -> String {
    match value.pointer(place) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(values)) => {
            let texts: Vec<String> = values
                .iter()
                .map(|item| text_at_pointer(item, ""))
                .collect();
            texts.join(", ")
        }
        Some(other) => other.to_string(),
    }
}
