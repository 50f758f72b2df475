//! The section of one collective.

use maud::{Markup, html};

use super::figure::{left_out, table};
use super::group::Group;
use super::{blocks, map, scaling, sizes, speedups};
use crate::markdown::{by_library, measured_with, rules, sizes as size_rows};
use crate::summary::line;
use crate::text::title;
use crate::view::{Comparison, View};

/// The most comparisons whose rules are shown.
const MOST_COMPARISONS: usize = 8;
/// The most lines of findings.
const MOST_LINES: usize = 3;

/// The section's content.
pub(super) fn collective(view: &View, group: &Group<'_>) -> Markup {
    let comparisons = by_stake(group);
    let lines = comparisons.len().min(MOST_LINES);
    let shown = comparisons.len().min(MOST_COMPARISONS);
    html! {
        ul.findings {
            @for comparison in &comparisons[..lines] { li { (line(comparison)) "." } }
        }
        (left_out(lines, comparisons.len(), "shapes and classes of operators", ""))
        @if group.other_types > 0 {
            p.left-out {
                "The figures show the datatype and operator that most cells were measured with; "
                (group.other_types) " cells of others are in the CSV report."
            }
        }
        @if group.measured().next().is_some() {
            h3 { "Decisions" }
            div.figures { (map::maps(group)) (speedups::figures(group)) }
            h3 { "Time against size" }
            (sizes::figures(group))
            h3 { "Time against ranks" }
            (scaling::figures(group))
            h3 { "Sizes of blocks" }
            @if view.basis == crate::Basis::TableAlone {
                p { "A table alone has no block sizes." }
            } @else {
                (blocks::figures(group))
            }
        }
        @if shown > 0 { h3 { "Rules" } }
        @for comparison in &comparisons[..shown] { (details(view, comparison)) }
        (left_out(shown, comparisons.len(), "sets of rules are shown", "The table has all of them."))
    }
}

/// The comparisons, largest total gain first.
fn by_stake<'v>(group: &Group<'v>) -> Vec<&'v Comparison> {
    let stake = |comparison: &Comparison| -> f64 {
        let replaced = comparison.sizes.iter().filter(|row| row.replaces_default());
        let gains = replaced.filter_map(|row| row.rival()?.speedup);
        gains
            .map(|gain| gain.median.max(f64::MIN_POSITIVE).ln())
            .sum()
    };
    let mut comparisons = group.comparisons.clone();
    comparisons.sort_by(|a, b| stake(b).total_cmp(&stake(a)));
    comparisons
}

fn details(view: &View, comparison: &Comparison) -> Markup {
    html! {
        details {
            summary { (title(comparison)) }
            p.quiet { (measured_with(comparison)) }
            @if !comparison.sizes.is_empty() {
                h4 { "Comparison with the default" }
                (table(size_rows(view, &comparison.sizes)))
            }
            h4 { "Rules" }
            (table(rules(&comparison.rules, &view.provenance)))
            @for (operators, of_library) in &comparison.library_rules {
                h4 { "Rules " (by_library(*operators, comparison)) }
                (table(rules(of_library, &view.provenance)))
            }
        }
    }
}
