//! Tables on disk.

use std::path::Path;

use crate::{Table, TableError};

impl Table {
    /// Reads a table from a file.
    ///
    /// # Errors
    /// [`TableError::Read`] if the file cannot be read, otherwise those of [`Table::parse`].
    pub fn load(path: &Path) -> Result<Self, TableError> {
        let text = files::read_text(path).map_err(|source| TableError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&text, path)
    }

    /// Writes the table to a file by [`files::write`], if it reads back equal.
    ///
    /// # Errors
    /// [`TableError::Unsound`] if the table breaks the rules of [`Table`], [`TableError::Write`] if the file cannot be
    /// written.
    pub fn save(&self, path: &Path) -> Result<(), TableError> {
        let text = self.to_yaml();
        let mut marked = self.clone();
        marked.mark_refuted();
        match Self::parse(&text, path) {
            Ok(same) if same == marked => {}
            Ok(_) => {
                return Err(TableError::Altered {
                    path: path.to_owned(),
                });
            }
            Err(TableError::Invalid(invalid)) => return Err(TableError::Unsound(invalid)),
            Err(other) => return Err(other),
        }
        files::write(path, text.as_bytes()).map_err(|source| TableError::Write {
            path: path.to_owned(),
            source,
        })
    }
}
