//! Import of measurements made by other programs.

use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Transaction, params};
use vocabulary::{Candidate, Library, Pattern, Subject};
use wire::{Environment, LaunchStart};

use crate::columns::{Json, Repetitions};
use crate::ingest::{self, Interned};
use crate::launch::next_number;
use crate::{LaunchOutcome, Store, StoreError};

/// Measurements that colltune did not make.
///
/// They are stored as their own campaign, whose text gives their origin, and as complete launches.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// The digest of the import; a store accepts each only once.
    pub digest: String,
    /// Its name in messages.
    pub name: String,
    /// The text stored in place of a campaign's definition.
    pub text: String,
    /// The measured library.
    pub library: Library,
    /// The launches, at least one.
    pub launches: Vec<ImportedLaunch>,
}

/// The measurements of one launch.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedLaunch {
    /// The known part of its environment.
    pub environment: Environment,
    /// The subjects, each once.
    pub subjects: Vec<(Subject, Vec<ImportedSample>)>,
}

/// A candidate with seconds per call, one entry per repetition.
pub type ImportedSample = (Candidate, Vec<f64>);

impl Store {
    /// Whether a campaign or an import with this digest is stored.
    pub fn has_campaign(&self, digest: &str) -> Result<bool, StoreError> {
        self.run_query(|connection| {
            let query = "SELECT EXISTS (SELECT 1 FROM campaign WHERE digest = ?1)";
            connection.query_row(query, [digest], |row| row.get(0))
        })
    }

    /// Stores imports, in one transaction, and returns the numbers of their launches.
    ///
    /// The caller holds the [`crate::Lock`].
    ///
    /// # Errors
    /// [`StoreError::Imported`] if the store already has one of them.
    pub fn add_imports(&mut self, imports: &[Import]) -> Result<Vec<u32>, StoreError> {
        for import in imports {
            if self.has_campaign(&import.digest)? {
                return Err(StoreError::Imported {
                    path: self.path().to_owned(),
                    name: import.name.clone(),
                });
            }
        }
        self.write_in_transaction(|transaction| {
            let mut numbers = Vec::new();
            for import in imports {
                let campaign = transaction
                    .prepare("INSERT INTO campaign (digest, name, definition) VALUES (?1, ?2, ?3)")?
                    .insert([&import.digest, &import.name, &import.text])?;
                for launch in &import.launches {
                    numbers.push(write_launch(transaction, campaign, import, launch)?);
                }
            }
            Ok(numbers)
        })
    }
}

fn write_launch(
    transaction: &Transaction<'_>,
    campaign: i64,
    import: &Import,
    launch: &ImportedLaunch,
) -> rusqlite::Result<u32> {
    let number = next_number(transaction)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let start = LaunchStart {
        campaign: import.digest.clone(),
        launch: number,
        unix_seconds: now.map_or(0, |now| now.as_secs()),
        environment: launch.environment.clone(),
    };
    // There is no plan: it is read only for launches that have not ended.
    transaction.execute(
        "INSERT INTO launch (number, campaign, library_name, library_version, plan, environment,
                             ended, outcome)
         VALUES (?1, ?2, ?3, ?4, 'null', ?5, unixepoch(), ?6)",
        params![
            number,
            campaign,
            import.library.name,
            import.library.version,
            Json(&start),
            Json(LaunchOutcome::Complete)
        ],
    )?;
    for ((subject, samples), task) in launch.subjects.iter().zip(0_u32..) {
        // Nothing was spent here: budgets count this machine's time.
        let row = ingest::TaskRow {
            launch: number,
            number: task,
            subject,
            pattern: Pattern::Together,
            elapsed_seconds: 0.0,
            spent: None,
        };
        ingest::insert_task(transaction, row)?;
        for ((candidate, seconds), position) in samples.iter().zip(0_u32..) {
            let named = ingest::intern_definition(transaction, Interned::Candidate, candidate)?;
            transaction
                .prepare_cached(
                    "INSERT INTO sample VALUES (?1, ?2, ?3, ?4, 0, 1, ?5, NULL, NULL, NULL)",
                )?
                .execute(params![
                    number,
                    task,
                    position,
                    named,
                    Repetitions::encode(seconds)
                ])?;
        }
    }
    Ok(number)
}
