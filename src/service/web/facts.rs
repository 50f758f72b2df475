//! What is known about a table from its text alone.

use serde::{Deserialize, Serialize};
use service::Digest;
use table::{Deployment, Policy, Table};

use crate::results::TableOutput;
use crate::{App, Problem};

/// What is known about a table from its text alone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Facts {
    /// Its name.
    pub(crate) name: String,
    /// `NAME-VERSION` of the MPI library that it is for.
    pub(crate) library: String,
    /// The version of colltune that made it.
    pub(crate) colltune: String,
    /// The CPU that was measured; empty if unknown.
    pub(crate) cpu: String,
    /// The hosts that were measured.
    pub(crate) hosts: Vec<String>,
    /// The day of the last measurement.
    pub(crate) date: String,
    /// The number of launches it is based on.
    pub(crate) launches: u32,
    /// The least confidence of deployed rules.
    pub(crate) min_confidence: String,
    /// What the bits of its reductions must not depend on, by its campaign.
    pub(crate) numerics: String,
    /// What that costs, a sentence for each deployment in which it costs something.
    pub(crate) numerics_costs: Vec<String>,
    /// Reasons to trust the measurements less.
    pub(crate) warnings: Vec<String>,
    /// The number of its rules.
    pub(crate) rules: usize,
    /// The deployments that can be validated, first those that a release activates.
    pub(crate) deployments: Vec<Deployment>,
}

impl Facts {
    /// The facts about a table of the service, from memory or read anew.
    ///
    /// # Errors
    /// Those of [`App::make_or_recall`].
    pub(crate) async fn recall_or_read(app: &App, digest: &Digest) -> Result<Self, Problem> {
        let json = app
            .make_or_recall(TableOutput::Facts(digest.clone()))
            .await?;
        serde_json::from_slice(&json).map_err(|error| Problem::internal(&error))
    }

    pub(crate) fn from_table(table: &Table) -> Self {
        let of = table.provenance.clone();
        let activated = service::activated_deployments(table);
        let mut deployments = Deployment::ALL.to_vec();
        deployments.sort_by_key(|deployment| !activated.contains(deployment));
        Self {
            name: table.name.clone(),
            library: of.library.to_string(),
            colltune: of.colltune,
            cpu: of.cpu,
            hosts: of.hosts,
            date: of.date,
            launches: of.launches,
            min_confidence: of.min_confidence.to_string(),
            numerics: of.numerics.to_string(),
            numerics_costs: table
                .costs_of_numerics(Policy::default())
                .iter()
                .map(ToString::to_string)
                .collect(),
            warnings: of.warnings,
            rules: table
                .blocking_and_nonblocking()
                .flat_map(Table::entries)
                .map(|entry| entry.rules.len())
                .sum(),
            deployments,
        }
    }
}
