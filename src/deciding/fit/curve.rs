//! One candidate's time against size on one shape, for candidates without a schedule.
//!
//! A curve is lines `alpha + beta m`, one for each protocol segment (`segments.rs`), and interpolation on logarithmic
//! scales.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::line::Line;
use crate::reweighted::{self, CurvePoint};
use crate::segments::{FEWEST_SIZES, find_segments};

/// A measured time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// Length of the call, as in [`vocabulary::Cell::bytes`].
    pub bytes: u64,
    /// Median over launches.
    pub seconds: f64,
}

/// A part of a curve: `alpha + beta m` seconds for `m` bytes.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Segment {
    /// The first size that it holds for: the geometric middle of the last size of the segment before and its own first
    /// one; 0 for the first segment.
    pub from_bytes: u64,
    /// The number of sizes that it was fitted to.
    pub sizes: usize,
    /// Start-up time, in seconds.
    pub alpha_seconds: f64,
    /// Time per byte, in seconds.
    pub beta_seconds_per_byte: f64,
    /// Median absolute relative error at the measured sizes.
    pub residual: f64,
}

impl Segment {
    /// The time of a call of `bytes`.
    pub fn seconds(&self, bytes: u64) -> f64 {
        let line = Line {
            start: self.alpha_seconds,
            per_byte: self.beta_seconds_per_byte,
        };
        reweighted::line_value_at(&line, bytes as f64)
    }

    fn fit_through(points: &[Timing], from_bytes: u64) -> Self {
        let line = reweighted::robust_line(&curve_points(points));
        let mut segment = Self {
            from_bytes,
            sizes: points.len(),
            alpha_seconds: line.start,
            beta_seconds_per_byte: line.per_byte,
            residual: 0.0,
        };
        let errors = points
            .iter()
            .map(|point| relative_error(segment.seconds(point.bytes), point.seconds));
        segment.residual = statistics::median(&errors.collect::<Vec<_>>()).unwrap_or(0.0);
        segment
    }
}

/// The origin of a time, the most certain first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimeOrigin {
    /// Measured at that size and shape.
    Measured,
    /// Between measured sizes or shapes, on logarithmic scales.
    Interpolated,
    /// From the line of the segment, between measured sizes.
    Segment,
    /// Outside the measured range, or from a line below the smallest size above 0 bytes.
    Extrapolated,
}

/// A measured or predicted time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Predicted {
    /// The time.
    pub seconds: f64,
    /// The way in which it was found.
    pub how: TimeOrigin,
    /// The typical relative error of times of this origin: 0 if measured; for interpolation, the median error of
    /// interpolating each measured size from its neighbours; for a segment, the residual of its line. Outside the
    /// measured range this is a lower bound. `None` if there are too few sizes.
    pub error: Option<f64>,
}

/// The method for times between measured sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsideMethod {
    /// Linear in the logarithms of size and time.
    Interpolation,
    /// From the lines of the segments.
    Segments,
}

/// The times of one candidate in one shape, with the lines through them.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Curve {
    /// The measured times, by ascending size, one per size; JSON has their number.
    #[serde(rename = "sizes", serialize_with = "count")]
    #[schemars(with = "usize")]
    pub points: Vec<Timing>,
    /// One line through all sizes above 0; null if there are fewer than three.
    pub straight: Option<Segment>,
    /// Lines of the protocol segments, by ascending size; empty for fewer than three sizes above 0.
    pub segments: Vec<Segment>,
    /// Median absolute relative error of interpolating each inner size from its neighbours; null for
    /// fewer than three sizes.
    pub interpolation_error: Option<f64>,
}

fn count<S: Serializer>(points: &[Timing], to: S) -> Result<S::Ok, S::Error> {
    points.len().serialize(to)
}

/// A measured time beside the prediction from the other sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LeftOut {
    pub(crate) measured: Timing,
    pub(crate) interpolated: f64,
    pub(crate) modelled: f64,
}

/// The number of sizes left out in turn, which suffices to choose between two methods.
const MOST_LEFT_OUT: usize = 16;

impl Curve {
    /// The curve through times of at least one size; if a size has several times, the first counts.
    pub fn new(mut points: Vec<Timing>) -> Self {
        points.sort_by_key(|point| point.bytes);
        points.dedup_by_key(|point| point.bytes);
        let errors: Vec<f64> = (1..points.len().saturating_sub(1))
            .map(|place| {
                let ends = [points[place - 1], points[place + 1]];
                let seconds = interpolate_seconds(&ends, points[place].bytes);
                relative_error(seconds, points[place].seconds)
            })
            .collect();
        Self {
            straight: (points_above_zero_bytes(&points).len() >= FEWEST_SIZES)
                .then(|| Segment::fit_through(points_above_zero_bytes(&points), 0)),
            segments: fit_segments(&points),
            interpolation_error: statistics::median(&errors),
            points,
        }
    }

    /// The time of a call of `bytes`: measured, or between measured sizes by the method `inside`, or else from the
    /// nearest segment. A curve of fewer than three sizes has no segments and is continued beyond its ends as in
    /// [`Self::interpolate_at`].
    pub fn predict_at(&self, bytes: u64, inside: InsideMethod) -> Predicted {
        let interpolated = self.interpolate_at(bytes);
        let how = match (interpolated.how, inside) {
            (TimeOrigin::Measured, _) | (TimeOrigin::Interpolated, InsideMethod::Interpolation) => {
                return interpolated;
            }
            _ => self.origin_on_line(bytes),
        };
        self.time_from_line(bytes, segment_at(&self.segments, bytes), how)
    }

    /// The time of a call of `bytes`, interpolated linearly in the logarithms of size and time. Below the smallest size
    /// it is constant, above the largest proportional to the size, as in tables.
    pub fn interpolate_at(&self, bytes: u64) -> Predicted {
        let ends = self.points.first().zip(self.points.last());
        let measured = self
            .points
            .binary_search_by_key(&bytes, |point| point.bytes)
            .is_ok();
        let inside = ends.is_some_and(|(first, last)| first.bytes < bytes && bytes < last.bytes);
        let (how, error) = match (measured, inside) {
            (true, _) => (TimeOrigin::Measured, Some(0.0)),
            (_, true) => (TimeOrigin::Interpolated, self.interpolation_error),
            _ => (TimeOrigin::Extrapolated, self.interpolation_error),
        };
        Predicted {
            seconds: interpolate_seconds(&self.points, bytes),
            how,
            error,
        }
    }

    /// The time from the line through all sizes, also at measured sizes.
    pub(crate) fn straight_line_time(&self, bytes: u64) -> Predicted {
        self.time_from_line(bytes, self.straight.as_ref(), self.origin_on_line(bytes))
    }

    /// The origin of a time from a line, which calls of 0 bytes have not determined.
    fn origin_on_line(&self, bytes: u64) -> TimeOrigin {
        let points = points_above_zero_bytes(&self.points);
        let ends = points.first().zip(points.last());
        if ends.is_some_and(|(first, last)| first.bytes <= bytes && bytes <= last.bytes) {
            TimeOrigin::Segment
        } else {
            TimeOrigin::Extrapolated
        }
    }

    /// The time from a line, if there is one, or else by interpolation.
    fn time_from_line(&self, bytes: u64, line: Option<&Segment>, how: TimeOrigin) -> Predicted {
        line.map_or_else(
            || self.interpolate_at(bytes),
            |line| Predicted {
                seconds: line.seconds(bytes),
                how,
                error: Some(line.residual),
            },
        )
    }

    /// Inner sizes with the predictions of the curve through the other sizes; at most [`MOST_LEFT_OUT`] sizes, evenly
    /// spread.
    pub(crate) fn predict_left_out_sizes(&self) -> Vec<LeftOut> {
        let inner = self.points.len().saturating_sub(2);
        let step = inner.div_ceil(MOST_LEFT_OUT).max(1);
        (1..=inner)
            .step_by(step)
            .map(|place| {
                let mut others = self.points.clone();
                let measured = others.remove(place);
                let segments = fit_segments(&others);
                let interpolated = interpolate_seconds(&others, measured.bytes);
                LeftOut {
                    measured,
                    interpolated,
                    modelled: segment_at(&segments, measured.bytes)
                        .map_or(interpolated, |segment| segment.seconds(measured.bytes)),
                }
            })
            .collect()
    }
}

/// The segment that holds at a size.
fn segment_at(segments: &[Segment], bytes: u64) -> Option<&Segment> {
    segments
        .iter()
        .rev()
        .find(|segment| segment.from_bytes <= bytes)
}

/// The points above 0 bytes. A call of 0 bytes may return at once, so its time does not show those of other sizes.
fn points_above_zero_bytes(points: &[Timing]) -> &[Timing] {
    match points {
        [Timing { bytes: 0, .. }, others @ ..] => others,
        all => all,
    }
}

/// The segments; empty for fewer than [`FEWEST_SIZES`] sizes.
fn fit_segments(points: &[Timing]) -> Vec<Segment> {
    let points = points_above_zero_bytes(points);
    if points.len() < FEWEST_SIZES {
        return Vec::new();
    }
    find_segments(&curve_points(points))
        .into_iter()
        .map(|part| {
            let before = part.start.checked_sub(1).map(|last| points[last].bytes);
            let from = before.map_or(0, |before| middle_size(before, points[part.start].bytes));
            Segment::fit_through(&points[part], from)
        })
        .collect()
}

/// The first size above `low`, at most `high`, that is not below the geometric middle.
fn middle_size(low: u64, high: u64) -> u64 {
    let middle = (low.max(1) as f64 * high as f64).sqrt().round() as u64;
    middle.clamp(low.saturating_add(1).min(high), high)
}

fn curve_points(points: &[Timing]) -> Vec<CurvePoint> {
    let place = |point: &Timing| CurvePoint {
        at: point.bytes as f64,
        value: point.seconds,
    };
    points.iter().map(place).collect()
}

fn relative_error(seconds: f64, measured: f64) -> f64 {
    (seconds / measured - 1.0).abs()
}

fn interpolate_seconds(points: &[Timing], bytes: u64) -> f64 {
    let after = points.partition_point(|point| point.bytes < bytes);
    let ln = |size: u64| (size.max(1) as f64).ln();
    match (
        after.checked_sub(1).map(|before| points[before]),
        points.get(after),
    ) {
        (Some(left), Some(right)) if bytes < right.bytes && ln(left.bytes) < ln(right.bytes) => {
            let share = (ln(bytes) - ln(left.bytes)) / (ln(right.bytes) - ln(left.bytes));
            left.seconds * (right.seconds / left.seconds).powf(share)
        }
        (_, Some(right)) => right.seconds,
        (Some(last), None) => last.seconds * (bytes as f64 / last.bytes.max(1) as f64),
        (None, None) => f64::NAN,
    }
}
