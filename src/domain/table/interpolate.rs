//! Expected times at sizes that were not measured.

use vocabulary::Candidate;

use crate::lookup::rule_at;
use crate::{MeasuredPoint, Rule, ShapeRules};

/// The times of a rule's candidate and of the default at one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Times {
    /// The candidate's time; unknown if neither a measured point nor the rule gives the speed-up.
    pub(crate) seconds: Option<f64>,
    /// The default's time divided by the candidate's; unknown if the candidate's time is.
    pub(crate) speedup: Option<f64>,
    pub(crate) default_seconds: f64,
    /// Whether the size lies above the largest measured one.
    pub(crate) beyond: bool,
}

impl Times {
    /// Times at a size of `rule`, which is one of the entry's rules; `None` if nothing was measured.
    pub(crate) fn at_size(entry: &ShapeRules, rule: &Rule, bytes: u64) -> Option<Self> {
        let around = PointsAround::of_size(&entry.measured, bytes)?;
        let default_seconds = around.time_at_size(|point| point.default_seconds);
        let belongs = |point: &&MeasuredPoint| {
            rule_at(&entry.rules, point.bytes).map(|at| at.from_bytes) == Some(rule.from_bytes)
        };
        let ends = [around.left, around.right];
        let (seconds, speedup) = if rule.candidate == Candidate::Default {
            (Some(default_seconds), Some(1.0))
        } else if ends.iter().all(belongs) {
            let speedup = around.interpolate_value(|point| point.speedup);
            (
                Some(around.time_at_size(|point| point.seconds)),
                Some(speedup),
            )
        } else {
            // The points of a rule are consecutive, so the nearest is one of the two, if the rule has any.
            let nearest = ends.into_iter().find(|point| belongs(point));
            let speedup = nearest.map(|point| point.speedup).or(rule.speedup);
            (speedup.map(|speedup| default_seconds / speedup), speedup)
        };
        Some(Self {
            seconds,
            speedup,
            default_seconds,
            beyond: around.is_beyond(),
        })
    }
}

/// The measured points on both sides of a size; both are the same if the size was measured or lies outside.
#[derive(Clone, Copy)]
struct PointsAround<'p> {
    left: &'p MeasuredPoint,
    right: &'p MeasuredPoint,
    bytes: u64,
}

impl<'p> PointsAround<'p> {
    /// Searches points of ascending size; `None` without points.
    fn of_size(points: &'p [MeasuredPoint], bytes: u64) -> Option<Self> {
        let after = points.partition_point(|point| point.bytes < bytes);
        let before = after.checked_sub(1).and_then(|before| points.get(before));
        let (left, right) = match (before, points.get(after)) {
            (Some(left), Some(right)) if right.bytes != bytes => (left, right),
            (_, Some(only)) | (Some(only), None) => (only, only),
            (None, None) => return None,
        };
        Some(Self { left, right, bytes })
    }

    fn is_beyond(&self) -> bool {
        self.right.bytes < self.bytes
    }

    /// A time at the size.
    fn time_at_size(&self, of: fn(&MeasuredPoint) -> f64) -> f64 {
        let Self { right, bytes, .. } = *self;
        if self.is_beyond() {
            of(right) * (bytes as f64 / right.bytes.max(1) as f64)
        } else {
            self.interpolate_value(of)
        }
    }

    /// A value interpolated between the two points; outside them, the value at the nearest one.
    fn interpolate_value(&self, of: fn(&MeasuredPoint) -> f64) -> f64 {
        let Self { left, right, bytes } = *self;
        interpolate_on_log_scales([(left.bytes, of(left)), (right.bytes, of(right))], bytes)
    }
}

/// A value interpolated on logarithmic scales between those at two sizes, which may be the same.
pub(crate) fn interpolate_on_log_scales([left, right]: [(u64, f64); 2], bytes: u64) -> f64 {
    if left.0 == right.0 {
        return right.1;
    }
    let log = |size: u64| (size.max(1) as f64).ln();
    let share = (log(bytes) - log(left.0)) / (log(right.0) - log(left.0));
    left.1 * (right.1 / left.1).powf(share)
}
