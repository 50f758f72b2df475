//! The section of one collective.

use maud::{Markup, html};

use super::figure::{left_out_note, wide_table};
use super::group::Group;
use super::{blocks, map, scaling, sizes, speedups};
use crate::markdown::{library_rules_title, measured_with, rules_table, sizes_table};
use crate::summary::comparison_line;
use crate::text::comparison_title;
use crate::view::{Comparison, View};

/// The most comparisons whose rules are shown.
const MOST_COMPARISONS: usize = 8;
/// The most lines of findings.
const MOST_LINES: usize = 3;

/// The section's content.
pub(super) fn collective_content(view: &View, group: &Group<'_>) -> Markup {
    let comparisons = comparisons_by_stake(group);
    let lines = comparisons.len().min(MOST_LINES);
    let shown = comparisons.len().min(MOST_COMPARISONS);
    html! {
        ul.findings {
            @for comparison in &comparisons[..lines] { li { (comparison_line(comparison)) "." } }
        }
        (left_out_note(lines, comparisons.len(), "shapes and classes of operators", ""))
        @if group.other_types > 0 {
            p.left-out {
                "The figures show the datatype and operator that most cells were measured with; "
                (group.other_types) " cells of others are in the CSV report."
            }
        }
        @if group.measured_cells().next().is_some() {
            h3 { "Decisions" }
            div.figures { (map::draw_maps(group)) (speedups::speedup_figures(group)) }
            h3 { "Time against size" }
            (sizes::time_figures(group))
            h3 { "Time against ranks" }
            (scaling::ranks_figures(group))
            h3 { "Sizes of blocks" }
            @if view.basis == crate::Basis::TableAlone {
                p { "A table alone has no block sizes." }
            } @else {
                (blocks::block_figures(group))
            }
        }
        @if shown > 0 { h3 { "Rules" } }
        @for comparison in &comparisons[..shown] { (rules_details(view, comparison)) }
        (left_out_note(shown, comparisons.len(), "sets of rules are shown", "The table has all of them."))
    }
}

/// The comparisons, largest total gain first.
fn comparisons_by_stake<'v>(group: &Group<'v>) -> Vec<&'v Comparison> {
    let stake = |comparison: &Comparison| -> f64 {
        let replaced = comparison.sizes.iter().filter(|row| row.replaces_default());
        let gains = replaced.filter_map(|row| row.best_rival()?.speedup);
        gains
            .map(|gain| gain.median.max(f64::MIN_POSITIVE).ln())
            .sum()
    };
    let mut comparisons = group.comparisons.clone();
    comparisons.sort_by(|a, b| stake(b).total_cmp(&stake(a)));
    comparisons
}

fn rules_details(view: &View, comparison: &Comparison) -> Markup {
    html! {
        details {
            summary { (comparison_title(comparison)) }
            p.quiet { (measured_with(comparison)) }
            @if !comparison.sizes.is_empty() {
                h4 { "Comparison with the default" }
                (wide_table(sizes_table(view, &comparison.sizes)))
            }
            h4 { "Rules" }
            (wide_table(rules_table(comparison, &comparison.rules, &comparison.lacks)))
            @for of_library in &comparison.library_rules {
                h4 { "Rules " (library_rules_title(of_library.operators, comparison)) }
                (wide_table(rules_table(comparison, &of_library.rules, &of_library.lacks)))
            }
        }
    }
}
