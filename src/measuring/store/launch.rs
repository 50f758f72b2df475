//! Records of campaigns and launches.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};
use vocabulary::{Library, Purpose};
use wire::{Finish, Plan, PlannedTask};

use crate::columns::Json;
use crate::{Store, StoreError};

/// The end of a launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaunchOutcome {
    /// All tasks were completed.
    Complete,
    /// The deadline passed.
    Deadline,
    /// colltune was interrupted or killed.
    Interrupted,
    /// The launcher or the driver ended by itself before all tasks were completed.
    Died {
        /// A description of the end.
        message: String,
    },
}

impl From<Finish> for LaunchOutcome {
    fn from(finish: Finish) -> Self {
        match finish {
            Finish::Complete => Self::Complete,
            Finish::Deadline => Self::Deadline,
        }
    }
}

impl Store {
    /// Records a campaign: its digest, its name and the full text of its definition.
    ///
    /// The first text of a digest is kept; campaigns of equal digest differ only in comments.
    pub fn record_campaign(
        &mut self,
        digest: &str,
        name: &str,
        text: &str,
    ) -> Result<(), StoreError> {
        self.write_in_transaction(|transaction| {
            transaction.execute(
                "INSERT INTO campaign (digest, name, definition) VALUES (?1, ?2, ?3)
                 ON CONFLICT DO NOTHING",
                [digest, name, text],
            )?;
            Ok(())
        })
    }

    /// The number for the next plan: 1 in a new store. The [`crate::Lock`] must be held so that no other process takes
    /// it.
    pub fn next_launch(&self) -> Result<u32, StoreError> {
        self.run_query(next_number)
    }

    /// Records that `plan` is about to be launched; must be called before the driver starts.
    ///
    /// # Errors
    /// [`StoreError::UnknownCampaign`], [`StoreError::LaunchExists`].
    pub fn begin_launch(&mut self, plan: &Plan) -> Result<(), StoreError> {
        let Plan {
            launch, library, ..
        } = plan;
        let inserted = self.write_in_transaction(|transaction| {
            let campaign: Option<i64> = transaction
                .query_row(
                    "SELECT id FROM campaign WHERE digest = ?1",
                    [&plan.campaign],
                    |row| row.get(0),
                )
                .optional()?;
            let Some(campaign) = campaign else {
                return Ok(None);
            };
            let inserted = transaction.execute(
                "INSERT INTO launch (number, campaign, library_name, library_version, plan)
                 VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
                params![launch, campaign, library.name, library.version, Json(plan)],
            )?;
            Ok(Some(inserted))
        })?;
        let path = self.path().to_owned();
        match inserted {
            None => Err(StoreError::UnknownCampaign {
                path,
                digest: plan.campaign.clone(),
            }),
            Some(0) => Err(StoreError::LaunchExists {
                path,
                launch: *launch,
            }),
            Some(_) => Ok(()),
        }
    }

    /// Records how a launch ended, once.
    ///
    /// # Errors
    /// [`StoreError::NotUnderWay`] if it was never begun or has already ended.
    pub fn end_launch(&mut self, number: u32, outcome: &LaunchOutcome) -> Result<(), StoreError> {
        let changed = self.write_in_transaction(|transaction| {
            transaction.execute(
                "UPDATE launch SET ended = unixepoch(), outcome = ?2
                 WHERE number = ?1 AND ended IS NULL",
                params![number, Json(outcome)],
            )
        })?;
        if changed == 0 {
            return Err(StoreError::NotUnderWay {
                path: self.path().to_owned(),
                launch: number,
            });
        }
        Ok(())
    }

    /// The tasks that the last launch of a campaign with a library did not complete, in the order of its plan; empty if
    /// the launch was complete or confirmed choices.
    pub fn unfinished_tasks(
        &self,
        library: &Library,
        campaign: &str,
    ) -> Result<Vec<PlannedTask>, StoreError> {
        self.run_query(|connection| {
            let last: Option<(u32, Json<Plan>, Option<Json<LaunchOutcome>>)> = connection
                .query_row(
                    "SELECT number, plan, outcome
                     FROM launch JOIN campaign ON campaign.id = launch.campaign
                     WHERE digest = ?1 AND library_name = ?2 AND library_version = ?3
                     ORDER BY number DESC LIMIT 1",
                    params![campaign, library.name, library.version],
                    |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
                )
                .optional()?;
            let Some((number, Json(plan), outcome)) = last else {
                return Ok(Vec::new());
            };
            let is_complete = matches!(outcome, Some(Json(LaunchOutcome::Complete)));
            if is_complete || plan.purpose == Some(Purpose::Confirming) {
                return Ok(Vec::new());
            }
            let done: BTreeSet<u32> = connection
                .prepare("SELECT number FROM task WHERE launch = ?1")?
                .query_map([number], |row| row.get(0))?
                .collect::<Result<_, _>>()?;
            let tasks = plan.tasks.into_iter();
            Ok(tasks.filter(|task| !done.contains(&task.id)).collect())
        })
    }

    /// The plan of the last launch of a campaign with a library that planned cells and reported its start, and the time
    /// of that report, in seconds since the Unix epoch.
    pub fn last_plan_of_cells(
        &self,
        library: &Library,
        campaign: &str,
    ) -> Result<Option<(Plan, u64)>, StoreError> {
        self.run_query(|connection| {
            let of_cells = "EXISTS (SELECT 1 FROM json_each(plan, '$.tasks') AS task
                WHERE json_type(task.value, '$.work.compare') IS NOT NULL)";
            connection
                .query_row(
                    &format!(
                        "SELECT plan, json_extract(environment, '$.unix_seconds')
                         FROM launch JOIN campaign ON campaign.id = launch.campaign
                         WHERE digest = ?1 AND library_name = ?2 AND library_version = ?3
                             AND environment IS NOT NULL AND {of_cells}
                         ORDER BY number DESC LIMIT 1"
                    ),
                    params![campaign, library.name, library.version],
                    |row| {
                        let Json(plan) = row.get(0)?;
                        let seconds: i64 = row.get(1)?;
                        Ok((plan, seconds.unsigned_abs()))
                    },
                )
                .optional()
        })
    }

    /// The plans of launches that were begun and have not ended, oldest first: the colltune that began them was killed
    /// or is still running.
    ///
    /// The holder of the [`crate::Lock`] ingests the remaining records of their spool files, and ends the launches.
    pub fn unfinished_launches(&self) -> Result<Vec<Plan>, StoreError> {
        let query = "SELECT plan FROM launch WHERE ended IS NULL ORDER BY number";
        self.query_rows(query, [], |row| row.get(0).map(|Json(plan)| plan))
    }
}

/// The number after that of the last launch.
pub(crate) fn next_number(connection: &Connection) -> rusqlite::Result<u32> {
    let query = "SELECT coalesce(max(number), 0) + 1 FROM launch";
    connection.query_row(query, [], |row| row.get(0))
}
