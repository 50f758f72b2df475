use std::path::PathBuf;

use super::owner::OwnerArgs;
use super::{Answer, CliError, Console};

/// Copy a service's state to a new folder
///
/// Copies a consistent state of the database, and all tables that it names; the service may be running. The copy holds
/// no logs, and no secrets except hashes of tokens. Campaigns and stores in the project's folder are not copied; back
/// them up with other tools.
///
/// Exits with 0 if the copy is complete, checked and on disk; otherwise the copy is removed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  colltune backup service /backup/colltune-2026-11-20")]
pub(crate) struct BackupArgs {
    /// The service's state folder
    #[arg(value_name = "STATE")]
    state: PathBuf,
    /// The folder to copy to, which must not exist
    #[arg(value_name = "TARGET")]
    target: PathBuf,
    #[command(flatten)]
    owner: OwnerArgs,
}

impl BackupArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        self.owner.assume_rights()?;
        service::write_backup(&self.state, &self.target)?;
        console.remark(format_args!("{} is complete", self.target.display()))?;
        Ok(Answer::Good)
    }
}

/// Restore a service's state from a backup
///
/// Checks the database and the digest of every table first. Browsers must log in again. Tokens that were revoked after
/// the backup are valid again, and releases that were made after it are lost. The state belongs to the user who runs the
/// command, which must be the service's account; root names that with --owner, and it must be able to read the backup.
///
/// Exits with 0 if the state is complete; otherwise the folder is not created.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune restore /backup/colltune-2026-11-20 service
  colltune restore /backup/monday /var/lib/colltune/service --owner colltune     # as root")]
pub(crate) struct RestoreArgs {
    /// The folder that `colltune backup` has made
    #[arg(value_name = "BACKUP")]
    backup: PathBuf,
    /// The state folder, which must not exist
    #[arg(value_name = "STATE")]
    state: PathBuf,
    #[command(flatten)]
    owner: OwnerArgs,
}

impl RestoreArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        self.owner.assume_rights()?;
        service::restore_backup(&self.backup, &self.state)?;
        let (state, backup) = (self.state.display(), self.backup.display());
        console.remark(format_args!(
            "{state} is restored from {backup}; a service can use it"
        ))?;
        Ok(Answer::Good)
    }
}
