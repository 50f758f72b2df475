//! Turning decisions back to the default where it is the better choice.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

use table::{Confidence, RulePlace, ShapeRules, Table};
use vocabulary::Candidate;

use crate::ValidatedPoint;

/// A part of a rule that is the default's now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnedBack {
    /// The rule as it was.
    pub rule: RulePlace,
    /// What it chose.
    pub candidate: Candidate,
    /// The sizes that are the default's now; up to `u64::MAX` if there is no end.
    pub sizes: Range<u64>,
}

impl fmt::Display for TurnedBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            rule,
            candidate,
            sizes,
        } = self;
        write!(f, "{rule}: {candidate} is not chosen from {}", sizes.start)?;
        match sizes.end {
            u64::MAX => f.write_str(" bytes on"),
            end => write!(f, " to {} bytes", end - 1),
        }
    }
}

/// Turns the surroundings of wrong points, probes among them, back to the default: within the point's rule, up
/// to the next sizes at which it was measured and not found wrong, or to its ends. Nothing is known in between,
/// and the default is never wrong. Says so in the table's provenance.
pub fn repair(table: &mut Table, points: &[ValidatedPoint]) -> Vec<TurnedBack> {
    let mut by_rule: BTreeMap<String, Vec<&ValidatedPoint>> = BTreeMap::new();
    let mut places: BTreeMap<String, RulePlace> = BTreeMap::new();
    for point in points {
        for rule in &point.point.rules {
            places.insert(rule.to_string(), *rule);
            by_rule.entry(rule.to_string()).or_default().push(point);
        }
    }
    let mut changes = Vec::new();
    for (place, of_rule) in places.into_values().zip(by_rule.into_values()) {
        let Some(entry) = entry(table, place) else {
            continue;
        };
        for sizes in wrong_sizes(entry, place, &of_rule) {
            changes.push(TurnedBack {
                rule: place,
                candidate: of_rule[0].point.chosen.clone(),
                sizes,
            });
        }
    }
    for change in &changes {
        if let Some(entry) = entry(table, change.rule) {
            entry.turn_back(&change.sizes, Confidence::Medium);
        }
    }
    if !changes.is_empty() {
        let all = changes.iter().map(ToString::to_string).collect::<Vec<_>>();
        table.provenance.warnings.push(format!(
            "Turned back to the default by `colltune validate --repair`, as it was faster: {}.",
            all.join("; ")
        ));
    }
    changes
}

/// The entry of a rule.
fn entry(table: &mut Table, place: RulePlace) -> Option<&mut ShapeRules> {
    let RulePlace::Rule {
        collective,
        shape,
        order,
        operators,
        deployments,
        ..
    } = place
    else {
        return None;
    };
    let mut entries = table.collectives.get_mut(&collective)?.iter_mut();
    entries.find(|entry| {
        (entry.shape, entry.order) == (shape, order)
            && (entry.operators, entry.deployments) == (operators, deployments)
    })
}

/// The surroundings of a rule's wrong points, those that touch taken together.
fn wrong_sizes(
    entry: &ShapeRules,
    place: RulePlace,
    points: &[&ValidatedPoint],
) -> Vec<Range<u64>> {
    let RulePlace::Rule { from_bytes, .. } = place else {
        return Vec::new();
    };
    let mut starts = entry.rules.iter().map(|rule| rule.from_bytes);
    let end = starts.find(|start| *start > from_bytes).unwrap_or(u64::MAX);
    let rule = from_bytes..end;
    let bytes = |point: &&&ValidatedPoint| point.point.cell.bytes;
    let wrong: BTreeSet<u64> = points
        .iter()
        .filter(|p| p.is_wrong())
        .map(|p| bytes(&p))
        .collect();
    let measured = entry.measured.iter().map(|point| point.bytes);
    let good: BTreeSet<u64> = measured
        .filter(|size| rule.contains(size))
        .chain(points.iter().filter(|p| p.is_cleared()).map(|p| bytes(&p)))
        .filter(|size| !wrong.contains(size))
        .collect();
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for &size in &wrong {
        let before = good.range(..size).next_back();
        let after = good.range(size..).next();
        let start = before.map_or(rule.start, |good| good + 1);
        let end = after.map_or(rule.end, |good| *good);
        match ranges.last_mut() {
            Some(last) if last.end >= start => last.end = end,
            _ => ranges.push(start..end),
        }
    }
    ranges
}
