//! Evaluation of a child's outcome.

use answers::{CheckFindings, TableVerdict, ValidateFindings, without_points};
use serde::Deserialize;
use serde_json::Value;
use vocabulary::CampaignProgress;
use vocabulary::units::format_counted;

use crate::TaskKind;

/// An outcome as it is stored: without its points if it has more than `longest` bytes.
pub(super) fn shorten_outcome(outcome: Value, longest: usize) -> String {
    let text = outcome.to_string();
    if text.len() > longest {
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

    /// The number of points that were judged, with its noun.
    fn format_judged(&self) -> String {
        format_counted(self.all.saturating_sub(self.unjudged), "point")
    }

    /// Adds the number of points that were not judged; replaces what was found if none was.
    fn add_unjudged(&self, found: String) -> String {
        let found = if self.all > self.unjudged {
            found
        } else {
            "no point was judged".to_owned()
        };
        match self.unjudged {
            0 => found,
            unjudged => format!("{found}, {unjudged} not judged"),
        }
    }

    fn from_validation(ValidateFindings { counts, found, .. }: ValidateFindings) -> Self {
        Self {
            slower: counts.slower + counts.broken,
            faster: counts.faster,
            unjudged: counts.count_unjudged(),
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

/// Describes how a task ended successfully. An outcome that cannot be read counts as one without points.
pub(super) fn describe_outcome(kind: TaskKind, outcome: &Value) -> String {
    match kind {
        TaskKind::Tune => {
            let progress = CampaignProgress::deserialize(outcome).unwrap_or_default();
            let CampaignProgress { done, total } = progress;
            format!("the table is added; measurements made: {done} of {total}")
        }
        TaskKind::Report => "the report is written".to_owned(),
        TaskKind::Validate => {
            describe_validation(ValidateFindings::deserialize(outcome).unwrap_or_default())
        }
        TaskKind::Check => describe_check(CheckFindings::deserialize(outcome).unwrap_or_default()),
    }
}

fn describe_validation(findings: ValidateFindings) -> String {
    let deployment = findings.measured.deployment;
    let counts = PointCounts::from_validation(findings);
    let (slower, judged) = (counts.slower, counts.format_judged());
    let found = if slower == 0 {
        format!("none of {judged} is slower than the default")
    } else {
        format!("the table's choice is slower than the default, or fails, at {slower} of {judged}")
    };
    let found = counts.add_unjudged(found);
    format!("{found} (deployment `{deployment}`)")
}

fn describe_check(findings: CheckFindings) -> String {
    let TableVerdict {
        holds,
        slower_machine,
    } = findings.verdict;
    let counts = PointCounts::from_check(findings);
    let (slower, judged) = (counts.slower, counts.format_judged());
    let found = if holds == Some(true) {
        format!("the table holds at {judged}")
    } else if slower_machine {
        format!("the library or the machine became slower, at {slower} of {judged}")
    } else {
        format!("the table does not hold at {slower} of {judged}")
    };
    counts.add_unjudged(found)
}
