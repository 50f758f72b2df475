//! From measured shapes to others: one candidate's curves over numbers of ranks.

use std::collections::BTreeMap;

use vocabulary::CommShape;

use crate::curve::{Curve, How, Predicted, Segment};
use crate::line::Line;
use crate::reweighted::{self, Point};

/// The curves of one candidate.
pub(crate) type Curves = BTreeMap<CommShape, Curve>;

/// A measured shape.
type Measured<'c> = (CommShape, &'c Curve);

/// The time in a shape, from what `time` says of measured ones; `None` without curves.
///
/// The shape itself if it was measured. Otherwise the shapes with as many ranks a node are looked at,
/// or those with as many nodes if only among these the shape has neighbours on both sides, or all if
/// there are none of either. Between two of them the time is straight in the logarithms of ranks and
/// time. Outside, the nearest one's time is multiplied by what the straight lines of all predict as
/// the ratio: `alpha` and `beta` are lines in the number of ranks or its logarithm, whichever predicts
/// shapes better that are left out in turn; the logarithm where fewer than three shapes can tell.
pub(crate) fn predict(
    curves: &Curves,
    shape: CommShape,
    bytes: u64,
    time: impl Fn(CommShape, &Curve) -> Predicted,
) -> Option<Predicted> {
    if let Some(curve) = curves.get(&shape) {
        return Some(time(shape, curve));
    }
    let family = family(curves, shape);
    let ranks = f64::from(shape.ranks());
    let of = |(shape, _): &Measured<'_>| f64::from(shape.ranks());
    let after = family.partition_point(|measured| of(measured) < ranks);
    let (below, above) = (
        after.checked_sub(1).map(|before| family[before]),
        family.get(after),
    );
    let from = |(shape, curve): &Measured<'_>| (f64::from(shape.ranks()), time(*shape, curve));
    match (below, above) {
        (Some(below), Some(above)) => Some(between(from(&below), from(above), ranks)),
        (None, None) => None,
        (below, above) => {
            let nearest = below.or(above.copied())?;
            let ratio = growth(&family, nearest, ranks, bytes);
            let near = time(nearest.0, nearest.1);
            Some(Predicted {
                seconds: near.seconds * ratio,
                how: How::Extrapolated,
                error: near.error,
            })
        }
    }
}

/// The shapes to go by, by ascending number of ranks, each number once.
fn family(curves: &Curves, shape: CommShape) -> Vec<Measured<'_>> {
    let members = |belongs: &dyn Fn(&CommShape) -> bool| {
        let all = curves.iter().map(|(shape, curve)| (*shape, curve));
        let mut family: Vec<Measured<'_>> = all.filter(|(shape, _)| belongs(shape)).collect();
        family.sort_by_key(|(shape, _)| shape.ranks());
        family.dedup_by_key(|(shape, _)| shape.ranks());
        family
    };
    let encloses = |family: &[Measured<'_>]| {
        let ranks = |measured: Option<&Measured<'_>>| measured.map(|(shape, _)| shape.ranks());
        ranks(family.first()).is_some_and(|least| least < shape.ranks())
            && ranks(family.last()).is_some_and(|most| most > shape.ranks())
    };
    let same_ppn = members(&|measured| measured.ppn == shape.ppn);
    let same_nodes = members(&|measured| measured.nodes == shape.nodes);
    if encloses(&same_ppn) || (same_nodes.is_empty() && !same_ppn.is_empty()) {
        same_ppn
    } else if encloses(&same_nodes) {
        same_nodes
    } else if !same_ppn.is_empty() {
        same_ppn
    } else if !same_nodes.is_empty() {
        same_nodes
    } else {
        members(&|_| true)
    }
}

/// Straight in the logarithms of ranks and time.
fn between(below: (f64, Predicted), above: (f64, Predicted), ranks: f64) -> Predicted {
    let share = (ranks / below.0).ln() / (above.0 / below.0).ln();
    let (low, high) = (below.1, above.1);
    Predicted {
        seconds: low.seconds * (high.seconds / low.seconds).powf(share),
        how: low.how.max(high.how).max(How::Interpolated),
        error: low.error.zip(high.error).map(|(a, b)| a.max(b)),
    }
}

/// What `alpha` and `beta` grow with.
#[derive(Clone, Copy)]
enum Axis {
    Logarithm,
    Ranks,
}

impl Axis {
    /// Where a number of ranks stands; [`reweighted`] takes what is below 1, a single rank's logarithm,
    /// for 1.
    fn place(self, ranks: f64) -> f64 {
        match self {
            Self::Logarithm => ranks.log2().max(1.0),
            Self::Ranks => ranks,
        }
    }
}

/// A straight line through a curve, with the ranks of its shape.
type Straight<'c> = (f64, Segment, &'c Curve);

/// How many times as long a call takes with `ranks` as in the nearest shape; 1 where straight lines
/// of fewer than two shapes are known.
fn growth(family: &[Measured<'_>], nearest: Measured<'_>, ranks: f64, bytes: u64) -> f64 {
    let straight: Vec<Straight<'_>> = family
        .iter()
        .filter_map(|(shape, curve)| Some((f64::from(shape.ranks()), curve.straight?, *curve)))
        .collect();
    if straight.len() < 2 {
        return 1.0;
    }
    let axis = match straight.len() > 2
        && error(&straight, Axis::Ranks) < error(&straight, Axis::Logarithm)
    {
        true => Axis::Ranks,
        false => Axis::Logarithm,
    };
    let at = |ranks: f64| line_at(&straight, axis, ranks).seconds(bytes);
    at(ranks) / at(f64::from(nearest.0.ranks()))
}

/// Below this a parameter is nothing, also for logarithms of it.
const NOTHING: f64 = 1e-18;

/// The straight line that other shapes lead to expect.
fn line_at(straight: &[Straight<'_>], axis: Axis, ranks: f64) -> Segment {
    let parameter = |of: fn(&Segment) -> f64| {
        let points = straight.iter().map(|(ranks, line, _)| Point {
            at: axis.place(*ranks),
            value: of(line).max(NOTHING),
        });
        let line: Line = reweighted::line(&points.collect::<Vec<_>>());
        line.seconds(axis.place(ranks))
    };
    Segment {
        from_bytes: 0,
        sizes: 0,
        alpha_seconds: parameter(|line| line.alpha_seconds),
        beta_seconds_per_byte: parameter(|line| line.beta_seconds_per_byte),
        residual: 0.0,
    }
}

/// The mean absolute logarithm of predicted to measured times, over shapes left out in turn.
fn error(straight: &[Straight<'_>], axis: Axis) -> f64 {
    let of_shape = |place: usize| {
        let mut others = straight.to_vec();
        let (ranks, _, curve) = others.remove(place);
        let line = line_at(&others, axis, ranks);
        let errors = curve
            .points
            .iter()
            .map(|point| (line.seconds(point.bytes) / point.seconds).ln().abs());
        errors.sum::<f64>() / curve.points.len() as f64
    };
    (0..straight.len()).map(of_shape).sum()
}
