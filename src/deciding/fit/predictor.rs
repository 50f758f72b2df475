//! Predictions of all candidates of a collective from their measured times.

use std::collections::BTreeMap;

use schedule::Collective;
use schemars::JsonSchema;
use serde::Serialize;
use vocabulary::{Candidate, Cell, CommShape, Datatype, Operator, Subject, collective_name};

use crate::curve::{Curve, InsideMethod, LeftOut, Predicted, Timing};
use crate::scaling::{self, Curves};
use results::Summary;

/// The properties that compared cells have in common: all but shape and size.
pub(crate) type CellKind = (Collective, Datatype, Option<Operator>);

/// The collective, datatype and operator of a cell.
pub(crate) fn cell_kind(cell: &Cell) -> CellKind {
    (cell.collective, cell.datatype, cell.operator)
}

/// The curve of one candidate in one shape.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CandidateCurve {
    /// The collective.
    #[serde(serialize_with = "collective_name::serialize")]
    #[schemars(schema_with = "collective_name::list_in_schema")]
    pub collective: Collective,
    /// The shape.
    #[serde(flatten)]
    pub shape: CommShape,
    /// The element type.
    pub datatype: Datatype,
    /// The operator; null where nothing is combined.
    pub operator: Option<Operator>,
    /// Full name of the candidate.
    #[serde(serialize_with = "results::by_name")]
    #[schemars(with = "String")]
    pub candidate: Candidate,
    /// Its times.
    #[serde(flatten)]
    pub curve: Curve,
}

/// The curves of all candidates on all shapes, in ascending order of cell and candidate; experiments are ignored. Only
/// times are needed, so this works for algorithms of any library.
pub fn fit_curves(summaries: &[Summary]) -> Vec<CandidateCurve> {
    let mut times: BTreeMap<(CellKind, CommShape, &Candidate), Vec<Timing>> = BTreeMap::new();
    for summary in summaries {
        let Subject::Cell(cell) = summary.subject else {
            continue;
        };
        // Curves are those of evenly distributed data.
        if !cell.distribution.is_uniform() {
            continue;
        }
        let key = (cell_kind(&cell), cell.shape, &summary.candidate);
        times.entry(key).or_default().push(Timing {
            bytes: cell.bytes,
            seconds: summary.median_seconds,
        });
    }
    times
        .into_iter()
        .map(|((kind, shape, candidate), times)| {
            let (collective, datatype, operator) = kind;
            CandidateCurve {
                collective,
                shape,
                datatype,
                operator,
                candidate: candidate.clone(),
                curve: Curve::new(times),
            }
        })
        .collect()
}

/// The method of predicting unmeasured times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PredictionMethod {
    /// From one line through all sizes of a candidate on a shape, even where a time was measured.
    StraightLines,
    /// Linear between neighbouring sizes on logarithmic scales, as [`InsideMethod::Interpolation`]; outside as tables
    /// do.
    LogLog,
    /// Between measured sizes, that [`InsideMethod`] which has the lower regret on the shape when sizes are left out;
    /// outside, segments.
    Model,
}

/// Predicts times of candidates from their own measured times alone.
///
/// Between measured shapes the time is interpolated in the logarithm of the number of ranks; outside them, `alpha` and
/// `beta` are extrapolated in the number of ranks.
#[derive(Clone, Debug)]
pub struct Predictor {
    /// The curves of each candidate, by shape.
    curves: BTreeMap<(CellKind, Candidate), Curves>,
    /// The better method between the measured sizes of a shape.
    inside_methods: BTreeMap<(CellKind, CommShape), InsideMethod>,
}

impl Predictor {
    /// A predictor from all known curves.
    pub fn new(fitted_curves: &[CandidateCurve]) -> Self {
        let mut curves: BTreeMap<(CellKind, Candidate), Curves> = BTreeMap::new();
        let mut left_out: BTreeMap<(CellKind, CommShape), LeftOutSizes> = BTreeMap::new();
        for fitted in fitted_curves {
            let kind = (fitted.collective, fitted.datatype, fitted.operator);
            let sizes = left_out.entry((kind, fitted.shape)).or_default();
            for left in fitted.curve.predict_left_out_sizes() {
                sizes.entry(left.measured.bytes).or_default().push(left);
            }
            let shapes = curves.entry((kind, fitted.candidate.clone())).or_default();
            shapes.insert(fitted.shape, fitted.curve.clone());
        }
        let inside_methods = left_out
            .into_iter()
            .map(|(place, sizes)| (place, better_inside_method(&sizes)))
            .collect();
        Self {
            curves,
            inside_methods,
        }
    }

    /// The time of a candidate in a cell, from its curve on the cell's shape or else from those on other shapes; `None`
    /// if it was not measured for that collective, datatype and operator.
    pub fn predict_time(
        &self,
        cell: &Cell,
        candidate: &Candidate,
        method: PredictionMethod,
    ) -> Option<Predicted> {
        if !cell.distribution.is_uniform() {
            return None;
        }
        let (kind, bytes) = (cell_kind(cell), cell.bytes);
        let curves_by_shape = self.curves.get(&(kind, candidate.clone()))?;
        let time_on_measured_shape = |shape: CommShape, curve: &Curve| match method {
            PredictionMethod::StraightLines => curve.straight_line_time(bytes),
            PredictionMethod::LogLog => curve.interpolate_at(bytes),
            PredictionMethod::Model => {
                let inside = self.inside_methods.get(&(kind, shape)).copied();
                curve.predict_at(bytes, inside.unwrap_or(InsideMethod::Interpolation))
            }
        };
        scaling::predict_on_shape(curves_by_shape, cell.shape, bytes, time_on_measured_shape)
    }
}

/// The predictions for left-out sizes, by size.
type LeftOutSizes = BTreeMap<u64, Vec<LeftOut>>;

/// The method with the lower mean regret at sizes that are left out in turn; of equal ones, that with the smaller
/// errors. The regret is that of the candidate that would be chosen, so errors that change the choice count first.
fn better_inside_method(sizes: &LeftOutSizes) -> InsideMethod {
    let judge = |time: fn(&LeftOut) -> f64| {
        let regret = |left: &Vec<LeftOut>| {
            let chosen = left.iter().min_by(|a, b| time(a).total_cmp(&time(b)))?;
            let measured = left.iter().map(|left| left.measured.seconds);
            let best = measured.fold(f64::INFINITY, f64::min);
            Some(chosen.measured.seconds / best - 1.0)
        };
        let error = |left: &LeftOut| (time(left) / left.measured.seconds).ln().abs();
        let regrets: f64 = sizes.values().filter_map(regret).sum();
        let errors: f64 = sizes.values().flatten().map(error).sum();
        (regrets, errors)
    };
    if judge(|left| left.modelled) < judge(|left| left.interpolated) {
        InsideMethod::Segments
    } else {
        InsideMethod::Interpolation
    }
}
