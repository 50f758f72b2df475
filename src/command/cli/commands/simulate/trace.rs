//! The events of one simulation as text.

use std::fmt::Write;

use model::{Event, Labour};
use report::text_table;
use vocabulary::units::{format_bytes, format_seconds};

use super::point::TracedSimulation;

/// The end time, the critical path, and the end of every rank's rounds.
pub(super) fn describe_trace(traced: &TracedSimulation) -> String {
    let mut text = format!(
        "{} ends after {}\n\nwhat the end waited for:\n",
        schedule::text::schedule_headline(&traced.schedule),
        format_seconds(traced.row.seconds)
    );
    let columns = "from> | to> | what | bytes>";
    let path = traced.trace.critical_path();
    let path = text_table(
        columns,
        path.iter().map(|segment| {
            let (what, bytes) = match segment.event {
                Event::Message(index) => {
                    let message = &traced.trace.messages[index];
                    (format!("{} to {}", message.from, message.to), message.bytes)
                }
                Event::Work(index) => {
                    let work = &traced.trace.work[index];
                    (
                        format!("{} {}", work.rank, labour_verb(work.labour)),
                        work.bytes,
                    )
                }
            };
            [
                format_seconds(segment.start),
                format_seconds(segment.end),
                what,
                format_bytes(bytes),
            ]
        }),
    );
    text += &path.to_text();
    text += "\n\nwhen each round ends:\n";
    for (rank, rounds) in traced.trace.rounds.iter().enumerate() {
        let ends: Vec<_> = rounds.iter().map(|end| format_seconds(*end)).collect();
        let _ = writeln!(text, "rank {rank}: {}", ends.join(", "));
    }
    text
}

pub(super) fn labour_verb(labour: Labour) -> &'static str {
    match labour {
        Labour::Combine => "combines",
        Labour::Copy => "copies",
    }
}
