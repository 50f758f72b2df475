//! Elements of many pages.

use jiff::Timestamp;
use maud::{Markup, PreEscaped, html};
use service::{ChannelKey, Digest, Gate, GateState, Task, TaskId, TaskKind, TaskState};

use super::layout::{encode_component, encode_path};
use crate::Problem;

/// Markup that was rendered before.
pub(super) fn markup_from_bytes(markup: &[u8]) -> Markup {
    PreEscaped(String::from_utf8_lossy(markup).into_owned())
}

/// A time, to the minute.
pub(super) fn time_element(at: Timestamp) -> Markup {
    html! { time datetime=(iso_time(at)) { (at.strftime("%Y-%m-%d %H:%M").to_string()) } }
}

fn iso_time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The age of a time, as in `3 days ago`; the time itself is its title.
pub(super) fn age_element(at: Timestamp, now: Timestamp) -> Markup {
    let seconds = now.as_second() - at.as_second();
    let text = match seconds {
        ..60 => "just now".to_owned(),
        60..7200 => format!("{} min ago", seconds / 60),
        7200..172_800 => format!("{} h ago", seconds / 3600),
        _ => format!("{} days ago", seconds / 86_400),
    };
    html! { time datetime=(iso_time(at)) title=(iso_time(at)) { (text) } }
}

/// A link to a table, which shows its digest.
pub(super) fn table_link(digest: &Digest) -> Markup {
    html! { a href=(table_address(digest)) title=(digest) { code { (digest.short()) } } }
}

pub(super) fn table_address(digest: &Digest) -> String {
    format!("/tables/{digest}")
}

pub(super) fn task_link(task: TaskId) -> Markup {
    html! { a href=(format!("/tasks/{task}")) { "task " (task) } }
}

pub(super) fn campaign_link(path: &str) -> Markup {
    html! { a href=(campaign_address(path)) { (path) } }
}

pub(super) fn campaign_address(path: &str) -> String {
    format!("/campaigns/{}", encode_path(path))
}

pub(super) fn channel_address(key: &ChannelKey) -> String {
    let (machine, library) = (
        encode_component(&key.machine),
        encode_component(&key.library),
    );
    format!("/channels/{machine}/{library}/{}", key.channel)
}

/// A task's state as a word and a sign, so that colour is not the only cue.
pub(super) fn state_badge(state: TaskState) -> Markup {
    let sign = match state {
        TaskState::Waiting => "…",
        TaskState::Running => "▶",
        TaskState::Done => "✓",
        TaskState::Failed => "✕",
        TaskState::Cancelled => "–",
    };
    html! { span class=(format!("badge {state}")) { span aria-hidden="true" { (sign) } " " (state) } }
}

/// The work of a task, with a link to its campaign or table.
pub(super) fn task_subject(task: &Task) -> Markup {
    let request = &task.request;
    html! {
        (kind_verb(request.kind)) " "
        @if let Some(digest) = &request.table { (table_link(digest)) }
        @else if let Some(path) = &request.campaign { (campaign_link(path)) }
    }
}

pub(super) fn kind_verb(kind: TaskKind) -> &'static str {
    match kind {
        TaskKind::Tune => "tune",
        TaskKind::Validate => "validate",
        TaskKind::Check => "check",
        TaskKind::Report => "report on",
    }
}

/// Node-seconds as node-hours.
pub(super) fn node_hours(node_seconds: f64) -> String {
    format!("{:.2}", node_seconds / 3600.0)
}

/// Gates, each with its state and reason.
pub(super) fn gates_list(gates: &[Gate]) -> Markup {
    html! {
        ul.gates {
            @for gate in gates {
                @let (class, sign, word) = match gate.state {
                    GateState::Open => ("done", "✓", "open"),
                    GateState::Closed => ("failed", "✕", "closed"),
                    GateState::Overridden => ("waiting", "!", "overridden"),
                };
                li {
                    span class=(format!("badge {class}")) { span aria-hidden="true" { (sign) } " " (word) } " "
                    strong { (gate.name) } " " span { (report::inline_code_html(&gate.reason)) }
                }
            }
        }
    }
}

/// A box in which a wide table scrolls; it can be focused by keyboard.
pub(super) fn scroll_box(label: &str, table: &Markup) -> Markup {
    html! { div.wide role="region" aria-label=(label) tabindex="0" { (table) } }
}

/// Links to older rows of a list, and back to the newest.
pub(super) fn pager_links(address: &str, before: Option<u64>, next: Option<u64>) -> Markup {
    let joint = if address.contains('?') { '&' } else { '?' };
    html! {
        @if before.is_some() || next.is_some() {
            nav.pager aria-label="Parts of the list" {
                @if before.is_some() { a href=(address) rel="first" { "Newest" } }
                @if let Some(next) = next { a href=(format!("{address}{joint}before={next}")) rel="next" { "Older" } }
            }
        }
    }
}

/// An error: a sentence without its full stop, or lines that quote a text.
pub(super) fn error_text(reason: &str) -> Markup {
    html! { @if reason.contains('\n') { pre { (reason) } } @else { p { (report::inline_code_html(reason)) "." } } }
}

/// The reason why a form was refused, shown above it.
pub(super) fn refusal_box(refused: Option<&Problem>) -> Markup {
    html! {
        @if let Some(Problem { detail, .. }) = refused { div.refusal role="alert" { p { strong { "Nothing was changed." } } (error_text(detail)) } }
    }
}
