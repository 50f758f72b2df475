//! Formats of numbers and names in reports.

use std::borrow::Cow;

use printable::is_unprintable;
use results::{CellDecision, Verdict};
use table::Operators;
use vocabulary::defaults::CONFIDENCE;
use vocabulary::units::{format_bytes, format_counted, format_seconds};
use vocabulary::{Candidate, Parameters};

use crate::view::Comparison;

/// The text of a cell without a value.
pub(crate) const NONE: &str = "-";

/// A value formatted by `format`, or [`NONE`].
pub(crate) fn or_none<T>(value: Option<T>, format: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| NONE.to_owned(), format)
}

/// The name of a candidate without its collective.
pub(crate) fn short_name(candidate: &Candidate) -> String {
    without_collective(&candidate.to_string())
}

/// What figures tell apart: the full name of a candidate's algorithm, with the transport of its messages if that is not
/// MPI. A figure shows each with its best other parameters.
pub(crate) fn algorithm_name(candidate: &Candidate) -> Cow<'_, str> {
    let name = candidate.algorithm();
    let transport = Parameters {
        through: candidate.parameters().through,
        ..Parameters::default()
    };
    if transport.is_empty() {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(format!("{name}{transport}"))
    }
}

/// A full name without its collective: `ring`, `native:ring`.
pub(crate) fn without_collective(name: &str) -> String {
    let (algorithm, parameters) = name.split_at(name.find('[').unwrap_or(name.len()));
    let (source, rest) = algorithm.split_at(algorithm.find(':').map_or(0, |colon| colon + 1));
    let id = rest.split_once('/').map_or(rest, |(_, id)| id);
    format!("{source}{id}{parameters}")
}

/// The title of a comparison: `allreduce on 1x2`, with the class of operators if there are several, and with the
/// distribution of an irregular collective's data.
pub(crate) fn comparison_title(comparison: &Comparison) -> String {
    let (collective, shape) = (comparison.collective, comparison.shape);
    let of = match comparison.distribution {
        Some(distribution) => format!(", {}", distribution.name()),
        None => String::new(),
    };
    match comparison.operators {
        Operators::Any => format!("{collective} on {shape}{of}"),
        class => format!("{collective} on {shape}{of}, {class} operators"),
    }
}

/// The verdict in a few words: whether the best candidate was chosen, or the reason why the default stays.
pub(crate) fn verdict_text(decision: &CellDecision) -> String {
    let is_chosen = || {
        decision
            .best_rival()
            .is_some_and(|r| r.candidate == decision.chosen)
    };
    let text = match decision.verdict {
        Verdict::NearFastest | Verdict::LosesNowhere | Verdict::Confirmed if !is_chosen() => {
            return format!("{} chosen instead", short_name(&decision.chosen));
        }
        Verdict::Fastest | Verdict::NearFastest => "chosen",
        Verdict::Confirmed => "chosen, confirmed",
        Verdict::NotConfirmed => return not_confirmed_text(decision),
        Verdict::PatternsDisagree => "default: patterns disagree",
        Verdict::Unconfirmed => "default: not confirmed in time",
        Verdict::Refuted => "default: found faster by validate",
        Verdict::OfTable if decision.replaces_default() => "chosen",
        Verdict::OfTable => "default: kept",
        Verdict::WithinNoise => "default: as fast within noise",
        Verdict::Immaterial => "default: immaterial",
        Verdict::TooFewLaunches => "default: too few launches",
        Verdict::DefaultFastest => "default: faster",
        Verdict::TypesDisagree => "default: none good for all types",
        Verdict::LosesNowhere => "chosen: loses at no size",
        Verdict::LosesElsewhere => "default: others lose elsewhere",
        Verdict::NoRival | Verdict::DefaultNotMeasured => "default: nothing else measured",
        Verdict::Extrapolated => "not measured: by the model",
    };
    text.to_owned()
}

/// The reason why fresh launches do not confirm the best candidate: it is slower, or its gain is not shown. Fewer launches
/// than the test needs are named; a candidate is measured no further when it cannot pass any more.
fn not_confirmed_text(decision: &CellDecision) -> String {
    let speedup = decision.best_rival().and_then(|rival| rival.speedup);
    let text = match speedup {
        Some(speedup) if speedup.median < 1.0 => "default: faster",
        _ => "default: gain not confirmed",
    };
    match speedup {
        Some(speedup) if speedup.interval.coverage < CONFIDENCE => {
            format!("{text} in {}", format_counted(speedup.launches, "launch"))
        }
        _ => text.to_owned(),
    }
}

/// A range of sizes: `64K`, `64K to 4M`.
pub(crate) fn size_range(first: u64, last: u64) -> String {
    if first == last {
        format_bytes(first)
    } else {
        format!("{} to {}", format_bytes(first), format_bytes(last))
    }
}

/// A factor with about three significant digits.
pub(crate) fn format_factor(ratio: f64) -> String {
    let digits = match ratio.abs() {
        r if r < 9.995 => 2,
        r if r < 99.95 => 1,
        _ => 0,
    };
    format!("{ratio:.digits$}x")
}

pub(crate) fn format_percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A parameter's value with its unit.
pub(crate) fn format_quantity(value: f64, unit: &str) -> String {
    match unit {
        "s" => format_seconds(value),
        "s/byte" => format!("{} ns/byte", format_three_digits(value * 1e9)),
        "byte" => format_bytes(value as u64),
        _ => format_three_digits(value),
    }
}

/// Three significant digits without an exponent.
fn format_three_digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let magnitude = value.abs().log10().floor();
    let digits = (2.0 - magnitude).clamp(0.0, 12.0) as usize;
    format!("{value:.digits$}")
}

/// Text from outside on one line.
pub(crate) fn one_line(text: &str) -> String {
    text.split(|c: char| c == ' ' || is_unprintable(c))
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Text from outside as a paragraph of Markdown, with HTML, links and emphasis escaped. Text in single backticks stays
/// inline code.
pub fn markdown_prose(text: &str) -> String {
    let text = one_line(text);
    let mut pieces: Vec<_> = text.split('`').map(str::to_owned).collect();
    let between = pieces.get(1..pieces.len() - 1).unwrap_or_default();
    let has_code = pieces.len() % 2 == 1 && between.iter().all(|piece| !piece.is_empty());
    for (index, piece) in pieces.iter_mut().enumerate() {
        if !has_code || index % 2 == 0 {
            *piece = escape_markdown(piece);
        }
    }
    pieces.join(if has_code { "`" } else { "\\`" })
}

/// Text from outside in a cell of a Markdown table.
pub(crate) fn markdown_cell(text: &str) -> String {
    markdown_prose(text).replace('|', "\\|")
}

/// Text from outside as inline code.
pub fn inline_code(text: &str) -> String {
    format!("`{}`", one_line(text).replace('`', "'"))
}

/// A text with Markdown's special characters escaped.
pub(crate) fn escape_markdown(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('*', "\\*")
        .replace("](", "]\\(")
}

/// What decides the bits of a rounded result of an algorithm of ours, and the depth of its combinations, in words.
/// `bracketed_by` is what decides beside the number of ranks.
pub fn describe_bits(bracketed_by: &[&str], depth: Option<u32>) -> String {
    let others: String = bracketed_by.iter().map(|by| format!(", {by}")).collect();
    let depth = depth.map_or_else(
        || "not computed for such ranks".to_owned(),
        |depth| depth.to_string(),
    );
    format!("decided by number of ranks{others}; depth {depth}")
}

#[cfg(test)]
mod tests {
    use super::{markdown_cell, markdown_prose};

    #[test]
    fn texts_from_files_are_escaped_in_markdown() {
        for (text, shown) in [
            (
                "use `--bind-to core`, or fewer",
                "use `--bind-to core`, or fewer",
            ),
            (
                "ours [block_bytes=64K] (1.2 us)",
                "ours [block_bytes=64K] (1.2 us)",
            ),
            ("<script>a()</script>", "&lt;script>a()&lt;/script>"),
            ("a\n\n# b\u{1b}[2J", "a # b [2J"),
            ("a\u{85}# b\u{202e}c\u{2028}- d", "a # b c - d"),
            (
                "[a](javascript:b) *c* &lt;",
                "[a]\\(javascript:b) \\*c\\* &amp;lt;",
            ),
            ("`<b>` is code", "`<b>` is code"),
            ("one ` <b>", "one \\` &lt;b>"),
            ("```<b>`", "\\`\\`\\`&lt;b>\\`"),
            ("\\`<b>`<i>", "\\\\`<b>`&lt;i>"),
        ] {
            assert_eq!(markdown_prose(text), shown);
        }
        assert_eq!(markdown_cell("a | b\n| c"), "a \\| b \\| c");
    }
}
