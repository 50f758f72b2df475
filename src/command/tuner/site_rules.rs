//! Tables from files with which a site steers its MPI library (`colltune import`).

use std::io;
use std::path::{Path, PathBuf};

use explained::Explained;
use export::{SiteRules, SiteRulesOptions, shapes_of_file, site_formats};
use libraries::{ExaminedRelease, find_library};
use table::TableError;
use thiserror::Error;
use vocabulary::{CommShape, ErrorKind, Library};

use crate::steering::read_as_libraries_do;

/// A file with the rules of a site, and what it does not say.
#[derive(Clone, Debug)]
pub struct SiteRulesRequest {
    /// The file.
    pub file: PathBuf,
    /// The name of its format; by default what it looks like.
    pub format: Option<String>,
    /// The library and the release that reads the file.
    pub library: Library,
    /// The shapes about which the table is to decide; empty for the numbers of ranks at which rules of the file begin, each on
    /// one node.
    pub shapes: Vec<CommShape>,
    /// The table's file.
    pub output: PathBuf,
}

/// The most rules of a file of which a table is made.
const MOST_RULES: usize = 10_000;

/// A file of a site that cannot become a table.
#[derive(Debug, Error, Explained)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum SiteRulesError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    #[kind(Input)]
    Read { path: PathBuf, source: io::Error },
    /// There is no such format, or the library does not read it.
    #[error("tables cannot be made of files of {library} in the format `{name}`")]
    #[kind(Input)]
    #[help("these formats are known: {}", known_rules_formats().join(", "))]
    NoFormat { name: String, library: String },
    /// The file has no known format.
    #[error("{} does not look like rules of {library}", path.display())]
    #[kind(Input)]
    #[help("name its format with `--format`: {}", known_rules_formats().join(", "))]
    UnknownFormat { path: PathBuf, library: String },
    /// The release ignores the file.
    #[error("{}:{line}: {library} ignores the whole file: {message}", path.display())]
    #[kind(Input)]
    #[help("correct the file; `colltune audit --library {library}` says all that is wrong with it")]
    Ignored {
        path: PathBuf,
        line: usize,
        library: String,
        message: String,
    },
    /// A table of the file would take too long to make and to read.
    #[error("{} has {rules} rules, and a table is made of at most {MOST_RULES}", path.display())]
    #[kind(Input)]
    #[help(
        "import a file with the rules that matter here; `colltune audit` says which rows are never used"
    )]
    TooMany { path: PathBuf, rules: usize },
    /// No rule is left.
    #[error("{}: no rule decides about any of the shapes", path.display())]
    #[kind(Input)]
    #[help("name shapes with as many ranks as the rules are for, as in `--shapes 1x8,2x8`")]
    Nothing { path: PathBuf },
    /// The table cannot be written.
    #[error(transparent)]
    #[kind(transparent)]
    Table(#[from] TableError),
}

/// The names of the formats of which tables can be made.
pub fn known_rules_formats() -> Vec<&'static str> {
    site_formats()
        .into_iter()
        .map(|(_, format)| format.name)
        .collect()
}

/// Makes a table of a site's file as the release treats the file, and writes it.
///
/// # Errors
/// A file that cannot be read, that has no known format or that the release ignores; rules for none of the shapes; a
/// table that cannot be written.
pub fn import_site_rules(request: &SiteRulesRequest) -> Result<SiteRules, SiteRulesError> {
    let path = &request.file;
    let text = read_as_libraries_do(path).map_err(|source| SiteRulesError::Read {
        path: path.clone(),
        source,
    })?;
    let library = request.library.to_string();
    let known = find_library(&request.library.name);
    let formats = site_formats().into_iter();
    let mut formats = formats.filter(|(of, _)| Some(*of) == known);
    let found = match &request.format {
        Some(name) => formats.find(|(_, format)| format.name == name),
        None => formats.find(|(_, format)| (format.recognises)(&text)),
    };
    let read_rules = found.and_then(|(_, format)| format.read_rules);
    let Some(read_rules) = read_rules else {
        return Err(match request.format.clone() {
            Some(name) => SiteRulesError::NoFormat { name, library },
            None => SiteRulesError::UnknownFormat {
                path: path.clone(),
                library,
            },
        });
    };
    let release = ExaminedRelease {
        version: &request.library.version,
        variables: None,
        assume_commutative: true,
    };
    let rules = read_rules(&release, &text).map_err(|finding| SiteRulesError::Ignored {
        path: path.clone(),
        line: finding.line.unwrap_or(1),
        library,
        message: finding.message,
    })?;
    if rules.rules.len() > MOST_RULES {
        return Err(SiteRulesError::TooMany {
            path: path.clone(),
            rules: rules.rules.len(),
        });
    }
    let options = SiteRulesOptions {
        name: name_of_table(&request.output),
        file: path.display().to_string(),
        library: request.library.clone(),
        shapes: if request.shapes.is_empty() {
            shapes_of_file(&rules)
        } else {
            request.shapes.clone()
        },
        date: jiff::Zoned::now().date().to_string(),
    };
    let imported = SiteRules::from_file_rules(&rules, &text, &options);
    if imported.table.collectives.is_empty() {
        return Err(SiteRulesError::Nothing { path: path.clone() });
    }
    imported.table.save(&request.output)?;
    Ok(imported)
}

/// The name of a table, by its file.
fn name_of_table(path: &Path) -> String {
    let stem = path.file_stem();
    stem.map_or_else(
        || "imported".to_owned(),
        |stem| stem.to_string_lossy().into_owned(),
    )
}
