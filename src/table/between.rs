//! Rules for shapes between measured ones.
//!
//! Each candidate's time is interpolated between two measured shapes, in the logarithms of ranks and time, and between
//! measured sizes as times are; the candidate with the shortest time is chosen, from the very size on at which the
//! times cross. The neighbours have as many ranks a node, or else as many nodes, and both a power of two ranks or
//! both not, as the shape asked for: many algorithms are made for the one or the other.
//!
//! The default is no algorithm but a choice among the library's. Where it does the same as different candidates at two
//! points, its time between them is unknown. There another candidate is chosen, one of these among them, by the times
//! that are known.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use schedule::{Collective, Request, Schedule};
use vocabulary::{Candidate, CommShape, RankOrder};

use crate::envelope::{crossings, lowest};
use crate::lookup::is_in_other_order;
use crate::types::round_significant;
use crate::{
    CandidateTimes, Confidence, Deployment, MeasuredPoint, OperatorClass, Query, Rule, RuleSource,
    ShapeRules, Table,
};

/// Shapes between two neighbours for which rules are written out, at most.
const MOST_WRITTEN: u32 = 64;

impl Table {
    /// The rules for the shape of a query, if measured shapes enclose it, and these shapes.
    pub(crate) fn between(&self, query: &Query) -> Option<(ShapeRules, [CommShape; 2])> {
        let entries = self.collectives.get(&query.collective)?;
        let [low, high] = neighbours(entries, query)?;
        let pair = Pair::of(low, high, query)?;
        Some((pair.rules(query), [low.shape, high.shape]))
    }

    /// The rules that [`Table::lookup`] interpolates, as entries of their own for a format that cannot interpolate: for
    /// all numbers of nodes, and of ranks a node, between two measured ones; where there are more than 64, for about
    /// 64 of them and all powers of two.
    pub fn written_out(&self, collective: Collective) -> Vec<ShapeRules> {
        let entries = self
            .collectives
            .get(&collective)
            .map_or(&[][..], Vec::as_slice);
        let known: BTreeSet<CommShape> = entries.iter().map(|entry| entry.shape).collect();
        let mut shapes: BTreeSet<CommShape> = BTreeSet::new();
        let between = |low: u32, high: u32| {
            let step = high.saturating_sub(low).div_ceil(MOST_WRITTEN).max(1);
            // Between two powers of two ranks, only powers of two are interpolated.
            let powers = (0..u32::BITS).map(|power| 1_u32 << power);
            let powers = powers.filter(move |number| (low + 1..high).contains(number));
            (low + 1..high).step_by(step as usize).chain(powers)
        };
        for low in &known {
            for high in &known {
                if low.ppn == high.ppn {
                    let nodes = between(low.nodes, high.nodes);
                    shapes.extend(nodes.map(|nodes| CommShape { nodes, ..*low }));
                }
                if low.nodes == high.nodes {
                    let ppn = between(low.ppn, high.ppn);
                    shapes.extend(ppn.map(|ppn| CommShape { ppn, ..*low }));
                }
            }
        }
        let mut written: Vec<ShapeRules> = Vec::new();
        for shape in shapes.difference(&known) {
            for deployment in Deployment::ALL {
                for operators in OperatorClass::ALL {
                    let query = Query {
                        collective,
                        shape: *shape,
                        order: RankOrder::Unknown,
                        bytes: 0,
                        operators,
                        deployment,
                    };
                    let entry = self.between(&query).map(|(entry, _)| ShapeRules {
                        deployments: deployment.into(),
                        ..entry
                    });
                    written.extend(entry.filter(|entry| !written.contains(entry)));
                    if !collective.is_reduction() {
                        break;
                    }
                }
            }
        }
        written
    }
}

/// Leaves only those times of candidates that interpolation between these entries of one collective needs: of
/// candidates that are the fastest on some shape between two neighbours, at a measured size, and of some that
/// do what the default does. An entry without a neighbour needs none.
pub fn leave_needed_times(collective: Collective, entries: &mut [ShapeRules]) {
    let mut needed: Vec<BTreeSet<Candidate>> = vec![BTreeSet::new(); entries.len()];
    for deployment in Deployment::ALL {
        for operators in OperatorClass::ALL {
            for high in 0..entries.len() {
                let query = Query {
                    collective,
                    shape: entries[high].shape,
                    order: RankOrder::Unknown,
                    bytes: 0,
                    operators,
                    deployment,
                };
                for family in FAMILIES {
                    let Some(low) = nearest_in(entries, &query, family, false) else {
                        continue;
                    };
                    if !entries[high].covers(&query) {
                        continue;
                    }
                    if let Some(pair) = Pair::of(&entries[low], &entries[high], &query) {
                        let fastest = pair.fastest_anywhere();
                        for end in [low, high] {
                            needed[end]
                                .extend(fastest.iter().map(|candidate| (*candidate).clone()));
                            needed[end].extend(like_default(&entries[end]));
                        }
                    }
                }
            }
        }
    }
    for (entry, needed) in entries.iter_mut().zip(needed) {
        entry
            .candidates
            .retain(|times| needed.contains(&times.candidate));
    }
}

/// Few candidates that together do what the default does at each size at which any does.
fn like_default(entry: &ShapeRules) -> BTreeSet<Candidate> {
    let mut open: BTreeSet<usize> = (0..entry.measured.len()).collect();
    let mut found = BTreeSet::new();
    loop {
        let covers = |times: &CandidateTimes| {
            open.iter()
                .filter(|at| times.is_default.get(**at) == Some(&true))
                .count()
        };
        let best = entry
            .candidates
            .iter()
            .rev()
            .max_by_key(|times| covers(times));
        let Some(best) = best.filter(|times| covers(times) > 0) else {
            return found;
        };
        found.insert(best.candidate.clone());
        open.retain(|at| !best.is_default[*at]);
    }
}

type Family = fn(CommShape, CommShape) -> bool;
const FAMILIES: [Family; 2] = [|a, b| a.ppn == b.ppn, |a, b| a.nodes == b.nodes];

/// The measured shapes next to that of a query, with fewer and with more ranks.
fn neighbours<'t>(entries: &'t [ShapeRules], query: &Query) -> Option<[&'t ShapeRules; 2]> {
    FAMILIES.into_iter().find_map(|family| {
        let low = nearest_in(entries, query, family, false)?;
        let high = nearest_in(entries, query, family, true)?;
        let both = [&entries[low], &entries[high]];
        // A neighbour without times still stands between: nothing is interpolated past it.
        let have_times = both.iter().all(|entry| !entry.candidates.is_empty());
        have_times.then_some(both)
    })
}

/// The place of the nearest entry of a family, with more ranks or with fewer.
fn nearest_in(
    entries: &[ShapeRules],
    query: &Query,
    family: Family,
    has_more: bool,
) -> Option<usize> {
    let ranks = query.shape.ranks();
    let is_alike = |entry: &ShapeRules| {
        let have = entry.shape.ranks();
        let is_beyond = if has_more { have > ranks } else { have < ranks };
        is_beyond
            && have.is_power_of_two() == ranks.is_power_of_two()
            && family(entry.shape, query.shape)
            && entry.source == RuleSource::Measured
            && entry.covers(query)
            && !is_in_other_order(entry, query)
    };
    let alike = entries
        .iter()
        .enumerate()
        .filter(|(_, entry)| is_alike(entry));
    let nearest = alike.min_by_key(|(_, entry)| entry.shape.ranks().abs_diff(ranks));
    nearest.map(|(place, _)| place)
}

/// Two measured shapes, with the candidates whose times are known on both: the default first, then those that a
/// query's deployment offers.
struct Pair<'t> {
    ends: [&'t ShapeRules; 2],
    candidates: Vec<&'t Candidate>,
    /// The measured sizes of either, as far as they lie among those of both.
    sizes: Vec<u64>,
    /// By candidate, then size: the logarithms of its times on both shapes.
    logs: Vec<Vec<Option<[f64; 2]>>>,
}

impl<'t> Pair<'t> {
    fn of(low: &'t ShapeRules, high: &'t ShapeRules, query: &Query) -> Option<Self> {
        let ends = [low, high];
        let (of_low, of_high) = (range(low)?, range(high)?);
        let inner = *of_low.start().max(of_high.start())..=*of_low.end().min(of_high.end());
        let sizes = ends.iter().flat_map(|entry| &entry.measured);
        let sizes: BTreeSet<u64> = sizes.map(|point| point.bytes).collect();
        let sizes: Vec<u64> = sizes
            .into_iter()
            .filter(|bytes| inner.contains(bytes))
            .collect();
        let on_both = low.candidates.iter().filter_map(|low| {
            let mut others = high.candidates.iter();
            let high = others.find(|high| high.candidate == low.candidate)?;
            let serves =
                query.deployment.offers(&low.candidate) && serves(&low.candidate, query.shape);
            serves.then_some((&low.candidate, [low, high]))
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
            times.push(both.map(|times| times.seconds.clone()));
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

    /// The candidates that are the fastest on some shape between the two, at a size.
    fn fastest_anywhere(&self) -> BTreeSet<&'t Candidate> {
        let mut fastest = BTreeSet::new();
        for at in 0..self.sizes.len() {
            let lines: Vec<Option<[f64; 2]>> = self.logs.iter().map(|logs| logs[at]).collect();
            // Also where the default's time is unknown.
            for first in [0, 1] {
                let known = lines.iter().enumerate();
                let lines: Vec<_> = known.map(|(c, line)| line.filter(|_| c >= first)).collect();
                let low = lowest(lines.iter().map(|line| Some((*line)?[0])));
                if let Some(low) = low {
                    let changes = crossings(&lines, low).into_iter().map(|(_, place)| place);
                    fastest.extend([low].into_iter().chain(changes).map(|c| self.candidates[c]));
                }
            }
        }
        fastest.remove(&Candidate::Default);
        fastest
    }

    /// The rules for the shape of a query.
    fn rules(&self, query: &Query) -> ShapeRules {
        let [low, high] = self.ends.map(|entry| f64::from(entry.shape.ranks()).ln());
        let share = (f64::from(query.shape.ranks()).ln() - low) / (high - low);
        let mix = |[low, high]: [f64; 2]| low + share * (high - low);
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
            let known =
                |(c, logs): (usize, &Vec<Option<f64>>)| logs[at].filter(|_| c > 0 || knows_default);
            let chosen = lowest(logs.iter().enumerate().map(known)).unwrap_or(0);
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
            let line = |(c, logs): (usize, &Vec<Option<f64>>)| {
                Some([logs[at]?, logs[at + 1]?]).filter(|_| c > 0 || is_one_default)
            };
            let lines: Vec<Option<[f64; 2]>> = logs.iter().enumerate().map(line).collect();
            let [from, to] = [bytes, next].map(|bytes| (bytes.max(1) as f64).ln());
            for (share, candidate) in crossings(&lines, chosen) {
                let crossing = (from + share * (to - from)).exp().round() as u64;
                if (bytes + 1..next).contains(&crossing) {
                    choose(crossing, candidate);
                }
            }
        }
        let mut entry = ShapeRules {
            shape: query.shape,
            order: query.order,
            operators: self.ends[0].operators.narrower(self.ends[1].operators),
            deployments: self.ends[0].deployments,
            source: RuleSource::Interpolated,
            rules,
            measured,
            candidates: Vec::new(),
        };
        entry.tell_speedups();
        entry
    }

    /// Whether the default may be one algorithm on both shapes at all of these sizes.
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
    /// Gives each rule that replaces the default the mean of its points' speed-ups.
    fn tell_speedups(&mut self) {
        let ranges: Vec<_> = self.ranges().map(|(sizes, _)| sizes).collect();
        for (rule, sizes) in self.rules.iter_mut().zip(ranges) {
            let points = self
                .measured
                .iter()
                .filter(|point| sizes.contains(&point.bytes));
            let logs: Vec<f64> = points.map(|point| point.speedup.ln()).collect();
            let is_told = !logs.is_empty() && rule.candidate != Candidate::Default;
            let mean = || (logs.iter().sum::<f64>() / logs.len() as f64).exp();
            rule.speedup = is_told.then(|| round_significant(mean(), 3));
        }
    }
}

/// What the default does at the measured sizes next to a size, or at it: sets of candidates that take as long.
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

fn range(entry: &ShapeRules) -> Option<RangeInclusive<u64>> {
    Some(entry.measured.first()?.bytes..=entry.measured.last()?.bytes)
}

/// The logarithm of a time at a size, from those at the entry's measured sizes; `None` outside of those known.
fn log_seconds(entry: &ShapeRules, seconds: &[Option<f64>], bytes: u64) -> Option<f64> {
    let known = entry.measured.iter().zip(seconds);
    let known = known.filter_map(|(point, seconds)| Some((point.bytes, (*seconds)?)));
    let (mut below, mut above) = (None, None);
    for (size, seconds) in known {
        if size <= bytes {
            below = Some((size, seconds));
        }
        if size >= bytes && above.is_none() {
            above = Some((size, seconds));
        }
    }
    let ((low, fast), (high, slow)) = (below?, above?);
    if low == high {
        return Some(fast.ln());
    }
    let ln = |bytes: u64| (bytes.max(1) as f64).ln();
    let share = (ln(bytes) - ln(low)) / (ln(high) - ln(low)).max(f64::MIN_POSITIVE);
    Some(fast.ln() + share * (slow / fast).ln())
}

/// Whether an algorithm serves as many ranks as the shape has.
fn serves(candidate: &Candidate, shape: CommShape) -> bool {
    let Candidate::Ours {
        algorithm,
        parameters,
    } = candidate
    else {
        return true;
    };
    let request = Request {
        parameters: parameters.in_units(1),
        ..Request::ranks(shape.ranks())
    };
    let algorithm = schedule::find(algorithm);
    algorithm.is_some_and(|algorithm| Schedule::new(algorithm, &request).is_ok())
}
