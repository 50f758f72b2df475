//! The origin of measurements.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use schedule::Collective;
use schemars::JsonSchema;
use serde::Serialize;
use table::{Confidence, Numerics};
use vocabulary::{CampaignProgress, CommShape, Library, Warning};
use wire::LaunchStart;

/// The origin of measurements.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct SampleOrigin {
    /// The name of the campaign.
    pub name: String,
    /// Its digest.
    #[serde(skip)]
    pub campaign: String,
    /// The store.
    pub store: PathBuf,
    /// The library that was measured.
    pub library: Library,
    /// The reported starts of the launches with measurements, in the order of launches.
    #[serde(skip)]
    pub starts: Vec<LaunchStart>,
    /// The campaign's progress, if the campaign is known.
    #[serde(skip)]
    pub progress: Option<CampaignProgress>,
    /// The collectives and shapes of the campaign of which nothing was measured.
    #[serde(skip)]
    pub not_measured: BTreeMap<Collective, BTreeSet<CommShape>>,
    /// The last launch's start in the store, for launches without a report.
    #[serde(skip)]
    pub started_unix_seconds: Option<i64>,
    /// The least confidence of rules that are deployed.
    #[serde(skip)]
    pub min_confidence: Confidence,
    /// What the bits of reductions by rules that are deployed must not depend on.
    #[serde(skip)]
    pub numerics: Numerics,
    /// Whether the measurements are imported.
    #[serde(skip)]
    pub is_imported: bool,
}

impl SampleOrigin {
    /// The day of the last launch, UTC.
    pub(crate) fn last_launch_date(&self) -> String {
        let reported = self
            .starts
            .last()
            .and_then(|start| i64::try_from(start.unix_seconds).ok());
        let seconds = reported.or(self.started_unix_seconds).unwrap_or(0);
        jiff::Timestamp::from_second(seconds)
            .map(|time| time.strftime("%Y-%m-%d").to_string())
            .unwrap_or_default()
    }

    /// A sentence about missing measurements, if there are any.
    pub(crate) fn describe_incompleteness(&self) -> Option<String> {
        let CampaignProgress { done, total } = self.progress?;
        (done < total).then(|| {
            format!(
                "only {done} of {total} measurements were made: decisions rest on fewer launches \
                 or sizes than the campaign asks for; tune again, with a larger `budget` if that \
                 is spent"
            )
        })
    }

    /// A sentence about collectives and shapes of which nothing was measured, if there are any.
    pub(crate) fn describe_not_measured(&self) -> Option<String> {
        let collectives = self.not_measured.iter().map(|(collective, shapes)| {
            let shapes: Vec<String> = shapes.iter().map(CommShape::to_string).collect();
            format!("{collective} on {}", shapes.join(", "))
        });
        let collectives: Vec<String> = collectives.collect();
        (!collectives.is_empty()).then(|| {
            format!(
                "the campaign asks for these, and nothing of them was measured: {}; tune again, with a larger `budget`",
                collectives.join("; ")
            )
        })
    }

    /// The warnings of all launches, each kind once, in its strongest form.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut kinds: Vec<Warning> = Vec::new();
        let all: BTreeSet<&Warning> = self
            .starts
            .iter()
            .flat_map(|start| &start.environment.warnings)
            .collect();
        for warning in all {
            let same_kind = |known: &&mut Warning| {
                // Every imported file is named.
                !matches!(known, Warning::Imported { .. } | Warning::Baseline { .. })
                    && std::mem::discriminant(*known) == std::mem::discriminant(warning)
            };
            match kinds.iter_mut().find(same_kind) {
                // In ascending order, the last warning of a kind is the strongest.
                Some(known) => *known = warning.clone(),
                None => kinds.push(warning.clone()),
            }
        }
        kinds
    }
}
