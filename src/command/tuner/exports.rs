//! Exports of a table for the measured library.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use export::{ExportError, Exported, Format, Options};
use launcher::list_variables;
use table::{Policy, Table};
use vocabulary::{Candidate, Library};

use crate::{TunerError, write_text};

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
    Absent(NoExport),
}

/// The reason for which no file was written.
#[derive(Debug)]
pub enum NoExport {
    /// The library reads no exported file, or the table is a special file.
    NoFormat,
    /// The table has no rule for the library's own algorithms, and there is no earlier export.
    NoRules,
    /// The format cannot express the table, or needs what is not found.
    Refused {
        /// The format's error.
        error: ExportError,
        /// An earlier export, which still has the rules of an earlier table.
        stale: Option<PathBuf>,
    },
}

impl Export {
    /// The file that was written.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Written { path, .. } => Some(path),
            Self::Absent(_) => None,
        }
    }

    /// The result as a line for people: the file, or the reason for which there is none. `None` if the library reads
    /// none.
    pub fn describe(&self) -> Option<String> {
        match self {
            Self::Written { path, .. } => Some(path.display().to_string()),
            Self::Absent(NoExport::NoFormat) => None,
            Self::Absent(NoExport::NoRules) => {
                Some("none: the table has no rule for the library's own algorithms".to_owned())
            }
            Self::Absent(NoExport::Refused { error, .. }) => Some(format!("none: {error}")),
        }
    }

    /// Notes on deploying it, each on one line.
    pub fn warnings(&self, library: &Library) -> Vec<String> {
        match self {
            Self::Written { notes, .. } => {
                notes.iter().map(|note| note.replace('\n', " ")).collect()
            }
            Self::Absent(NoExport::Refused { error, stale: None }) => {
                vec![format!("nothing is exported for {library}: {error}")]
            }
            Self::Absent(_) => Vec::new(),
        }
    }

    /// Checks that no earlier export is left, since the library would still apply its rules.
    ///
    /// # Errors
    /// [`TunerError::StaleExport`].
    pub fn require_current(self) -> Result<(), TunerError> {
        match self {
            Self::Absent(NoExport::Refused {
                error,
                stale: Some(path),
            }) => Err(TunerError::StaleExport {
                path,
                source: Box::new(error),
            }),
            _ => Ok(()),
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
    let remarks = export_remarks(format, table, options, driver)?;
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
pub fn export_remarks(
    format: &dyn Format,
    table: &Table,
    options: &Options,
    driver: Option<&Path>,
) -> Result<Vec<String>, ExportError> {
    let Some(driver) = driver else {
        return Ok(Vec::new());
    };
    let exported = format.render(table, options)?;
    Ok(describe_overriding_components(
        format, table, &exported, driver,
    ))
}

/// Sentences about the components of a library that take precedence over the deployed file.
fn describe_overriding_components(
    format: &dyn Format,
    table: &Table,
    exported: &Exported,
    driver: &Path,
) -> Vec<String> {
    let Some(library) = libraries::find_library(&table.provenance.library.name) else {
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
        if format.is_read_by(&serving.component) {
            return None;
        }
        let overridden = serving
            .collectives
            .into_iter()
            .filter(|collective| is_exported(*collective));
        let names: Vec<&str> = overridden.map(|collective| collective.name()).collect();
        let place = if serving.over_nodes {
            " over several nodes"
        } else {
            ""
        };
        // A list that leaves everything to the component of other rules would leave out the one of this file.
        let mut words = remedy.split([',', '^', '=']);
        let advice = if words.any(|word| format.is_read_by(word)) {
            String::new()
        } else {
            format!("; set {remedy} to change that")
        };
        (!names.is_empty()).then(|| {
            format!(
                "With the library's present settings, {} carries out {}{place} and does not read this file{advice}.",
                serving.component,
                names.join(", ")
            )
        })
    };
    library
        .serving_components(&variables)
        .into_iter()
        .filter_map(sentence)
        .collect()
}

/// Exports a table beside its own file in the format that its library reads: `night.openmpi.conf` beside `night.yaml`.
///
/// MPICH's format needs the library's own decisions, for which an installation is searched for on `search`, a value of
/// `PATH`. `driver` is the measuring program of the library. Only rules that the policy deploys are written. If the
/// table has no rule for the library, an earlier export is replaced by a file that leaves everything to the library.
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
    let format = export::format_read_by(library);
    let Some((format, path)) = format.zip(export_path(library, path)) else {
        return Ok(Export::Absent(NoExport::NoFormat));
    };
    let is_replacing = path.exists();
    if !is_replacing && !export::has_choices(table) {
        return Ok(Export::Absent(NoExport::NoRules));
    }
    let options = Options {
        policy,
        ..Options::with_installed(Some(format), &library.version, search)
    };
    match render_export(format, table, &options, driver) {
        Ok(exported) => {
            write_export(&path, &exported)?;
            let notes = exported.notes;
            Ok(Export::Written { path, notes })
        }
        Err(error) => Ok(Export::Absent(NoExport::Refused {
            error,
            stale: is_replacing.then_some(path),
        })),
    }
}

/// The file that [`export_beside`] writes; `None` if the library reads no format or the table is a special file.
pub fn export_path(library: &Library, table: &Path) -> Option<PathBuf> {
    let format = export::format_read_by(library)?;
    let name = format!("{}.{}", library.name, format.suffix());
    (!files::is_special(table)).then(|| table.with_extension(name))
}

/// The path of the text beside an exported file.
pub fn companion_path(path: &Path) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".txt");
    beside.into()
}

/// The path of the text that [`write_export`] writes beside the file; `None` if there is no such text or the file is a
/// special file.
pub fn written_companion_path(path: &Path, exported: &Exported) -> Option<PathBuf> {
    (exported.companion.is_some() && !files::is_special(path)).then(|| companion_path(path))
}

/// Writes an exported file and, if its format has no comments, a text beside it with `.txt` appended to the name;
/// returns the path of that text.
///
/// # Errors
/// [`TunerError::File`].
pub fn write_export(path: &Path, exported: &Exported) -> Result<Option<PathBuf>, TunerError> {
    write_text(path, &exported.text)?;
    let beside = written_companion_path(path, exported);
    if let Some((beside, companion)) = beside.as_ref().zip(exported.companion.as_ref()) {
        write_text(beside, companion)?;
    }
    Ok(beside)
}
