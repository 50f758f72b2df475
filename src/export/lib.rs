//! Decision tables in the formats that MPI libraries and programs read.
//!
//! A [`Format`] turns what a [`table::Policy`] deploys of a [`table::Table`] into text, reads that text again with
//! a strict reader of its own, and hands it out only if every decision is found in it. What a library reads can name
//! only that library's own algorithms, so the table's decisions for [`table::Deployment::Library`] are exported;
//! where there are none, the library goes on deciding for itself.
//!
//! One file a format: see [`FORMATS`].

pub mod c_header;
mod choices;
pub mod deploy;
mod deployed;
mod error;
mod header;
pub mod mpich;
pub mod openmpi;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use table::{Deployments, Policy, Table};
use vocabulary::{Candidate, CommShape, Library};

pub use choices::{Choices, LibraryRule, Native, RanksRules};
pub use error::ExportError;

/// A format that tables can be exported to.
pub trait Format: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// What its files usually end with, without the dot.
    fn suffix(&self) -> &'static str;

    /// The releases that it knows how to write for, in words.
    fn releases(&self) -> &'static str;

    /// Whether its files have all candidates, and not only the library's own algorithms.
    fn has_all_candidates(&self) -> bool {
        false
    }

    /// What the options' policy deploys of the table as a file of this format, which has been read again and
    /// compared.
    ///
    /// # Errors
    /// If the release is not known, or the options do not go together.
    fn render(&self, table: &Table, options: &Options) -> Result<Exported, ExportError> {
        deployed::check_shapes(table, options)?;
        let (table, mut notes) =
            deployed::deployed(table, options.policy, self.has_all_candidates());
        notes.extend(options.remarks.iter().cloned());
        self.write(&table, notes, options)
    }

    /// Renders a table to which the policy has been applied; `notes` go into the file.
    ///
    /// # Errors
    /// As for [`Format::render`].
    fn write(
        &self,
        table: &Table,
        notes: Vec<String>,
        options: &Options,
    ) -> Result<Exported, ExportError>;

    /// Whether a text is a file of this format, strictly.
    ///
    /// # Errors
    /// What is wrong, and in which line.
    fn validate(&self, text: &str, options: &Options) -> Result<(), ExportError>;

    /// The names of all variables that [`Exported::variables`] of this format may have.
    fn variables(&self) -> Vec<String> {
        Vec::new()
    }

    /// The library's file that [`Options::library`] is to name, of an installation of a release: beside a
    /// launcher on the search path `path`, or among the system's libraries. `None` if there is none, or
    /// this format needs none.
    fn installed(&self, _version: &str, _path: &OsStr) -> Option<PathBuf> {
        None
    }
}

/// What is exported and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The release to write for, as in `4.1.4`; that of the table's library if absent.
    pub version: Option<String>,
    /// Whether programs use no operators that do not commute.
    pub assume_commutative: bool,
    /// The library's file, where a format needs to know what the library does by itself.
    pub library: Option<PathBuf>,
    /// The policy, which selects rules. If it extrapolates, the rules of a number of ranks hold up to the next
    /// number that was measured, otherwise for that number alone.
    pub policy: Policy,
    /// The shapes whose rules are written by a format that cannot tell shapes with the same number of ranks apart;
    /// one for a number of ranks at most.
    pub assume_shapes: Vec<CommShape>,
    /// Whether a file may be written for a library that the table is not about, where it leaves everything to that
    /// library.
    pub stock: bool,
    /// Further notes, to stand among [`Exported::notes`].
    pub remarks: Vec<String>,
}

/// A file, ready to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// Its text.
    pub text: String,
    /// How to activate it and where it comes from, where the file itself has no place for that.
    pub companion: Option<String>,
    /// What the environment of a job has that uses the file, by name; a variable without a value is to
    /// have the file's absolute path.
    pub variables: Vec<(String, Option<String>)>,
    /// What must be known to deploy it, each a full sentence.
    pub notes: Vec<String>,
    /// Whether it chooses anything but the library's default.
    pub decides: bool,
}

impl Exported {
    /// The environment of a job that uses the file at this absolute path.
    pub fn environment(&self, file: &Path) -> Vec<(OsString, OsString)> {
        let variables = self.variables.iter();
        let value = |given: &Option<String>| given.as_ref().map_or_else(|| file.into(), Into::into);
        variables
            .map(|(name, given)| (name.into(), value(given)))
            .collect()
    }
}

/// Every format.
pub const FORMATS: [&dyn Format; 4] = [
    &openmpi::Classic,
    &openmpi::Json,
    &mpich::SelectionFile,
    &c_header::CHeader,
];

/// The format of a name.
pub fn find(name: &str) -> Option<&'static dyn Format> {
    FORMATS.into_iter().find(|format| format.name() == name)
}

/// The format that a library reads, if it reads one.
pub fn read_by(library: &Library) -> Option<&'static dyn Format> {
    let known = libraries::find(&library.name)?;
    find(known.facts().format(&library.version)?)
}

/// Whether a table has anything that its library can be told.
pub fn has_choices(table: &Table) -> bool {
    let told = table
        .entries()
        .filter(|entry| entry.deployments != Deployments::Colltune);
    told.flat_map(|entry| &entry.rules)
        .any(|rule| matches!(rule.candidate, Candidate::Native { .. }))
}

/// Whether a table chooses anything but the library's default.
pub(crate) fn decides(table: &Table) -> bool {
    let mut rules = table.entries().flat_map(|entry| &entry.rules);
    rules.any(|rule| rule.candidate != Candidate::Default)
}
