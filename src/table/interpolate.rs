//! Expected times at sizes that were not measured.

use vocabulary::Candidate;

use crate::lookup::rule_at;
use crate::{MeasuredPoint, Rule, ShapeRules};

/// The times of a rule's candidate and of the default at one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Times {
    /// Unknown if neither a measured point nor the rule tells the candidate's speed-up.
    pub(crate) seconds: Option<f64>,
    pub(crate) default_seconds: f64,
    /// Whether the size lies above the largest measured one.
    pub(crate) beyond: bool,
}

impl Times {
    /// Times at a size for which `rule`, one of the entry's, holds; `None` if nothing was
    /// measured.
    pub(crate) fn at(entry: &ShapeRules, rule: &Rule, bytes: u64) -> Option<Self> {
        let around = Around::size(&entry.measured, bytes)?;
        let default_seconds = around.time(|point| point.default_seconds);
        let belongs = |point: &&MeasuredPoint| {
            rule_at(&entry.rules, point.bytes).map(|at| at.from_bytes) == Some(rule.from_bytes)
        };
        let ends = [around.left, around.right];
        let seconds = if rule.candidate == Candidate::Default {
            Some(default_seconds)
        } else if ends.iter().all(belongs) {
            Some(around.time(|point| point.seconds))
        } else {
            // The points of a rule are consecutive, so its nearest one is an end, if it has any.
            let nearest = ends.into_iter().find(|point| belongs(point));
            nearest
                .map(|point| point.default_seconds / point.seconds)
                .or(rule.speedup)
                .map(|speedup| default_seconds / speedup)
        };
        Some(Self {
            seconds,
            default_seconds,
            beyond: around.beyond(),
        })
    }
}

/// The measured points next to a size; twice the same if the size was measured, or lies outside.
#[derive(Clone, Copy)]
struct Around<'p> {
    left: &'p MeasuredPoint,
    right: &'p MeasuredPoint,
    bytes: u64,
}

impl<'p> Around<'p> {
    /// Looks among points of ascending size; `None` without points.
    fn size(points: &'p [MeasuredPoint], bytes: u64) -> Option<Self> {
        let after = points.partition_point(|point| point.bytes < bytes);
        let before = after.checked_sub(1).and_then(|before| points.get(before));
        let (left, right) = match (before, points.get(after)) {
            (Some(left), Some(right)) if right.bytes != bytes => (left, right),
            (_, Some(only)) | (Some(only), None) => (only, only),
            (None, None) => return None,
        };
        Some(Self { left, right, bytes })
    }

    fn beyond(&self) -> bool {
        self.right.bytes < self.bytes
    }

    /// A time at the size.
    fn time(&self, of: fn(&MeasuredPoint) -> f64) -> f64 {
        let Self { left, right, bytes } = *self;
        if self.beyond() {
            return of(right) * (bytes as f64 / right.bytes.max(1) as f64);
        }
        if left.bytes == right.bytes {
            return of(right);
        }
        let log = |bytes: u64| (bytes.max(1) as f64).ln();
        let share = (log(bytes) - log(left.bytes)) / (log(right.bytes) - log(left.bytes));
        of(left) * (of(right) / of(left)).powf(share)
    }
}

#[cfg(test)]
mod tests {
    use vocabulary::{CommShape, Parameters};

    use super::*;
    use crate::{Confidence, Operators};

    fn point(bytes: u64, seconds: f64, default_seconds: f64) -> MeasuredPoint {
        MeasuredPoint {
            bytes,
            seconds,
            default_seconds,
        }
    }

    /// A rule from a size on: of the default, or of an algorithm with this speed-up.
    fn rule(from_bytes: u64, algorithm: Option<(&str, Option<f64>)>) -> Rule {
        let candidate = |name: &str| Candidate::Ours {
            algorithm: name.to_owned(),
            parameters: Parameters::default(),
        };
        Rule {
            from_bytes,
            candidate: algorithm.map_or(Candidate::Default, |(name, _)| candidate(name)),
            speedup: algorithm.and_then(|(_, speedup)| speedup),
            confidence: Confidence::High,
            confirmed: false,
        }
    }

    const A: &str = "allreduce/ring";
    const B: &str = "allreduce/dual_root";

    fn times(rules: &[Rule], measured: &[MeasuredPoint], bytes: u64) -> Option<Times> {
        let entry = ShapeRules {
            shape: CommShape { nodes: 1, ppn: 2 },
            operators: Operators::Any,
            deployments: crate::Deployments::Colltune,
            source: crate::RuleSource::Measured,
            rules: rules.to_vec(),
            measured: measured.to_vec(),
        };
        Times::at(&entry, rule_at(rules, bytes)?, bytes)
    }

    fn check(
        rules: &[Rule],
        measured: &[MeasuredPoint],
        bytes: u64,
        seconds: impl Into<Option<f64>>,
        default_seconds: f64,
        beyond: bool,
    ) {
        let times = times(rules, measured, bytes).expect("points");
        let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-12;
        let (found, seconds) = (times.seconds, seconds.into());
        assert_eq!(
            found.is_some(),
            seconds.is_some(),
            "{bytes} bytes: {times:?}"
        );
        assert!(
            found.zip(seconds).is_none_or(|(a, b)| near(a, b)),
            "{bytes} bytes: {times:?}"
        );
        assert!(
            near(times.default_seconds, default_seconds),
            "{bytes} bytes: {times:?}"
        );
        assert_eq!(times.beyond, beyond, "{bytes} bytes");
    }

    #[test]
    fn between_and_beyond_points_of_one_rule() {
        let check = |bytes, seconds: f64, default_seconds, beyond| {
            let points = [point(0, 1.0, 1.0), point(16, 2.0, 4.0), point(64, 8.0, 4.0)];
            let rules = [rule(0, Some((A, Some(7.0))))];
            check(&rules, &points, bytes, seconds, default_seconds, beyond);
        };
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
        let rules = [rule(0, Some((A, None)))];
        let points = [point(8, 3.0, 5.0)];
        check(&rules, &points, 0, 3.0, 5.0, false);
        check(&rules, &points, 8, 3.0, 5.0, false);
        assert_eq!(times(&rules, &[], 8), None);
    }

    /// At 512 bytes A takes 1 and the default 2; at 8192 bytes B takes 16 and the default 32 * 4.
    #[test]
    fn candidates_are_not_mixed_where_the_rule_changes() {
        let points = [point(512, 1.0, 2.0), point(8192, 16.0, 128.0)];
        let rules = [
            rule(0, Some((A, Some(3.0)))),
            rule(1024, Some((B, Some(3.0)))),
        ];
        let check = |bytes, seconds: f64, default_seconds| {
            check(&rules, &points, bytes, seconds, default_seconds, false);
        };
        check(256, 1.0, 2.0);
        check(512, 1.0, 2.0);
        // The default's time grows by 2^(6/4) with every doubling of the size.
        let growth = |doublings: f64| 2.0 * (1.5 * doublings).exp2();
        check(
            1023,
            growth((1023.0 / 512.0_f64).log2()) / 2.0,
            growth((1023.0 / 512.0_f64).log2()),
        );
        check(1024, growth(1.0) / 8.0, growth(1.0));
        check(4096, growth(3.0) / 8.0, growth(3.0));
        check(8192, 16.0, 128.0);
    }

    #[test]
    fn a_rule_without_points_goes_by_its_own_speedup() {
        let points = [point(512, 1.0, 2.0), point(2048, 8.0, 8.0)];
        let with = |speedup| {
            [
                rule(0, Some((A, Some(9.0)))),
                rule(1024, Some((B, speedup))),
                rule(2048, None),
                rule(4096, Some((B, speedup))),
            ]
        };
        let check = |speedup, bytes, seconds: Option<f64>, default_seconds, beyond| {
            check(
                &with(speedup),
                &points,
                bytes,
                seconds,
                default_seconds,
                beyond,
            );
        };
        check(Some(2.0), 1024, Some(2.0), 4.0, false);
        check(None, 1024, None, 4.0, false);
        // Beyond the largest size, too, it matters whose time was measured there.
        check(Some(2.0), 4096, Some(8.0), 16.0, true);
        check(None, 4096, None, 16.0, true);
        check(None, 3072, Some(12.0), 12.0, true);
    }

    #[test]
    fn below_the_smallest_size_of_another_rule() {
        let points = [point(2048, 8.0, 16.0)];
        let rules = [
            rule(0, Some((A, Some(4.0)))),
            rule(1024, Some((B, Some(2.0)))),
        ];
        check(&rules, &points, 8, 4.0, 16.0, false);
        check(&rules, &points, 1024, 8.0, 16.0, false);
        let rules = [rule(0, None), rule(1024, Some((B, Some(2.0))))];
        check(&rules, &points, 8, 16.0, 16.0, false);
    }
}
