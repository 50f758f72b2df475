use client::{Ask, ChannelAddress, RemoteError};
use report::text_table;
use serde_json::{Value, json};

use super::{Answer, CliError, RemoteSession, array_items, text_at_pointer};

/// The arguments that name a channel.
#[derive(Debug, clap::Args)]
pub(super) struct ChannelArgs {
    /// The machine
    #[arg(long)]
    machine: String,
    /// The MPI library, as in openmpi-4.1.4
    #[arg(long, value_name = "NAME-VERSION")]
    library: String,
    /// The channel
    #[arg(long, default_value = "production", value_parser = ["candidate", "canary", "production"])]
    channel: String,
}

impl ChannelArgs {
    pub(super) fn channel_address(&self) -> ChannelAddress {
        ChannelAddress {
            machine: self.machine.clone(),
            library: self.library.clone(),
            channel: self.channel.clone(),
        }
    }
}

/// The arguments of every change of a channel.
#[derive(Debug, clap::Args)]
struct ChangeArgs {
    #[command(flatten)]
    channel: ChannelArgs,
    /// Do it only if the channel is at this release, 0 for a channel without releases; by default, only if the channel
    /// does not change meanwhile
    #[arg(long, value_name = "NUMBER")]
    expect: Option<u64>,
}

impl ChangeArgs {
    fn carry_out(&self, asking: &RemoteSession, body: &Value) -> Result<Answer, CliError> {
        let channel = self.channel.channel_address().path();
        let tag = match self.expect {
            Some(0) => None,
            Some(sequence) => Some(format!("\"{sequence}\"")),
            None => channel_etag(asking, &channel)?,
        };
        let path = format!("{channel}/releases");
        let ask = match &tag {
            Some(tag) => Ask::post(&path, body).with_header("if-match", tag),
            None => Ask::post(&path, body).with_header("if-none-match", "*"),
        };
        let answer = asking.remote.request_json(ask)?;
        asking.print_answer(&answer, || {
            let field = |place| text_at_pointer(&answer, place);
            let mut lines = vec![format!(
                "release {} of {}: {} {}",
                field("/sequence"),
                self.channel.channel_address(),
                field("/action"),
                field("/digest")
            )];
            for gate in answer.pointer("/gates").map_or(&[][..], array_items) {
                let [name, state, reason] =
                    ["/name", "/state", "/reason"].map(|pointer| text_at_pointer(gate, pointer));
                lines.push(format!("  {name} is {state}: {reason}"));
            }
            lines.join("\n")
        })
    }
}

/// The channel's ETag; `None` if it has no releases.
fn channel_etag(asking: &RemoteSession, channel: &str) -> Result<Option<String>, CliError> {
    match asking.remote.request_json_with_etag(Ask::get(channel)) {
        Ok((_, tag)) => Ok(tag),
        Err(RemoteError::Refused { problem, .. }) if problem.status == 404 => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Release a table to a channel
///
/// The service checks the gates: the table can be read and has decisions, it is for the channel's library and CPU, its
/// rules are confirmed, a validation of this table found nothing slower, and the difference to the released table is
/// stored. If a gate is closed, nothing is released and the exit code is 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune remote release DIGEST --machine local --library openmpi-4.1.4
  colltune remote release DIGEST --machine local --library openmpi-4.1.4 --override-gates --reason 'see ticket 12'")]
pub(super) struct ReleaseArgs {
    /// The digest of the table, which `remote task` shows
    digest: String,
    #[command(flatten)]
    change: ChangeArgs,
    /// Release it although gates are closed; needs the scope admin
    #[arg(long, requires = "reason")]
    override_gates: bool,
    /// The reason, for the history
    #[arg(long, default_value = "", hide_default_value = true)]
    reason: String,
}

impl ReleaseArgs {
    pub(super) fn run(&self, asking: &RemoteSession) -> Result<Answer, CliError> {
        let body = json!({
            "action": "release",
            "digest": self.digest,
            "reason": self.reason,
            "override_gates": self.override_gates,
        });
        self.change.carry_out(asking, &body)
    }
}

/// Roll back to the table that was released before, or to an older one
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  colltune remote rollback --machine local --library openmpi-4.1.4 --reason 'solver hangs'")]
pub(super) struct RollbackArgs {
    /// The digest of the table to roll back to; by default the previous one
    digest: Option<String>,
    #[command(flatten)]
    change: ChangeArgs,
    /// The reason, for the history
    #[arg(long)]
    reason: String,
}

impl RollbackArgs {
    pub(super) fn run(&self, asking: &RemoteSession) -> Result<Answer, CliError> {
        let body = json!({
            "action": "rollback",
            "digest": self.digest,
            "reason": self.reason,
        });
        self.change.carry_out(asking, &body)
    }
}

/// Withdraw a channel's table, so that the library decides every call
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  colltune remote withdraw --machine local --library openmpi-4.1.4 --reason 'library was upgraded'")]
pub(super) struct WithdrawArgs {
    #[command(flatten)]
    change: ChangeArgs,
    /// The reason, for the history
    #[arg(long)]
    reason: String,
}

impl WithdrawArgs {
    pub(super) fn run(&self, asking: &RemoteSession) -> Result<Answer, CliError> {
        let body = json!({"action": "withdraw", "reason": self.reason});
        self.change.carry_out(asking, &body)
    }
}

/// List the channels that have releases
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  colltune remote channels")]
pub(super) struct ChannelsArgs {}

impl ChannelsArgs {
    pub(super) fn run(&self, asking: &RemoteSession) -> Result<Answer, CliError> {
        let answer = asking.remote.request_json(Ask::get("/channels"))?;
        asking.print_answer(&answer, || {
            let columns = "machine | library | channel | release> | table | at | by | why?";
            let rows = array_items(&answer).iter().map(|row| {
                let field = |place| text_at_pointer(row, place);
                let digest = field("/digest").chars().take(12).collect();
                let [machine, library, channel] = ["/machine", "/library", "/channel"].map(field);
                let release = field("/sequence");
                let [time, actor, reason] = ["/at", "/actor", "/reason"].map(field);
                [
                    machine, library, channel, release, digest, time, actor, reason,
                ]
            });
            text_table(columns, rows).to_text()
        })
    }
}
