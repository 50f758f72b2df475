//! Whether ranks use both directions of a link at once: what is sent and received together, beside a message one way.

use results::Estimate;
use vocabulary::units::format_bytes;

use crate::view::View;

/// From this many times the time of a message one way on, two messages in opposite directions carry hardly more than
/// one.
const IN_TURN: f64 = 1.75;
/// The coverage of an interval from three launches. One that covers less says little.
const CERTAIN: f64 = 0.75;

const LEVELS: [(&str, &str); 2] = [("node", "Within a node"), ("network", "Between nodes")];
const PATTERNS: [(&str, &str); 2] = [
    ("exchange", "an exchange"),
    ("shift", "sending to one rank while receiving from another"),
];

/// A sentence for each level and pattern that was measured with long messages, those whose bytes cost more than the
/// start.
pub(crate) fn directions(view: &View) -> Vec<String> {
    let known = |name: String| {
        let of_name = view.parameters.iter().find(|known| known.name == name);
        of_name.and_then(|known| known.estimate)
    };
    let mut sentences = Vec::new();
    for (level, place) in LEVELS {
        let [Some(alpha), Some(beta)] =
            ["alpha", "beta"].map(|parameter| known(format!("{level}.{parameter}")))
        else {
            continue;
        };
        // Sizes of experiments are powers of two.
        let long = ((alpha.value / beta.value).ceil() as u64).checked_next_power_of_two();
        let long = format_bytes(long.unwrap_or(u64::MAX));
        for (pattern, what) in PATTERNS {
            if let Some(factor) = known(format!("{level}.{pattern}_bandwidth")) {
                sentences.push(format!(
                    "{place}, with messages of {long} bytes or more, {what} takes {:.2} times{} as long as a \
                     message one way: {}.",
                    factor.value,
                    interval(&factor),
                    verdict(&factor)
                ));
            }
        }
    }
    sentences
}

fn interval(factor: &Estimate) -> String {
    match factor.low < factor.high {
        true => format!(" ({:.2} to {:.2})", factor.low, factor.high),
        false => String::new(),
    }
}

/// What holds at both ends of the interval.
fn verdict(factor: &Estimate) -> String {
    let Estimate {
        low, high, value, ..
    } = *factor;
    if factor.coverage < CERTAIN {
        return "too few launches were measured to say whether both directions are used together"
            .to_owned();
    }
    if high < IN_TURN {
        return format!(
            "both directions are used together, and carry {:.2} times as much as one",
            2.0 / value
        );
    }
    match low >= IN_TURN {
        true => "nothing is gained by using both directions at once".to_owned(),
        false => {
            "launches differ too much to say whether both directions are used together".to_owned()
        }
    }
}
