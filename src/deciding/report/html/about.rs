//! The origin of the numbers: machine parameters, failures, measuring, provenance.

use maud::{Markup, html};
use results::OftenInvalid;
use vocabulary::units::format_count;

use super::figure::wide_table;
use crate::directions::direction_sentences;
use crate::expected;
use crate::markdown::{DECISIONS, identified_table, list_reservations};
use crate::measuring::{list_facts, measuring_paragraphs};
use crate::pairs;
use crate::repetitions;
use crate::text::one_line;
use crate::view::{Basis, View};

/// The most items of a list.
const MOST: usize = 60;
/// The most shapes with pairs.
const MOST_PAIRS: usize = 24;

/// The warnings.
pub(super) fn warnings_list(view: &View) -> Markup {
    let warnings = &view.provenance.warnings;
    html! {
        ul { @for warning in warnings { li.warning { (inline_code_html(&one_line(warning))) } } }
    }
}

/// Colltune's algorithms compared with the library's own.
pub(super) fn against_library(view: &View) -> Markup {
    let shown = view.pairs.len().min(MOST_PAIRS);
    html! {
        p {
            "Times of the first divided by those of the second, paired inside launches: below 1 the first is "
            "faster. Equivalent algorithms send the same messages. Where a side has several candidates, the best are compared, "
            "chosen for each launch by the times of the others."
        }
        @for pairs in &view.pairs[..shown] {
            details {
                summary { (pairs::shape_title(pairs.collective, pairs.shape)) }
                @for (what, rows) in [("Equivalent algorithms", &pairs.equivalents), ("The best", &pairs.best)] {
                    @if !rows.is_empty() { h4 { (what) } (wide_table(pairs::ratio_table(rows))) }
                }
                p { (pairs::judge_equivalents(&pairs.equivalents)) (pairs::left_out_sentence(pairs.left_equivalents)) }
            }
        }
        @if shown < view.pairs.len() {
            p.left-out { (shown) " of " (view.pairs.len()) " shapes are shown; the Markdown report has all." }
        }
    }
}

/// The parameters of the machine model, and the accuracy of its predictions.
pub(super) fn machine_content(view: &View) -> Markup {
    if view.basis == Basis::TableAlone {
        return html! { p { "A table alone has no machine parameters." } };
    }
    let identified = identified_table(view);
    html! {
        @if view.parameters.is_empty() { p { "None were fitted." } }
        @if !identified.rows.is_empty() {
            (wide_table(identified))
            p.quiet {
                "Medians over launches, each fitted on its own, with the intervals of these medians. The residual "
                "is the typical relative error at the measured points."
            }
        }
        ul {
            @for line in list_reservations(view).chain(direction_sentences(view)) { li { (line) } }
        }
        @if !view.curves.is_empty() { p { (expected::accuracy_headline(view)) } p { (expected::accuracy_verdict(view, "The model", "")) } }
    }
}

pub(super) fn failures_content(view: &View) -> Markup {
    let shown = view.failures.len().min(MOST);
    html! {
        @if view.basis == Basis::TableAlone {
            p { "A table alone has no failures." }
        } @else if view.failures.is_empty() {
            p { "No candidate failed." }
        } @else {
            p { "Tables do not use these candidates in these cells, and they are not measured there again without --retry-failed." }
            ul {
                @for failure in &view.failures[..shown] {
                    li {
                        code { (failure.candidate) } " in " (failure.subject) ", launch " (failure.launch) ": "
                        (failure.kind.name()) ": " code { (one_line(&failure.message)) }
                    }
                }
            }
            @if shown < view.failures.len() {
                p.left-out { (shown) " of " (view.failures.len()) " are shown; the Markdown report has all." }
            }
        }
    }
}

/// Measuring, environment, and an explanation of the numbers.
pub(super) fn measuring_content(view: &View) -> Markup {
    html! {
        @for paragraph in measuring_paragraphs(view) { p { (paragraph) } }
        @for (what, found) in repetitions::invalid_warnings(&view.repetitions) { (invalid_warning(&what, found)) }
        dl {
            @for (name, fact) in list_facts(view) { dt { (name) } dd { (inline_code_html(&fact)) } }
        }
        @if view.basis == Basis::Measurements {
            h3 { "How to read the decisions" }
            @for paragraph in DECISIONS.split("\n\n") { p { (paragraph) } }
        }
    }
}

fn invalid_warning(what: &str, found: &[OftenInvalid]) -> Markup {
    html! {
        @if !found.is_empty() {
            p.warning { "Warning: " (inline_code_html(what)) ":" }
            ul {
                @for one in found.iter().take(MOST) {
                    li {
                        code { (one.candidate) } " in " (one.cell) ": " (format_count(one.invalid)) " of "
                        (format_count(one.repetitions))
                    }
                }
            }
            @if found.len() > MOST { p.left-out { (MOST) " of " (found.len()) " are shown; the Markdown report has all." } }
        }
    }
}

/// Text with Markdown's inline code as HTML.
pub fn inline_code_html(text: &str) -> Markup {
    let pieces: Vec<&str> = text.split('`').collect();
    let is_balanced = pieces.len() % 2 == 1;
    html! {
        @if !is_balanced { (text) }
        @else {
            @for (index, piece) in pieces.iter().enumerate() {
                @if index % 2 == 1 { code { (piece) } } @else { (piece) }
            }
        }
    }
}
