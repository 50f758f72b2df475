//! One candidate's time against the size, in one shape: what is known of candidates without a
//! schedule.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::line::Line;
use crate::reweighted::{self, Point};
use crate::segments::{FEWEST_SIZES, segments};

/// A measured time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Timing {
    /// Length of the call, as in [`vocabulary::Cell::bytes`].
    pub bytes: u64,
    /// Median over launches.
    pub seconds: f64,
}

/// A part of a curve: `alpha + beta m` seconds for `m` bytes.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Segment {
    /// The first size that it holds for: half-way, by ratio, between the last measured size before it
    /// and its own first one; 0 for the first segment.
    pub from_bytes: u64,
    /// How many sizes it was fitted to.
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
        reweighted::at(&line, bytes as f64)
    }

    fn through(points: &[Timing], from_bytes: u64) -> Self {
        let line = reweighted::line(&places(points));
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

/// How the time at a size was found, the most certain first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// It was measured there.
    Measured,
    /// Between measured sizes or shapes, on logarithmic scales.
    Interpolated,
    /// Between measured sizes, from the segment's line.
    Segment,
    /// Outside what was measured.
    Extrapolated,
}

/// A time that was not measured, or was.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Predicted {
    /// The time.
    pub seconds: f64,
    /// How it was found.
    pub how: How,
    /// Typical relative error of what was found so: 0 where measured; the median error of interpolating
    /// each measured size from its neighbours; the residual of a segment's line. Outside what was measured
    /// this is the least that must be reckoned with. Absent where there are too few sizes to tell.
    pub error: Option<f64>,
}

/// How times between measured sizes are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Inside {
    /// Straight in the logarithms of size and time.
    Interpolation,
    /// From the segments.
    Segments,
}

/// The times of one candidate in one shape, with the lines through them.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Curve {
    /// What was measured, by ascending size, each size once; JSON has their number.
    #[serde(rename = "sizes", serialize_with = "count")]
    #[schemars(with = "usize")]
    pub points: Vec<Timing>,
    /// One line through all sizes above 0; null for fewer than three.
    pub straight: Option<Segment>,
    /// Lines of the protocol segments, by ascending size; none for fewer than three sizes above 0.
    pub segments: Vec<Segment>,
    /// Median absolute relative error of interpolating each inner size from its neighbours; null for
    /// fewer than three sizes.
    pub interpolation_error: Option<f64>,
}

fn count<S: Serializer>(points: &[Timing], to: S) -> Result<S::Ok, S::Error> {
    points.len().serialize(to)
}

/// A measured time beside what the others say about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LeftOut {
    pub(crate) measured: Timing,
    pub(crate) interpolated: f64,
    pub(crate) modelled: f64,
}

/// Sizes left out in turn: enough to choose between two ways.
const MOST_LEFT_OUT: usize = 16;

impl Curve {
    /// The curve through times of at least one size; of several times of a size, the first counts.
    pub fn new(mut points: Vec<Timing>) -> Self {
        points.sort_by_key(|point| point.bytes);
        points.dedup_by_key(|point| point.bytes);
        let errors: Vec<f64> = (1..points.len().saturating_sub(1))
            .map(|place| {
                let ends = [points[place - 1], points[place + 1]];
                let seconds = interpolate(&ends, points[place].bytes);
                relative_error(seconds, points[place].seconds)
            })
            .collect();
        Self {
            straight: (with_data(&points).len() >= FEWEST_SIZES)
                .then(|| Segment::through(with_data(&points), 0)),
            segments: parts(&points),
            interpolation_error: statistics::median(&errors),
            points,
        }
    }

    /// The time of a call of `bytes`: measured, or between sizes as `inside` says, or else from the
    /// nearest segment. A curve of fewer than three sizes has no segments and goes on from its ends as
    /// [`Self::interpolated`] does.
    pub fn predict(&self, bytes: u64, inside: Inside) -> Predicted {
        let interpolated = self.interpolated(bytes);
        match (interpolated.how, inside) {
            (How::Measured, _) | (How::Interpolated, Inside::Interpolation) => interpolated,
            (How::Interpolated, _) => {
                self.of_line(bytes, segment_at(&self.segments, bytes), How::Segment)
            }
            _ => self.of_line(bytes, segment_at(&self.segments, bytes), How::Extrapolated),
        }
    }

    /// Straight in the logarithms of size and time; below the smallest size as there, above the largest
    /// proportional to the size: as tables do.
    pub fn interpolated(&self, bytes: u64) -> Predicted {
        let ends = self.points.first().zip(self.points.last());
        let measured = self
            .points
            .binary_search_by_key(&bytes, |point| point.bytes)
            .is_ok();
        let inside = ends.is_some_and(|(first, last)| first.bytes < bytes && bytes < last.bytes);
        let (how, error) = match (measured, inside) {
            (true, _) => (How::Measured, Some(0.0)),
            (_, true) => (How::Interpolated, self.interpolation_error),
            _ => (How::Extrapolated, self.interpolation_error),
        };
        Predicted {
            seconds: interpolate(&self.points, bytes),
            how,
            error,
        }
    }

    /// From the line through all sizes, also where it was measured.
    pub(crate) fn straight(&self, bytes: u64) -> Predicted {
        let inside = self.interpolated(bytes).how < How::Extrapolated;
        let how = if inside {
            How::Segment
        } else {
            How::Extrapolated
        };
        self.of_line(bytes, self.straight.as_ref(), how)
    }

    /// From a line, if there is one.
    fn of_line(&self, bytes: u64, line: Option<&Segment>, how: How) -> Predicted {
        line.map_or_else(
            || self.interpolated(bytes),
            |line| Predicted {
                seconds: line.seconds(bytes),
                how,
                error: Some(line.residual),
            },
        )
    }

    /// Inner sizes with what the curve through the others says about them: all, or as many as are
    /// enough, spread evenly.
    pub(crate) fn left_out(&self) -> Vec<LeftOut> {
        let inner = self.points.len().saturating_sub(2);
        let step = inner.div_ceil(MOST_LEFT_OUT).max(1);
        (1..=inner)
            .step_by(step)
            .map(|place| {
                let mut others = self.points.clone();
                let measured = others.remove(place);
                let segments = parts(&others);
                let interpolated = interpolate(&others, measured.bytes);
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

/// Points of a call that has something to do: one of 0 bytes may return at once, which says nothing
/// about others.
fn with_data(points: &[Timing]) -> &[Timing] {
    match points {
        [Timing { bytes: 0, .. }, others @ ..] => others,
        all => all,
    }
}

/// The segments; none for fewer than [`FEWEST_SIZES`] sizes.
fn parts(points: &[Timing]) -> Vec<Segment> {
    let points = with_data(points);
    if points.len() < FEWEST_SIZES {
        return Vec::new();
    }
    segments(&places(points))
        .into_iter()
        .map(|part| {
            let before = part.start.checked_sub(1).map(|last| points[last].bytes);
            let from = before.map_or(0, |before| middle(before, points[part.start].bytes));
            Segment::through(&points[part], from)
        })
        .collect()
}

/// The first size above `low`, at most `high`, that is half-way by ratio.
fn middle(low: u64, high: u64) -> u64 {
    let middle = (low.max(1) as f64 * high as f64).sqrt().round() as u64;
    middle.clamp(low.saturating_add(1).min(high), high)
}

fn places(points: &[Timing]) -> Vec<Point> {
    let place = |point: &Timing| Point {
        at: point.bytes as f64,
        value: point.seconds,
    };
    points.iter().map(place).collect()
}

fn relative_error(seconds: f64, measured: f64) -> f64 {
    (seconds / measured - 1.0).abs()
}

fn interpolate(points: &[Timing], bytes: u64) -> f64 {
    let after = points.partition_point(|point| point.bytes < bytes);
    let ln = |bytes: u64| (bytes.max(1) as f64).ln();
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
