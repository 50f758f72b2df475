use answers::{Digest, Release, ReleaseAction, ReleaseRequest};
use client::{Ask, ChannelAddress, RemoteError};
use report::text_table;
use serde_json::{Value, json};

use super::{Answer, CliError, RemoteSession};

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
    fn carry_out(
        &self,
        asking: &RemoteSession,
        request: &ReleaseRequest,
    ) -> Result<Answer, CliError> {
        let body = json!(request);
        let channel = self.channel.channel_address().path();
        let tag = match self.expect {
            Some(0) => None,
            Some(sequence) => Some(format!("\"{sequence}\"")),
            None => channel_etag(asking, &channel)?,
        };
        let path = format!("{channel}/releases");
        let ask = match &tag {
            Some(tag) => Ask::post(&path, &body).with_header("if-match", tag),
            None => Ask::post(&path, &body).with_header("if-none-match", "*"),
        };
        if asking.json {
            // It is released whether or not this version understands all of the answer.
            let answer = asking.remote.request_json(ask)?;
            return asking.print_answer(&answer, String::new);
        }
        let (answer, release): (Value, Release) = asking.remote.request_as(ask)?;
        asking.print_answer(&answer, || {
            let mut lines = vec![format!(
                "release {} of {}: {} {}",
                release.sequence,
                self.channel.channel_address(),
                release.action,
                release.digest
            )];
            for gate in &release.gates {
                lines.push(format!(
                    "  {} is {}: {}",
                    gate.name, gate.state, gate.reason
                ));
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
    digest: Digest,
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
        let request = ReleaseRequest {
            digest: Some(self.digest.clone()),
            action: ReleaseAction::Release,
            reason: self.reason.clone(),
            override_gates: self.override_gates,
        };
        self.change.carry_out(asking, &request)
    }
}

/// Roll back to the table that was released before, or to an older one
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  colltune remote rollback --machine local --library openmpi-4.1.4 --reason 'solver hangs'")]
pub(super) struct RollbackArgs {
    /// The digest of the table to roll back to; by default the previous one
    digest: Option<Digest>,
    #[command(flatten)]
    change: ChangeArgs,
    /// The reason, for the history
    #[arg(long)]
    reason: String,
}

impl RollbackArgs {
    pub(super) fn run(&self, asking: &RemoteSession) -> Result<Answer, CliError> {
        let request = ReleaseRequest {
            digest: self.digest.clone(),
            action: ReleaseAction::Rollback,
            reason: self.reason.clone(),
            override_gates: false,
        };
        self.change.carry_out(asking, &request)
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
        let request = ReleaseRequest {
            digest: None,
            action: ReleaseAction::Withdraw,
            reason: self.reason.clone(),
            override_gates: false,
        };
        self.change.carry_out(asking, &request)
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
        let (answer, releases): (Value, Vec<Release>) =
            asking.remote.request_as(Ask::get("/channels"))?;
        asking.print_answer(&answer, || {
            let columns = "machine | library | channel | release> | table | at | by | why?";
            text_table(columns, releases.iter().map(channel_row)).to_text()
        })
    }
}

fn channel_row(release: &Release) -> [String; 8] {
    [
        release.key.machine.clone(),
        release.key.library.clone(),
        release.key.channel.to_string(),
        release.sequence.to_string(),
        release.digest.short().to_owned(),
        release.at.to_string(),
        release.actor.clone(),
        release.reason.clone(),
    ]
}
