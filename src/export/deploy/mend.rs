//! Mending the folder of a service's channel, which nothing but the service writes to.

use std::fs;
use std::path::Path;

use super::DeployError;
use super::folder::{CURRENT, Folder, HISTORY, make_folder, missing_is_fine, mode, sync, write};
use super::history::History;

/// A file that is about to take the place of a damaged one.
const MENDED: &str = ".mended";

impl Folder {
    /// Sets aside what stands in the place of the link and of the history.
    pub(super) fn set_strangers_aside(&self) -> Result<(), DeployError> {
        let current = fs::symlink_metadata(self.path.join(CURRENT));
        if current.is_ok_and(|found| !found.is_symlink()) {
            self.set_aside(CURRENT)?;
        }
        if History::read(&self.path.join(HISTORY)).is_err() {
            self.set_aside(HISTORY)?;
        }
        Ok(())
    }

    /// Gives what has a name another one.
    pub(super) fn set_aside(&self, name: &str) -> Result<(), DeployError> {
        let path = self.path.join(name);
        let now = jiff::Timestamp::now().as_microsecond();
        let aside = self.path.join(format!(".aside-{name}-{now}"));
        fs::rename(&path, aside).map_err(DeployError::file("rename", &path))
    }

    /// Writes a file of a version again, whole or not at all. Jobs that read the version find the other files as they
    /// were.
    pub(super) fn mend(&self, version: &Path, name: &str, text: &str) -> Result<(), DeployError> {
        let (path, mended) = (version.join(name), self.path.join(MENDED));
        let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
        above.retain(|folder| folder.starts_with(version) && !folder.is_dir());
        for folder in above.into_iter().rev() {
            missing_is_fine(fs::remove_file(folder))
                .map_err(DeployError::file("remove", folder))?;
            make_folder(folder)?;
        }
        if fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir()) {
            fs::remove_dir_all(&path).map_err(DeployError::file("remove", &path))?;
        }
        missing_is_fine(fs::remove_file(&mended)).map_err(DeployError::file("remove", &mended))?;
        write(&mended, text, mode(name)).map_err(DeployError::file("write", &mended))?;
        fs::rename(&mended, &path).map_err(DeployError::file("replace", &path))?;
        sync(path.parent().unwrap_or(version))
    }
}
