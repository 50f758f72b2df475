//! Queries. The order of all results depends only on the contents.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rusqlite::types::Type;
use rusqlite::{Connection, Params, Row, params};
use serde::de::DeserializeOwned;
use vocabulary::bounds::SPAN;
use vocabulary::{Candidate, Elimination, Library, Pattern, Purpose, Sample, Subject};
use wire::{FailureKind, FailureRecord, LaunchStart};

use crate::columns::{Json, Places, Repetitions, damaged_column, number_within};
use crate::ingest::pattern_column;
use crate::{LaunchOutcome, Store, StoreError};

/// A campaign of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CampaignRow {
    /// Digest of the normalised definition.
    pub digest: String,
    /// Its name.
    pub name: String,
    /// The text of the definition.
    pub text: String,
}

/// A launch with its outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchRow {
    /// Its number, from 1.
    pub number: u32,
    /// Digest of its campaign.
    pub campaign: String,
    /// Its purpose; `None` for an exploring launch from before choices were confirmed.
    pub purpose: Option<Purpose>,
    /// The measured library.
    pub library: Library,
    /// Begin, in seconds since the Unix epoch.
    pub started_unix_seconds: i64,
    /// Its end; `None` while unfinished.
    pub outcome: Option<LaunchOutcome>,
}

/// Tasks of experiments, by the JSON of `Subject::Experiment`.
const EXPERIMENTS: &str = "task.subject IN
    (SELECT id FROM subject WHERE json_type(definition, '$.experiment') IS NOT NULL)";

/// The message that earlier versions recorded as the failure of every candidate if a launch had too few ranks.
const SMALL_LAUNCH: &str = "too few nodes, or too few ranks on a node";

impl Store {
    /// Campaigns in the order in which they were first recorded.
    pub fn campaigns(&self) -> Result<Vec<CampaignRow>, StoreError> {
        let query = "SELECT digest, name, definition FROM campaign ORDER BY id";
        self.query_rows(query, [], |row| {
            Ok(CampaignRow {
                digest: row.get(0)?,
                name: row.get(1)?,
                text: row.get(2)?,
            })
        })
    }

    /// Libraries for which a launch was begun, by name and version.
    pub fn libraries(&self) -> Result<Vec<Library>, StoreError> {
        let query = "SELECT DISTINCT library_name, library_version FROM launch ORDER BY 1, 2";
        self.query_rows(query, [], |row| {
            Ok(Library {
                name: row.get(0)?,
                version: row.get(1)?,
            })
        })
    }

    /// All launches, by number.
    pub fn launches(&self) -> Result<Vec<LaunchRow>, StoreError> {
        let query = "SELECT number, digest, library_name, library_version, started, outcome,
                            plan -> '$.purpose'
                     FROM launch JOIN campaign ON campaign.id = launch.campaign ORDER BY number";
        self.query_rows(query, [], |row| {
            let outcome: Option<Json<LaunchOutcome>> = row.get(5)?;
            let purpose: Option<Json<Purpose>> = row.get(6)?;
            Ok(LaunchRow {
                number: row.get(0)?,
                campaign: row.get(1)?,
                purpose: purpose.map(|Json(purpose)| purpose),
                library: Library {
                    name: row.get(2)?,
                    version: row.get(3)?,
                },
                started_unix_seconds: row.get(4)?,
                outcome: outcome.map(|Json(outcome)| outcome),
            })
        })
    }

    /// The launches of a library that have measured anything, in any pattern of calls.
    pub fn measured_launches(&self, library: &Library) -> Result<BTreeSet<u32>, StoreError> {
        let query = "SELECT number FROM launch WHERE library_name = ?1 AND library_version = ?2
                         AND EXISTS (SELECT 1 FROM sample WHERE sample.launch = number)";
        self.query_rows(query, library_parameters(library), |row| row.get(0))
    }

    /// The environments that the launches of a library reported, by launch number.
    pub fn environments(&self, library: &Library) -> Result<Vec<(u32, LaunchStart)>, StoreError> {
        let query = "SELECT number, environment FROM launch
                     WHERE library_name = ?1 AND library_version = ?2 AND environment IS NOT NULL
                     ORDER BY number";
        self.query_rows(query, library_parameters(library), |row| {
            let Json(start) = row.get(1)?;
            Ok((row.get(0)?, start))
        })
    }

    /// Every valid repetition of a library's exploring launches in calls of one pattern, and all repetitions of
    /// experiments, by subject, candidate, launch and task.
    pub fn samples(&self, library: &Library, pattern: Pattern) -> Result<Vec<Sample>, StoreError> {
        self.samples_for(library, pattern, Purpose::Exploring)
    }

    /// Like [`Self::samples`], for launches that confirmed choices.
    pub fn confirming_samples(
        &self,
        library: &Library,
        pattern: Pattern,
    ) -> Result<Vec<Sample>, StoreError> {
        self.samples_for(library, pattern, Purpose::Confirming)
    }

    fn samples_for(
        &self,
        library: &Library,
        pattern: Pattern,
        purpose: Purpose,
    ) -> Result<Vec<Sample>, StoreError> {
        let launches = launches_for_purpose(purpose);
        let which = format!("(task.pattern IS ?3 OR {EXPERIMENTS}) AND {launches}");
        let [name, version] = library_parameters(library);
        self.read_samples(&which, params![name, version, pattern_column(pattern)])
    }

    /// Like [`Self::samples`], for experiments only.
    pub fn experiment_samples(&self, library: &Library) -> Result<Vec<Sample>, StoreError> {
        self.read_samples(EXPERIMENTS, library_parameters(library))
    }

    fn read_samples(
        &self,
        which: &str,
        parameters: impl Params,
    ) -> Result<Vec<Sample>, StoreError> {
        let definitions = self.run_query(Definitions::load)?;
        let query = format!(
            "SELECT task.subject, sample.candidate, sample.launch, sample.batch,
                    sample.seconds, sample.invalid, sample.residual_seconds, sample.left
             FROM sample
             JOIN task ON task.launch = sample.launch AND task.number = sample.task
             JOIN launch ON launch.number = sample.launch
             WHERE library_name = ?1 AND library_version = ?2 AND ({which})
             ORDER BY sample.launch, sample.task, sample.position",
        );
        let mut samples: Vec<Sample> = self.query_rows(&query, parameters, |row| {
            let (subject, candidate) = definitions.of_measured_row(row)?;
            let Repetitions(mut seconds) = row.get(4)?;
            let Places(invalid) = row.get(5)?;
            let residual: Option<f64> = row.get(6)?;
            let residual = residual.map(|_| number_within(row, 6, &SPAN));
            let left: Option<Json<Elimination>> = row.get(7)?;
            remove_indices(&mut seconds, &invalid);
            Ok(Sample {
                launch: row.get(2)?,
                subject,
                candidate,
                batch: row.get(3)?,
                seconds,
                invalid: invalid.len() as u32,
                residual_seconds: residual.transpose()?,
                left: left.map(|Json(left)| left),
            })
        })?;
        // Row ids depend on the order of measuring, so the database cannot sort by contents. The sort is stable, so
        // tasks of one launch stay in order.
        samples.sort_by(|a, b| {
            (&a.subject, &a.candidate, a.launch).cmp(&(&b.subject, &b.candidate, b.launch))
        });
        Ok(samples)
    }

    /// The number of distinct exploring launches of a library that measured each candidate of each subject; for cells,
    /// in calls of one pattern.
    pub fn launch_counts(
        &self,
        library: &Library,
        pattern: Pattern,
    ) -> Result<BTreeMap<(Subject, Candidate), u32>, StoreError> {
        let [name, version] = library_parameters(library);
        let definitions = self.run_query(Definitions::load)?;
        let exploring = launches_for_purpose(Purpose::Exploring);
        let query = format!(
            "SELECT task.subject, sample.candidate, count(DISTINCT sample.launch)
             FROM sample
             JOIN task ON task.launch = sample.launch AND task.number = sample.task
             JOIN launch ON launch.number = sample.launch
             WHERE library_name = ?1 AND library_version = ?2
                 AND (task.pattern IS ?3 OR {EXPERIMENTS}) AND {exploring}
             GROUP BY 1, 2",
        );
        self.query_rows(
            &query,
            params![name, version, pattern_column(pattern)],
            |row| Ok((definitions.of_measured_row(row)?, row.get(2)?)),
        )
    }

    /// Failures with a library that are not forgotten, by launch, task and candidate. Those that earlier versions
    /// recorded of every candidate of a launch with too few ranks are none.
    pub fn failures(&self, library: &Library) -> Result<Vec<FailureRecord>, StoreError> {
        let definitions = self.run_query(Definitions::load)?;
        let query = "SELECT failure.subject, failure.candidate, failure.launch, kind, message
                     FROM failure JOIN launch ON launch.number = failure.launch
                     WHERE library_name = ?1 AND library_version = ?2 AND forgotten IS NULL
                         AND NOT (kind = ?3 AND message = ?4)
                     ORDER BY failure.launch, failure.task, failure.position";
        let [name, version] = library_parameters(library);
        let unsupported = Json(FailureKind::Unsupported);
        let given = params![name, version, unsupported, SMALL_LAUNCH];
        self.query_rows(query, given, |row| {
            let (subject, candidate) = definitions.of_row(row)?;
            let Json(kind) = row.get(3)?;
            Ok(FailureRecord {
                launch: row.get(2)?,
                subject,
                candidate,
                kind,
                message: row.get(4)?,
            })
        })
    }

    /// Marks all failures of a library as forgotten, so that the candidates are tried again.
    ///
    /// The rows stay in the file as history. Returns the number of marked rows.
    pub fn forget_failures(&mut self, library: &Library) -> Result<usize, StoreError> {
        self.write_in_transaction(|transaction| {
            transaction.execute(
                "UPDATE failure SET forgotten = unixepoch()
                 WHERE forgotten IS NULL AND launch IN
                     (SELECT number FROM launch WHERE library_name = ?1 AND library_version = ?2)",
                library_parameters(library),
            )
        })
    }
}

/// Removes the entries at these ascending indices.
fn remove_indices(seconds: &mut Vec<f64>, places: &[u32]) {
    let mut place = 0;
    seconds.retain(|_| {
        place += 1;
        places.binary_search(&(place - 1)).is_err()
    });
}

/// The condition that selects launches for a purpose.
pub(crate) fn launches_for_purpose(purpose: Purpose) -> String {
    let exploring = Purpose::Exploring.name();
    let name = purpose.name();
    // A subquery, so that the launches are selected once, not for each sample.
    format!(
        "launch.number IN (SELECT number FROM launch
                           WHERE coalesce(json_extract(plan, '$.purpose'), '{exploring}') = '{name}')"
    )
}

/// The parameters that select a library's launches.
pub(crate) fn library_parameters(library: &Library) -> [&str; 2] {
    [&library.name, &library.version]
}

/// The interned definitions, each parsed once.
struct Definitions {
    subjects: HashMap<i64, Subject>,
    candidates: HashMap<i64, Candidate>,
}

impl Definitions {
    fn load(connection: &Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            subjects: load_definitions(connection, "SELECT id, definition FROM subject")?,
            candidates: load_definitions(connection, "SELECT id, definition FROM candidate")?,
        })
    }

    /// The definitions that the first two columns of a row refer to.
    fn of_row(&self, row: &Row<'_>) -> rusqlite::Result<(Subject, Candidate)> {
        Ok((
            find_definition(&self.subjects, row, 0)?,
            find_definition(&self.candidates, row, 1)?,
        ))
    }

    /// Like [`Self::of_row`], for the row of a measurement; a candidate that the subject cannot have is damage.
    fn of_measured_row(&self, row: &Row<'_>) -> rusqlite::Result<(Subject, Candidate)> {
        let (subject, candidate) = self.of_row(row)?;
        if is_possible(&subject, &candidate) {
            return Ok((subject, candidate));
        }
        let wrong = format!("{candidate} was never measured in {subject}");
        Err(damaged_column(1, Type::Text, wrong))
    }
}

/// Whether a candidate can have been measured in a subject.
pub(crate) fn is_possible(subject: &Subject, candidate: &Candidate) -> bool {
    match subject {
        Subject::Cell(cell) => cell.is_possible() && cell.admits_candidate(candidate),
        Subject::Experiment(_) => *candidate == Candidate::Default,
    }
}

pub(crate) fn load_definitions<T: DeserializeOwned>(
    connection: &Connection,
    query: &str,
) -> rusqlite::Result<HashMap<i64, T>> {
    connection
        .prepare(query)?
        .query_map([], |row| {
            let Json(definition) = row.get(1)?;
            Ok((row.get(0)?, definition))
        })?
        .collect()
}

/// The definition with the id in a column; a foreign key ensures that it exists.
pub(crate) fn find_definition<T: Clone>(
    definitions: &HashMap<i64, T>,
    row: &Row<'_>,
    column: usize,
) -> rusqlite::Result<T> {
    let id = row.get(column)?;
    definitions
        .get(&id)
        .cloned()
        .ok_or(rusqlite::Error::IntegralValueOutOfRange(column, id))
}
