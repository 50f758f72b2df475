//! Repair of the folder of a service's channel, to which only the service writes.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;

use super::DeployError;
use super::files::{MODULES, VersionFile};
use super::folder::{
    CURRENT, HISTORY, OPEN, VersionFolder, file_mode, make_folder, missing_is_fine,
};
use super::history::History;
use super::modules::{are_modules_linked, link_modules};

impl VersionFolder {
    /// Sets aside files that have the names of the link and of the history, and lets all users read the folder and the
    /// history.
    pub(super) fn set_strangers_aside(&self) -> Result<(), DeployError> {
        let opened = ::files::set_folder_mode(&self.path, OPEN);
        opened.map_err(DeployError::for_file("open to all users", &self.path))?;
        let current = fs::symlink_metadata(self.path.join(CURRENT));
        if current.is_ok_and(|found| !found.is_symlink()) {
            self.set_aside(CURRENT)?;
        }
        if History::read(&self.path.join(HISTORY)).is_err() {
            self.set_aside(HISTORY)?;
        }
        let history = self.path.join(HISTORY);
        match set_file_mode(&history, 0o644) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(DeployError::for_file("open to all users", &history)(error))
            }
            _ => Ok(()),
        }
    }

    /// Rewrites the files of a version that differ, and lets all users read the version, as after a copy of the folder
    /// that has lost the modes.
    pub(super) fn mend_version(
        &self,
        version: &Path,
        files: &[VersionFile],
        differs: impl Fn(&&VersionFile) -> bool,
    ) -> Result<(), DeployError> {
        for file in files.iter().filter(&differs) {
            self.mend_file(version, file)?;
        }
        if !are_modules_linked(version) {
            let link = version.join(MODULES);
            let removed = match fs::symlink_metadata(&link) {
                Ok(found) if found.is_dir() => fs::remove_dir_all(&link),
                _ => missing_is_fine(fs::remove_file(&link)),
            };
            removed.map_err(DeployError::for_file("remove", &link))?;
            link_modules(version)?;
        }
        for file in files {
            let path = version.join(&file.name);
            let above = path.ancestors().skip(1);
            for folder in above.take_while(|folder| folder.starts_with(version)) {
                let opened = ::files::set_folder_mode(folder, OPEN);
                opened.map_err(DeployError::for_file("open to all users", folder))?;
            }
            let opened = set_file_mode(&path, file_mode(&file.name));
            opened.map_err(DeployError::for_file("open to all users", &path))?;
        }
        Ok(())
    }

    /// Renames a file to set it aside.
    pub(super) fn set_aside(&self, name: &str) -> Result<(), DeployError> {
        let path = self.path.join(name);
        let now = jiff::Timestamp::now().as_microsecond();
        let aside = self.path.join(format!(".aside-{name}-{now}"));
        fs::rename(&path, aside).map_err(DeployError::for_file("rename", &path))
    }

    /// Rewrites a file of a version atomically. Jobs that read the version find the other files unchanged.
    fn mend_file(&self, version: &Path, file: &VersionFile) -> Result<(), DeployError> {
        let path = version.join(&file.name);
        let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
        above.retain(|folder| folder.starts_with(version) && !folder.is_dir());
        for folder in above.into_iter().rev() {
            missing_is_fine(fs::remove_file(folder))
                .map_err(DeployError::for_file("remove", folder))?;
            make_folder(folder)?;
        }
        if fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir()) {
            fs::remove_dir_all(&path).map_err(DeployError::for_file("remove", &path))?;
        }
        let mode = file_mode(&file.name);
        Ok(self.versions.write_file(&path, &file.bytes, mode)?)
    }
}

/// Sets the mode of an existing file.
pub(super) fn set_file_mode(path: &Path, mode: u32) -> io::Result<()> {
    let file = ::files::open_in_place(File::options().read(true), path)?;
    ::files::set_mode(&file, mode)
}
