//! A table in place, as its library reads it.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use export::Options;
use table::{Confidence, OperatorClass, Policy, Table};
use vocabulary::Library;

use crate::GuardError;

/// An exported table, and what lets launches use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activation {
    /// The variables of such a launch's environment.
    pub environment: Vec<(OsString, OsString)>,
    /// What the exporter has to say, each a full sentence.
    pub notes: Vec<String>,
}

impl Activation {
    /// The operators whose rules a library's file has, if it does not tell operators apart: those that are
    /// right for all, or, with `assume_commutative`, those for operators that commute.
    pub fn operators(library: &Library, assume_commutative: bool) -> Option<OperatorClass> {
        let known = libraries::find(&library.name);
        let tells_apart = known.is_some_and(|library| library.facts().tells_operators_apart);
        (!tells_apart).then(|| OperatorClass::of(assume_commutative))
    }

    /// Exports a table for a library into a folder, which all hosts of launches must see. `path` is where
    /// the library's own file is looked for, beside launchers.
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
        let reads_none = || GuardError::ReadsNoTables {
            library: library.clone(),
        };
        let format = export::read_by(library).ok_or_else(reads_none)?;
        let exported = format.render(
            table,
            &Options {
                version: Some(library.version.clone()),
                assume_commutative,
                library: format.installed(&library.version, path),
                // Measurements shall tell which rules are good enough to be deployed.
                policy: Policy {
                    min_confidence: Some(Confidence::Low),
                    unconfirmed: true,
                    extrapolate: false,
                },
                ..Options::default()
            },
        )?;
        let file = folder.join(format!("table.{}", format.suffix()));
        tuner::write(&file, &exported.text)?;
        Ok(Self {
            environment: exported.environment(&file),
            notes: exported.notes,
        })
    }
}
