//! The table of the messages' protocol segments.

use report::text_table;
use results::ProtocolSegment;
use vocabulary::units::{format_bytes, format_seconds};

use super::{format_residual, format_small_seconds, value_and_interval};

pub(super) fn segments_table(segments: &[ProtocolSegment]) -> String {
    text_table(
        "messages | from> | to> | sizes> | alpha> | interval | beta> | interval | residual> | ",
        segments.iter().map(protocol_segment_row),
    )
    .to_text()
}

fn protocol_segment_row(segment: &ProtocolSegment) -> [String; 10] {
    let per_byte = |value: f64| format!("{}/byte", format_small_seconds(value));
    let [alpha, alpha_interval] = value_and_interval(&segment.alpha, format_seconds);
    let [beta, beta_interval] = value_and_interval(&segment.beta, per_byte);
    [
        segment.level.name().to_owned(),
        format_bytes(segment.from_bytes),
        format_bytes(segment.to_bytes),
        segment.sizes.to_string(),
        alpha,
        alpha_interval,
        beta,
        beta_interval,
        format_residual(&segment.alpha),
        segment_note(segment),
    ]
}

fn segment_note(segment: &ProtocolSegment) -> String {
    let mut notes = Vec::new();
    for (name, parameter) in [("alpha", &segment.alpha), ("beta", &segment.beta)] {
        if parameter.value().is_none() {
            notes.push(format!("{name} {}", parameter.status));
        }
    }
    if segment.ends_at_eager_limit {
        notes.push("ends at the eager limit".to_owned());
    }
    notes.join("; ")
}
