use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use client::{ChannelAddress, Folder, PullError, Pulled, host_delay};
use schemars::JsonSchema;
use serde::Serialize;

use super::connection::ConnectionArgs;
use super::owner::OwnerArgs;
use super::{Answer, CliError, Console};

/// Download the released table of a service's channel
///
/// If the channel has a new table, stores it in DIR under its SHA-256 digest, checks the digest, reads the table
/// strictly, and then points the link DIR/current at it. Tables of earlier releases are kept as long as jobs may use
/// them, for the time that the service says. Meant for timers of nodes and cron jobs of administrators.
///
/// After any failure or kill, DIR/current still leads to the last good table. An error is one line. Two pulls to the
/// same folder wait for each other.
///
/// Give jobs the table's own path, which `readlink -f DIR/current` and --json print, and never DIR/current: ranks that
/// start while the link changes would read different tables. `colltune run --channel` does this automatically.
///
/// DIR must belong to the user who runs the command, or to root, and be closed to the writing of others. For root this
/// holds for all folders above it, too: otherwise their owners could let root write to any place. --owner writes to the
/// folder of another user.
///
/// Exits with 0 if DIR has the channel's table; with 2 if the URL, the token or DIR is wrong, or the channel does not
/// exist; with 3 if the service is unreachable, slow or gives an invalid answer, if the disk is full, if another pull
/// takes too long, or if a table of an earlier release could not be downloaded (DIR then has the current one).
///
/// `colltune schema pull` describes what --json prints.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune pull https://tables.site/machines/cluster/libraries/openmpi-4.1.4/channels/production --to /var/lib/colltune
  colltune pull unix:/run/colltune/socket:/machines/local/libraries/openmpi-4.1.4/channels/canary --to tables/canary
  */10 * * * * colltune pull --quiet --jitter 300 https://tables.site/machines/... --to /var/lib/colltune
  colltune pull https://tables.site/machines/... --to /home/bob/tables --owner bob     # as root")]
pub(crate) struct PullArgs {
    /// The channel: https://HOST/machines/MACHINE/libraries/LIBRARY/channels/CHANNEL, or with unix:/SOCKET: in place of
    /// https://HOST
    #[arg(value_name = "URL")]
    channel: String,
    /// The folder of tables
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// Wait up to this long first, for a time that depends on the host's name, so that nodes do not ask all at once
    #[arg(long, value_name = "SECONDS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=86_400))]
    jitter: u32,
    /// The time limit for everything after that
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=600))]
    timeout: u32,
    #[command(flatten)]
    owner: OwnerArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl PullArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        self.owner.assume_rights()?;
        sleep(host_delay(Duration::from_secs(self.jitter.into())));
        let limit = Duration::from_secs(self.timeout.into());
        let pulled = pull_table(&self.channel, &self.connection, &self.to, limit)?;
        if self.json {
            console.print_json(&PullOutput {
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
            Some((count, first)) => Err(CliError::Older { count, first }),
        }
    }
}

/// The output of `--json`.
#[derive(JsonSchema, Serialize)]
pub(super) struct PullOutput<'a> {
    /// The table's SHA-256 digest.
    digest: &'a str,
    /// The table's own path.
    table: &'a Path,
    /// The number of the release.
    release: u64,
    /// Whether `current` was changed to it now.
    new: bool,
}

/// The least time to look for the last good table after a pull that failed.
const LEAST_LOOK: Duration = Duration::from_millis(200);

/// Pulls a channel; an error names the table that stays in the folder, unless another account may have put it there.
pub(super) fn pull_table(
    url: &str,
    connection: &ConnectionArgs,
    folder: &Path,
    limit: Duration,
) -> Result<Pulled, CliError> {
    let (service, channel) = ChannelAddress::from_url(url)?;
    let remote = connection.connect_to(service)?;
    let begun = Instant::now();
    client::pull_table(remote, channel, folder, limit).map_err(|source| {
        // A table in a folder that another account could redirect may be anybody's.
        let is_ours = !matches!(source, PullError::Untrusted(_));
        let left = limit.saturating_sub(begun.elapsed()).max(LEAST_LOOK);
        let last = is_ours.then(|| Folder::last_good_within(folder, left));
        CliError::Pull {
            source: Box::new(source),
            table: last.flatten().map(|(_, table)| table),
        }
    })
}

/// The time limit for a job's pull.
const JOB_TIME_LIMIT: Duration = Duration::from_secs(2);

/// The folder of pulled tables of a job, in the working directory, which its nodes share.
const CACHE: &str = ".colltune/channels";

/// The path of a channel's table for one job. If the pull fails, the table that was pulled last, with a warning.
pub(super) fn pull_for_job(
    url: &str,
    connection: &ConnectionArgs,
    console: Console,
) -> Result<PathBuf, CliError> {
    let (service, channel) = ChannelAddress::from_url(url)?;
    let folder = Path::new(CACHE).join(Folder::name_for_channel(&service, &channel));
    match pull_table(url, connection, &folder, JOB_TIME_LIMIT) {
        Ok(pulled) => Ok(pulled.table),
        Err(CliError::Pull {
            source,
            table: Some(table),
        }) => {
            console.warn(format_args!(
                "{source}; using {}, which was pulled last",
                table.display()
            ));
            Ok(table)
        }
        Err(error) => Err(error),
    }
}
