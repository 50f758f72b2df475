//! Consequences of a validation: verdicts, which are stored, and confirmed rules.
//!
//! Verdicts are kept in the store by library, conditions and pattern, and in the table if any is against it. Rules that
//! are confirmed here have medium confidence, because only one pattern of calls is measured.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use schedule::Collective;
use store::Store;
use table::{Confidence, Deployment, Found, OperatorClass, RulePlace, ShapeRules, Table, Verdict};
use vocabulary::units::format_counted;
use vocabulary::{Candidate, Library, Pattern};

use crate::{GuardError, Judgement, Point, PointKind, TableStore, ValidatedPoint};

/// The conditions of a validation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circumstances {
    /// The library that was measured.
    pub library: Library,
    /// The digest of the campaign's conditions ([`campaign::Campaign::conditions_digest`]).
    pub conditions: String,
    /// The pattern of calls.
    pub pattern: Pattern,
    /// The deployment under which candidates were used.
    pub deployment: Deployment,
    /// The seed of probes.
    pub seed: u64,
    /// The time, in seconds since the Unix epoch.
    pub unix_seconds: u64,
}

impl Circumstances {
    /// The verdicts about points, without the points about which nothing was shown.
    pub fn verdicts_about(&self, points: &[ValidatedPoint]) -> Vec<Verdict> {
        let verdicts = points.iter().filter_map(|validated| {
            let found = match validated.judgement {
                Judgement::Faster => Found::Faster,
                Judgement::Same => Found::Same,
                Judgement::Slower => Found::Slower,
                Judgement::Broken(_) => Found::Failed,
                Judgement::Inconclusive
                | Judgement::TooFew
                | Judgement::Undecided
                | Judgement::NotMeasured(_) => return None,
            };
            let Point {
                cell,
                order,
                chosen,
                ..
            } = &validated.point;
            Some(Verdict {
                unix_seconds: self.unix_seconds,
                library: self.library.clone(),
                conditions: self.conditions.clone(),
                pattern: self.pattern,
                collective: cell.collective,
                shape: cell.shape,
                order: *order,
                operators: OperatorClass::from_commutes(cell.commutes()),
                deployment: self.deployment,
                candidate: chosen.clone(),
                bytes: cell.bytes,
                distribution: cell.distribution,
                found,
                speedup: validated.speedup,
                seed: self.seed,
                newest_launch: None,
            })
        });
        verdicts.collect()
    }
}

/// Adds verdicts to the store that a table was made from; returns its path, or `None` if there are none or the store is
/// not used.
///
/// # Errors
/// A store that cannot be read or written.
pub fn keep_verdicts(
    verdicts: &[Verdict],
    table: &Table,
    store: &TableStore,
) -> Result<Option<PathBuf>, GuardError> {
    let Some(path) = store.path().filter(|_| !verdicts.is_empty()) else {
        return Ok(None);
    };
    let mut opened = Store::open(path)?;
    // The file may be another campaign's store of the same name.
    if !opened.has_campaign(&table.provenance.campaign)? {
        return Ok(None);
    }
    opened.record_verdicts(verdicts)?;
    Ok(Some(path.to_owned()))
}

/// A range of a rule's sizes that was confirmed.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfirmedRange {
    /// The rule before the change.
    pub rule: RulePlace,
    /// The candidate that it chooses.
    pub candidate: Candidate,
    /// The sizes for which it is confirmed, in bytes.
    pub sizes: Range<u64>,
    /// The geometric mean of the speed-ups over the default at the points in these sizes.
    pub speedup: f64,
    /// The number of these points.
    pub points: usize,
}

impl fmt::Display for ConfirmedRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            rule,
            candidate,
            sizes,
            speedup,
            points,
        } = self;
        write!(f, "{rule}: {candidate} ")?;
        match sizes.end {
            u64::MAX => f.write_str("at all sizes")?,
            end => write!(f, "from {} to {} bytes", sizes.start, end - 1)?,
        }
        let points = format_counted(points, "point");
        write!(
            f,
            ", {speedup:.2} times as fast as the default over {points}"
        )
    }
}

/// Marks rules of a table as confirmed if fresh launches found their candidate significantly faster, and by at least
/// `materiality` in the median, at every point: the measured sizes, both sides of thresholds, and probes, one at least
/// in each gap between measured sizes. Returns the changes.
///
/// The rules get medium confidence: unlike confirming launches, a validation measures only the campaign's own pattern
/// of calls.
///
/// `all` are the points of the table ([`crate::table_points`]) and the probes. A rule with a point that was not
/// measured in enough launches stays as it is. The one rule of a collective that does not decide by size must be slower
/// at none of its points, which are its measured sizes for all distributions, and be faster by enough at some. Sizes below the smallest and above the largest measured one of an entry
/// are not confirmed, since no point lies there. Entries for any operator in programs that use colltune are not
/// confirmed either, since their points are measured with a commutative operator only.
pub fn confirm_rules(
    table: &mut Table,
    deployment: Deployment,
    all: &[Point],
    validated: &[ValidatedPoint],
    materiality: f64,
) -> Vec<ConfirmedRange> {
    let mut confirmed = Vec::new();
    for (&collective, entries) in &mut table.collectives {
        let of_deployment = |entry: &&mut ShapeRules| entry.deployments.hold_for(deployment);
        for entry in entries.iter_mut().filter(of_deployment) {
            let changes = confirmable_ranges(collective, entry, all, validated, materiality);
            for change in &changes {
                entry.confirm_sizes(&change.sizes, change.speedup, Confidence::Medium);
            }
            confirmed.extend(changes);
        }
    }
    confirmed
}

/// The number of rules for a deployment that replace the default and are not confirmed.
pub fn count_unconfirmed_rules(table: &Table, deployment: Deployment) -> usize {
    let entries = table.entries();
    let of_deployment = entries.filter(|entry| entry.deployments.hold_for(deployment));
    of_deployment
        .map(|entry| entry.unconfirmed_rules().len())
        .sum()
}

fn confirmable_ranges(
    collective: Collective,
    entry: &ShapeRules,
    all: &[Point],
    validated: &[ValidatedPoint],
    materiality: f64,
) -> Vec<ConfirmedRange> {
    if !entry.is_confirmable(collective) {
        return Vec::new();
    }
    let of_entry: Vec<&Point> = all
        .iter()
        .filter(|point| is_decided_by(point, collective, entry))
        .collect();
    let measured_sizes: Vec<u64> = of_entry
        .iter()
        .filter(|point| point.kind == PointKind::Measured)
        .map(|point| point.cell.bytes)
        .collect();
    // No point lies outside the measured sizes, so nothing is known there.
    let (Some(&first), Some(&last)) = (measured_sizes.iter().min(), measured_sizes.iter().max())
    else {
        return Vec::new();
    };
    // Only a point that is significantly faster, and by enough to matter, counts for its rule.
    let speedup = |point: &Point| {
        let found = validated
            .iter()
            .find(|found| found.point.is_alike(point) && found.judgement == Judgement::Faster);
        let speedup = found.and_then(|found| found.speedup);
        speedup.filter(|speedup| speedup.median >= 1.0 + materiality)
    };
    let rules = entry.unconfirmed_rules().into_iter();
    let confirmed = rules.filter_map(|(rule, candidate)| {
        if !collective.decides_by_size() {
            let of_rule = of_entry.iter().filter(|point| point.chosen == candidate);
            let judged = of_rule.map(|point| {
                let mut alike = validated.iter().filter(|other| other.point.is_alike(point));
                alike.find(|other| matches!(other.judgement, Judgement::Faster | Judgement::Same))
            });
            let counted: Vec<&ValidatedPoint> = judged.collect::<Option<_>>()?;
            counted.iter().find(|one| speedup(&one.point).is_some())?;
            let speedups = counted.iter().filter_map(|one| one.speedup);
            return Some(ConfirmedRange {
                rule: entry.rule_place(collective, rule.start),
                candidate,
                speedup: statistics::geometric_mean(speedups.map(|ratio| ratio.median))?,
                points: counted.len(),
                sizes: rule,
            });
        }
        let sizes = rule.start.max(first)..rule.end.min(last + 1);
        // Every point of the rule must count, and each gap between measured sizes must have one.
        let of_rule = of_entry
            .iter()
            .copied()
            .filter(|point| point.chosen == candidate && sizes.contains(&point.cell.bytes));
        let of_rule: Vec<&Point> = of_rule.collect();
        if !is_probed(entry, &sizes, &of_rule) {
            return None;
        }
        let speedups: Option<Vec<f64>> = of_rule
            .into_iter()
            .map(|point| speedup(point).map(|speedup| speedup.median))
            .collect();
        let speedups = speedups?;
        Some(ConfirmedRange {
            rule: entry.rule_place(collective, rule.start),
            candidate,
            speedup: statistics::geometric_mean(speedups.iter().copied())?,
            points: speedups.len(),
            sizes,
        })
    });
    confirmed.collect()
}

/// Whether a probe lies in each gap between measured sizes, as far as the gap belongs to these sizes. A part of a gap
/// that is shorter than an octave needs none if another point lies in it, such as the rule's threshold.
fn is_probed(entry: &ShapeRules, sizes: &Range<u64>, points: &[&Point]) -> bool {
    let Some(any) = points.first() else {
        return false;
    };
    let element = any.cell.datatype.size_bytes();
    entry.measured.windows(2).all(|gap| {
        let first = sizes.start.max(gap[0].bytes + 1).next_multiple_of(element);
        let end = sizes.end.min(gap[1].bytes);
        let mut inside = points
            .iter()
            .filter(|point| (first..end).contains(&point.cell.bytes));
        first >= end || inside.any(|point| point.is_probe() || end < 2 * first)
    })
}

/// Whether an entry decides at a point.
fn is_decided_by(point: &Point, of: Collective, entry: &ShapeRules) -> bool {
    point.rules.iter().any(|rule| match *rule {
        RulePlace::Rule { from_bytes, .. } => *rule == entry.rule_place(of, from_bytes),
        RulePlace::Absent(_) => false,
    })
}
