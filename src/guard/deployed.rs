//! A table in place, as its library reads it.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use export::{Format, Options};
use table::{OperatorClass, Table};
use tuner::write_atomically;
use vocabulary::Library;

use crate::GuardError;

/// An exported table, and what lets launches use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deployed {
    /// The variables of such a launch's environment.
    pub environment: Vec<(OsString, OsString)>,
    /// What the exporter has to say, each a full sentence.
    pub notes: Vec<String>,
}

impl Deployed {
    /// The operators whose rules a library's file has for the operators of campaigns, which commute: MPICH
    /// tells operators apart, rules of Open MPI hold for all.
    pub fn operators(library: &Library, assume_commutative: bool) -> OperatorClass {
        match library.name == export::mpich::Selection.name() || assume_commutative {
            true => OperatorClass::Commutative,
            false => OperatorClass::Noncommutative,
        }
    }

    /// Exports a table for a library into a folder, which all hosts of launches must see. `path` is where
    /// MPICH's own file is looked for, beside launchers.
    ///
    /// # Errors
    /// If the library reads no tables; or what the exporter refuses.
    pub fn put(
        table: &Table,
        library: &Library,
        folder: &Path,
        assume_commutative: bool,
        path: &OsStr,
    ) -> Result<Self, GuardError> {
        let format = format_of(library)?;
        let is_mpich = format.name() == export::mpich::Selection.name();
        let exported = format.render(
            table,
            &Options {
                version: Some(library.version.clone()),
                assume_commutative,
                library: is_mpich
                    .then(|| export::mpich::find(&library.version, path))
                    .flatten(),
            },
        )?;
        let file = folder.join(format!("table.{}", format.suffix()));
        write_atomically(&file, &exported.text)?;
        Ok(Self {
            environment: exported.environment(&file),
            notes: exported.notes,
        })
    }
}

/// What a library reads.
fn format_of(library: &Library) -> Result<&'static dyn Format, GuardError> {
    let major = library.version.split('.').next().unwrap_or_default();
    let major: Option<u32> = major.parse().ok();
    match (library.name.as_str(), major) {
        ("openmpi", Some(6..)) => Ok(&export::openmpi::Json),
        ("openmpi", _) => Ok(&export::openmpi::Classic),
        ("mpich", _) => Ok(&export::mpich::Selection),
        _ => Err(GuardError::ReadsNoTables {
            library: library.clone(),
        }),
    }
}
