//! Evaluation of a child's outcome.

use answers::{CheckFindings, TuneFindings, ValidateFindings, without_points};
use serde::Deserialize;
use serde_json::Value;
use vocabulary::CampaignProgress;
use vocabulary::units::format_counted;

use crate::TaskKind;

/// The longest outcome that is stored with its points, in bytes.
const LONGEST_OUTCOME: usize = 256 << 10;

/// An outcome as it is stored.
pub(super) fn shorten_outcome(outcome: Value) -> String {
    let text = outcome.to_string();
    if text.len() > LONGEST_OUTCOME {
        without_points(outcome).to_string()
    } else {
        text
    }
}

/// The numbers of points of a validation or check.
#[derive(Default)]
pub(super) struct PointCounts {
    /// Those that are slower, or fail.
    pub(super) slower: usize,
    pub(super) faster: usize,
    /// Those that were not judged.
    pub(super) unjudged: usize,
    pub(super) all: usize,
}

impl PointCounts {
    /// The numbers of an outcome; all are zero if it cannot be read, or is that of another verb.
    pub(super) fn from_outcome(kind: TaskKind, outcome: &Value) -> Self {
        match kind {
            TaskKind::Validate => ValidateFindings::deserialize(outcome).map(Self::from_validation),
            TaskKind::Check => CheckFindings::deserialize(outcome).map(Self::from_check),
            TaskKind::Tune | TaskKind::Report => Ok(Self::default()),
        }
        .unwrap_or_default()
    }

    fn from_validation(ValidateFindings { counts, found, .. }: ValidateFindings) -> Self {
        Self {
            slower: counts.slower + counts.broken,
            faster: counts.faster,
            unjudged: counts.unjudged(),
            all: found.points.len(),
        }
    }

    fn from_check(CheckFindings { found, .. }: CheckFindings) -> Self {
        let points = &found.points;
        Self {
            slower: points.iter().filter(|point| point.regression).count(),
            faster: 0,
            unjudged: points.iter().filter(|point| !point.decided).count(),
            all: points.len(),
        }
    }
}

/// Describes how a task ended successfully.
pub(super) fn describe_outcome(kind: TaskKind, outcome: &Value) -> String {
    let PointCounts {
        slower,
        unjudged,
        all,
        ..
    } = PointCounts::from_outcome(kind, outcome);
    let judged = format_counted(all.saturating_sub(unjudged), "point");
    let found = match kind {
        TaskKind::Tune => {
            let found = TuneFindings::deserialize(outcome).unwrap_or_default();
            let CampaignProgress { done, total } = found.progress;
            return format!("the table is added; measurements made: {done} of {total}");
        }
        TaskKind::Report => return "the report is written".to_owned(),
        TaskKind::Validate if slower == 0 => {
            format!("none of {judged} is slower than the default")
        }
        TaskKind::Validate => format!(
            "the table's choice is slower than the default, or fails, at {slower} of {judged}"
        ),
        TaskKind::Check if holds(outcome) => format!("the table holds at {judged}"),
        TaskKind::Check => format!("the table does not hold at {slower} of {judged}"),
    };
    let found = if all > unjudged {
        found
    } else {
        "no point was judged".to_owned()
    };
    let of_deployment = match kind {
        TaskKind::Validate => {
            let found = ValidateFindings::deserialize(outcome).unwrap_or_default();
            format!(" (deployment `{}`)", found.measured.deployment)
        }
        _ => String::new(),
    };
    match unjudged {
        0 => format!("{found}{of_deployment}"),
        _ => format!("{found}, {unjudged} not judged{of_deployment}"),
    }
}

/// Whether the outcome of a check says that the table holds.
fn holds(outcome: &Value) -> bool {
    let found = CheckFindings::deserialize(outcome);
    found.is_ok_and(|found| found.verdict.holds == Some(true))
}
