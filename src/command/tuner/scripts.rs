//! The scripts of batch jobs.

use std::collections::BTreeSet;
use std::time::Duration;

use campaign::LauncherConfig;
use launcher::Allocation;
use schemars::JsonSchema;
use serde::Serialize;
use store::Store;
use vocabulary::CommShape;

use crate::launch::job_of_launch;
use crate::node_request::NodeRequest;
use crate::{MeasurementContext, TunerError};

/// A job's script.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Script {
    /// The nodes that it requests, and the ranks per node.
    #[serde(flatten)]
    pub shape: CommShape,
    /// The script's text.
    #[serde(rename = "script")]
    pub text: String,
}

/// The scripts of a campaign's next launches: one, or one for each number of nodes if allocations are separate; none if
/// the campaign is not measured in batch jobs.
///
/// # Errors
/// A store that cannot be read, or a template that cannot be filled in.
pub fn render_job_scripts(
    at: &MeasurementContext,
    store: Option<&Store>,
) -> Result<Vec<Script>, TunerError> {
    let LauncherConfig::Batch(options) = &at.campaign.launcher else {
        return Ok(Vec::new());
    };
    let number = store.map_or(Ok(1), Store::next_launch)?;
    let largest = at.campaign.largest_shape();
    let node_counts: BTreeSet<u32> = match options.allocation {
        Allocation::Shared => [largest.nodes].into(),
        Allocation::Separate => at.campaign.shapes.iter().map(|shape| shape.nodes).collect(),
    };
    let mut scripts = Vec::new();
    for nodes in node_counts {
        let shape = CommShape { nodes, ..largest };
        let request = NodeRequest {
            shape,
            begin_in: options.spread.map(|_| Duration::ZERO),
            keep: options.spread.is_none(),
        };
        let text = at
            .launcher
            .render_script(&job_of_launch(at, number, request, None)?)?;
        scripts.extend(text.map(|text| Script { shape, text }));
    }
    Ok(scripts)
}
