//! Evaluation of a child's outcome.

use serde_json::Value;
use vocabulary::units::counted;

use crate::TaskKind;

/// The longest outcome that is stored with its points, in bytes.
const LONGEST_OUTCOME: usize = 256 << 10;

/// An outcome as it is stored.
pub(super) fn shortened(mut outcome: Value) -> String {
    let text = outcome.to_string();
    match outcome.as_object_mut() {
        Some(fields) if text.len() > LONGEST_OUTCOME => {
            fields.remove("points");
            outcome.to_string()
        }
        _ => text,
    }
}

/// The numbers of points of a validation or check: of slower or failed points, of faster points, and of all.
pub(super) fn counts(outcome: &Value) -> (u64, u64, u64) {
    let points = outcome["points"].as_array();
    // Checks of earlier versions do not say which points are decided.
    let is_decided = |point: &&Value| point["decided"] != false;
    let all = points.into_iter().flatten().filter(is_decided).count() as u64;
    let number = |key: &str| outcome[key].as_u64().unwrap_or(0);
    if outcome.get("holds").is_some() {
        let is_wrong = |point: &&Value| point["regression"] == true || point["broken"].is_string();
        let wrong = points.into_iter().flatten().filter(is_wrong).count();
        return (wrong as u64, 0, all);
    }
    (number("slower") + number("broken"), number("faster"), all)
}

/// Describes how a task ended successfully.
pub(super) fn sentence(kind: TaskKind, outcome: &Value) -> String {
    let (slower, _, points) = counts(outcome);
    let points = counted(points, "point");
    match kind {
        TaskKind::Tune => format!(
            "the table is added; measurements made: {} of {}",
            outcome["done"], outcome["total"]
        ),
        TaskKind::Validate if slower == 0 => {
            format!("none of {points} is slower than the default")
        }
        TaskKind::Validate => {
            format!(
                "the table's choice is slower than the default, or fails, at {slower} of {points}"
            )
        }
        TaskKind::Check if outcome["holds"] == true => {
            format!("the table holds at {points}")
        }
        TaskKind::Check => format!("the table does not hold at {slower} of {points}"),
        TaskKind::Report => "the report is written".to_owned(),
    }
}
