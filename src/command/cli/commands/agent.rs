use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agent::{Agent, AgentNote, AgentPace};
use client::ServiceUrl;
use service::{Configuration, Service};

use super::connection::ConnectionArgs;
use super::serve::run_tasks;
use super::{Answer, CliError, Console};
use crate::interrupt;

/// Carry out the tasks of a service on a machine that it does not reach
///
/// Runs on a login node. It asks the service for tasks of the machine NAME, carries them out as `colltune serve` does on
/// its own host, and sends logs and results. All connections go out: the node needs no open port. The service's
/// configuration says that the machine has an agent (`agent: true`), and the token needs the scope `agent`.
///
/// Only the campaigns of FOLDER are carried out, in this account, whatever the service says: the agent tells the service
/// which ones there are, and a task whose campaign has been changed since it was submitted is refused.
///
/// What was claimed, and each result until the service has acknowledged it, is kept in FOLDER/agent: the agent may be
/// killed, and the network may fail, at any moment. Requests that fail are repeated after up to a minute. If the agent
/// is not heard for five minutes, the service may give its tasks to another agent of the same machine.
///
/// SIGTERM and SIGINT end it within five seconds. Measurements are stored, and tasks continue at the next start; batch
/// jobs are not affected.
///
/// Exits with 0 after SIGTERM or SIGINT; with 1 if the machine has no agent in the service's configuration; with 2 if
/// the URL, the token or the folder cannot be used; with 3 if another agent uses FOLDER/agent, or if it is on a network
/// file system.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune agent --server https://tables.site --token-file ~/.colltune-agent --machine hydra
  colltune agent --server https://tables.site --token-file token --machine hydra --state /var/tmp/colltune-agent /home/bench/colltune")]
pub(crate) struct AgentArgs {
    /// The project folder, where nodes see it; the current one by default
    #[arg(value_name = "FOLDER")]
    folder: Option<PathBuf>,
    #[arg(
        long,
        value_name = "URL",
        help = "The service: https://HOST[:PORT], http://HOST[:PORT] or unix:/SOCKET"
    )]
    server: String,
    /// The machine, as the service's configuration names it
    #[arg(long, value_name = "NAME")]
    machine: String,
    /// The campaigns that may be carried out: patterns of paths in FOLDER, separated by commas
    #[arg(
        long,
        value_name = "PATTERN",
        value_delimiter = ',',
        default_value = "tuning/*.yaml"
    )]
    campaigns: Vec<String>,
    /// The folder of the agent's own state, on a local disk; FOLDER/agent by default
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    #[command(flatten)]
    connection: ConnectionArgs,
}

impl AgentArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let remote = self
            .connection
            .connect_to(ServiceUrl::parse(&self.server)?)?;
        let configuration = Configuration::for_agent(
            self.folder.as_deref().unwrap_or(Path::new(".")),
            self.state.as_deref(),
            &self.machine,
            &self.campaigns,
        )?;
        let command = PathBuf::from("colltune");
        let executable =
            std::env::current_exe().map_err(|source| CliError::Command { command, source })?;
        let stop = interrupt::stop_flag()?;
        let local = Service::open(configuration, executable)?;
        let mut agent = Agent::new(
            Arc::clone(&local),
            remote,
            &self.machine,
            AgentPace::default(),
        )?;
        let runner = run_tasks(&local, &stop)?;
        let ended = self.run_until_stopped(&mut agent, &stop, console);
        stop.store(true, Ordering::Relaxed);
        if let Err(panic) = runner.join() {
            resume_unwind(panic);
        }
        ended.map(|()| Answer::Good)
    }
    /// Works for the service on this thread, and says what happens.
    fn run_until_stopped(
        &self,
        agent: &mut Agent,
        stop: &AtomicBool,
        console: Console,
    ) -> Result<(), CliError> {
        let report = |note: AgentNote<'_>| {
            // The agent continues if the reader of its output has closed its end.
            let _ = match note {
                AgentNote::Connected => console.remark(format_args!(
                    "working for {} as the agent of {}",
                    self.server, self.machine
                )),
                AgentNote::Claimed { task } => {
                    console.remark(format_args!("task {task} of the service is here"))
                }
                AgentNote::Acknowledged { task, counts: true } => {
                    console.remark(format_args!("the service has the result of task {task}"))
                }
                AgentNote::Acknowledged { task, .. } => console.remark(format_args!(
                    "task {task} had ended before its result arrived, which does not count"
                )),
                AgentNote::Unwanted { task, reason } => {
                    console.warn(format_args!(
                        "the result of task {task} is not wanted: {reason}"
                    ));
                    Ok(())
                }
                AgentNote::CampaignsRefused { reason } => {
                    console.warn(format_args!(
                        "the campaigns of this folder are not taken: {reason}"
                    ));
                    Ok(())
                }
                AgentNote::Failing { reason } => {
                    console.warn(format_args!("{reason}; trying again"));
                    Ok(())
                }
                AgentNote::Recovered => console.remark("the service answers again"),
            };
        };
        Ok(agent.run(stop, report)?)
    }
}
