//! The use of both directions of a link at once: messages in both directions beside a message in one.

use results::Estimate;
use vocabulary::units::format_bytes;

use crate::view::View;

/// The smallest ratio, to the time of one message, at which two messages in opposite directions count as sent in turn.
const IN_TURN: f64 = 1.75;
/// The smallest coverage of an interval that allows a statement: that of three launches.
const CERTAIN: f64 = 0.75;

const LEVELS: [(&str, &str); 3] = [
    ("node", "Within a node"),
    ("network", "Between nodes"),
    ("shared", "Through shared memory"),
];
const PATTERNS: [(&str, &str); 2] = [
    ("exchange", "an exchange"),
    ("shift", "sending to one rank while receiving from another"),
];

/// A sentence for each level and pattern that was measured with long messages, whose bytes take longer than their
/// start-up.
pub(crate) fn direction_sentences(view: &View) -> Vec<String> {
    let known = |name: String| view.parameters.iter().find(|known| known.name == name);
    let value = |name| known(name)?.value();
    let mut sentences = Vec::new();
    for (level, place) in LEVELS {
        let line = value(format!("{level}.alpha")).zip(value(format!("{level}.beta")));
        let Some((alpha, beta)) = line else {
            continue;
        };
        // Sizes of experiments are powers of two.
        let long = ((alpha / beta).ceil() as u64).checked_next_power_of_two();
        let long = format_bytes(long.unwrap_or(u64::MAX));
        for (pattern, what) in PATTERNS {
            let factor = known(format!("{level}.{pattern}_bandwidth"));
            if let Some((factor, estimate)) =
                factor.and_then(|factor| Some((factor, factor.estimate?)))
            {
                sentences.push(format!(
                    "{place}, with messages of {long} bytes or more, {what} takes {:.2} times{} as long as a \
                     message in one direction: {}.",
                    estimate.value,
                    interval_in_brackets(&estimate),
                    direction_verdict(&estimate, factor.value().is_some())
                ));
            }
        }
    }
    sentences
}

fn interval_in_brackets(factor: &Estimate) -> String {
    if factor.low < factor.high {
        format!(" ({:.2} to {:.2})", factor.low, factor.high)
    } else {
        String::new()
    }
}

/// The conclusion that holds at both ends of the interval.
fn direction_verdict(factor: &Estimate, is_identified: bool) -> String {
    let text = match factor {
        _ if factor.coverage < CERTAIN => {
            "too few launches were measured to say whether both directions are used together"
        }
        _ if factor.low >= IN_TURN => "nothing is gained by using both directions at once",
        _ if factor.high < IN_TURN && is_identified => {
            return format!(
                "both directions are used together, and carry {:.2} times as much as one",
                2.0 / factor.value
            );
        }
        _ => "launches differ too much to say whether both directions are used together",
    };
    text.to_owned()
}
