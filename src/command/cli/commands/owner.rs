//! Writing with the rights of another user.

use std::ffi::CString;

use nix::errno::Errno;
use nix::unistd::{Uid, User, initgroups, setgid, setuid};

use super::CliError;

/// The argument that names the user whose folder is written to.
#[derive(Debug, clap::Args)]
pub(super) struct OwnerArgs {
    /// For root: read and write all files with the rights of USER, who owns the folder
    ///
    /// Root does not write to a folder that another user owns or can redirect, as links in it could lead anywhere. With
    /// USER's rights they lead only to what USER may write to anyway.
    #[arg(long, value_name = "USER")]
    owner: Option<String>,
}

impl OwnerArgs {
    /// Gives up the rights of this process for those of the user, for good. Must come before any file is used.
    pub(super) fn assume_rights(&self) -> Result<(), CliError> {
        let Some(name) = &self.owner else {
            return Ok(());
        };
        let failed = |source: Errno| CliError::Owner {
            user: name.clone(),
            source: source.into(),
        };
        let user = match name.parse() {
            Ok(number) => User::from_uid(Uid::from_raw(number)),
            Err(_) => User::from_name(name),
        };
        let Some(user) = user.map_err(failed)? else {
            return Err(CliError::NoUser { user: name.clone() });
        };
        let me = Uid::effective();
        if me == user.uid {
            return Ok(());
        }
        if !me.is_root() {
            return Err(CliError::NotRoot { user: name.clone() });
        }
        let account = CString::new(user.name).map_err(|_| failed(Errno::EINVAL))?;
        // In this order: without root's rights, groups cannot be set.
        initgroups(&account, user.gid)
            .and_then(|()| setgid(user.gid))
            .and_then(|()| setuid(user.uid))
            .map_err(failed)
    }
}
