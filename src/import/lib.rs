//! Other people's measurements, brought into a store.
//!
//! A file is read whole before anything is written, and then stored in one transaction as launches
//! of their own. Candidates are compared within launches, as everywhere: what is to be compared
//! stands in one file, under the same launch.

mod baseline;
mod benchmark;
mod csv;
mod error;
mod imb;
mod osu;
mod problem;
mod record;
mod row;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize, Serializer};
use sha2::{Digest, Sha256};
use store::{Import, ImportedLaunch, ImportedSample, Lock, Store};
use vocabulary::{Candidate, Cell, Library, Subject, Warning};
use wire::Environment;

use crate::row::{Reading, Row};

pub use crate::error::ImportError;
pub use crate::problem::LineProblem;
pub use crate::record::Record;
pub use crate::row::Skipped;

/// The forms of files that can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Comma-separated values with a header.
    Csv,
    /// What the collectives of the OSU micro-benchmarks print.
    Osu,
    /// What the Intel MPI Benchmarks print (IMB-MPI1).
    Imb,
}

/// What a file does not say itself.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportOptions {
    /// The form of the file.
    pub format: Format,
    /// The library that was measured; may be absent for CSV.
    pub library: Option<Library>,
    /// Number of nodes, where the file does not say.
    pub nodes: Option<u32>,
    /// Ranks on each node, where the file does not say.
    pub ppn: Option<u32>,
    /// Where it was measured, for reports.
    pub machine: Option<String>,
    /// What stands for the default where that was not measured: `source:algorithm`.
    pub baseline: Option<String>,
    /// What decisions count as a gain: how much faster than the default a candidate must be, as a share.
    pub materiality: f64,
}

/// What was imported.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Imported {
    /// The library that it belongs to.
    pub library: Library,
    /// The numbers of its launches in the store.
    pub launches: Vec<u32>,
    /// Points at which something was measured.
    pub cells: usize,
    /// Candidates, each with its parameters.
    pub candidates: usize,
    /// Times.
    pub repetitions: usize,
    /// Points without a time of the default, which no table can decide.
    pub without_default: usize,
    /// What of the file was left out.
    pub skipped: Vec<Skipped>,
    /// What makes the times less trustworthy; stored with them, and serialized as sentences.
    #[serde(serialize_with = "sentences")]
    pub warnings: Vec<Warning>,
}

fn sentences<S: Serializer>(warnings: &[Warning], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(warnings.iter().map(Warning::to_string))
}

/// Reads a file of measurements and adds them to a store, which is created if need be.
///
/// # Errors
/// What is wrong with the file or the options; a store that has the file already, holds measurements of
/// colltune's own of that library, or cannot be written. Nothing is stored then.
pub fn import(file: &Path, store: &Path, options: &ImportOptions) -> Result<Imported, ImportError> {
    let text = files::read_text(file).map_err(|source| ImportError::Read {
        path: file.to_owned(),
        source,
    })?;
    let Reading {
        mut rows,
        skipped,
        mut warnings,
    } = read(file, &text, options)?;
    warnings.insert(Warning::Imported {
        file: file.display().to_string(),
    });
    match &options.baseline {
        Some(name) => {
            warnings.insert(baseline::stand_in(file, name, &mut rows)?);
        }
        None => baseline::check_default(file, &rows)?,
    }
    let warnings: Vec<Warning> = warnings.into_iter().collect();
    let library = options.library.clone().unwrap_or_else(unnamed_library);
    let import = Import {
        digest: digest(&text),
        name: file.display().to_string(),
        text: Record::new(file, options).to_text(),
        library: library.clone(),
        launches: launches(&rows, &environment(file, options, &rows, &warnings)),
    };
    let launches = write(store, &import)?;
    let cells: BTreeSet<Cell> = rows.iter().map(|row| row.cell).collect();
    let candidates: BTreeSet<&Candidate> = rows.iter().map(|row| &row.candidate).collect();
    Ok(Imported {
        library,
        launches,
        without_default: cells.len() - baseline::cells_with_default(&rows).len(),
        cells: cells.len(),
        candidates: candidates.len(),
        repetitions: rows.len(),
        skipped,
        warnings,
    })
}

fn read(file: &Path, text: &str, options: &ImportOptions) -> Result<Reading, ImportError> {
    let reading = match options.format {
        Format::Csv => csv::read(file, text, options),
        Format::Osu => osu::read(file, text, options),
        Format::Imb => imb::read(file, text, options),
    }?;
    if reading.rows.is_empty() {
        return Err(ImportError::Empty {
            path: file.to_owned(),
            format: options.format,
            skipped: reading.skipped.first().cloned(),
        });
    }
    Ok(reading)
}

/// The file's launches in ascending order, each with its cells and candidates in ascending order;
/// repetitions stay as they stand in the file.
fn launches(rows: &[Row], environment: &Environment) -> Vec<ImportedLaunch> {
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

fn environment(
    file: &Path,
    options: &ImportOptions,
    rows: &[Row],
    warnings: &[Warning],
) -> Environment {
    let ranks = rows.iter().map(|row| row.cell.shape.ranks()).max();
    let machine = options.machine.clone();
    Environment {
        library: options.library.clone(),
        library_text: format!("imported from {}", file.display()),
        colltune: env!("CARGO_PKG_VERSION").to_owned(),
        hosts: vec![machine.unwrap_or_else(|| "a machine without a name".to_owned())],
        ranks: ranks.unwrap_or_default(),
        warnings: warnings.to_vec(),
        ..Environment::default()
    }
}

/// Adds the import, unless the store has measurements that must not be mixed with it.
fn write(path: &Path, import: &Import) -> Result<Vec<u32>, ImportError> {
    let _lock = Lock::acquire(path)?;
    let mut store = Store::open_or_create(path)?;
    let measured: BTreeSet<String> = store
        .launches()?
        .into_iter()
        .filter(|launch| launch.library == import.library)
        .map(|launch| launch.campaign)
        .collect();
    for row in store.campaigns()? {
        if measured.contains(&row.digest) && Record::of(&row).is_none() {
            return Err(ImportError::Measured {
                store: path.to_owned(),
                library: import.library.clone(),
                campaign: row.name,
            });
        }
    }
    Ok(store.import(import)?)
}

/// SHA-256 of what is imported, apart from all campaigns.
fn digest(text: &str) -> String {
    let digest = Sha256::new().chain_update("import\n").chain_update(text);
    let bytes = digest.finalize();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What stands for a library that is not named.
fn unnamed_library() -> Library {
    Library {
        name: "imported".to_owned(),
        version: "csv".to_owned(),
    }
}
