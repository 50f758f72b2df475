//! The progress of a running task, from the last event of its child.

use maud::{Markup, html};
use serde_json::Value;

/// More than the longest budget, in seconds.
const MOST_SECONDS: f64 = 1e9;

/// The progress in sentences.
fn describe_event(event: &Value) -> String {
    let number = |name: &str| event.get(name).and_then(Value::as_u64).unwrap_or_default();
    let text = |name: &str| event.get(name).and_then(Value::as_str).unwrap_or_default();
    let stage = match text("event") {
        "recovered" => format!(
            "Stored what {} earlier launches had measured.",
            number("launches")
        ),
        "launch" => format!("Launch {} begins.", number("number")),
        "set_aside" => "The launch ignores the tuning rules that the site has deployed.".to_owned(),
        "queued" => match text("reason") {
            "" => format!("Job {} waits for nodes.", text("id")),
            reason => format!("Job {} waits: {reason}.", text("id")),
        },
        "running" => format!("Job {} runs{}.", text("id"), on_nodes(event.get("nodes"))),
        "wall_time" => format!(
            "Launch {} reached its wall time; another one follows.",
            number("number")
        ),
        "failed" => format!("{} failed in {}.", text("candidate"), text("subject")),
        "died" => format!(
            "Launch {} ended early: {}.",
            number("number"),
            text("message")
        ),
        "replaces" => format!("The table replaces a table for {}.", text("library")),
        "budget_spent" => "The budget is spent.".to_owned(),
        _ => String::new(),
    };
    match done_and_total(event) {
        Some((done, total)) => format!("Measurements made: {done} of {total}. {stage}"),
        None => stage,
    }
}

fn on_nodes(nodes: Option<&Value>) -> String {
    let nodes = nodes.and_then(Value::as_array).into_iter().flatten();
    let names: Vec<&str> = nodes.filter_map(Value::as_str).collect();
    match names.len() {
        0 => String::new(),
        1..=4 => format!(" on {}", names.join(", ")),
        many => format!(" on {many} nodes"),
    }
}

/// The numbers of measurements made and planned.
fn done_and_total(event: &Value) -> Option<(u64, u64)> {
    let progress = event.get("progress")?;
    let number = |name: &str| progress.get(name).and_then(Value::as_u64);
    Some((number("done")?, number("total")?))
}

/// The progress in sentences, with a bar.
pub(super) fn progress_with_bar(event: &Value) -> Markup {
    let left = event.get("left_seconds").and_then(Value::as_f64);
    let left = left.filter(|seconds| (0.0..MOST_SECONDS).contains(seconds));
    html! {
        p { (describe_event(event)) @if let Some(left) = left { " " (format!("{:.0}", left / 60.0)) " minutes of the budget are left." } }
        @if let Some((done, total)) = done_and_total(event) {
            progress max=(total.max(1)) value=(done.min(total)) aria-label="measurements made" { (done) " of " (total) }
        }
    }
}
