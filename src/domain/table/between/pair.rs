//! Two measured shapes, and the rules of a shape between them.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use schedule::{Request, Schedule};
use statistics::geometric_mean;
use vocabulary::{Candidate, CommShape};

use crate::envelope::{index_of_lowest, lowest_line_changes};
use crate::interpolate::interpolate_on_log_scales;
use crate::types::round_significant;
use crate::{Confidence, MeasuredPoint, Query, Rule, RuleSource, ShapeRules};

/// Two measured shapes, with the candidates whose times are known on both: the default first, then those that the
/// deployment of a query offers.
pub(super) struct EnclosingPair<'t> {
    ends: [&'t ShapeRules; 2],
    candidates: Vec<&'t Candidate>,
    /// The measured sizes of both, within the range that both cover.
    sizes: Vec<u64>,
    /// The logarithms of a candidate's times on both shapes, by candidate, then size.
    logs: Vec<Vec<Option<[f64; 2]>>>,
}

impl<'t> EnclosingPair<'t> {
    pub(super) fn from_entries(
        low: &'t ShapeRules,
        high: &'t ShapeRules,
        query: &Query,
    ) -> Option<Self> {
        let ends = [low, high];
        let (of_low, of_high) = (measured_range(low)?, measured_range(high)?);
        let inner = *of_low.start().max(of_high.start())..=*of_low.end().min(of_high.end());
        let sizes = ends.iter().flat_map(|entry| &entry.measured);
        let sizes: BTreeSet<u64> = sizes.map(|point| point.bytes).collect();
        let sizes: Vec<u64> = sizes
            .into_iter()
            .filter(|bytes| inner.contains(bytes))
            .collect();
        let on_both = low.candidates.iter().filter_map(|low_times| {
            let mut others = high.candidates.iter();
            let high_times = others.find(|times| times.candidate == low_times.candidate)?;
            let serves = query.deployment.offers(&low_times.candidate)
                && serves_shape(&low_times.candidate, query.shape);
            serves.then_some((&low_times.candidate, [low_times, high_times]))
        });
        let mut candidates = vec![&Candidate::Default];
        let default = |at: usize| {
            ends[at]
                .measured
                .iter()
                .map(|p| Some(p.default_seconds))
                .collect()
        };
        let mut times: Vec<[Vec<Option<f64>>; 2]> = vec![[default(0), default(1)]];
        for (candidate, both) in on_both {
            candidates.push(candidate);
            times.push(both.map(|of_end| of_end.seconds.clone()));
        }
        let logs = times.iter().map(|times| {
            let at = |bytes: &u64| {
                let log = |end: usize| log_seconds(ends[end], &times[end], *bytes);
                Some([log(0)?, log(1)?])
            };
            sizes.iter().map(at).collect()
        });
        (!sizes.is_empty()).then(|| Self {
            logs: logs.collect(),
            ends,
            candidates,
            sizes: sizes.clone(),
        })
    }

    /// The candidates that are the fastest at some size on some shape between the two.
    pub(super) fn fastest_anywhere(&self) -> BTreeSet<&'t Candidate> {
        let mut fastest = BTreeSet::new();
        for at in 0..self.sizes.len() {
            let lines: Vec<Option<[f64; 2]>> = self.logs.iter().map(|logs| logs[at]).collect();
            // The second pass leaves the default out, since its time may be unknown.
            for first in [0, 1] {
                let known = lines.iter().enumerate();
                let considered: Vec<_> =
                    known.map(|(c, line)| line.filter(|_| c >= first)).collect();
                let low = index_of_lowest(considered.iter().map(|line| Some((*line)?[0])));
                if let Some(low) = low {
                    let changes = lowest_line_changes(&considered, low)
                        .into_iter()
                        .map(|(_, place)| place);
                    fastest.extend([low].into_iter().chain(changes).map(|c| self.candidates[c]));
                }
            }
        }
        fastest.remove(&Candidate::Default);
        fastest
    }

    /// The rules for the shape of a query.
    pub(super) fn interpolate_rules(&self, query: &Query) -> ShapeRules {
        let [low, high] = self.ends.map(|entry| f64::from(entry.shape.ranks()).ln());
        let share = (f64::from(query.shape.ranks()).ln() - low) / (high - low);
        let mix = |[low_log, high_log]: [f64; 2]| low_log + share * (high_log - low_log);
        let logs: Vec<Vec<Option<f64>>> = self
            .logs
            .iter()
            .map(|logs| logs.iter().map(|ends| ends.map(mix)).collect())
            .collect();
        let mut rules: Vec<Rule> = Vec::new();
        let mut choose = |from_bytes: u64, candidate: usize| {
            let candidate = self.candidates[candidate];
            if rules.last().is_none_or(|rule| rule.candidate != *candidate) {
                rules.push(Rule::new(
                    from_bytes,
                    candidate.clone(),
                    None,
                    Confidence::Medium,
                ));
            }
        };
        let mut measured = Vec::new();
        for (at, bytes) in self.sizes.iter().copied().enumerate() {
            let knows_default = self.is_one_default(&[bytes]);
            let known = |(c, candidate_logs): (usize, &Vec<Option<f64>>)| {
                candidate_logs[at].filter(|_| c > 0 || knows_default)
            };
            let chosen = index_of_lowest(logs.iter().enumerate().map(known)).unwrap_or(0);
            choose(if at == 0 { 0 } else { bytes }, chosen);
            if let (Some(own), Some(default), true) = (logs[chosen][at], logs[0][at], knows_default)
            {
                measured.push(MeasuredPoint::new(bytes, own.exp(), default.exp()));
            }
            let Some(next) = self.sizes.get(at + 1).copied() else {
                break;
            };
            let is_one_default = self.is_one_default(&[bytes, next]);
            if chosen == 0 && !is_one_default {
                continue;
            }
            let line = |(c, candidate_logs): (usize, &Vec<Option<f64>>)| {
                Some([candidate_logs[at]?, candidate_logs[at + 1]?])
                    .filter(|_| c > 0 || is_one_default)
            };
            let lines: Vec<Option<[f64; 2]>> = logs.iter().enumerate().map(line).collect();
            let [from, to] = [bytes, next].map(|bytes| (bytes.max(1) as f64).ln());
            for (size_share, candidate) in lowest_line_changes(&lines, chosen) {
                let crossing = (from + size_share * (to - from)).exp().round() as u64;
                if (bytes + 1..next).contains(&crossing) {
                    choose(crossing, candidate);
                }
            }
        }
        let mut entry = ShapeRules {
            shape: query.shape,
            order: query.order,
            operators: self.ends[0].operators.intersection(self.ends[1].operators),
            deployments: self.ends[0].deployments,
            source: RuleSource::Interpolated,
            rules,
            measured,
            candidates: Vec::new(),
        };
        entry.set_speedups();
        entry
    }

    /// Whether the default can be the same algorithm on both shapes at each of these sizes.
    fn is_one_default(&self, sizes: &[u64]) -> bool {
        let all = self.ends.iter().flat_map(|entry| {
            sizes
                .iter()
                .flat_map(move |bytes| done_by_default(entry, *bytes))
        });
        let all: Vec<BTreeSet<&Candidate>> = all.filter(|done| !done.is_empty()).collect();
        let mut pairs = all
            .iter()
            .flat_map(|one| all.iter().map(move |other| (one, other)));
        pairs.all(|(one, other)| !one.is_disjoint(other))
    }
}

impl ShapeRules {
    /// Sets the speed-up of each rule that replaces the default to the geometric mean over its points.
    fn set_speedups(&mut self) {
        let ranges: Vec<_> = self.rules_with_sizes().map(|(sizes, _)| sizes).collect();
        for (rule, sizes) in self.rules.iter_mut().zip(ranges) {
            let points = self
                .measured
                .iter()
                .filter(|point| sizes.contains(&point.bytes));
            let mean = geometric_mean(points.map(|point| point.speedup));
            let mean = mean.filter(|_| rule.candidate != Candidate::Default);
            rule.speedup = mean.map(|mean| round_significant(mean, 3));
        }
    }
}

/// The algorithms that the default may be at a size, as one set for each measured size at or beside it.
fn done_by_default(entry: &ShapeRules, bytes: u64) -> Vec<BTreeSet<&Candidate>> {
    let after = entry.measured.partition_point(|point| point.bytes < bytes);
    let is_measured = entry
        .measured
        .get(after)
        .is_some_and(|point| point.bytes == bytes);
    let first = if is_measured {
        after
    } else {
        after.saturating_sub(1)
    };
    let at = |place: usize| {
        let alike = entry.candidates.iter();
        let alike = alike.filter(|times| times.is_default.get(place) == Some(&true));
        alike.map(|times| &times.candidate).collect()
    };
    (first..=after).map(at).collect()
}

fn measured_range(entry: &ShapeRules) -> Option<RangeInclusive<u64>> {
    Some(entry.measured.first()?.bytes..=entry.measured.last()?.bytes)
}

/// The logarithm of a time at a size, from those at the entry's measured sizes; `None` outside their range.
fn log_seconds(entry: &ShapeRules, seconds: &[Option<f64>], bytes: u64) -> Option<f64> {
    let known = entry.measured.iter().zip(seconds);
    let known = known.filter_map(|(point, time)| Some((point.bytes, (*time)?)));
    let left = known
        .clone()
        .take_while(|(size, _)| *size <= bytes)
        .last()?;
    let right = known.clone().find(|(size, _)| *size >= bytes)?;
    Some(interpolate_on_log_scales([left, right], bytes).ln())
}

/// Whether an algorithm serves the shape's number of ranks.
fn serves_shape(candidate: &Candidate, shape: CommShape) -> bool {
    let Some((algorithm, parameters)) = candidate.as_ours() else {
        return true;
    };
    let request = Request {
        parameters: parameters.in_units(1),
        ..Request::among_ranks(shape.ranks())
    };
    let algorithm = schedule::find_algorithm(algorithm);
    algorithm.is_some_and(|algorithm| Schedule::new(algorithm, &request).is_ok())
}
