//! The stakes at the points where choices are to be confirmed.

use std::collections::BTreeMap;

use results::CellDecision;
use statistics::geometric_mean;
use vocabulary::{Candidate, Cell};

use super::points::{self, SeriesPoint};
use super::{Confirmation, ConfirmationKey};
use crate::fresh::Finding;
use crate::joint::shares_one_rule;

/// A size without confirmed neighbours counts as much as a range of this many octaves.
const OCTAVES_ALONE: f64 = 0.1;

/// The stake of a range of `octaves` octaves in which a candidate is `speedup` times as fast as the default: the
/// doublings of speed times the octaves, as if each octave were called equally often.
pub fn range_stake(octaves: f64, speedup: f64) -> f64 {
    octaves * speedup.max(1.0).log2()
}

/// A size at which candidates are compared with the default, with its stakes according to exploring launches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stake {
    /// The cell.
    pub cell: Cell,
    /// The time of a call, averaged over the default and the candidates compared with it, if known.
    pub call_seconds: Option<f64>,
    /// The stake of this size alone.
    pub here: f64,
    /// The stake of the range up to the next size, if a candidate is confirmed at both.
    pub up_to_next: f64,
}

impl Confirmation<'_> {
    /// The stakes in this sweep at the points of each series, by ascending size. Candidates that can no longer be
    /// confirmed do not count. Where one rule holds for all sizes, those of all distributions are one series, since nothing
    /// is confirmed unless it is compared with all of them.
    pub fn stakes(&self) -> Vec<Vec<Stake>> {
        let mut of_shapes: BTreeMap<_, Vec<Stake>> = BTreeMap::new();
        let mut all = Vec::new();
        for (key, points) in &self.series {
            let of_series = self.stakes_of_series(key, points);
            let (deployment, collective, shape, operators, _) = *key;
            if shares_one_rule(collective) {
                let shape = (deployment, collective, shape, operators);
                of_shapes.entry(shape).or_default().extend(of_series);
            } else {
                all.push(of_series);
            }
        }
        all.extend(of_shapes.into_values());
        all
    }

    fn stakes_of_series(&self, key: &ConfirmationKey, points: &[SeriesPoint]) -> Vec<Stake> {
        let places = 0..points.len();
        let expected: Vec<Vec<(Candidate, f64)>> = places
            .map(|place| {
                let mut nominees = self.nominees_at(key, points, place);
                nominees.retain(|nominee| self.is_hopeful(&points[place].cell, nominee));
                let with_speedup = nominees.into_iter().map(|nominee| {
                    let speedup = self.expected_speedup(key, points, place, &nominee);
                    (nominee, speedup)
                });
                with_speedup.collect()
            })
            .collect();
        let best = |speedups: &mut dyn Iterator<Item = f64>| speedups.fold(1.0, f64::max);
        let stake = |(place, point): (usize, &SeriesPoint)| {
            let cell = point.cell;
            let here = best(&mut expected[place].iter().map(|(_, speedup)| *speedup));
            let up_to_next = points.get(place + 1).map_or(0.0, |next| {
                let both = expected[place].iter().filter_map(|(nominee, low)| {
                    let mut above = expected[place + 1].iter();
                    let (_, high) = above.find(|(other, _)| other == nominee)?;
                    Some((low * high).sqrt())
                });
                let octaves = next.cell.bytes.max(1) as f64 / cell.bytes.max(1) as f64;
                range_stake(octaves.log2(), best(&mut { both }))
            });
            let of_default =
                |decision: &CellDecision| Some(decision.ranked_default()?.median_seconds);
            let shares = expected[place].iter().map(|(_, speedup)| 1.0 / speedup);
            let share = (1.0 + shares.sum::<f64>()) / (1.0 + expected[place].len() as f64);
            let default_seconds = self.nearest_value(key, points, place, &of_default);
            Stake {
                cell,
                call_seconds: default_seconds.map(|seconds| share * seconds),
                // A candidate that is confirmed at a probe alone gets no rule.
                here: if point.is_probe {
                    0.0
                } else {
                    range_stake(OCTAVES_ALONE, here)
                },
                up_to_next,
            }
        };
        points.iter().enumerate().map(stake).collect()
    }

    /// Whether a candidate is confirmed, or can still be.
    fn is_hopeful(&self, cell: &Cell, candidate: &Candidate) -> bool {
        // Where one rule holds for all cells, the candidate need not be faster in each of them.
        if shares_one_rule(cell.collective) {
            return !self.lost.contains(&(*cell, candidate.clone()));
        }
        matches!(
            self.fresh.judge_candidate(cell, candidate),
            Finding::Open | Finding::Confirmed(..)
        )
    }

    fn expected_speedup(
        &self,
        key: &ConfirmationKey,
        points: &[SeriesPoint],
        place: usize,
        candidate: &Candidate,
    ) -> f64 {
        let speedup = |decision: &CellDecision| Some(decision.ranked(candidate)?.speedup?.median);
        let least = 1.0 + self.explored.options.materiality;
        let known = self.nearest_value(key, points, place, &speedup);
        known.unwrap_or(least).max(least)
    }

    /// A value of the exploring launches' decision at a point. If the point has none, the geometric mean of those at
    /// the nearest sizes of the shape; if the shape has none, that of all shapes.
    fn nearest_value(
        &self,
        key: &ConfirmationKey,
        points: &[SeriesPoint],
        place: usize,
        value: &dyn Fn(&CellDecision) -> Option<f64>,
    ) -> Option<f64> {
        let at = |point: &SeriesPoint| value(point.decision.as_ref()?);
        let bytes = points[place].cell.bytes;
        let around = |of_series: &[SeriesPoint]| {
            let (below, above) = points::split_around(of_series, bytes);
            let nearest = [below.iter().rev().find_map(at), above.iter().find_map(at)];
            geometric_mean(nearest.into_iter().flatten())
        };
        let alike = |other: &ConfirmationKey| {
            (other.0, other.1, other.3, other.4) == (key.0, key.1, key.3, key.4)
        };
        let others = || {
            let series = self.series.iter().filter(|(other, _)| alike(other));
            geometric_mean(series.filter_map(|(_, of_other)| around(of_other)))
        };
        at(&points[place])
            .or_else(|| around(points))
            .or_else(others)
    }
}
