use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use client::{ChannelAddress, Folder, Pulled, jitter};
use schemars::JsonSchema;
use serde::Serialize;

use super::connection::ConnectionArgs;
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Answer;

/// Bring the table that a service has released to this node
///
/// Asks the service whether the channel has another table than last time. If so, stores it in DIR under its
/// SHA-256 digest, checks it against that, reads it strictly, and then points the link DIR/current at it.
/// Tables of earlier releases stay as long as jobs may run that use them, as the service says. For nodes'
/// timers and administrators' cron jobs.
///
/// Whatever fails, and whenever it is killed, DIR/current leads to the last good table. An error is one line. Two
/// pulls to one folder wait for each other.
///
/// Give jobs the table's own path, which `readlink -f DIR/current` prints and --json has, and never
/// DIR/current: ranks that start while it changes would read different tables. `colltune run --channel` does so
/// by itself.
///
/// Exits with 0 if DIR has what the channel has; with 2 if the URL, the token or DIR is wrong, or there is no such
/// channel; with 3 if the service is away, slow or does not answer as it should, or if a table of an earlier
/// release could not be had (the current one is in its place then).
///
/// `colltune schema pull` describes what --json prints.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The channel: https://HOST/machines/MACHINE/libraries/LIBRARY/channels/CHANNEL, or the same after
    /// unix:/SOCKET: in place of https://HOST
    #[arg(value_name = "URL")]
    channel: String,
    /// The folder of tables
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// Wait before asking, for a time up to this that is drawn from the host's name, so that nodes do not ask all at once
    #[arg(long, value_name = "SECONDS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=86_400))]
    jitter: u32,
    /// The longest time for everything after that
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=600))]
    timeout: u32,
    #[command(flatten)]
    connection: ConnectionArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  colltune pull https://tables.site/machines/cluster/libraries/openmpi-4.1.4/channels/production --to /var/lib/colltune
  colltune pull unix:/run/colltune/socket:/machines/local/libraries/openmpi-4.1.4/channels/canary --to tables/canary
  */10 * * * * colltune pull --quiet --jitter 300 https://tables.site/machines/... --to /var/lib/colltune";

impl Args {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        sleep(jitter(Duration::from_secs(self.jitter.into())));
        let limit = Duration::from_secs(self.timeout.into());
        let pulled = pulled(&self.channel, &self.connection, &self.to, limit)?;
        if self.json {
            console.json(&Answers {
                digest: &pulled.digest,
                table: &pulled.table,
                release: pulled.sequence,
                new: pulled.is_new,
            })?;
        } else {
            let verb = if pulled.is_new { "is now" } else { "is still" };
            let (table, release) = (pulled.table.display(), pulled.sequence);
            console.remark(format_args!(
                "{table} {verb} the table of release {release}"
            ))?;
        }
        match pulled.missing {
            None => Ok(Answer::Good),
            Some((count, first)) => Err(CliError::Older {
                count,
                first: Box::new(first),
            }),
        }
    }
}

/// What `--json` prints.
#[derive(JsonSchema, Serialize)]
pub(super) struct Answers<'a> {
    /// The table's SHA-256 digest.
    digest: &'a str,
    /// The table's own path.
    table: &'a Path,
    /// The number of the release.
    release: u64,
    /// Whether `current` was turned to it now.
    new: bool,
}

/// Pulls a channel; an error says which table stays in the folder.
pub(super) fn pulled(
    url: &str,
    connection: &ConnectionArgs,
    folder: &Path,
    limit: Duration,
) -> Result<Pulled, CliError> {
    let (service, channel) = ChannelAddress::of_url(url)?;
    let remote = connection.remote(service)?;
    client::pull(&remote, &channel, folder, limit).map_err(|source| CliError::Pull {
        source: Box::new(source),
        table: Folder::last_good(folder).map(|(_, table)| table),
    })
}

/// How long a job waits for its table.
const JOB: Duration = Duration::from_secs(2);

/// Where a job keeps what it pulls: in the working directory, which its nodes share.
const CACHE: &str = ".colltune/channels";

/// The table of a channel for one job, by its own path. If it cannot be had, the one that was pulled last, with a warning.
pub(super) fn of_channel(
    url: &str,
    connection: &ConnectionArgs,
    console: Console,
) -> Result<PathBuf, CliError> {
    let (service, channel) = ChannelAddress::of_url(url)?;
    let folder = Path::new(CACHE).join(Folder::name_of(&service, &channel));
    match pulled(url, connection, &folder, JOB) {
        Ok(pulled) => Ok(pulled.table),
        Err(CliError::Pull {
            source,
            table: Some(table),
        }) => {
            console.warn(format_args!(
                "{source}; {} is used, which was pulled last",
                table.display()
            ));
            Ok(table)
        }
        Err(error) => Err(error),
    }
}
