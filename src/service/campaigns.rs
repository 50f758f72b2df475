//! The campaigns of the service's folder.
//!
//! A campaign is code: its templates, options and directives run in the service's account. So a name from outside
//! leads to a file only if that lies in the folder, also once links are followed, and if the configuration names it
//! for some machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use campaign::{Campaign, CampaignError};
use glob::{MatchOptions, Pattern};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{Service, ServiceError, ServiceMachine};

/// Campaigns beyond this number are not listed.
const MOST: usize = 1000;
/// A `*` stands for a part of a name and never for several folders, and for no hidden file.
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
    /// Its name, if it can be read.
    pub name: Option<String>,
    /// The machines on which it may run.
    pub machines: Vec<String>,
    /// Why it cannot be read, with line and column.
    pub problem: Option<String>,
}

impl Service {
    /// The campaigns that may run on some machine, by path; at most 1000.
    ///
    /// # Errors
    /// If the folder cannot be listed.
    pub fn campaigns(&self) -> Result<Vec<CampaignEntry>, ServiceError> {
        let folder = &self.configuration.folder;
        let mut machines: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for machine in &self.configuration.machines {
            for path in paths_of(folder, machine) {
                let on = machines.entry(path).or_default();
                if on.last() != Some(&machine.name) {
                    on.push(machine.name.clone());
                }
            }
        }
        let mut entries = Vec::new();
        for (path, machines) in machines.into_iter().take(MOST) {
            let read = match self.campaign(&path) {
                // It leads out of the folder, or has just gone.
                Err(ServiceError::NotFound { .. }) => continue,
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

    /// Reads a campaign of the folder: what it asks for, and the text of its file. Paths that lead out of it, by `..`
    /// or by links, name no campaign.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`] also where no machine may run it; [`ServiceError::Campaign`].
    pub fn campaign(&self, path: &str) -> Result<(Campaign, String), ServiceError> {
        let machines = &self.configuration.machines;
        if !machines.iter().any(|machine| may_run(machine, path)) {
            return Err(unknown(path));
        }
        let file = self.confined(path).ok_or_else(|| unknown(path))?;
        let named = Path::new(path);
        let text = files::read_text(&file).map_err(|source| CampaignError::Read {
            path: named.to_owned(),
            source,
        })?;
        Ok((Campaign::parse(&text, named)?, text))
    }

    /// The same for a machine, which must be allowed to run it.
    pub(crate) fn campaign_for(
        &self,
        machine: &ServiceMachine,
        path: &str,
    ) -> Result<(Campaign, String), ServiceError> {
        match may_run(machine, path) {
            true => self.campaign(path),
            false => Err(unknown(path)),
        }
    }

    /// The file of a path in the folder, without links on the way; `None` if it is not there or somewhere else.
    fn confined(&self, path: &str) -> Option<PathBuf> {
        let folder = fs::canonicalize(&self.configuration.folder).ok()?;
        let file = fs::canonicalize(folder.join(path)).ok()?;
        (file.starts_with(&folder) && file.is_file()).then_some(file)
    }
}

fn unknown(path: &str) -> ServiceError {
    ServiceError::NotFound {
        kind: "campaign",
        name: files::quoted(path, files::MOST_QUOTED),
    }
}

/// Whether a path is one in the folder, written in the only way, that a machine's patterns have.
fn may_run(machine: &ServiceMachine, path: &str) -> bool {
    is_plain(path) && patterns(machine).any(|pattern| pattern.matches_with(path, MATCHING))
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

/// The configuration's reader has refused what is no pattern.
fn patterns(machine: &ServiceMachine) -> impl Iterator<Item = Pattern> {
    let patterns = machine.campaigns.iter();
    patterns.filter_map(|pattern| Pattern::new(pattern).ok())
}

/// The paths in the folder that a machine's patterns have.
fn paths_of(folder: &Path, machine: &ServiceMachine) -> Vec<String> {
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
