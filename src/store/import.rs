//! Taking in what was measured elsewhere.

use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Transaction, params};
use vocabulary::{Candidate, Library, Pattern, Subject};
use wire::{Environment, LaunchStart};

use crate::columns::{Json, Repetitions};
use crate::ingest::{self, Interned};
use crate::{Outcome, Store, StoreError};

/// Measurements that were not made by colltune.
///
/// They are stored as a campaign of their own, whose text says where they are from, and as
/// launches that are complete.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// Identifies what is imported; a store takes each once.
    pub digest: String,
    /// What it is called in messages.
    pub name: String,
    /// What stands in the place of a campaign's definition.
    pub text: String,
    /// The library that was measured.
    pub library: Library,
    /// The launches, at least one.
    pub launches: Vec<ImportedLaunch>,
}

/// What was measured in one launch.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedLaunch {
    /// What is known about where it ran.
    pub environment: Environment,
    /// The subjects, each once.
    pub subjects: Vec<(Subject, Vec<ImportedSample>)>,
}

/// A candidate with seconds a call, one entry a repetition.
pub type ImportedSample = (Candidate, Vec<f64>);

impl Store {
    /// Whether something of this digest was recorded or imported.
    pub fn has_campaign(&self, digest: &str) -> Result<bool, StoreError> {
        self.read(|connection| {
            let query = "SELECT EXISTS (SELECT 1 FROM campaign WHERE digest = ?1)";
            connection.query_row(query, [digest], |row| row.get(0))
        })
    }

    /// Stores an import, in one transaction, and returns the numbers of its launches.
    ///
    /// The caller holds the [`crate::Lock`].
    ///
    /// # Errors
    /// [`StoreError::Imported`] if the store has it already.
    pub fn import(&mut self, import: &Import) -> Result<Vec<u32>, StoreError> {
        if self.has_campaign(&import.digest)? {
            return Err(StoreError::Imported {
                path: self.path().to_owned(),
                name: import.name.clone(),
            });
        }
        self.write(|transaction| {
            let campaign = transaction
                .prepare("INSERT INTO campaign (digest, name, definition) VALUES (?1, ?2, ?3)")?
                .insert([&import.digest, &import.name, &import.text])?;
            import
                .launches
                .iter()
                .map(|launch| write_launch(transaction, campaign, import, launch))
                .collect()
        })
    }
}

fn write_launch(
    transaction: &Transaction<'_>,
    campaign: i64,
    import: &Import,
    launch: &ImportedLaunch,
) -> rusqlite::Result<u32> {
    let number: u32 = transaction.query_row(
        "SELECT coalesce(max(number), 0) + 1 FROM launch",
        [],
        |row| row.get(0),
    )?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let start = LaunchStart {
        campaign: import.digest.clone(),
        launch: number,
        unix_seconds: now.map_or(0, |now| now.as_secs()),
        environment: launch.environment.clone(),
    };
    // There is no plan: its place is only read of launches that have not ended.
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
            Json(Outcome::Complete)
        ],
    )?;
    for ((subject, samples), task) in launch.subjects.iter().zip(0_u32..) {
        // Nothing was spent here: budgets are about this machine's time.
        let what = (subject, Pattern::Together);
        ingest::insert_task(transaction, [number, task], what, (0.0, None))?;
        for ((candidate, seconds), position) in samples.iter().zip(0_u32..) {
            let named = ingest::intern(transaction, Interned::Candidate, candidate)?;
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

#[cfg(test)]
mod tests {
    use schedule::Collective;
    use vocabulary::{Cell, CommShape, Datatype};

    use super::*;

    fn import(repetitions: usize) -> Import {
        let cell = Cell {
            collective: Collective::Bcast,
            shape: CommShape { nodes: 1, ppn: 2 },
            bytes: 8,
            datatype: Datatype::Byte,
            operator: None,
        };
        let samples = vec![(Candidate::Default, vec![1e-6; repetitions])];
        Import {
            digest: "digest".to_owned(),
            name: "times.csv".to_owned(),
            text: "{}".to_owned(),
            library: Library {
                name: "openmpi".to_owned(),
                version: "4.1.4".to_owned(),
            },
            launches: vec![ImportedLaunch {
                environment: Environment::default(),
                subjects: vec![(Subject::Cell(cell), samples)],
            }],
        }
    }

    #[test]
    fn an_import_is_stored_whole_or_not_at_all() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let mut store = Store::open_or_create(&folder.path().join("a.db")).expect("created");
        let limit = |store: &Store, pages: u32| {
            store
                .connection
                .pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
                .expect("limited");
        };
        limit(&store, 40);
        let error = store.import(&import(1 << 17)).expect_err("full");
        assert!(matches!(error, StoreError::DiskFull { .. }), "{error}");
        assert!(store.campaigns().expect("readable").is_empty());
        assert!(store.launches().expect("readable").is_empty());

        limit(&store, 1 << 20);
        assert_eq!(store.import(&import(1 << 17)).expect("stored"), [1]);
        let library = import(0).library;
        let samples = store.samples(&library, Pattern::Together);
        let samples = samples.expect("readable");
        assert_eq!(samples[0].seconds.len(), 1 << 17);
        let error = store.import(&import(1)).expect_err("the same digest");
        assert!(matches!(error, StoreError::Imported { .. }), "{error}");
        assert_eq!(store.launches().expect("readable").len(), 1);
        assert_eq!(store.unfinished_launches().expect("readable"), []);
        let spent = store
            .spent_seconds(&import(0).library, None)
            .expect("readable");
        assert_eq!(spent, 0.0, "other people's time");
    }
}
