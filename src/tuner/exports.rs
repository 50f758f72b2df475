//! A table as files that the measured library reads.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use export::{ExportError, Exported, Format, Options};
use table::Table;
use vocabulary::Library;

use crate::{TunerError, write_atomically};

/// What became of a table for its library's own settings.
#[derive(Debug)]
pub enum Export {
    /// It was written.
    Written {
        /// Where.
        path: PathBuf,
        /// What whoever deploys it must know, each a full sentence.
        notes: Vec<String>,
    },
    /// It cannot be had in the library's format.
    Impossible(ExportError),
}

/// Writes a table beside its own file in the format that its library reads: `night.openmpi.conf` beside
/// `night.yaml`. `None` if there is nothing that the library can be told, or no format that it reads.
///
/// An installed MPICH, whose own decisions its format needs, is looked for on `search`, as in `PATH`.
///
/// # Errors
/// [`TunerError::File`].
pub fn export_beside(
    table: &Table,
    path: &Path,
    search: &OsStr,
) -> Result<Option<Export>, TunerError> {
    let library = &table.provenance.library;
    let Some(format) = export::read_by(library).filter(|_| export::has_choices(table)) else {
        return Ok(None);
    };
    let options = Options {
        library: format.installed(&library.version, search),
        ..Options::default()
    };
    let exported = match format.render(table, &options) {
        Ok(exported) => exported,
        Err(error) => return Ok(Some(Export::Impossible(error))),
    };
    let path = beside(library, format, path);
    write_export(&path, &exported)?;
    let notes = exported.notes;
    Ok(Some(Export::Written { path, notes }))
}

fn beside(library: &Library, format: &dyn Format, table: &Path) -> PathBuf {
    table.with_extension(format!("{}.{}", library.name, format.suffix()))
}

/// The file that [`export_beside`] wrote for a table at `path` before, if it is there.
pub fn exported_beside(table: &Table, path: &Path) -> Option<PathBuf> {
    let library = &table.provenance.library;
    let written = beside(library, export::read_by(library)?, path);
    written.exists().then_some(written)
}

/// Writes a file, and beside it, with `.txt` behind its name, what it has no place for; returns where
/// that is.
///
/// # Errors
/// [`TunerError::File`].
pub fn write_export(path: &Path, exported: &Exported) -> Result<Option<PathBuf>, TunerError> {
    write_atomically(path, &exported.text)?;
    let Some(companion) = &exported.companion else {
        return Ok(None);
    };
    let mut beside = path.as_os_str().to_owned();
    beside.push(".txt");
    let beside = PathBuf::from(beside);
    write_atomically(&beside, companion)?;
    Ok(Some(beside))
}
