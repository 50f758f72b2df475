//! The progress of a running task, from the last event of its child.

use answers::{PrintedEvent, TuningEvent};
use maud::{Markup, html};
use vocabulary::CampaignProgress;

/// More than the longest budget, in seconds.
const MOST_SECONDS: f64 = 1e9;

/// The progress in sentences.
fn describe_progress(event: &PrintedEvent) -> String {
    let stage = event.known_event().map(describe_event).unwrap_or_default();
    match event.progress() {
        Some(CampaignProgress { done, total }) => {
            format!("Measurements made: {done} of {total}. {stage}")
        }
        None => stage,
    }
}

/// An event as a sentence; empty if it says nothing beyond the progress.
fn describe_event(event: &TuningEvent) -> String {
    match event {
        TuningEvent::Recovered { launches } => {
            format!("Stored what {launches} earlier launches had measured.")
        }
        TuningEvent::Launch { number, .. } => format!("Launch {number} begins."),
        TuningEvent::SetAside { .. } => {
            "The launch ignores the tuning rules that the site has deployed.".to_owned()
        }
        TuningEvent::Queued { id, reason, .. } => match reason.as_deref().unwrap_or_default() {
            "" => format!("Job {id} waits for nodes."),
            reason => format!("Job {id} waits: {reason}."),
        },
        TuningEvent::Running { id, nodes, .. } => format!("Job {id} runs{}.", on_nodes(nodes)),
        TuningEvent::WallTime { number } => {
            format!("Launch {number} reached its wall time; another one follows.")
        }
        TuningEvent::Stored { .. } => String::new(),
        TuningEvent::Failed {
            subject, candidate, ..
        } => format!("{candidate} failed in {subject}."),
        TuningEvent::Died { number, message } => format!("Launch {number} ended early: {message}."),
        TuningEvent::Replaces { library, .. } => {
            format!("The table replaces a table for {library}.")
        }
        TuningEvent::BudgetSpent { .. } => "The budget is spent.".to_owned(),
    }
}

fn on_nodes(names: &[String]) -> String {
    match names.len() {
        0 => String::new(),
        1..=4 => format!(" on {}", names.join(", ")),
        many => format!(" on {many} nodes"),
    }
}

/// The progress in sentences, with a bar.
pub(super) fn progress_with_bar(event: &PrintedEvent) -> Markup {
    let left = event.left_seconds();
    let left = left.filter(|seconds| (0.0..MOST_SECONDS).contains(seconds));
    html! {
        p { (describe_progress(event)) @if let Some(left) = left { " " (format!("{:.0}", left / 60.0)) " minutes of the budget are left." } }
        @if let Some(CampaignProgress { done, total }) = event.progress() {
            progress max=(total.max(1)) value=(done.min(total)) aria-label="measurements made" { (done) " of " (total) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(event: TuningEvent) -> String {
        progress_with_bar(&event.into()).into_string()
    }

    #[test]
    fn a_running_job_is_shown_with_its_nodes() {
        let running_on = |nodes: usize| TuningEvent::Running {
            number: 1,
            id: "7".to_owned(),
            nodes: (1..=nodes).map(|node| format!("n{node}")).collect(),
        };
        assert_eq!(shown(running_on(0)), "<p>Job 7 runs.</p>");
        assert_eq!(shown(running_on(2)), "<p>Job 7 runs on n1, n2.</p>");
        assert_eq!(shown(running_on(5)), "<p>Job 7 runs on 5 nodes.</p>");
    }

    #[test]
    fn the_rest_of_the_budget_is_shown_within_bounds() {
        let launch = |left_seconds| TuningEvent::Launch {
            number: 3,
            progress: CampaignProgress { done: 1, total: 4 },
            left_seconds,
        };
        let text = shown(launch(Some(600.0)));
        assert!(
            text.starts_with("<p>Measurements made: 1 of 4. Launch 3 begins. 10 minutes of the budget are left.</p>"),
            "{text}"
        );
        assert!(text.contains("max=\"4\" value=\"1\""), "{text}");
        for left in [None, Some(-1e308), Some(1e300), Some(f64::NAN)] {
            let without_rest = shown(launch(left));
            assert!(!without_rest.contains("minutes"), "{without_rest}");
        }
    }

    #[test]
    fn an_unknown_event_is_shown_by_its_progress() {
        let fields = serde_json::json!({"event": "paused", "progress": {"done": 9, "total": 0}});
        let event: PrintedEvent = serde_json::from_value(fields).expect("an object");
        let text = progress_with_bar(&event).into_string();
        assert!(
            text.starts_with("<p>Measurements made: 9 of 0. </p>"),
            "{text}"
        );
    }
}
