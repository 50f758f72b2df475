//! Evaluation of a child's outcome.

use serde_json::Value;
use vocabulary::units::format_counted;

use crate::TaskKind;
use crate::validations::count_unjudged;

/// The longest outcome that is stored with its points, in bytes.
const LONGEST_OUTCOME: usize = 256 << 10;

/// An outcome as it is stored.
pub(super) fn shorten_outcome(mut outcome: Value) -> String {
    let text = outcome.to_string();
    match outcome.as_object_mut() {
        Some(fields) if text.len() > LONGEST_OUTCOME => {
            fields.remove("points");
            outcome.to_string()
        }
        _ => text,
    }
}

/// The numbers of points of a validation or check.
pub(super) struct PointCounts {
    /// Those that are slower, or fail.
    pub(super) slower: u64,
    pub(super) faster: u64,
    /// Those that were not judged.
    pub(super) unjudged: u64,
    pub(super) all: u64,
}

impl PointCounts {
    pub(super) fn from_outcome(outcome: &Value) -> Self {
        let points = || outcome["points"].as_array().into_iter().flatten();
        let all = points().count() as u64;
        let number = |key: &str| outcome[key].as_u64().unwrap_or(0);
        if outcome.get("holds").is_some() {
            let is_wrong =
                |point: &&Value| point["regression"] == true || point["broken"].is_string();
            // Checks of earlier versions do not say which points are decided.
            let is_undecided = |point: &&Value| point["decided"] == false;
            return Self {
                slower: points().filter(is_wrong).count() as u64,
                faster: 0,
                unjudged: points().filter(is_undecided).count() as u64,
                all,
            };
        }
        Self {
            slower: number("slower") + number("broken"),
            faster: number("faster"),
            unjudged: count_unjudged(outcome),
            all,
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
    } = PointCounts::from_outcome(outcome);
    let judged = format_counted(all.saturating_sub(unjudged), "point");
    let found = match kind {
        TaskKind::Tune => {
            return format!(
                "the table is added; measurements made: {} of {}",
                outcome["done"], outcome["total"]
            );
        }
        TaskKind::Report => return "the report is written".to_owned(),
        TaskKind::Validate if slower == 0 => {
            format!("none of {judged} is slower than the default")
        }
        TaskKind::Validate => format!(
            "the table's choice is slower than the default, or fails, at {slower} of {judged}"
        ),
        TaskKind::Check if outcome["holds"] == true => format!("the table holds at {judged}"),
        TaskKind::Check => format!("the table does not hold at {slower} of {judged}"),
    };
    let found = if all > unjudged {
        found
    } else {
        "no point was judged".to_owned()
    };
    let of_deployment = match outcome["deployment"].as_str() {
        Some(deployment) => format!(" (deployment `{deployment}`)"),
        None => String::new(),
    };
    match unjudged {
        0 => format!("{found}{of_deployment}"),
        _ => format!("{found}, {unjudged} not judged{of_deployment}"),
    }
}
