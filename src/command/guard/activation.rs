//! An exported table that launches use.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use export::Options;
use table::{OperatorClass, Policy, Table};
use vocabulary::Library;

use crate::GuardError;

/// The environment in which launches use an exported table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activation {
    /// The variables to set.
    pub environment: Vec<(OsString, OsString)>,
    /// The exporter's notes, as full sentences.
    pub notes: Vec<String>,
}

impl Activation {
    /// The class of operators for which a library's file holds rules, if the library does not distinguish operators:
    /// the rules that are right for all operators, or, with `assume_commutative`, those for commutative ones.
    pub fn operator_class(library: &Library, assume_commutative: bool) -> Option<OperatorClass> {
        let known = libraries::find_library(&library.name);
        let tells_apart =
            known.is_some_and(|known_library| known_library.facts().tells_operators_apart);
        (!tells_apart).then(|| OperatorClass::from_commutes(assume_commutative))
    }

    /// Exports what the policy deploys of a table for a library into a folder, which all hosts of launches must see.
    /// `path` has the folders in which the library's own file is searched for, beside launchers.
    ///
    /// # Errors
    /// If the library reads no tables; errors of the exporter.
    pub fn from_exported_table(
        table: &Table,
        library: &Library,
        folder: &Path,
        assume_commutative: bool,
        policy: Policy,
        path: &OsStr,
    ) -> Result<Self, GuardError> {
        let reads_none = || GuardError::ReadsNoTables {
            library: library.clone(),
        };
        let format = export::format_read_by(library).ok_or_else(reads_none)?;
        let exported = format.render(
            table,
            &Options {
                version: Some(library.version.clone()),
                assume_commutative,
                policy,
                ..Options::with_installed(Some(format), &library.version, path)
            },
        )?;
        let file = folder.join(format!("table.{}", format.suffix()));
        tuner::write_text(&file, &exported.text)?;
        Ok(Self {
            environment: exported.job_environment(&file),
            notes: exported.notes,
        })
    }
}
