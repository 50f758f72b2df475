//! Tables from files with which a site steers its MPI library (`colltune import`).

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use explained::Explained;
use export::{SiteRules, SiteRulesOptions, shapes_of_file, site_formats};
use libraries::{
    ExaminedRelease, FileRules, FindingKind, SteeringFormat, find_library, hand_back_lines,
};
use table::TableError;
use thiserror::Error;
use vocabulary::{CommShape, ErrorKind, Library};

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
    /// The release ends programs over the file.
    #[error("{}:{line}: {library} ends programs over this file: {message}", path.display())]
    #[kind(Input)]
    #[help("correct the file; `colltune audit --library {library}` says all that is wrong with it")]
    EndsPrograms {
        path: PathBuf,
        line: usize,
        library: String,
        message: String,
    },
    /// Lines of files of this format cannot be handed back.
    #[error("lines of {}, {format}, cannot be handed back to the library", path.display())]
    #[kind(Input)]
    #[help(
        "leave out `--repair`, and write the file anew from a table: `colltune import`, `validate --confirm`, `export`"
    )]
    NoRepair { path: PathBuf, format: &'static str },
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
    /// A file that cannot be changed without changing what it says elsewhere.
    #[error("{}:{line}: the line cannot be handed back to the library without changing what other lines say", path.display())]
    #[kind(Input)]
    #[help("write 0 as the algorithm of that row, and nothing but numbers and blanks around it")]
    NotRepairable { path: PathBuf, line: usize },
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

/// A site's file with the rules that a release takes from it.
#[derive(Debug)]
pub struct SiteFile {
    path: PathBuf,
    bytes: Vec<u8>,
    text: String,
    library: Library,
    format: &'static SteeringFormat,
    rules: FileRules,
}

impl SiteFile {
    /// Reads a file as a release of a library does; `format_name` names its format, by default the one that it looks like.
    ///
    /// # Errors
    /// A file that cannot be read, that has no known format or that the release ignores.
    pub fn read(
        path: &Path,
        format_name: Option<&str>,
        library: &Library,
    ) -> Result<Self, SiteRulesError> {
        let bytes = files::read(path).map_err(|source| SiteRulesError::Read {
            path: path.to_owned(),
            source,
        })?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let known = find_library(&library.name);
        let formats = site_formats().into_iter();
        let mut formats = formats.filter(|(of, _)| Some(*of) == known);
        let found = match format_name {
            Some(name) => formats.find(|(_, format)| format.name == name),
            None => formats.find(|(_, format)| (format.recognises)(&text)),
        };
        let readable = found.and_then(|(_, format)| Some((format, format.read_rules?)));
        let Some((known_format, read_rules)) = readable else {
            return Err(match format_name.map(str::to_owned) {
                Some(name) => SiteRulesError::NoFormat {
                    name,
                    library: library.to_string(),
                },
                None => SiteRulesError::UnknownFormat {
                    path: path.to_owned(),
                    library: library.to_string(),
                },
            });
        };
        let rules = read_rules(&examined_release(library), &text).map_err(|finding| {
            let (path, library) = (path.to_owned(), library.to_string());
            let (line, message) = (finding.line.unwrap_or(1), finding.message);
            if finding.kind == FindingKind::EndsPrograms {
                SiteRulesError::EndsPrograms {
                    path,
                    line,
                    library,
                    message,
                }
            } else {
                SiteRulesError::Ignored {
                    path,
                    line,
                    library,
                    message,
                }
            }
        })?;
        if rules.rules.len() > MOST_RULES {
            return Err(SiteRulesError::TooMany {
                path: path.to_owned(),
                rules: rules.rules.len(),
            });
        }
        Ok(Self {
            path: path.to_owned(),
            bytes,
            text,
            library: library.clone(),
            format: known_format,
            rules,
        })
    }

    /// The table of the rules for some shapes, by default those of which the file speaks.
    ///
    /// # Errors
    /// Rules for none of the shapes.
    pub fn to_table(
        &self,
        name: String,
        shapes: &[CommShape],
    ) -> Result<SiteRules, SiteRulesError> {
        let options = SiteRulesOptions {
            name,
            file: self.path.display().to_string(),
            library: self.library.clone(),
            shapes: if shapes.is_empty() {
                shapes_of_file(&self.rules)
            } else {
                shapes.to_vec()
            },
            date: jiff::Zoned::now().date().to_string(),
        };
        let imported = SiteRules::from_file_rules(&self.rules, &self.text, &options);
        if imported.table.collectives.is_empty() {
            return Err(SiteRulesError::Nothing {
                path: self.path.clone(),
            });
        }
        Ok(imported)
    }

    /// Checks that lines can be handed back in files of this format.
    ///
    /// # Errors
    /// [`SiteRulesError::NoRepair`].
    pub fn check_repairable(&self) -> Result<(), SiteRulesError> {
        if self.format.choices_in_lines.is_some() {
            return Ok(());
        }
        Err(SiteRulesError::NoRepair {
            path: self.path.clone(),
            format: self.format.title,
        })
    }

    /// The file with some lines handed back to the library's own choice; every other byte is as before.
    ///
    /// # Errors
    /// A file in which other lines would be read otherwise then.
    pub fn hand_back_lines(&self, lines: &BTreeSet<usize>) -> Result<Vec<u8>, SiteRulesError> {
        self.check_repairable()?;
        let release = examined_release(&self.library);
        let written = hand_back_lines(&self.bytes, self.format, &release, lines);
        written.ok_or_else(|| SiteRulesError::NotRepairable {
            path: self.path.clone(),
            line: lines.first().copied().unwrap_or(1),
        })
    }

    /// The number of faults that an audit finds in a file of the same format.
    pub fn count_faults(&self, content: &[u8], assume_commutative: bool) -> usize {
        let release = ExaminedRelease {
            assume_commutative,
            ..examined_release(&self.library)
        };
        let found = (self.format.examine)(&release, &String::from_utf8_lossy(content));
        let faults = found.all.iter().filter(|finding| finding.kind.is_fault());
        faults.count()
    }
}

fn examined_release(library: &Library) -> ExaminedRelease<'_> {
    ExaminedRelease {
        version: &library.version,
        variables: None,
        assume_commutative: true,
    }
}

/// A table of a site's file that was written.
#[derive(Debug)]
pub struct ImportedRules {
    /// The table, with what is behind it.
    pub rules: SiteRules,
    /// The faults that an audit finds in the file, apart from what concerns operators that do not commute: lines that the
    /// release treats otherwise than people read them.
    pub faults: usize,
}

/// Makes a table of a site's file as the release treats the file, and writes it.
///
/// # Errors
/// A file that cannot be read, that has no known format or that the release ignores; rules for none of the shapes; a
/// table that cannot be written.
pub fn import_site_rules(request: &SiteRulesRequest) -> Result<ImportedRules, SiteRulesError> {
    let file = SiteFile::read(&request.file, request.format.as_deref(), &request.library)?;
    let imported = file.to_table(name_of_table(&request.output), &request.shapes)?;
    imported.table.save(&request.output)?;
    Ok(ImportedRules {
        rules: imported,
        faults: file.count_faults(&file.bytes, true),
    })
}

/// The name of a table, by its file.
fn name_of_table(path: &Path) -> String {
    let stem = path.file_stem();
    stem.map_or_else(
        || "imported".to_owned(),
        |stem| stem.to_string_lossy().into_owned(),
    )
}
