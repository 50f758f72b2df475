//! Tables on disk.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use crate::{Table, TableError};

impl Table {
    /// Reads a table from a file.
    ///
    /// # Errors
    /// [`TableError::Read`] if the file cannot be read, else as [`Table::parse`].
    pub fn load(path: &Path) -> Result<Self, TableError> {
        let text = files::read_text(path).map_err(|source| TableError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&text, path)
    }

    /// Writes the table to a file: whole or not at all, and only if it reads back equal.
    ///
    /// The text goes to a temporary file in the same directory, which is created if need be, and
    /// from there to disk; then it takes the file's name. A symbolic link is followed.
    ///
    /// # Errors
    /// [`TableError::Unsound`] if the table breaks the rules of [`Table`],
    /// [`TableError::Directory`] if no file can be created beside `path`, [`TableError::Write`] if
    /// the disk is full and the like. An existing file is then as it was, but for one case of
    /// [`TableError::Write`]: if only the last step fails, which puts the file's new name to disk,
    /// the new table is in place and a power failure may bring the old one back.
    pub fn save(&self, path: &Path) -> Result<(), TableError> {
        let text = self.to_yaml();
        match Self::parse(&text, path) {
            Ok(same) if same == *self => {}
            Ok(_) => {
                return Err(TableError::Altered {
                    path: path.to_owned(),
                });
            }
            Err(TableError::Invalid(invalid)) => return Err(TableError::Unsound(invalid)),
            Err(other) => return Err(other),
        }
        // Replacing a link by a file would detach whoever shares its target.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let directory = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let unusable = |source| TableError::Directory {
            path: path.to_owned(),
            directory: directory.to_owned(),
            source,
        };
        let failed = |source| TableError::Write {
            path: path.to_owned(),
            source,
        };

        fs::create_dir_all(directory).map_err(unusable)?;
        let mut file = temporary_file(directory).map_err(unusable)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        file.persist(&target).map_err(|error| failed(error.error))?;
        // Without this the new name may be lost in a power failure; the file is good either way.
        File::open(directory)
            .and_then(|directory| directory.sync_all())
            .map_err(failed)
    }
}

/// A file that goes away unless persisted, readable by everybody as far as the umask lets.
fn temporary_file(directory: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".colltune-table-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(directory)
}
