//! Predictions for unmeasured shapes from one candidate's curves on measured ones.

use std::collections::BTreeMap;

use vocabulary::CommShape;

use crate::curve::{Curve, Predicted, Segment, TimeOrigin};
use crate::line::Line;
use crate::reweighted::{self, CurvePoint};

/// The curves of one candidate.
pub(crate) type Curves = BTreeMap<CommShape, Curve>;

type ShapeCurve<'c> = (CommShape, &'c Curve);

/// The time on a shape, where `time` gives that of measured ones; `None` without curves.
///
/// A measured shape has its own time. Otherwise the family of shapes with as many ranks per node counts, or that with
/// as many nodes if only this one has neighbours on both sides, or all shapes if both families are empty. Between two
/// shapes of the family the time is linear in the logarithms of ranks and time. Outside, the nearest shape's time is
/// multiplied by the ratio that the straight lines of the family predict: `alpha` and `beta` are linear in the number
/// of ranks or in its logarithm, whichever predicts left-out shapes better; in the logarithm if there are fewer than
/// three shapes.
pub(crate) fn predict_on_shape(
    curves: &Curves,
    shape: CommShape,
    bytes: u64,
    time: impl Fn(CommShape, &Curve) -> Predicted,
) -> Option<Predicted> {
    if let Some(curve) = curves.get(&shape) {
        return Some(time(shape, curve));
    }
    let family = shape_family(curves, shape);
    let ranks = f64::from(shape.ranks());
    let of = |(measured, _): &ShapeCurve<'_>| f64::from(measured.ranks());
    let after = family.partition_point(|measured| of(measured) < ranks);
    let (below, above) = (
        after.checked_sub(1).map(|before| family[before]),
        family.get(after),
    );
    let from = |(measured, curve): &ShapeCurve<'_>| AtRanks {
        ranks: f64::from(measured.ranks()),
        predicted: time(*measured, curve),
    };
    match (below, above) {
        (Some(below), Some(above)) => {
            Some(interpolate_between_ranks(from(&below), from(above), ranks))
        }
        (None, None) => None,
        (below, above) => {
            let nearest = below.or(above.copied())?;
            let ratio = growth_from_nearest(&family, nearest, ranks, bytes);
            let near = time(nearest.0, nearest.1);
            Some(Predicted {
                seconds: near.seconds * ratio,
                how: TimeOrigin::Extrapolated,
                error: near.error,
            })
        }
    }
}

/// The family of a shape, by ascending number of ranks, each number once.
fn shape_family(curves: &Curves, wanted: CommShape) -> Vec<ShapeCurve<'_>> {
    let members = |belongs: &dyn Fn(&CommShape) -> bool| {
        let all = curves.iter().map(|(shape, curve)| (*shape, curve));
        let mut family: Vec<ShapeCurve<'_>> = all.filter(|(shape, _)| belongs(shape)).collect();
        family.sort_by_key(|(shape, _)| shape.ranks());
        family.dedup_by_key(|(shape, _)| shape.ranks());
        family
    };
    let encloses = |family: &[ShapeCurve<'_>]| {
        let ranks = |measured: Option<&ShapeCurve<'_>>| measured.map(|(shape, _)| shape.ranks());
        ranks(family.first()).is_some_and(|least| least < wanted.ranks())
            && ranks(family.last()).is_some_and(|most| most > wanted.ranks())
    };
    let same_ppn = members(&|measured| measured.ppn == wanted.ppn);
    let same_nodes = members(&|measured| measured.nodes == wanted.nodes);
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

/// A predicted time with a number of ranks.
struct AtRanks {
    ranks: f64,
    predicted: Predicted,
}

/// Linear interpolation in the logarithms of ranks and time.
fn interpolate_between_ranks(below: AtRanks, above: AtRanks, ranks: f64) -> Predicted {
    let share = (ranks / below.ranks).ln() / (above.ranks / below.ranks).ln();
    let (low, high) = (below.predicted, above.predicted);
    Predicted {
        seconds: low.seconds * (high.seconds / low.seconds).powf(share),
        how: low.how.max(high.how).max(TimeOrigin::Interpolated),
        error: low.error.zip(high.error).map(|(a, b)| a.max(b)),
    }
}

/// The quantity in which `alpha` and `beta` are linear.
#[derive(Clone, Copy)]
enum Axis {
    Logarithm,
    Ranks,
}

impl Axis {
    /// The value of the quantity. The logarithm of a single rank counts as 1.
    fn value_of_ranks(self, ranks: f64) -> f64 {
        match self {
            Self::Logarithm => ranks.log2().max(1.0),
            Self::Ranks => ranks,
        }
    }
}

/// A straight line through a curve, with the ranks of its shape.
#[derive(Clone, Copy)]
struct ShapeLine<'c> {
    ranks: f64,
    line: Segment,
    curve: &'c Curve,
}

/// The ratio of a call's time with `ranks` to that on the nearest shape; 1 if straight lines of fewer than two shapes
/// are known.
fn growth_from_nearest(
    family: &[ShapeCurve<'_>],
    nearest: ShapeCurve<'_>,
    ranks: f64,
    bytes: u64,
) -> f64 {
    let straight: Vec<ShapeLine<'_>> = family
        .iter()
        .filter_map(|(shape, curve)| {
            Some(ShapeLine {
                ranks: f64::from(shape.ranks()),
                line: curve.straight?,
                curve,
            })
        })
        .collect();
    if straight.len() < 2 {
        return 1.0;
    }
    let axis = if straight.len() > 2
        && left_out_error(&straight, Axis::Ranks) < left_out_error(&straight, Axis::Logarithm)
    {
        Axis::Ranks
    } else {
        Axis::Logarithm
    };
    let at = |count: f64| reweighted::line_value_at(&line_at(&straight, axis, count), bytes as f64);
    at(ranks) / at(f64::from(nearest.0.ranks()))
}

/// The smallest value of a parameter, so that its logarithm is finite.
const NOTHING: f64 = 1e-18;

/// The straight line that other shapes predict.
fn line_at(straight: &[ShapeLine<'_>], axis: Axis, ranks: f64) -> Line {
    let parameter = |of: fn(&Segment) -> f64| {
        let points = straight.iter().map(|measured| CurvePoint {
            at: axis.value_of_ranks(measured.ranks),
            value: of(&measured.line).max(NOTHING),
        });
        let line = reweighted::robust_line(&points.collect::<Vec<_>>());
        line.seconds(axis.value_of_ranks(ranks))
    };
    Line {
        start: parameter(|line| line.alpha_seconds),
        per_byte: parameter(|line| line.beta_seconds_per_byte),
    }
}

/// The mean absolute logarithm of predicted to measured times, over shapes left out in turn.
fn left_out_error(straight: &[ShapeLine<'_>], axis: Axis) -> f64 {
    let of_shape = |place: usize| {
        let mut others = straight.to_vec();
        let ShapeLine { ranks, curve, .. } = others.remove(place);
        let line = line_at(&others, axis, ranks);
        let errors = curve.points.iter().map(|point| {
            let predicted = reweighted::line_value_at(&line, point.bytes as f64);
            (predicted / point.seconds).ln().abs()
        });
        errors.sum::<f64>() / curve.points.len() as f64
    };
    (0..straight.len()).map(of_shape).sum()
}
