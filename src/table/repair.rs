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
    /// The default has the given confidence there: medium where somebody found the chosen candidate slower,
    /// in measurements that are not those of the table.
    pub fn turn_back(&mut self, sizes: &Range<u64>, confidence: Confidence) {
        if sizes.is_empty() {
            return;
        }
        let after = (sizes.end < u64::MAX)
            .then(|| rule_at(&self.rules, sizes.end).cloned())
            .flatten();
        let default = Rule::new(sizes.start, Candidate::Default, None, confidence);
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
                point.speedup = 1.0;
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
