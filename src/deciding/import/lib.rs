//! Imports measurements of other programs into a store.
//!
//! All files are read before anything is written. They are then stored in one transaction, as new launches. Candidates
//! are compared within launches only, so their times must be in one file, under the same launch.

mod baseline;
mod benchmark;
mod csv;
mod error;
mod imb;
mod log;
mod osu;
mod problem;
mod record;
mod row;
mod statements;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use sha2::{Digest, Sha256};
use store::{Import, ImportedLaunch, ImportedSample, Lock, Store, files_beside};
use vocabulary::{Candidate, Cell, Library, Subject, Warning};
use wire::Environment;

use crate::row::{LeftOut, Reading, Row};

pub use crate::error::ImportError;
pub use crate::problem::LineProblem;
pub use crate::record::ImportRecord;
pub use crate::row::Skipped;

/// The formats of files that can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportFormat {
    /// Comma-separated values with a header.
    Csv,
    /// The output of the OSU micro-benchmarks for collectives.
    Osu,
    /// The output of the Intel MPI Benchmarks (IMB-MPI1).
    Imb,
}

/// Options of an import, with the information that files lack.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportOptions {
    /// The format of the files.
    pub format: ImportFormat,
    /// The library that was measured; optional for CSV.
    pub library: Option<Library>,
    /// Number of nodes, unless the file has it.
    pub nodes: Option<u32>,
    /// Ranks per node, unless the file has it.
    pub ppn: Option<u32>,
    /// The machine's name, for reports.
    pub machine: Option<String>,
    /// The candidate that takes the place of a default that was not measured: `source:algorithm`.
    pub baseline: Option<String>,
    /// The smallest gain over the default, as a share, for which decisions replace it.
    pub materiality: f64,
}

/// The result of an import.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Imported {
    /// The measured library.
    pub library: Library,
    /// The numbers of the imported launches in the store.
    pub launches: Vec<u32>,
    /// The number of cells measured.
    pub cells: usize,
    /// The number of candidates, each with its parameters.
    pub candidates: usize,
    /// The number of times.
    pub repetitions: usize,
    /// The number of cells without a time of the default, which no table can decide.
    pub without_default: usize,
    /// Lines and tables that were left out.
    pub skipped: Vec<Skipped>,
    /// Lines of other programs among the rows of tables.
    pub other_lines: Vec<Skipped>,
    /// Files of a folder that hold nothing to import; `skipped` has the reasons for those that hold something else.
    pub empty: Vec<PathBuf>,
    /// Files of a folder that cannot be imported.
    pub refused: Vec<Refused>,
    /// Files of a folder that the store already has, or that repeat another one.
    pub known: Vec<PathBuf>,
    /// Reasons to trust the times less, as sentences.
    #[serde(serialize_with = "sentences")]
    #[schemars(with = "Vec<String>")]
    pub warnings: BTreeSet<Warning>,
}

/// A file of a folder that cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Refused {
    /// The file.
    pub file: PathBuf,
    /// What is wrong.
    pub why: String,
    /// A remedy; null if `why` says it.
    pub help: Option<String>,
}

fn sentences<S: Serializer>(warnings: &BTreeSet<Warning>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(warnings.iter().map(Warning::to_string))
}

/// Reads a file of measurements, or all files below a folder, and adds them to a store, which is created if it is
/// missing. A table with a fault is left out, and no other one with it. Hidden files in a folder are skipped. Files in
/// it that the store already has, that hold nothing to import, or that cannot be imported, are left out and listed in
/// the result.
///
/// # Errors
/// Errors in a file or the options that leave nothing to import; a store that already has the file, holds colltune's
/// own measurements of that library, or cannot be written. Nothing is stored then.
pub fn import_files(
    path: &Path,
    store: &Path,
    options: &ImportOptions,
) -> Result<Imported, ImportError> {
    let mut found = ReadFiles::default();
    if path.is_dir() {
        found.read_folder(path, store, options)?;
    } else {
        found.contents.push(Content::read_file(path, options)?);
    }
    let ReadFiles {
        mut contents,
        mut skipped,
        empty,
        refused,
    } = found;
    let Written {
        launches,
        known,
        of_one_shape,
    } = write_to_store(store, &contents, path.is_dir())?;
    contents.retain(|of| !known.contains(&of.file));
    skipped.extend(of_one_shape);
    let rows = || contents.iter().flat_map(|of| &of.rows);
    let cells: BTreeSet<Cell> = rows().map(|row| row.cell).collect();
    let candidates: BTreeSet<&Candidate> = rows().map(|row| &row.candidate).collect();
    let of_contents = contents.iter().flat_map(|of| of.skipped.clone());
    skipped.extend(of_contents);
    Ok(Imported {
        library: options.library.clone().unwrap_or_else(unnamed_library),
        launches,
        without_default: cells.len() - baseline::cells_with_default(rows()).len(),
        cells: cells.len(),
        candidates: candidates.len(),
        repetitions: rows().count(),
        warnings: contents.iter().flat_map(|of| of.warnings.clone()).collect(),
        other_lines: contents.into_iter().flat_map(|of| of.others).collect(),
        skipped,
        empty,
        refused,
        known,
    })
}

/// What the files of an import hold.
#[derive(Default)]
struct ReadFiles {
    contents: Vec<Content>,
    /// What is left out of files that hold nothing to import.
    skipped: Vec<Skipped>,
    empty: Vec<PathBuf>,
    refused: Vec<Refused>,
}

impl ReadFiles {
    /// Reads the files below a folder.
    ///
    /// # Errors
    /// If the folder cannot be read, or none of its files can be imported.
    fn read_folder(
        &mut self,
        folder: &Path,
        store: &Path,
        options: &ImportOptions,
    ) -> Result<(), ImportError> {
        let unreadable = |source| ImportError::Folder {
            path: folder.to_owned(),
            source,
        };
        let mut files = files_of(folder).map_err(unreadable)?;
        let own: Vec<PathBuf> = files_beside(store)
            .into_iter()
            .chain([store.to_owned()])
            .collect();
        files.retain(|file| !own.iter().any(|own| files::is_same(file, own)));
        let mut first = None;
        for file in files {
            let error = match Content::read_file(&file, options) {
                Ok(content) => {
                    self.contents.push(content);
                    continue;
                }
                Err(error) => error,
            };
            match &error {
                ImportError::Empty { skipped, .. } => {
                    self.skipped.extend(skipped.iter().map(|skipped| Skipped {
                        file: file.clone(),
                        ..skipped.clone()
                    }));
                    self.empty.push(file);
                    continue;
                }
                _ => self.refused.push(Refused {
                    why: error.to_string(),
                    help: error.help(),
                    file,
                }),
            }
            first.get_or_insert(error);
        }
        if !self.contents.is_empty() {
            return Ok(());
        }
        let path = folder.to_owned();
        Err(match first {
            Some(first) => ImportError::Files {
                path,
                first: Box::new(first),
            },
            None => ImportError::Empty {
                path,
                format: options.format,
                skipped: std::mem::take(&mut self.skipped),
            },
        })
    }
}

/// The files below a folder by name, without hidden files and folders; links to folders are not followed.
fn files_of(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries: io::Result<Vec<DirEntry>> = fs::read_dir(folder)?.collect();
    let mut entries = entries?;
    entries.retain(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."));
    entries.sort_by_key(DirEntry::file_name);
    let mut files = Vec::new();
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() {
            files.extend(files_of(&path)?);
        } else if !(kind.is_symlink() && path.is_dir()) {
            files.push(path);
        }
    }
    Ok(files)
}

/// The content of a file and its import.
struct Content {
    file: PathBuf,
    rows: Vec<Row>,
    skipped: Vec<Skipped>,
    others: Vec<Skipped>,
    warnings: BTreeSet<Warning>,
    import: Import,
    /// Set if tables of other shapes are left out.
    several_shapes: Option<SeveralShapes>,
}

/// A file with tables of several shapes.
struct SeveralShapes {
    /// The digest of its import if all tables are taken as those of one shape.
    digest: String,
    /// The line of the first table that is left out.
    line: u64,
}

impl Content {
    fn read_file(file: &Path, options: &ImportOptions) -> Result<Self, ImportError> {
        let text = read_file_text(file, options.format).map_err(|source| ImportError::Read {
            path: file.to_owned(),
            source,
        })?;
        let Reading {
            mut rows,
            mut skipped,
            mut others,
            other_shapes,
            mut warnings,
        } = match options.format {
            ImportFormat::Csv => csv::read_rows(file, &text, options),
            ImportFormat::Osu => osu::read_outputs(file, &text, options),
            ImportFormat::Imb => imb::read_outputs(file, &text, options),
        }?;
        // Tables end after the lines in them.
        skipped.sort_by_key(|left| left.line);
        others.sort_by_key(|left| left.line);
        if rows.is_empty() {
            return Err(no_rows_error(file, options.format, skipped));
        }
        warnings.insert(Warning::Imported {
            file: file.display().to_string(),
        });
        match &options.baseline {
            Some(name) => {
                warnings.insert(baseline::replace_default(file, name, &mut rows)?);
            }
            None => baseline::check_default(file, &rows)?,
        }
        // The rest of the file can be imported for another shape.
        let several_shapes = other_shapes.map(|line| SeveralShapes {
            digest: import_digest(&text, None),
            line,
        });
        let import = Import {
            digest: import_digest(&text, several_shapes.is_some().then_some(options)),
            name: file.display().to_string(),
            text: ImportRecord::new(file, options).to_text(),
            library: options.library.clone().unwrap_or_else(unnamed_library),
            launches: group_by_launch(
                &rows,
                &imported_environment(file, options, &rows, &warnings),
            ),
        };
        Ok(Self {
            skipped: skipped_in_file(file, skipped),
            others: skipped_in_file(file, others),
            file: file.to_owned(),
            rows,
            warnings,
            import,
            several_shapes,
        })
    }
}

/// The first bytes of files that hold text in another form.
const FORMS: [(&[u8], &str); 7] = [
    (b"\x1f\x8b", "compressed by gzip: decompress it first"),
    (b"BZh", "compressed by bzip2: decompress it first"),
    (b"\xfd7zXZ", "compressed by xz: decompress it first"),
    (
        b"\x28\xb5\x2f\xfd",
        "compressed by zstd: decompress it first",
    ),
    (b"PK\x03\x04", "a ZIP archive: extract its files first"),
    (b"\xff\xfe", "UTF-16 text: convert it to UTF-8 first"),
    (b"\xfe\xff", "UTF-16 text: convert it to UTF-8 first"),
];

/// Reads a file. A log may contain the words of programs in any encoding, but what is read of it is ASCII.
fn read_file_text(file: &Path, format: ImportFormat) -> io::Result<String> {
    match format {
        ImportFormat::Csv => files::read_text(file),
        ImportFormat::Osu | ImportFormat::Imb => {
            let bytes = files::read(file)?;
            if let Some((_, form)) = FORMS.iter().find(|(first, _)| bytes.starts_with(first)) {
                let text = format!("it is {form}");
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            let text = String::from_utf8_lossy(&bytes);
            Ok(text.trim_start_matches('\u{feff}').to_owned())
        }
    }
}

/// The error for a file without rows: the first fault in it, if there is one.
fn no_rows_error(file: &Path, format: ImportFormat, skipped: Vec<LeftOut>) -> ImportError {
    let others = skipped.len().saturating_sub(1);
    let first = skipped
        .iter()
        .find_map(|left| Some((left.line, left.problem.clone()?)));
    match first {
        Some((line, problem)) => ImportError::Tables {
            path: file.to_owned(),
            line,
            problem,
            others,
        },
        None => ImportError::Empty {
            path: file.to_owned(),
            format,
            skipped: skipped_in_file(file, skipped),
        },
    }
}

fn skipped_in_file(file: &Path, lines: Vec<LeftOut>) -> Vec<Skipped> {
    let skipped = lines.into_iter().map(|left| Skipped {
        file: file.to_owned(),
        line: left.line,
        what: left.what,
    });
    skipped.collect()
}

/// The file's launches, each with its cells and candidates, in ascending order; repetitions keep the file's order.
fn group_by_launch(rows: &[Row], environment: &Environment) -> Vec<ImportedLaunch> {
    type Subjects = BTreeMap<Subject, BTreeMap<Candidate, Vec<f64>>>;
    let mut launches: BTreeMap<u32, Subjects> = BTreeMap::new();
    for row in rows {
        let subjects = launches.entry(row.launch).or_default();
        let samples = subjects.entry(Subject::Cell(row.cell)).or_default();
        let repetitions = samples.entry(row.candidate.clone()).or_default();
        repetitions.push(row.seconds);
    }
    let samples = |samples: BTreeMap<_, _>| samples.into_iter().collect::<Vec<ImportedSample>>();
    launches
        .into_values()
        .map(|subjects| ImportedLaunch {
            environment: environment.clone(),
            subjects: subjects
                .into_iter()
                .map(|(s, of)| (s, samples(of)))
                .collect(),
        })
        .collect()
}

fn imported_environment(
    file: &Path,
    options: &ImportOptions,
    rows: &[Row],
    warnings: &BTreeSet<Warning>,
) -> Environment {
    let ranks = rows.iter().map(|row| row.cell.shape.ranks()).max();
    let machine = options.machine.clone();
    Environment {
        library: options.library.clone(),
        library_text: format!("imported from {}", file.display()),
        colltune: env!("CARGO_PKG_VERSION").to_owned(),
        hosts: vec![machine.unwrap_or_else(|| "a machine without a name".to_owned())],
        ranks: ranks.unwrap_or_default(),
        warnings: warnings.iter().cloned().collect(),
        ..Environment::default()
    }
}

/// What was written to a store.
struct Written {
    /// The numbers of the launches.
    launches: Vec<u32>,
    /// The files that the store already has.
    known: Vec<PathBuf>,
    /// Those of them with tables of several shapes that are stored as tables of one.
    of_one_shape: Vec<Skipped>,
}

/// Adds imports, unless the store has measurements with which they must not be mixed. Files that it already has are
/// skipped if `skips_known`.
///
/// # Errors
/// If a file must not be added.
fn write_to_store(
    path: &Path,
    contents: &[Content],
    skips_known: bool,
) -> Result<Written, ImportError> {
    let _lock = Lock::acquire(path)?;
    let mut store = Store::open_or_create(path)?;
    let launches = store.launches()?;
    let campaigns = store.campaigns()?;
    let own = campaigns
        .iter()
        .filter(|row| ImportRecord::from_campaign_row(row).is_none());
    let own: BTreeMap<&str, &str> = own.map(|row| (&*row.digest, &*row.name)).collect();
    let mut digests = BTreeSet::new();
    let (mut new, mut known, mut of_one_shape) = (Vec::new(), Vec::new(), Vec::new());
    for Content {
        import,
        file,
        several_shapes,
        ..
    } in contents
    {
        let of_library = launches.iter().filter(|l| l.library == import.library);
        if let Some(campaign) = of_library.filter_map(|l| own.get(&*l.campaign)).next() {
            return Err(ImportError::Measured {
                store: path.to_owned(),
                library: import.library.clone(),
                campaign: (*campaign).to_owned(),
            });
        }
        // Up to 0.1.0, all tables of a file were taken as those of the shape that was given.
        if let Some(SeveralShapes { digest, line }) = several_shapes
            && store.has_campaign(digest)?
        {
            let error = ImportError::OneShape {
                store: path.to_owned(),
                path: file.clone(),
            };
            if !skips_known {
                return Err(error);
            }
            let help = error.help().unwrap_or_default();
            of_one_shape.push(Skipped {
                file: file.clone(),
                line: *line,
                what: format!("{error}; {help}"),
            });
            known.push(file.clone());
            continue;
        }
        let is_new = digests.insert(&import.digest) && !store.has_campaign(&import.digest)?;
        if is_new || !skips_known {
            new.push(import.clone());
        } else {
            known.push(file.clone());
        }
    }
    Ok(Written {
        launches: store.add_imports(&new)?,
        known,
        of_one_shape,
    })
}

/// SHA-256 of an imported text, different from the digests of campaigns; with options, of its tables of their shape.
fn import_digest(text: &str, options: Option<&ImportOptions>) -> String {
    let mut digest = Sha256::new().chain_update("import\n").chain_update(text);
    if let Some(options) = options {
        let count = |number: Option<u32>| number.map_or(String::new(), |number| number.to_string());
        // In IMB, the number of nodes bounds the tables that are taken, and follows from each.
        let nodes = options
            .nodes
            .filter(|_| options.format != ImportFormat::Imb);
        digest = digest.chain_update(format!("{}x{}\n", count(nodes), count(options.ppn)));
    }
    files::hexadecimal(&digest.finalize())
}

/// The library of imports that name none.
fn unnamed_library() -> Library {
    Library {
        name: "imported".to_owned(),
        version: "csv".to_owned(),
    }
}
