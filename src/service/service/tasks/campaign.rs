//! The campaigns of tasks, above all of those that measure a table again.
//!
//! A table is data that anybody with the scope `publish` may have written. What is executed follows from the campaigns
//! of the service's folder alone, and from those that the machine's patterns name: the table's own word decides at most
//! which of these.

use campaign::{Campaign, LauncherConfig};
use rusqlite::{OptionalExtension, params};
use table::Table;

use crate::campaigns::may_run;
use crate::{Digest, Service, ServiceError, ServiceMachine, TaskId};

/// The most campaigns that an error names.
const MOST_NAMED: usize = 10;

/// The campaign of a task.
pub(crate) struct TaskCampaign {
    pub(crate) campaign: Campaign,
    /// The text, which includes the job specification that the campaign names, so that the task measures exactly what
    /// was submitted.
    pub(crate) text: String,
    /// The path in the folder.
    pub(crate) path: String,
}

impl Service {
    /// Finds the campaign: the one that a request names; the one that made the table on this machine; the one of the
    /// machine's campaigns that the table says it was made with; or the only one that measures the table's library.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] of the field `campaign` if there is no such campaign; [`ServiceError::NotFound`] of a
    /// table or a named campaign; [`ServiceError::Campaign`] of a named one that cannot be read.
    pub(crate) fn table_campaign(
        &self,
        machine: &ServiceMachine,
        digest: &Digest,
        named: Option<&str>,
    ) -> Result<TaskCampaign, ServiceError> {
        if let Some(path) = named {
            return self.campaign_of_folder(machine, path);
        }
        if let Some(maker) = self.find_maker(machine, digest)? {
            return Ok(maker);
        }
        let table = self.read_table(digest)?;
        let mut campaigns: Vec<TaskCampaign> = self
            .campaign_paths(machine)?
            .into_iter()
            .filter_map(|path| self.campaign_of_folder(machine, &path).ok())
            .collect();
        let is_maker = |found: &TaskCampaign| found.campaign.has_digest(&table.provenance.campaign);
        if let Some(place) = campaigns.iter().position(is_maker) {
            return Ok(campaigns.swap_remove(place));
        }
        campaigns.retain(|found| measures_library_of(&found.campaign, &table));
        if let [_] = campaigns[..] {
            return Ok(campaigns.swap_remove(0));
        }
        let paths: Vec<&str> = campaigns.iter().map(|found| &*found.path).collect();
        Err(ServiceError::invalid(
            "campaign",
            describe_missing(machine, &table, &paths),
        ))
    }

    /// A campaign of the folder that the machine may run.
    pub(crate) fn campaign_of_folder(
        &self,
        machine: &ServiceMachine,
        path: &str,
    ) -> Result<TaskCampaign, ServiceError> {
        let (campaign, _) = self.read_campaign_for(machine, path)?;
        Ok(TaskCampaign {
            text: campaign.text().to_owned(),
            campaign,
            path: path.to_owned(),
        })
    }

    /// The campaign that made a table on a machine, as it was then, if the machine may still run it.
    fn find_maker(
        &self,
        machine: &ServiceMachine,
        digest: &Digest,
    ) -> Result<Option<TaskCampaign>, ServiceError> {
        let row: Option<(String, String, String)> = self.database.read(|connection| {
            let query = "SELECT campaign.text, campaign.path, campaign.digest FROM version \
                         JOIN campaign ON campaign.id = version.campaign \
                         JOIN machine ON machine.id = version.machine \
                         WHERE machine.name = ?1 AND version.digest = ?2";
            let row = connection.query_row(query, params![machine.name, digest.as_str()], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            });
            Ok(row.optional()?)
        })?;
        let Some((text, path, campaign_digest)) =
            row.filter(|(_, path, _)| machine.has_agent || may_run(machine, path))
        else {
            return Ok(None);
        };
        // An earlier version may have accepted what this one refuses.
        let campaign = Campaign::parse_stored(&text, &campaign_digest).ok();
        Ok(campaign.map(|campaign| TaskCampaign {
            campaign,
            text,
            path,
        }))
    }

    /// The task that made a table on a machine with this row of a campaign, if it had overrides or a schedule: the names
    /// of its results then contain its number.
    pub(crate) fn maker_with_own_results(
        &self,
        machine: &str,
        digest: &Digest,
        campaign: i64,
    ) -> Result<Option<TaskId>, ServiceError> {
        self.database.read(|connection| {
            let query = "SELECT task.id FROM version JOIN task ON task.id = version.task \
                         JOIN machine ON machine.id = version.machine \
                         WHERE machine.name = ?1 AND version.digest = ?2 AND version.campaign = ?3 \
                         AND (json_extract(task.request, '$.overrides') NOT IN ('{}', 'null') \
                         OR task.schedule IS NOT NULL)";
            let row =
                connection.query_row(query, params![machine, digest.as_str(), campaign], |row| {
                    row.get(0)
                });
            Ok(row.optional()?)
        })
    }
}

/// Whether a campaign measures the library of a table, as far as the campaign says which one it measures.
fn measures_library_of(campaign: &Campaign, table: &Table) -> bool {
    let library = &table.provenance.library;
    let is_simulated = matches!(campaign.launcher, LauncherConfig::Simulated(_));
    let names_it = campaign
        .library
        .name
        .is_none_or(|name| name.name() == library.name);
    is_simulated == library.is_simulated() && (is_simulated || names_it)
}

fn describe_missing(machine: &ServiceMachine, table: &Table, paths: &[&str]) -> String {
    let (machine, library) = (&machine.name, &table.provenance.library);
    let reason = format!("is missing: no campaign of `{machine}` made this table");
    match paths {
        [] => format!("{reason}, and none measures {library}; add one to the service's folder"),
        _ => {
            let named = paths[..paths.len().min(MOST_NAMED)].join(", ");
            format!("{reason}; name one of those that measure {library}: {named}")
        }
    }
}
