//! The sizes at which rules from a site's file are tested. Such rules come without measurements, so the sizes are those of a
//! campaign.

use std::collections::BTreeMap;

use campaign::Campaign;
use schedule::Collective;
use table::{MeasuredPoint, RulePlace, RuleSource, ShapeRules, Table};

use crate::{Point, PointKind, ValidatedPoint};

/// The sizes of a campaign, for a table of rules that were imported without measurements.
pub(crate) struct CampaignSizes(BTreeMap<Collective, Vec<u64>>);

impl CampaignSizes {
    /// The sizes for a table; `None` if the table was made from measurements.
    pub(crate) fn for_table(table: &Table, campaign: &Campaign) -> Option<Self> {
        (table.provenance.launches == 0).then(|| Self(campaign.sizes.clone()))
    }

    /// Gives the entries without measured sizes those of the campaign, as if both candidates took as long. Returns whether
    /// the entry of a collective at a place is one of them.
    pub(crate) fn add_to(&self, table: &mut Table) -> Vec<(Collective, usize)> {
        let mut added = Vec::new();
        for (collective, entries) in &mut table.collectives {
            let Some(sizes) = self.0.get(collective) else {
                continue;
            };
            let mut sizes = sizes.clone();
            sizes.sort_unstable();
            sizes.dedup();
            for (entry, place) in entries.iter_mut().zip(0..) {
                if entry.measured.is_empty() && entry.source == RuleSource::Measured {
                    let points = sizes
                        .iter()
                        .map(|bytes| MeasuredPoint::new(*bytes, 1.0, 1.0));
                    entry.measured = points.collect();
                    added.push((*collective, place));
                }
            }
        }
        added
    }

    /// Forgets the times that these points seem to have been measured with.
    pub(crate) fn forget_times(points: &mut [Point]) {
        for point in points {
            point.recorded = None;
        }
    }

    /// Gives the entries that had no measured sizes those of a validation.
    pub(crate) fn keep_measured(
        table: &mut Table,
        added: &[(Collective, usize)],
        validated: &[ValidatedPoint],
    ) {
        for (collective, place) in added {
            let entries = table.collectives.get_mut(collective);
            let Some(entry) = entries.and_then(|entries| entries.get_mut(*place)) else {
                continue;
            };
            let here = validated
                .iter()
                .filter(|found| is_of_entry(&found.point, *collective, entry));
            let mut measured: Vec<MeasuredPoint> = here.filter_map(measured_point).collect();
            measured.sort_by_key(|point| point.bytes);
            measured.dedup_by_key(|point| point.bytes);
            entry.measured = measured;
        }
    }
}

/// Whether an entry decides at a size that is not a threshold or a probe.
fn is_of_entry(point: &Point, of: Collective, entry: &ShapeRules) -> bool {
    point.kind == PointKind::Measured
        && point.rules.iter().any(|rule| match rule {
            RulePlace::Rule {
                collective,
                shape,
                operators,
                ..
            } => (*collective, *shape, *operators) == (of, entry.shape, entry.operators),
            RulePlace::Absent(_) => false,
        })
}

fn measured_point(found: &ValidatedPoint) -> Option<MeasuredPoint> {
    let point = MeasuredPoint::new(
        found.point.cell.bytes,
        found.seconds?,
        found.default_seconds?,
    );
    Some(MeasuredPoint {
        speedup: table::round_for_table(found.speedup?.median),
        ..point
    })
}
