//! Taking decisions back.

use std::cmp::Ordering;
use std::ops::Range;

use vocabulary::Candidate;

use crate::lookup::rule_at;
use crate::{Confidence, Rule, ShapeRules};

impl ShapeRules {
    /// Turns the sizes of a range back to the library's default: rules are cut at its ends, and measured
    /// points in it have the default's time. A range that ends at `u64::MAX` has no end.
    ///
    /// The default has medium confidence there: somebody found the chosen candidate slower, in measurements
    /// that are not those of the table.
    pub fn turn_back(&mut self, sizes: &Range<u64>) {
        if sizes.is_empty() {
            return;
        }
        let after = (sizes.end < u64::MAX)
            .then(|| rule_at(&self.rules, sizes.end).cloned())
            .flatten();
        let default = Rule::new(sizes.start, Candidate::Default, None, Confidence::Medium);
        self.rules
            .retain(|rule| !sizes.contains(&rule.from_bytes) && rule.from_bytes != sizes.end);
        let after = after.map(|rule| Rule {
            from_bytes: sizes.end,
            ..rule
        });
        self.rules.extend([default].into_iter().chain(after));
        self.rules.sort_by_key(|rule| rule.from_bytes);
        self.merge();
        for point in &mut self.measured {
            if sizes.contains(&point.bytes) {
                point.seconds = point.default_seconds;
            }
        }
    }

    /// One rule where neighbours choose the same; as certain as the less certain of them.
    fn merge(&mut self) {
        self.rules.dedup_by(|next, before| {
            let is_same = next.candidate == before.candidate;
            if is_same {
                before.confidence = before.confidence.min(next.confidence);
                before.confirmed &= next.confirmed;
                let order = next.speedup.partial_cmp(&before.speedup);
                if order == Some(Ordering::Less) {
                    before.speedup = next.speedup;
                }
            }
            is_same
        });
    }
}

#[cfg(test)]
mod tests {
    use vocabulary::{Candidate, CommShape};

    use crate::{Confidence, Deployments, MeasuredPoint, Operators, Rule, RuleSource, ShapeRules};

    fn native(name: &str) -> Candidate {
        Candidate::Native {
            algorithm: name.to_owned(),
            parameters: vocabulary::Parameters::default(),
        }
    }

    /// The default, from 100 on one candidate, from 1000 on another one.
    fn entry() -> ShapeRules {
        let rule = |from, candidate| Rule::new(from, candidate, Some(2.0), Confidence::High);
        ShapeRules {
            shape: CommShape { nodes: 1, ppn: 2 },
            operators: Operators::Any,
            deployments: Deployments::Any,
            source: RuleSource::Measured,
            rules: vec![
                Rule::new(0, Candidate::Default, None, Confidence::High),
                rule(100, native("a")),
                rule(1000, native("b")),
            ],
            measured: [64, 512, 4096]
                .map(|b| MeasuredPoint::new(b, 1.0, 2.0))
                .to_vec(),
        }
    }

    fn check(sizes: std::ops::Range<u64>, expected: &[(u64, &str)], defaults: &[u64]) {
        let mut found = entry();
        found.turn_back(&sizes);
        let name = |rule: &Rule| (rule.from_bytes, rule.candidate.to_string());
        let rules: Vec<_> = found.rules.iter().map(name).collect();
        let rules: Vec<_> = rules
            .iter()
            .map(|(from, name)| (*from, name.as_str()))
            .collect();
        assert_eq!(rules, expected, "{sizes:?}");
        let kept = found.measured.iter().filter(|point| point.seconds == 2.0);
        assert_eq!(
            kept.map(|point| point.bytes).collect::<Vec<_>>(),
            defaults,
            "{sizes:?}"
        );
    }

    #[test]
    fn rules_are_cut_at_both_ends_of_the_range() {
        let end = u64::MAX;
        check(
            300..700,
            &[
                (0, "default"),
                (100, "a"),
                (300, "default"),
                (700, "a"),
                (1000, "b"),
            ],
            &[512],
        );
        check(100..1000, &[(0, "default"), (1000, "b")], &[512]);
        check(
            1000..end,
            &[(0, "default"), (100, "a"), (1000, "default")],
            &[4096],
        );
        check(
            500..2000,
            &[(0, "default"), (100, "a"), (500, "default"), (2000, "b")],
            &[512],
        );
        check(0..end, &[(0, "default")], &[64, 512, 4096]);
        check(7..7, &[(0, "default"), (100, "a"), (1000, "b")], &[]);
    }

    #[test]
    fn merged_rules_are_as_certain_as_the_less_certain() {
        let mut found = entry();
        found.turn_back(&(100..1000));
        assert_eq!(found.rules[0].confidence, Confidence::Medium);
    }
}
