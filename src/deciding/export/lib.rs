//! Decision tables in the formats that MPI libraries and programs read.
//!
//! A [`Format`] turns a [`table::Table`] as a [`table::Policy`] deploys it into text, reads that text back with a
//! strict reader, and returns it only if it contains every decision. A library's file can name only that library's own
//! algorithms, so the table's decisions for [`table::Deployment::Library`] are exported; where there are none, the
//! library decides.
//!
//! [`FORMATS`] lists the formats, each in its own file.
//!
//! # What a library's settings can express
//!
//! [`Choices`] has the choices that one library's settings can express for one class of operators, one entry per number
//! of ranks. Since libraries do not see nodes, all measured shapes with that number of ranks have to agree, and the
//! entry holds for that number alone unless the policy extrapolates. Rendering applies the policy, so that no format
//! can forget it.
//!
//! Each format leaves out rules that the library would carry out differently, and compares its own text at every
//! threshold. Which of a library's algorithms combine in order is in the crate `libraries`, for measuring, tables and
//! exports alike. Real libraries are asked in the tests of `cli` (`exports`): a preloaded library sees Open MPI's
//! algorithms called, and MPICH's messages are compared with those of forced algorithms.

pub mod c_header;
mod choices;
pub mod deploy;
mod deployed;
mod error;
mod file_sizes;
mod header;
pub mod intelmpi;
pub mod mpich;
pub mod openmpi;
mod site_files;
mod site_rules;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use table::{Deployments, Policy, Table};
use vocabulary::{Candidate, CommShape, Library};

pub use choices::{Choices, LibraryRule, Native, RanksRules};
pub use error::ExportError;
pub use site_rules::{
    LineRange, RuleLine, SiteRules, SiteRulesOptions, shapes_of_file, site_formats,
};

/// A format that tables can be exported to.
pub trait Format: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// The usual suffix of its files, without the dot.
    fn suffix(&self) -> &'static str;

    /// The releases that it supports, as text.
    fn releases(&self) -> &'static str;

    /// Whether its files can have all candidates, not only the library's own algorithms.
    fn has_all_candidates(&self) -> bool {
        false
    }

    /// The table as the options' policy deploys it, as a file of this format that has been read back and compared.
    ///
    /// # Errors
    /// The release is not supported, or the options exclude each other.
    fn render(&self, table: &Table, options: &Options) -> Result<Exported, ExportError> {
        deployed::check_shapes(table, options)?;
        let (table, mut notes) =
            deployed::apply_policy(table, options.policy, self.has_all_candidates());
        if options.stock {
            // None of the table's rules is written, so none is withheld either.
            notes.clear();
        }
        notes.extend(options.remarks.iter().cloned());
        self.render_deployed(&table, notes, options)
    }

    /// Renders a table to which the policy has been applied; `notes` go into the file.
    ///
    /// # Errors
    /// The errors of [`Format::render`].
    fn render_deployed(
        &self,
        table: &Table,
        notes: Vec<String>,
        options: &Options,
    ) -> Result<Exported, ExportError>;

    /// Checks strictly whether a text is a file of this format.
    ///
    /// # Errors
    /// The first problem, with its line.
    fn validate(&self, text: &str, options: &Options) -> Result<(), ExportError>;

    /// The names of all variables that [`Exported::variables`] of this format may have.
    fn variable_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// Of the variables of [`Exported::variables`] those for which a site may have values of its own, with the value that
    /// files of this format need.
    fn shared_variables(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Whether a component of the library that precedes the one of other files reads files of this format itself.
    fn is_read_by(&self, _component: &str) -> bool {
        false
    }

    /// The file of an installed library of a release for [`Options::library`]: beside a launcher on the search path
    /// `path`, or among the system's libraries. `None` if there is none, or if this format needs none.
    fn find_installed(&self, _version: &str, _path: &OsStr) -> Option<PathBuf> {
        None
    }
}

/// The options of an export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The release to write for, as in `4.1.4`; `None` for that of the table's library.
    pub version: Option<String>,
    /// Whether programs use only commutative operators.
    pub assume_commutative: bool,
    /// The library's file, for formats that need the library's own decisions.
    pub library: Option<PathBuf>,
    /// The policy, which selects rules. If it extrapolates, the rules for a number of ranks hold up to the next
    /// measured number, otherwise only for that number.
    pub policy: Policy,
    /// The shapes whose rules are written by a format that cannot distinguish shapes with the same number of ranks; at
    /// most one per number of ranks.
    pub assume_shapes: Vec<CommShape>,
    /// Whether a file that leaves everything to the library may be written for a library that the table is not about.
    pub stock: bool,
    /// Additional [`Exported::notes`].
    pub remarks: Vec<String>,
}

impl Options {
    /// Options with the file of an installed library of a release, if the format needs one, searched for on `path`, a
    /// value of `PATH`.
    pub fn with_installed(format: Option<&dyn Format>, version: &str, path: &OsStr) -> Self {
        Self {
            library: format.and_then(|format| format.find_installed(version, path)),
            ..Self::default()
        }
    }
}

/// A file, ready to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// Its text.
    pub text: String,
    /// Instructions and origin, if the file itself has no place for them.
    pub companion: Option<String>,
    /// The environment variables of a job that uses the file, by name; a variable without a value gets the file's
    /// absolute path.
    pub variables: Vec<(String, Option<String>)>,
    /// Notes for deployment, each a full sentence.
    pub notes: Vec<String>,
    /// Whether it makes any choice but the library's default.
    pub decides: bool,
}

impl Exported {
    /// The environment of a job that uses the file at this absolute path.
    pub fn job_environment(&self, file: &Path) -> Vec<(OsString, OsString)> {
        let variables = self.variables.iter();
        let value = |given: &Option<String>| given.as_ref().map_or_else(|| file.into(), Into::into);
        variables
            .map(|(name, given)| (name.into(), value(given)))
            .collect()
    }
}

/// Every format.
pub const FORMATS: [&dyn Format; 7] = [
    &openmpi::Classic,
    &openmpi::Json,
    &openmpi::HanRules,
    &openmpi::ComponentParameters,
    &mpich::SelectionFile,
    &intelmpi::Presets,
    &c_header::CHeader,
];

/// The meaning of files of the libraries of whose files tables are made.
pub(crate) const SITE_FILES: [site_files::SiteFiles; 2] =
    [openmpi::site::FILES, mpich::site::FILES];

/// The format of a name.
pub fn find_format(name: &str) -> Option<&'static dyn Format> {
    FORMATS.into_iter().find(|format| format.name() == name)
}

/// The format that a library reads, if it reads one.
pub fn format_read_by(library: &Library) -> Option<&'static dyn Format> {
    let known = libraries::find_library(&library.name)?;
    find_format(known.facts().export_format(&library.version)?)
}

/// Whether a table has any choice that its library can be given.
pub fn has_choices(table: &Table) -> bool {
    let exported = table
        .entries()
        .filter(|entry| entry.deployments != Deployments::Colltune);
    exported
        .flat_map(|entry| &entry.rules)
        .any(|rule| matches!(rule.candidate, Candidate::Native { .. }))
}

/// Whether a table makes any choice for blocking calls but the library's default.
pub(crate) fn makes_choices(table: &Table) -> bool {
    let mut rules = table.entries().flat_map(|entry| &entry.rules);
    rules.any(|rule| rule.candidate != Candidate::Default)
}
