//! Expected times at sizes that were not measured.

use crate::MeasuredPoint;

/// The times of the chosen candidate and of the default at one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Times {
    pub(crate) seconds: f64,
    pub(crate) default_seconds: f64,
    /// Whether the size lies above the largest measured one.
    pub(crate) beyond: bool,
}

impl Times {
    /// Times at a size, from points of ascending size; `None` without points.
    pub(crate) fn at(points: &[MeasuredPoint], bytes: u64) -> Option<Self> {
        let after = points.partition_point(|point| point.bytes < bytes);
        let Some(right) = points.get(after) else {
            let last = points.last()?;
            let factor = bytes as f64 / last.bytes.max(1) as f64;
            return Some(Self {
                seconds: last.seconds * factor,
                default_seconds: last.default_seconds * factor,
                beyond: true,
            });
        };
        let left = match after.checked_sub(1).and_then(|before| points.get(before)) {
            Some(left) if right.bytes != bytes => left,
            _ => right,
        };
        let between = |of: fn(&MeasuredPoint) -> f64| {
            if left.bytes == right.bytes {
                return of(right);
            }
            let log = |bytes: u64| (bytes.max(1) as f64).ln();
            let share = (log(bytes) - log(left.bytes)) / (log(right.bytes) - log(left.bytes));
            of(left) * (of(right) / of(left)).powf(share)
        };
        Some(Self {
            seconds: between(|point| point.seconds),
            default_seconds: between(|point| point.default_seconds),
            beyond: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Times;
    use crate::MeasuredPoint;

    fn check(bytes: u64, seconds: f64, default_seconds: f64, beyond: bool) {
        let points = [
            MeasuredPoint {
                bytes: 0,
                seconds: 1.0,
                default_seconds: 1.0,
            },
            MeasuredPoint {
                bytes: 16,
                seconds: 2.0,
                default_seconds: 4.0,
            },
            MeasuredPoint {
                bytes: 64,
                seconds: 8.0,
                default_seconds: 4.0,
            },
        ];
        let times = Times::at(&points, bytes).expect("points");
        let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-12;
        assert!(near(times.seconds, seconds), "{bytes} bytes: {times:?}");
        assert!(
            near(times.default_seconds, default_seconds),
            "{bytes} bytes: {times:?}"
        );
        assert_eq!(times.beyond, beyond, "{bytes} bytes");
    }

    #[test]
    fn between_and_beyond_points() {
        check(0, 1.0, 1.0, false);
        check(1, 1.0, 1.0, false);
        check(4, 2.0_f64.sqrt(), 2.0, false);
        check(16, 2.0, 4.0, false);
        check(32, 4.0, 4.0, false);
        check(64, 8.0, 4.0, false);
        check(65, 8.125, 4.0625, true);
        check(128, 16.0, 8.0, true);
    }

    #[test]
    fn below_the_smallest_and_without_points() {
        let point = MeasuredPoint {
            bytes: 8,
            seconds: 3.0,
            default_seconds: 5.0,
        };
        let same = Times {
            seconds: 3.0,
            default_seconds: 5.0,
            beyond: false,
        };
        assert_eq!(Times::at(&[point], 0), Some(same));
        assert_eq!(Times::at(&[point], 8), Some(same));
        assert_eq!(Times::at(&[], 8), None);
    }
}
