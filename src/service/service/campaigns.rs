//! The campaigns of the service's folder.
//!
//! A campaign is code: its templates, options and directives run in the service's account. So the service reads the
//! file of a requested name only if the file lies in the folder, after links are resolved, and if the configuration
//! allows it for some machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use answers::{AgentCampaign, AgentCampaigns};
use campaign::{Campaign, CampaignError};
use glob::{MatchOptions, Pattern};
use rusqlite::{OptionalExtension, params};
use serde::Serialize;
use utoipa::ToSchema;

use crate::database::{machine_id, query_rows};
use crate::{Actor, Service, ServiceError, ServiceMachine};

/// The most campaigns that are listed.
const MOST: usize = 1000;
/// The options of matching: a `*` matches part of one name, without `/` and without a leading dot.
const MATCHING: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

/// A campaign in the folder.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct CampaignEntry {
    /// Its path in the folder, with `/` between its parts.
    pub path: String,
    /// The campaign's name, if the file can be read.
    pub name: Option<String>,
    /// The machines on which it may run.
    pub machines: Vec<String>,
    /// The reason why it cannot be read, with line and column.
    pub problem: Option<String>,
}

impl Service {
    /// The campaigns that may run on some machine, by path; at most 1000.
    ///
    /// # Errors
    /// If the folder cannot be listed.
    pub fn list_campaigns(&self) -> Result<Vec<CampaignEntry>, ServiceError> {
        let folder = &self.configuration.folder;
        let mut machines_by_path: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for machine in &self.configuration.machines {
            let paths = if machine.has_agent {
                self.agent_campaign_paths(machine)?
            } else {
                matching_paths(folder, machine)
            };
            for path in paths {
                let on = machines_by_path.entry(path).or_default();
                if on.last() != Some(&machine.name) {
                    on.push(machine.name.clone());
                }
            }
        }
        let mut entries = Vec::new();
        for (path, machines) in machines_by_path.into_iter().take(MOST) {
            let read = match self.read_campaign(&path) {
                // It lies outside the folder, or was just removed.
                Err(ServiceError::NotFound { .. } | ServiceError::CampaignNotTold { .. }) => {
                    continue;
                }
                read => read,
            };
            entries.push(CampaignEntry {
                path,
                machines,
                name: read
                    .as_ref()
                    .ok()
                    .map(|(campaign, _)| campaign.name.clone()),
                problem: read.err().map(|error| error.to_string()),
            });
        }
        Ok(entries)
    }

    /// Reads a campaign of the folder: the campaign, and the text of its file. Paths that lead out of the folder, by
    /// `..` or by links, are not found.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`], also if no machine may run the campaign; [`ServiceError::Campaign`].
    pub fn read_campaign(&self, path: &str) -> Result<(Campaign, String), ServiceError> {
        let mut machines = self.configuration.machines.iter();
        // Machines of this host come first: their campaigns are files, whose text has no jobs in place of names.
        let may_be_file = machines.any(|machine| !machine.has_agent && may_run(machine, path));
        if may_be_file && self.resolve_in_folder(path).is_some() {
            return self.read_campaign_file(path);
        }
        for machine in &self.configuration.machines {
            if machine.has_agent
                && let Some(text) = self.agent_campaign_text(machine, path)?
            {
                return Ok((Campaign::parse_elsewhere(&text, Path::new(path))?, text));
            }
        }
        Err(unknown_campaign(path))
    }

    /// Reads a campaign of the folder that some machine may run.
    fn read_campaign_file(&self, path: &str) -> Result<(Campaign, String), ServiceError> {
        let file = self
            .resolve_in_folder(path)
            .ok_or_else(|| unknown_campaign(path))?;
        let named = Path::new(path);
        let text = files::read_text(&file).map_err(|source| CampaignError::Read {
            path: named.to_owned(),
            source,
        })?;
        Ok((Campaign::parse(&text, named)?, text))
    }

    /// As [`Service::read_campaign`], for a machine that must be allowed to run the campaign.
    pub(crate) fn read_campaign_for(
        &self,
        machine: &ServiceMachine,
        path: &str,
    ) -> Result<(Campaign, String), ServiceError> {
        if machine.has_agent {
            let text = self.agent_campaign_text(machine, path)?;
            let text = text.ok_or_else(|| campaign_not_told(machine, path))?;
            Ok((Campaign::parse_elsewhere(&text, Path::new(path))?, text))
        } else if may_run(machine, path) {
            self.read_campaign_file(path)
        } else {
            Err(unknown_campaign(path))
        }
    }

    /// The paths of the campaigns of an agent's folder.
    fn agent_campaign_paths(&self, machine: &ServiceMachine) -> Result<Vec<String>, ServiceError> {
        self.database.read(|connection| {
            let query = "SELECT path FROM agent_campaign JOIN machine ON machine.id = agent_campaign.machine \
                         WHERE machine.name = ?1 ORDER BY path";
            query_rows(connection, query, [&machine.name], |row| row.get(0))
        })
    }

    /// The text of a campaign of an agent's folder, if the agent has it.
    fn agent_campaign_text(
        &self,
        machine: &ServiceMachine,
        path: &str,
    ) -> Result<Option<String>, ServiceError> {
        self.database.read(|connection| {
            let query = "SELECT text FROM agent_campaign JOIN machine ON machine.id = agent_campaign.machine \
                         WHERE machine.name = ?1 AND path = ?2";
            let mut statement = connection.prepare_cached(query)?;
            let row = statement.query_row([machine.name.as_str(), path], |row| row.get(0));
            Ok(row.optional()?)
        })
    }

    /// Takes in the campaigns of an agent's folder in place of those that it had. They are shown, planned with, and
    /// submitted; only the agent carries them out.
    ///
    /// # Errors
    /// [`ServiceError::Forbidden`], [`ServiceError::NotFound`] and [`ServiceError::Conflict`] of the machine;
    /// [`ServiceError::Invalid`] of a path; SQLite.
    pub fn put_agent_campaigns(
        &self,
        actor: &Actor,
        machine: &str,
        given: &AgentCampaigns,
    ) -> Result<(), ServiceError> {
        let machine = self.agent_machine(actor, machine)?;
        if given.campaigns.len() > MOST {
            let problem = format!("are more than {MOST}");
            return Err(ServiceError::invalid("campaigns", problem));
        }
        if let Some(wrong) = given.campaigns.iter().find(|entry| !is_plain(&entry.path)) {
            let path = files::quoted(&wrong.path, files::MOST_QUOTED);
            let problem = format!("`{path}` is not a path in a folder");
            return Err(ServiceError::invalid("campaigns.path", problem));
        }
        self.database.write(|transaction| {
            let id = machine_id(transaction, &machine.name)?;
            transaction.execute("DELETE FROM agent_campaign WHERE machine = ?1", [id])?;
            let mut add = transaction.prepare_cached(
                "INSERT OR REPLACE INTO agent_campaign (machine, path, text) VALUES (?1, ?2, ?3)",
            )?;
            for campaign in &given.campaigns {
                add.execute(params![id, campaign.path, campaign.text])?;
            }
            Ok(())
        })
    }

    /// The campaigns of this folder that a machine may run, for an agent to tell its service; those that cannot be read
    /// as they are.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`] of the machine.
    pub fn list_own_campaigns(&self, machine: &str) -> Result<AgentCampaigns, ServiceError> {
        let machine = self.configuration.find_machine(machine)?;
        let paths = self.campaign_paths(machine)?.into_iter().take(MOST);
        let campaigns = paths.filter_map(|path| {
            let text = match self.read_campaign_file(&path) {
                Ok((campaign, _)) => campaign.text().to_owned(),
                Err(ServiceError::NotFound { .. }) => return None,
                // Its readers find the same mistake in it.
                Err(_) => files::read_text(&self.configuration.folder.join(&path)).ok()?,
            };
            Some(AgentCampaign { path, text })
        });
        Ok(AgentCampaigns {
            campaigns: campaigns.collect(),
        })
    }

    /// The paths of the campaigns that a machine may run.
    pub(crate) fn campaign_paths(
        &self,
        machine: &ServiceMachine,
    ) -> Result<Vec<String>, ServiceError> {
        if machine.has_agent {
            self.agent_campaign_paths(machine)
        } else {
            Ok(matching_paths(&self.configuration.folder, machine))
        }
    }

    /// The file of a path in the folder, with links resolved; `None` if it does not exist or lies outside the folder.
    fn resolve_in_folder(&self, path: &str) -> Option<PathBuf> {
        let folder = fs::canonicalize(&self.configuration.folder).ok()?;
        let file = fs::canonicalize(folder.join(path)).ok()?;
        (file.starts_with(&folder) && file.is_file()).then_some(file)
    }
}

/// The error of a campaign that the agent of a machine has not told the service.
fn campaign_not_told(machine: &ServiceMachine, path: &str) -> ServiceError {
    ServiceError::CampaignNotTold {
        machine: machine.name.clone(),
        path: files::quoted(path, files::MOST_QUOTED),
    }
}

fn unknown_campaign(path: &str) -> ServiceError {
    ServiceError::not_found("campaign", files::quoted(path, files::MOST_QUOTED))
}

/// Whether a path is in normal form and matches one of a machine's patterns.
pub(crate) fn may_run(machine: &ServiceMachine, path: &str) -> bool {
    is_plain(path) && campaign_patterns(machine).any(|pattern| pattern.matches_with(path, MATCHING))
}

fn is_plain(path: &str) -> bool {
    let parts: Option<Vec<_>> = Path::new(path)
        .components()
        .map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    !path.contains('\0') && parts.is_some_and(|parts| !parts.is_empty() && parts.join("/") == path)
}

/// The patterns of a machine. Invalid ones were refused when the configuration was read.
fn campaign_patterns(machine: &ServiceMachine) -> impl Iterator<Item = Pattern> {
    let patterns = machine.campaigns.iter();
    patterns.filter_map(|pattern| Pattern::new(pattern).ok())
}

/// The paths in the folder that match a machine's patterns.
fn matching_paths(folder: &Path, machine: &ServiceMachine) -> Vec<String> {
    let root = Pattern::escape(&folder.to_string_lossy());
    let mut paths = Vec::new();
    for pattern in &machine.campaigns {
        let pattern = format!("{root}/{pattern}");
        let found = glob::glob_with(&pattern, MATCHING).into_iter().flatten();
        let found = found.flatten().take(MOST);
        let inside = found.filter_map(|file| {
            let path = file.strip_prefix(folder).ok()?.to_str()?.to_owned();
            may_run(machine, &path).then_some(path)
        });
        paths.extend(inside);
    }
    paths.sort();
    paths.dedup();
    paths
}
