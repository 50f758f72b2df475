//! Turning rules back to the default, and confirming them.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

use schedule::Collective;
use vocabulary::Candidate;

use crate::lookup::rule_at;
use crate::{
    Confidence, Deployments, Found, Operators, Provenance, Rule, RulePlace, ShapeRules, Table,
    Verdict,
};

/// A part of a rule that was turned back to the default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnedBack {
    /// The rule before the change.
    pub rule: RulePlace,
    /// The rule's choice.
    pub candidate: Candidate,
    /// The sizes that were turned back; `u64::MAX` means no end.
    pub sizes: Range<u64>,
}

impl fmt::Display for TurnedBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            rule,
            candidate,
            sizes,
        } = self;
        write!(f, "{rule}: {candidate} is not chosen from {}", sizes.start)?;
        match sizes.end {
            u64::MAX => f.write_str(" bytes on"),
            end => write!(f, " to {} bytes", end - 1),
        }
    }
}

impl TurnedBack {
    /// The table's warning about parts that were turned back; `None` if there are none.
    pub fn warning_about(changes: &[Self]) -> Option<String> {
        let all: Vec<String> = changes.iter().map(Self::to_string).collect();
        (!all.is_empty()).then(|| {
            format!(
                "Turned back to the default because `colltune validate` found these choices slower or failing: {}.",
                all.join("; ")
            )
        })
    }
}

impl Table {
    /// Marks the sizes of rules that the table's verdicts refute ([`Rule::refuted`]): those that [`turn_back`] would turn
    /// back to the default. Rules are cut at the ends of these sizes. Verdicts about another library or another pattern
    /// of calls than the table's refute nothing.
    pub fn mark_refuted(&mut self) {
        // Programs read tables when MPI starts, and most tables have no verdicts.
        let has_marks = |entry: &ShapeRules| entry.rules.iter().any(|rule| rule.refuted);
        if self.verdicts.is_empty() && !self.entries().any(has_marks) {
            return;
        }
        let verdicts: Vec<Verdict> = self.binding_verdicts().cloned().collect();
        let verdicts: Vec<&Verdict> = verdicts.iter().collect();
        for (&collective, entries) in &mut self.collectives {
            for entry in entries {
                entry.rules = merge_cut_rules(&entry.rules);
                for part in wrong_parts(collective, entry, &verdicts) {
                    entry.mark_refuted_sizes(&part.sizes);
                }
            }
        }
    }

    /// Adds verdicts, and marks the rules that they refute. An earlier verdict with the same finding about the same call
    /// and candidate is replaced, so that repeated validations do not make the table longer.
    pub fn add_verdicts(&mut self, verdicts: Vec<Verdict>) {
        let is_repeated = |earlier: &Verdict| {
            let mut repeating = verdicts.iter().filter(|verdict| verdict.repeats(earlier));
            repeating.any(|verdict| verdict.unix_seconds >= earlier.unix_seconds)
        };
        self.verdicts.retain(|earlier| !is_repeated(earlier));
        self.verdicts.extend(verdicts);
        self.mark_refuted();
    }

    /// Whether the other table is the same but for verdicts.
    pub fn has_rules_of(&self, other: &Self) -> bool {
        let without_verdicts = |table: &Self| {
            let mut table = table.clone();
            table.verdicts.clear();
            table.mark_refuted();
            table
        };
        without_verdicts(self) == without_verdicts(other)
    }

    /// The table's verdicts about its own library and pattern of calls.
    pub fn binding_verdicts(&self) -> impl Iterator<Item = &Verdict> {
        let Provenance {
            library, pattern, ..
        } = &self.provenance;
        let verdicts = self.verdicts.iter();
        verdicts.filter(move |verdict| verdict.library == *library && verdict.pattern == *pattern)
    }

    /// Turns back to the default what the table's own verdicts refute, for those who measure or judge what is in force.
    pub fn turn_back_refuted(&mut self) {
        let verdicts: Vec<Verdict> = self.binding_verdicts().cloned().collect();
        turn_back(&mut self.collectives, &verdicts);
    }

    /// Turns rules back by verdicts ([`turn_back`]) and adds a warning to the table's provenance.
    pub fn turn_back(&mut self, verdicts: &[Verdict]) -> Vec<TurnedBack> {
        let changes = turn_back(&mut self.collectives, verdicts);
        let warnings = &mut self.provenance.warnings;
        warnings.extend(TurnedBack::warning_about(&changes));
        changes
    }
}

/// Turns back to the default the sizes at which verdicts found a rule's candidate slower or failing, and their
/// surroundings in the rule: up to the next size at which the candidate was measured and not found wrong, or to the
/// rule's end, since nothing is known in between. Of several verdicts about one size, distribution of the data, class of
/// operators and deployment, the last one counts; but after a wrong one, only one that found the candidate faster does. A
/// size is wrong if it is with any distribution. The one rule of a collective that does not decide by size is turned back as a whole.
pub fn turn_back(
    collectives: &mut BTreeMap<Collective, Vec<ShapeRules>>,
    verdicts: &[Verdict],
) -> Vec<TurnedBack> {
    let verdicts: Vec<&Verdict> = verdicts.iter().collect();
    let mut changes = Vec::new();
    for (&collective, entries) in collectives {
        for entry in entries {
            let wrong = wrong_parts(collective, entry, &verdicts);
            for part in &wrong {
                entry.turn_back_sizes(&part.sizes);
            }
            changes.extend(wrong);
        }
    }
    changes
}

/// The parts of an entry's rules that verdicts refute.
fn wrong_parts(
    collective: Collective,
    entry: &ShapeRules,
    verdicts: &[&Verdict],
) -> Vec<TurnedBack> {
    let about = verdicts.iter().filter(|v| v.is_about(collective, entry));
    let about: Vec<&Verdict> = about.copied().collect();
    let mut parts = Vec::new();
    for (sizes, rule) in entry.rules_with_sizes() {
        let of_rule = about.iter().filter(|verdict| {
            verdict.candidate == rule.candidate && sizes.contains(&verdict.bytes)
        });
        let of_rule: Vec<&Verdict> = of_rule.copied().collect();
        let wrong_ranges = if collective.is_irregular() && !collective.decides_by_size() {
            // The rule holds for all sizes or for none.
            let is_any_wrong = standing_verdicts(&of_rule)
                .iter()
                .any(|verdict| verdict.is_wrong());
            is_any_wrong.then(|| sizes.clone()).into_iter().collect()
        } else {
            wrong_sizes(entry, &sizes, &of_rule)
        };
        for wrong in wrong_ranges {
            parts.push(TurnedBack {
                rule: entry.rule_place(collective, rule.from_bytes),
                candidate: rule.candidate.clone(),
                sizes: wrong,
            });
        }
    }
    parts
}

/// The rules as they were before [`Table::mark_refuted`] cut them.
pub(crate) fn merge_cut_rules(rules: &[Rule]) -> Vec<Rule> {
    let mut whole: Vec<Rule> = Vec::new();
    // Only a cut makes neighbours that differ in nothing but the mark.
    let mut before_was_refuted = false;
    for rule in rules {
        let is_cut = whole.last().is_some_and(|before| {
            let unmarked = Rule {
                from_bytes: before.from_bytes,
                refuted: false,
                ..rule.clone()
            };
            before_was_refuted != rule.refuted && *before == unmarked
        });
        before_was_refuted = rule.refuted;
        if !is_cut {
            whole.push(Rule {
                refuted: false,
                ..rule.clone()
            });
        }
    }
    whole
}

/// The verdicts that count about each size, distribution, class of operators and deployment: those that no later one overrules.
///
/// Only a later one that found the candidate faster overrules a wrong one. One that found no difference does not: its
/// launches may have been too noisy, or, if the library's file cannot name the candidate, have run the default only.
fn standing_verdicts<'a>(verdicts: &[&'a Verdict]) -> Vec<&'a Verdict> {
    let stands = |verdict: &&&Verdict| {
        let key = |v: &Verdict| (v.bytes, v.distribution, v.operators, v.deployment);
        let mut later = verdicts.iter().filter(|other| {
            key(other) == key(verdict) && other.unix_seconds > verdict.unix_seconds
        });
        later.all(|other| verdict.is_wrong() && other.found != Found::Faster)
    };
    verdicts.iter().filter(stands).copied().collect()
}

/// The ranges around a rule's wrong sizes, with adjacent ranges merged.
fn wrong_sizes(entry: &ShapeRules, rule: &Range<u64>, verdicts: &[&Verdict]) -> Vec<Range<u64>> {
    let (wrong, cleared): (Vec<&Verdict>, Vec<&Verdict>) = standing_verdicts(verdicts)
        .into_iter()
        .partition(|verdict| verdict.is_wrong());
    let wrong: BTreeSet<u64> = wrong.iter().map(|verdict| verdict.bytes).collect();
    let measured = entry.measured.iter().map(|point| point.bytes);
    let good: BTreeSet<u64> = measured
        .filter(|size| rule.contains(size))
        .chain(cleared.iter().map(|verdict| verdict.bytes))
        .filter(|size| !wrong.contains(size))
        .collect();
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for &size in &wrong {
        let before = good.range(..size).next_back();
        let after = good.range(size..).next();
        let start = before.map_or(rule.start, |last_good| last_good + 1);
        let end = after.map_or(rule.end, |first_good| *first_good);
        match ranges.last_mut() {
            Some(last) if last.end >= start => last.end = end,
            _ => ranges.push(start..end),
        }
    }
    ranges
}

impl ShapeRules {
    /// The rules with their ranges of sizes. The last range ends at `u64::MAX`, which means no end.
    pub fn rules_with_sizes(&self) -> impl Iterator<Item = (Range<u64>, &Rule)> {
        let ends = self.rules.iter().skip(1).map(|next| next.from_bytes);
        let rules = self.rules.iter().zip(ends.chain([u64::MAX]));
        rules.map(|(rule, end)| (rule.from_bytes..end, rule))
    }

    /// The place of the entry's rule that begins at a size.
    pub fn rule_place(&self, collective: Collective, from_bytes: u64) -> RulePlace {
        RulePlace::Rule {
            collective,
            shape: self.shape,
            order: self.order,
            operators: self.operators,
            deployments: self.deployments,
            from_bytes,
        }
    }

    /// Marks a range of sizes as refuted, and cuts rules at its ends. A range that ends at `u64::MAX` has no end.
    fn mark_refuted_sizes(&mut self, sizes: &Range<u64>) {
        self.cut_at(sizes.start);
        if sizes.end < u64::MAX {
            self.cut_at(sizes.end);
        }
        let refuted = self.rules.iter_mut();
        for rule in refuted.filter(|rule| sizes.contains(&rule.from_bytes)) {
            rule.refuted = true;
        }
    }

    /// Makes two rules of the one in which a size lies, unless the rule begins there.
    fn cut_at(&mut self, bytes: u64) {
        let place = self.rules.partition_point(|rule| rule.from_bytes < bytes);
        let begins_there = self
            .rules
            .get(place)
            .is_some_and(|rule| rule.from_bytes == bytes);
        if let Some(before) = place.checked_sub(1).filter(|_| !begins_there) {
            let from_bytes = bytes;
            let rule = Rule {
                from_bytes,
                ..self.rules[before].clone()
            };
            self.rules.insert(place, rule);
        }
    }

    /// Turns the sizes of a range back to the library's default: rules are cut at its ends, and measured points in it
    /// get the default's time. The entry loses all times of the candidates that it chose there, so that they are not
    /// interpolated to other shapes. A range that ends at `u64::MAX` has no end.
    ///
    /// The default has medium confidence there, because a validation found the chosen candidate slower, but the table's
    /// own measurements did not.
    pub fn turn_back_sizes(&mut self, sizes: &Range<u64>) {
        if sizes.is_empty() {
            return;
        }
        let after = (sizes.end < u64::MAX)
            .then(|| rule_at(&self.rules, sizes.end).cloned())
            .flatten();
        let wrong = self
            .rules_with_sizes()
            .filter(|(of, _)| of.start < sizes.end && sizes.start < of.end);
        let wrong: Vec<Candidate> = wrong.map(|(_, rule)| rule.candidate.clone()).collect();
        self.candidates
            .retain(|times| !wrong.contains(&times.candidate));
        let default = Rule::new(sizes.start, Candidate::Default, None, Confidence::Medium);
        self.rules
            .retain(|rule| !sizes.contains(&rule.from_bytes) && rule.from_bytes != sizes.end);
        let after = after.map(|rule| Rule {
            from_bytes: sizes.end,
            ..rule
        });
        self.rules.extend([default].into_iter().chain(after));
        self.rules.sort_by_key(|rule| rule.from_bytes);
        self.merge_equal_rules();
        for point in &mut self.measured {
            if sizes.contains(&point.bytes) {
                point.seconds = point.default_seconds;
                point.speedup = 1.0;
            }
        }
    }

    /// Whether verdicts can confirm the entry's rules. A verdict is about operators of one class; in programs that use
    /// colltune, a rule for all operators would need verdicts about both.
    pub fn is_confirmable(&self, collective: Collective) -> bool {
        let is_for_both = collective.is_reduction() && self.operators == Operators::Any;
        !is_for_both || self.deployments == Deployments::Library
    }

    /// The unconfirmed rules that replace the default, with their ranges of sizes.
    pub fn unconfirmed_rules(&self) -> Vec<(Range<u64>, Candidate)> {
        let rules = self.rules_with_sizes();
        let rules = rules.filter(|(_, r)| r.candidate != Candidate::Default && !r.confirmed);
        rules
            .map(|(sizes, rule)| (sizes, rule.candidate.clone()))
            .collect()
    }

    /// Marks a range of a rule's sizes as confirmed, with the speed-up and the confidence that fresh launches found.
    /// The rule is unchanged at its other sizes.
    pub fn confirm_sizes(&mut self, sizes: &Range<u64>, speedup: f64, confidence: Confidence) {
        let rule = self
            .rules_with_sizes()
            .find(|(of, _)| of.contains(&sizes.start));
        let Some((of_rule, rule)) = rule.map(|(of, rule)| (of, rule.clone())) else {
            return;
        };
        let candidate = rule.candidate.clone();
        let confirmed = Rule {
            confirmed: true,
            ..Rule::new(sizes.start, candidate, Some(speedup), confidence)
        };
        let after = (sizes.end < of_rule.end).then_some(Rule {
            from_bytes: sizes.end,
            ..rule
        });
        self.rules.retain(|other| other.from_bytes != sizes.start);
        self.rules.extend([confirmed].into_iter().chain(after));
        self.rules.sort_by_key(|each| each.from_bytes);
        self.merge_equal_rules();
    }

    /// Merges adjacent rules with the same candidate that are both confirmed or both not, and both refuted or both not,
    /// at the lower confidence.
    fn merge_equal_rules(&mut self) {
        self.rules.dedup_by(|next, before| {
            let is_same = next.candidate == before.candidate
                && next.confirmed == before.confirmed
                && next.refuted == before.refuted;
            if is_same {
                before.confidence = before.confidence.min(next.confidence);
                let order = next.speedup.partial_cmp(&before.speedup);
                if order == Some(Ordering::Less) {
                    before.speedup = next.speedup;
                }
            }
            is_same
        });
    }
}
