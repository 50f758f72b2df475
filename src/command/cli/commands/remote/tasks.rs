use answers::{LogPart, Page, SLOWER_MACHINE_CODE, Task, TaskState};
use client::{Ask, Following, encode_query, follow_task};
use report::text_table;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Answer, CliError, RemoteSession};

/// List tasks, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  colltune remote tasks --state waiting --machine cluster")]
pub(super) struct TasksArgs {
    /// Only tasks in this state
    #[arg(long, value_parser = ["waiting", "running", "done", "failed", "cancelled"])]
    state: Option<String>,
    /// Only tasks of this machine
    #[arg(long)]
    machine: Option<String>,
    /// Only tasks of this campaign
    #[arg(long, value_name = "PATH")]
    campaign: Option<String>,
    /// Only tasks before this one
    #[arg(long, value_name = "ID")]
    before: Option<u64>,
    /// The most tasks
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: u32,
}

impl TasksArgs {
    pub(super) fn run(&self, asking: &RemoteSession) -> Result<Answer, CliError> {
        let (before, limit) = (self.before.map(|id| id.to_string()), self.limit.to_string());
        let values = [
            ("state", self.state.as_deref()),
            ("machine", self.machine.as_deref()),
            ("campaign", self.campaign.as_deref()),
            ("before", before.as_deref()),
            ("limit", Some(&*limit)),
        ];
        let given = values
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)));
        let path = format!("/tasks{}", encode_query(&given.collect::<Vec<_>>()));
        let (answer, page): (Value, Page<Task>) = asking.remote.request_as(Ask::get(&path))?;
        asking.print_answer(&answer, || {
            let columns = "task> | does | machine | of? | state | why";
            let mut list = text_table(columns, page.items.iter().map(task_row)).to_text();
            if let Some(next) = page.next {
                list += &format!("\nthere are more: --before {next}");
            }
            list
        })
    }
}

fn task_row(task: &Task) -> [String; 6] {
    let request = &task.request;
    let table = request
        .table
        .as_ref()
        .map(|digest| digest.short().to_owned());
    [
        task.id.to_string(),
        request.kind.to_string(),
        request.machine.clone().unwrap_or_default(),
        request.campaign.clone().or(table).unwrap_or_default(),
        task.state.to_string(),
        task.reason.clone(),
    ]
}

/// A task on one line.
pub(super) fn describe_task(task: &Task) -> String {
    let [id, kind, _, of, state, reason] = task_row(task);
    let mut line = format!("task {id} ({kind} {of}) {state}: {reason}");
    if let Some(table) = &task.made {
        line += &format!("\ntable {table}");
    }
    line
}

/// Show the state of a task
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  colltune remote task 7 --json")]
pub(super) struct TaskArgs {
    /// The task's number
    id: u64,
}

impl TaskArgs {
    pub(super) fn run(&self, asking: &RemoteSession) -> Result<Answer, CliError> {
        let path = format!("/tasks/{}", self.id);
        let (answer, task): (Value, Task) = asking.remote.request_as(Ask::get(&path))?;
        asking.print_answer(&answer, || describe_task(&task))
    }
}

/// Print the output of a task
///
/// With --json, prints one object with `text` and `length`, in bytes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  colltune remote log 7 | tail")]
pub(super) struct LogArgs {
    /// The task's number
    id: u64,
}

impl LogArgs {
    pub(super) fn run(&self, asking: &RemoteSession) -> Result<Answer, CliError> {
        let (mut from, mut whole) = (0, String::new());
        loop {
            let path = format!("/tasks/{}/log?from={from}", self.id);
            let (_, part): (Value, LogPart) = asking.remote.request_as(Ask::get(&path))?;
            whole += &part.text;
            if part.next <= from || part.next >= part.length {
                break;
            }
            from = part.next;
        }
        let answer = Log {
            length: whole.len(),
            text: &whole,
        };
        asking.print_answer(&answer, || whole.trim_end().to_owned())
    }
}

/// The output of `log --json`.
#[derive(Serialize)]
struct Log<'a> {
    length: usize,
    text: &'a str,
}

/// Cancel a task
///
/// A waiting task is cancelled at once; a running task is interrupted, and its measurements are kept.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  colltune remote cancel 7")]
pub(super) struct CancelTaskArgs {
    /// The task's number
    id: u64,
}

impl CancelTaskArgs {
    pub(super) fn run(&self, asking: &RemoteSession) -> Result<Answer, CliError> {
        let path = format!("/tasks/{}/cancel", self.id);
        let (answer, task): (Value, Task) =
            asking.remote.request_as(Ask::post(&path, &json!({})))?;
        asking.print_answer(&answer, || describe_task(&task))
    }
}

/// Follow a task to its end
///
/// Prints each state with its reason. Waits for a service that is unreachable for less than a minute, as during an
/// upgrade. Exits like `submit --wait`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  colltune remote watch 7")]
pub(super) struct WatchArgs {
    /// The task's number
    id: u64,
}

impl WatchArgs {
    pub(super) fn run(&self, asking: &RemoteSession) -> Result<Answer, CliError> {
        follow_to_end(asking, self.id)
    }
}

/// Follows a task, with the exit code of its verb as the answer.
pub(super) fn follow_to_end(asking: &RemoteSession, id: u64) -> Result<Answer, CliError> {
    let mut printed = Ok(());
    let (answer, task) = follow_task(&asking.remote, id, |news| match news {
        Following::Task(task) if printed.is_ok() && !asking.json && !task.has_ended() => {
            printed = asking.console.remark(describe_task(task));
        }
        Following::Task(_) => {}
        Following::Unreachable(error) => asking.console.warn(error),
    })?;
    printed?;
    asking.print_answer(&answer, || describe_task(&task))?;
    Ok(Answer::Program(exit_code_of_task(&task)))
}

fn exit_code_of_task(task: &Task) -> u8 {
    match (task.state, task.exit_code) {
        (TaskState::Done, Some(1)) => 1,
        (TaskState::Done, Some(SLOWER_MACHINE_CODE)) => SLOWER_MACHINE_CODE as u8,
        (TaskState::Done, _) => 0,
        (TaskState::Failed, Some(code @ (2 | 4))) => code.unsigned_abs().try_into().unwrap_or(3),
        _ => 3,
    }
}
