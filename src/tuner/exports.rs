//! Exports of a table for the measured library.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use export::{ExportError, Exported, Format, Options};
use launcher::list_variables;
use table::{Policy, Table};
use vocabulary::{Candidate, Library};

use crate::{TunerError, write};

/// The result of exporting a table for its library's own settings.
#[derive(Debug)]
pub enum Export {
    /// The file was written.
    Written {
        /// The file.
        path: PathBuf,
        /// Notes on deploying it, as full sentences.
        notes: Vec<String>,
    },
    /// The file was not written.
    Absent {
        /// The format's error; `None` if the table has no rules for the library, or the library reads no exported file.
        reason: Option<ExportError>,
        /// An earlier export that still exists.
        stale: Option<PathBuf>,
    },
}

impl Export {
    /// The file that was written.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Written { path, .. } => Some(path),
            Self::Absent { .. } => None,
        }
    }

    /// Notes on deploying it, each on one line.
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
                        "{} still has rules that the table no longer has. Remove it, since the table has nothing \
                         left to export.",
                        path.display()
                    )
                });
                reason.chain(stale).collect()
            }
        }
    }
}

/// Exports a table. The notes name the components of the library that carry out collectives without reading the file,
/// as the measuring program `driver` reports them.
///
/// # Errors
/// Those of the format.
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

/// The notes that [`render_export`] adds to those of the format, for [`Options::remarks`].
///
/// # Errors
/// Those of the format.
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

/// Sentences about the components of a library that take precedence over the deployed file.
fn shadows(table: &Table, exported: &Exported, driver: &Path) -> Vec<String> {
    let Some(library) = libraries::find(&table.provenance.library.name) else {
        return Vec::new();
    };
    // Files without variables are not read by the library.
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
    let is_exported = |collective| {
        let entries = table.collectives.get(&collective).into_iter().flatten();
        let mut rules = entries.flat_map(|entry| &entry.rules);
        rules.any(|rule| matches!(rule.candidate, Candidate::Native { .. }))
    };
    let sentence = |serving: libraries::Serving| {
        let remedy = serving.remedy?;
        let exported = serving
            .collectives
            .into_iter()
            .filter(|collective| is_exported(*collective));
        let names: Vec<&str> = exported.map(|collective| collective.name()).collect();
        let place = if serving.over_nodes {
            " over several nodes"
        } else {
            ""
        };
        (!names.is_empty()).then(|| {
            format!(
                "With the library's present settings, {} carries out {}{place} and does not read this file; \
                 set {remedy} to change that.",
                serving.component,
                names.join(", ")
            )
        })
    };
    library
        .serving(&variables)
        .into_iter()
        .filter_map(sentence)
        .collect()
}

/// Exports a table beside its own file in the format that its library reads: `night.openmpi.conf` beside `night.yaml`.
///
/// MPICH's format needs the library's own decisions, for which an installation is searched for on `search`, a value of
/// `PATH`. `driver` is the measuring program of the library. Only rules that the policy deploys are written.
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

/// The file that [`export_beside`] writes; `None` if the library reads no format or the table is a special file.
pub fn export_path(library: &Library, table: &Path) -> Option<PathBuf> {
    let format = export::read_by(library)?;
    let name = format!("{}.{}", library.name, format.suffix());
    (!files::is_special(table)).then(|| table.with_extension(name))
}

/// The path of the text beside an exported file.
pub fn text_path(path: &Path) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".txt");
    beside.into()
}

/// The path of the text that [`write_export`] writes beside the file; `None` if there is no such text or the file is a
/// special file.
pub fn text_beside(path: &Path, exported: &Exported) -> Option<PathBuf> {
    (exported.companion.is_some() && !files::is_special(path)).then(|| text_path(path))
}

/// Writes an exported file and, if its format has no comments, a text beside it with `.txt` appended to the name;
/// returns the path of that text.
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
