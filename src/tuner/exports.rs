//! A table as files that the measured library reads.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use export::{ExportError, Exported, Format, Options};
use launcher::list_variables;
use table::{Policy, Table};
use vocabulary::{Candidate, Library};

use crate::{TunerError, write};

/// What became of a table for its library's own settings.
#[derive(Debug)]
pub enum Export {
    /// The file was written.
    Written {
        /// Where.
        path: PathBuf,
        /// What must be known to deploy it, each a full sentence.
        notes: Vec<String>,
    },
    /// The file was not written.
    Absent {
        /// Why the library's format refuses it; `None` if the table has nothing for the library, or the library
        /// reads no format.
        reason: Option<ExportError>,
        /// An earlier export, which is still there.
        stale: Option<PathBuf>,
    },
}

impl Export {
    /// Where it was written.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Written { path, .. } => Some(path),
            Self::Absent { .. } => None,
        }
    }

    /// What must be known to deploy it, a line each.
    pub fn warnings(&self, library: &Library) -> Vec<String> {
        match self {
            Self::Written { notes, .. } => {
                notes.iter().map(|note| note.replace('\n', " ")).collect()
            }
            Self::Absent { reason, stale } => {
                let reason = reason
                    .iter()
                    .map(|error| format!("nothing is exported for {library}: {error}"));
                let stale = stale.iter().map(|path| {
                    format!(
                        "{} still has rules that the table no longer has. Remove it: the table has nothing left \
                         to export.",
                        path.display()
                    )
                });
                reason.chain(stale).collect()
            }
        }
    }
}

/// Exports a table. The notes say which other parts of the library carry out collectives before it asks the file,
/// according to the measuring program `driver`.
///
/// # Errors
/// What the format refuses.
pub fn render_export(
    format: &dyn Format,
    table: &Table,
    options: &Options,
    driver: Option<&Path>,
) -> Result<Exported, ExportError> {
    let remarks = remarks(format, table, options, driver)?;
    let options = Options {
        remarks,
        ..options.clone()
    };
    format.render(table, &options)
}

/// What [`render_export`] adds to an export's notes, as [`Options::remarks`].
///
/// # Errors
/// What the format refuses.
pub fn remarks(
    format: &dyn Format,
    table: &Table,
    options: &Options,
    driver: Option<&Path>,
) -> Result<Vec<String>, ExportError> {
    let Some(driver) = driver else {
        return Ok(Vec::new());
    };
    let exported = format.render(table, options)?;
    Ok(shadows(table, &exported, driver))
}

/// What a library asks before an exported file that is put in place as it says, each a full sentence.
fn shadows(table: &Table, exported: &Exported, driver: &Path) -> Vec<String> {
    let Some(library) = libraries::find(&table.provenance.library.name) else {
        return Vec::new();
    };
    // Programs read other files by themselves.
    if exported.variables.is_empty() {
        return Vec::new();
    }
    let mut variables = list_variables(driver);
    for (name, value) in &exported.variables {
        let setting = name.strip_prefix(library.facts().variable_prefix);
        if let (Some(setting), Some(value)) = (setting, value) {
            variables.insert(setting.to_owned(), value.clone());
        }
    }
    let is_told = |collective| {
        let entries = table.collectives.get(&collective).into_iter().flatten();
        let mut rules = entries.flat_map(|entry| &entry.rules);
        rules.any(|rule| matches!(rule.candidate, Candidate::Native { .. }))
    };
    let sentence = |serving: libraries::Serving| {
        let remedy = serving.remedy?;
        let told = serving
            .collectives
            .into_iter()
            .filter(|told| is_told(*told));
        let told: Vec<&str> = told.map(|collective| collective.name()).collect();
        let place = if serving.over_nodes {
            " over several nodes"
        } else {
            ""
        };
        (!told.is_empty()).then(|| {
            format!(
                "As the library is set here, {} carries out {}{place}: the library does not read this file \
                 for them; set {remedy} so that it does.",
                serving.component,
                told.join(", ")
            )
        })
    };
    library
        .serving(&variables)
        .into_iter()
        .filter_map(sentence)
        .collect()
}

/// Writes a table beside its own file in the format that its library reads: `night.openmpi.conf` beside
/// `night.yaml`.
///
/// An installed MPICH, whose own decisions its format needs, is looked for on `search`, as in `PATH`; `driver`
/// is the measuring program of the library. The rules that the policy deploys are written.
///
/// # Errors
/// [`TunerError::File`].
pub fn export_beside(
    table: &Table,
    path: &Path,
    search: &OsStr,
    driver: Option<&Path>,
    policy: Policy,
) -> Result<Export, TunerError> {
    let library = &table.provenance.library;
    let format = export::read_by(library);
    let Some((format, path)) = format.zip(export_path(library, path)) else {
        return Ok(Export::Absent {
            reason: None,
            stale: None,
        });
    };
    let absent = |reason: Option<ExportError>| Export::Absent {
        reason,
        stale: path.exists().then(|| path.clone()),
    };
    if !export::has_choices(table) {
        return Ok(absent(None));
    }
    let options = Options {
        library: format.installed(&library.version, search),
        policy,
        ..Options::default()
    };
    let exported = match render_export(format, table, &options, driver) {
        Ok(exported) => exported,
        Err(error) => return Ok(absent(Some(error))),
    };
    write_export(&path, &exported)?;
    let notes = exported.notes;
    Ok(Export::Written { path, notes })
}

/// Where [`export_beside`] writes; nowhere if the library reads no format, or the table is a device or the like.
pub fn export_path(library: &Library, table: &Path) -> Option<PathBuf> {
    let format = export::read_by(library)?;
    let name = format!("{}.{}", library.name, format.suffix());
    (!files::is_special(table)).then(|| table.with_extension(name))
}

/// Where a text beside an exported file goes, if there is one.
pub fn text_path(path: &Path) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".txt");
    beside.into()
}

/// Where [`write_export`] writes what the file has no place for; nowhere if there is no such thing, or the file is a
/// device or the like.
pub fn text_beside(path: &Path, exported: &Exported) -> Option<PathBuf> {
    (exported.companion.is_some() && !files::is_special(path)).then(|| text_path(path))
}

/// Writes a file, and beside it, with `.txt` behind its name, what it has no place for; returns where
/// that is.
///
/// # Errors
/// [`TunerError::File`].
pub fn write_export(path: &Path, exported: &Exported) -> Result<Option<PathBuf>, TunerError> {
    write(path, &exported.text)?;
    let beside = text_beside(path, exported);
    if let Some((beside, companion)) = beside.as_ref().zip(exported.companion.as_ref()) {
        write(beside, companion)?;
    }
    Ok(beside)
}
