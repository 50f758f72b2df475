//! The differences between two tables, as tables of text.

use table::{Change, ChosenRange, DefaultChange, Deployments, Diff, Group, Operators};
use vocabulary::Candidate;
use vocabulary::units::format_bytes;

use crate::grid::{TextTable, text_table};
use crate::text::or_none;

/// A sentence about two tables that choose differently nowhere.
pub fn no_changes(diff: &Diff) -> &'static str {
    match diff.in_both {
        0 => "The tables have no entry in common.",
        _ => "Where both have rules, they make the same choices.",
    }
}

/// The ranges of sizes in which two tables choose differently.
pub fn changed_choices(changes: &[Change]) -> TextTable {
    let columns = "collective | shape | order? | operators? | deployment | from> | below> | \
                   before | after | worth>";
    let rows = changes.iter().map(|change| {
        let group = change.group;
        let order = group.order.known_on_shape(group.shape);
        let is_turned_back = change.is_turned_back();
        [
            group.collective.to_string(),
            group.shape.to_string(),
            order.map_or_else(String::new, |order| order.to_string()),
            match group.operators {
                Operators::Any => String::new(),
                class => class.to_string(),
            },
            group.deployments.to_string(),
            format_bytes(change.from_bytes),
            or_none(change.below_bytes, format_bytes),
            choice_text(&change.before),
            if is_turned_back {
                "default (turned back)".to_owned()
            } else {
                choice_text(&change.after)
            },
            match (is_turned_back, change.before.speedup) {
                (false, _) => format_ratio(change.worth),
                (true, None) => "-".to_owned(),
                (true, claimed) => format!("{} expected before", format_ratio(claimed)),
            },
        ]
    });
    text_table(columns, rows)
}

/// The changes of the times of the library's default.
pub fn changed_defaults(defaults: &[DefaultChange]) -> TextTable {
    let columns = "collective | mean> | farthest from 1> | at | points>";
    let rows = defaults.iter().map(|change| {
        [
            change.collective.to_string(),
            format_ratio(Some(change.mean)),
            format_ratio(Some(change.extreme)),
            format!("{} on {}", format_bytes(change.bytes), change.shape),
            change.points.to_string(),
        ]
    });
    text_table(columns, rows)
}

/// The domain of rules, as in `reduce on 2x4 in cyclic order, noncommutative operators`.
pub fn group_name(group: &Group) -> String {
    let mut text = format!("{} on {}", group.collective, group.shape);
    if let Some(order) = group.order.known_on_shape(group.shape) {
        text += &format!(" in {order} order");
    }
    if group.operators != Operators::Any {
        text += &format!(", {} operators", group.operators);
    }
    if group.deployments != Deployments::Any {
        text += &format!(", deployment {}", group.deployments);
    }
    text
}

fn choice_text(choice: &ChosenRange) -> String {
    match &choice.candidate {
        Candidate::Default => "default".to_owned(),
        other => format!("{other} ({})", format_ratio(choice.speedup)),
    }
}

fn format_ratio(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "unknown".to_owned(), |ratio| format!("{ratio:.2}x"))
}
