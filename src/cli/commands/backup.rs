use std::path::PathBuf;

use crate::console::Console;
use crate::error::CliError;
use crate::exit::Answer;

/// Copy a service's state to a new folder
///
/// The copy is the database as it is at one moment, with all tables that it names, also while the service runs. It
/// holds no secrets but hashes of tokens, and no logs. Campaigns and stores in the project's folder are files that
/// other tools back up.
///
/// Exits with 0 if the copy is complete, checked and on disk; otherwise nothing is left of it.
#[derive(Debug, clap::Args)]
#[command(after_help = BACKUP)]
pub(crate) struct BackupArgs {
    /// The service's state folder
    #[arg(value_name = "STATE")]
    state: PathBuf,
    /// The folder to copy to, which must not exist
    #[arg(value_name = "TARGET")]
    target: PathBuf,
}

const BACKUP: &str = "\
Example:
  colltune backup service /backup/colltune-2026-11-20";

impl BackupArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        service::backup(&self.state, &self.target)?;
        console.remark(format_args!("{} is complete", self.target.display()))?;
        Ok(Answer::Good)
    }
}

/// Make a state folder of a service's backup
///
/// The database and the digest of every table are checked first. Browsers must log in again; tokens that were revoked
/// after the backup hold again, and releases that were made after it are lost.
///
/// Exits with 0 if the state is complete; otherwise there is no such folder.
#[derive(Debug, clap::Args)]
#[command(after_help = RESTORE)]
pub(crate) struct RestoreArgs {
    /// What `colltune backup` has made
    #[arg(value_name = "BACKUP")]
    backup: PathBuf,
    /// The state folder, which must not exist
    #[arg(value_name = "STATE")]
    state: PathBuf,
}

const RESTORE: &str = "\
Example:
  colltune restore /backup/colltune-2026-11-20 service";

impl RestoreArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        service::restore(&self.backup, &self.state)?;
        let (state, backup) = (self.state.display(), self.backup.display());
        console.remark(format_args!(
            "{state} is what {backup} holds; a service can use it"
        ))?;
        Ok(Answer::Good)
    }
}
