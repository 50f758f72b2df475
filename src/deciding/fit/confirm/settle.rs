//! The decisions that follow from fresh launches, at their sizes and between them.

use std::collections::{BTreeMap, BTreeSet};

use results::{CellDecision, Ranked, Verdict};
use statistics::PairedRatio;
use table::{Confidence, Deployment, Operators};
use vocabulary::defaults::CONFIDENCE;
use vocabulary::{Candidate, Cell, Distribution};

use super::points::SeriesPoint;
use super::{Confirmation, ConfirmationKey};
use crate::fresh::Finding;
use crate::joint::shares_one_rule;
use crate::ranking;
use crate::thresholds::FAR_FASTER;

/// The place of the campaign's own pattern of calls.
const OWN: usize = 0;

/// The decision at a point.
struct SettledPoint {
    decision: CellDecision,
    /// The confirmed candidates, each with its least gain of all patterns.
    faster: Vec<(Candidate, PairedRatio)>,
}

impl Confirmation<'_> {
    /// The decisions for one deployment, by ascending cell and operators: the default, unless fresh launches confirm
    /// another candidate. Times of candidates come from fresh launches where these measured them, in the campaign's own
    /// pattern of calls. The speed-up of a confirmed candidate is that of the pattern with its smallest gain.
    ///
    /// Between two points, a candidate that is confirmed at both is chosen, or one that is confirmed at one and far faster
    /// than the default at the other, where another is confirmed; otherwise the default. At a probe, the
    /// candidate that is chosen on either side of it is chosen, otherwise the default.
    pub fn decisions(&self, deployment: Deployment) -> Vec<CellDecision> {
        let of_deployment = self.series.iter().filter(|(key, _)| key.0 == deployment);
        let mut decisions: Vec<CellDecision> = of_deployment
            .flat_map(|(key, points)| self.settle_series(key, points))
            .collect();
        self.agree_on_sizes(deployment, &mut decisions);
        decisions.sort_by_key(|decision| (decision.cell, decision.operators));
        decisions
    }

    /// Lets the distributions of an irregular collective that decides by size choose alike: a candidate that is confirmed
    /// with each of them, or else the default. The default stays at a size at which a distribution has no measurements.
    fn agree_on_sizes(&self, deployment: Deployment, decisions: &mut [CellDecision]) {
        let mut distributions: BTreeMap<_, BTreeSet<Distribution>> = BTreeMap::new();
        for (of, collective, shape, operators, distribution) in self.series.keys() {
            if *of == deployment {
                let key = (*collective, *shape, *operators);
                distributions.entry(key).or_default().insert(*distribution);
            }
        }
        let mut sizes: BTreeMap<(Cell, Operators), Vec<&mut CellDecision>> = BTreeMap::new();
        for decision in decisions {
            let cell = decision.cell;
            if cell.collective.is_irregular() && cell.collective.decides_by_size() {
                let same = Cell {
                    distribution: Distribution::Uniform,
                    ..cell
                };
                let at = sizes.entry((same, decision.operators)).or_default();
                at.push(decision);
            }
        }
        for ((cell, operators), mut at) in sizes {
            let wanted = distributions.get(&(cell.collective, cell.shape, operators));
            let is_complete = wanted.is_none_or(|wanted| wanted.len() == at.len());
            let is_for_all = |candidate: &&Candidate| {
                is_complete
                    && at
                        .iter()
                        .all(|decision| self.fresh.is_confirmed(&decision.cell, candidate))
            };
            let mut choices = at.iter().map(|decision| &decision.chosen);
            let agreed = choices.find(is_for_all).cloned();
            let first = at.first().and_then(|first| first.up_to_next.clone());
            let is_alike = is_complete && at.iter().all(|decision| decision.up_to_next == first);
            for decision in &mut at {
                if !is_alike && decision.up_to_next.is_some() {
                    decision.up_to_next = Some(Candidate::Default);
                }
                match &agreed {
                    Some(agreed) => {
                        decision.confidence = self.confirmed_confidence(&decision.cell, agreed);
                        decision.chosen = agreed.clone();
                        decision.verdict = Verdict::Confirmed;
                    }
                    None if decision.chosen != Candidate::Default => {
                        decision.chosen = Candidate::Default;
                        (decision.verdict, decision.confidence) = if is_complete {
                            (Verdict::LosesElsewhere, Confidence::Medium)
                        } else {
                            (Verdict::Unconfirmed, Confidence::Low)
                        };
                    }
                    None => {}
                }
            }
        }
    }

    fn settle_series(&self, key: &ConfirmationKey, points: &[SeriesPoint]) -> Vec<CellDecision> {
        let places = 0..points.len();
        let mut settled: Vec<SettledPoint> = places
            .map(|place| self.settle_point(key, points, place))
            .collect();
        // Where one rule holds for all sizes, there is nothing to choose between them.
        let first_between = if shares_one_rule(key.1) {
            settled.len()
        } else {
            1
        };
        for place in first_between..settled.len() {
            let holds = self.choice_between(&settled[place - 1], &settled[place]);
            settled[place - 1].decision.up_to_next = Some(holds);
        }
        // A candidate that is confirmed at a probe alone does not justify a rule.
        for place in (1..settled.len()).filter(|place| points[*place].is_probe) {
            let below = settled[place - 1].decision.up_to_next.clone();
            let decision = &mut settled[place].decision;
            let sides = [below, decision.up_to_next.clone()];
            let mut sides = sides.into_iter().flatten();
            if decision.chosen == Candidate::Default
                || sides.clone().any(|side| side == decision.chosen)
            {
                continue;
            }
            match sides.find(|side| *side != Candidate::Default) {
                Some(side) => {
                    decision.confidence = self.confirmed_confidence(&decision.cell, &side);
                    decision.chosen = side;
                }
                None => {
                    decision.chosen = Candidate::Default;
                    decision.verdict = Verdict::NotConfirmed;
                    decision.confidence = Confidence::Medium;
                }
            }
        }
        // At a size without measurements, and on both sides of it, the default is kept.
        let decisions = settled.into_iter().map(|settled| settled.decision);
        decisions
            .filter(|decision| !decision.ranking.is_empty())
            .collect()
    }

    fn settle_point(
        &self,
        key: &ConfirmationKey,
        points: &[SeriesPoint],
        place: usize,
    ) -> SettledPoint {
        let point = &points[place];
        let cell = &point.cell;
        let nominees = self.nominees_at(key, points, place);
        let mut faster = Vec::new();
        for candidate in self.fresh.compared_candidates(cell) {
            if let Finding::Confirmed(speedup) = self.fresh.judge_candidate(cell, &candidate)
                && self.can_offer(key, cell, &candidate)
            {
                faster.push((candidate, speedup));
            }
        }
        faster.sort_by(|(_, a), (_, b)| b.median.total_cmp(&a.median));
        let is_faster = |nominee: &&Candidate| {
            if shares_one_rule(cell.collective) {
                self.is_confirmed_for_all(cell, nominee)
            } else {
                faster.iter().any(|(other, _)| other == *nominee)
            }
        };
        let chosen = match &point.nominees {
            Some(own_nominees) => own_nominees.iter().find(is_faster),
            None => {
                let tries = self.tries.get(&(*key, *cell));
                let mut tried = tries.into_iter().flatten();
                if shares_one_rule(cell.collective) {
                    let chosen = tried.find(|candidate| is_faster(candidate));
                    return SettledPoint {
                        decision: self.decide_point(key, point, chosen, &nominees),
                        faster,
                    };
                }
                let of_series =
                    |candidate: &Candidate| tries.is_some_and(|tries| tries.contains(candidate));
                let mut candidates = faster.iter().map(|(candidate, _)| candidate);
                candidates.find(|candidate| of_series(candidate))
            }
        };
        let decision = self.decide_point(key, point, chosen, &nominees);
        SettledPoint { decision, faster }
    }

    fn decide_point(
        &self,
        key: &ConfirmationKey,
        point: &SeriesPoint,
        chosen: Option<&Candidate>,
        nominees: &[Candidate],
    ) -> CellDecision {
        let (_, _, _, operators, _) = *key;
        let mut decision = match &point.decision {
            Some(decision) => decision.clone(),
            None => CellDecision::undecided(point.cell, operators),
        };
        decision.chosen = chosen.cloned().unwrap_or(Candidate::Default);
        self.show_fresh_evidence(key, &mut decision);
        let tried = self.findings_at(key, point, nominees);
        (decision.verdict, decision.confidence) = match chosen {
            Some(chosen) if !self.fresh.is_confirmed(&point.cell, chosen) => {
                (Verdict::LosesNowhere, Confidence::Medium)
            }
            Some(chosen) => (
                Verdict::Confirmed,
                self.confirmed_confidence(&point.cell, chosen),
            ),
            None if tried.contains(&Finding::Open) => (Verdict::Unconfirmed, Confidence::Low),
            None if tried.contains(&Finding::PatternsDisagree) => {
                (Verdict::PatternsDisagree, Confidence::Medium)
            }
            None if !tried.is_empty() => (Verdict::NotConfirmed, Confidence::Medium),
            // Only the default was measured.
            None if point.decision.is_none() && !decision.ranking.is_empty() => {
                (Verdict::NoRival, Confidence::Medium)
            }
            None => (decision.verdict, decision.confidence),
        };
        decision
    }

    /// The confidence that a confirmed candidate is faster.
    fn confirmed_confidence(&self, cell: &Cell, candidate: &Candidate) -> Confidence {
        if self.fresh.is_certain(cell, candidate, CONFIDENCE) {
            Confidence::High
        } else {
            Confidence::Medium
        }
    }

    /// The findings about all candidates that were or are to be tried at a point.
    fn findings_at(
        &self,
        key: &ConfirmationKey,
        point: &SeriesPoint,
        nominees: &[Candidate],
    ) -> Vec<Finding> {
        let cell = &point.cell;
        let measured = self.fresh.compared_candidates(cell).into_iter();
        let own: BTreeSet<Candidate> = measured
            .filter(|candidate| self.can_offer(key, cell, candidate))
            .chain(nominees.iter().cloned())
            .collect();
        own.iter()
            .map(|candidate| self.fresh.judge_candidate(cell, candidate))
            .collect()
    }

    /// Replaces the evidence of exploring launches by that of fresh ones. Only confirmed candidates beat the
    /// default.
    fn show_fresh_evidence(&self, key: &ConfirmationKey, decision: &mut CellDecision) {
        let cell = decision.cell;
        for explored in &mut decision.ranking {
            explored.beats_default = false;
        }
        let mut summaries = self.fresh.cell_summaries(OWN, &cell);
        summaries.retain(|summary| self.can_offer(key, &cell, &summary.candidate));
        let Some(default) = summaries
            .first()
            .filter(|s| s.candidate == Candidate::Default)
        else {
            return;
        };
        let (machine, options) = (self.explored.machine, self.explored.options);
        let (ranked, _) = ranking::rank_candidates(&cell, &summaries, default, machine, options);
        for mut fresh in ranked {
            let finding = self.fresh.judge_candidate(&cell, &fresh.candidate);
            fresh.beats_default = false;
            if let Finding::Confirmed(least) = finding {
                fresh.beats_default = true;
                fresh.speedup = Some(least);
            }
            let is_same = |other: &&mut Ranked| other.candidate == fresh.candidate;
            match decision.ranking.iter_mut().find(is_same) {
                Some(explored) => *explored = fresh,
                None => decision.ranking.push(fresh),
            }
        }
        let by_time = |a: &Ranked, b: &Ranked| a.median_seconds.total_cmp(&b.median_seconds);
        decision.ranking.sort_by(by_time);
    }

    /// The candidate to use between two points: one that is confirmed at both, preferably one that is chosen at one of
    /// them. If there is none, one that is chosen at one of them and is [far faster](Self::is_far_faster) than the default
    /// at the other, where fresh launches compared another candidate. Otherwise the default.
    fn choice_between(&self, low: &SettledPoint, high: &SettledPoint) -> Candidate {
        let is_faster = |at: &SettledPoint, candidate: &Candidate| {
            at.faster.iter().any(|(c, _)| c == candidate)
        };
        let both = |candidate: &&Candidate| is_faster(low, candidate) && is_faster(high, candidate);
        let chosen = [&low.decision.chosen, &high.decision.chosen];
        let others = low.faster.iter().map(|(candidate, _)| candidate);
        let mut all = chosen.into_iter().chain(others);
        if let Some(confirmed) = all.find(both) {
            return confirmed.clone();
        }
        let found = [(low, high), (high, low)].into_iter().find(|(at, other)| {
            let candidate = &at.decision.chosen;
            is_faster(at, candidate)
                && self.is_far_faster(&at.decision, candidate)
                && other.decision.chosen != Candidate::Default
                && self.is_far_faster(&other.decision, candidate)
        });
        found.map_or(Candidate::Default, |(at, _)| at.decision.chosen.clone())
    }

    /// Whether the interval of a candidate's speed-up shows a gain that no choice between two sizes can lose:
    /// [`FAR_FASTER`]. A candidate that fresh launches refuted is not.
    fn is_far_faster(&self, decision: &CellDecision, candidate: &Candidate) -> bool {
        let finding = self.fresh.judge_candidate(&decision.cell, candidate);
        let is_refuted = matches!(
            finding,
            Finding::Failed | Finding::NotFaster | Finding::PatternsDisagree
        );
        let ranked = decision.ranked(candidate);
        let shows = ranked
            .and_then(|ranked| ranked.speedup)
            .is_some_and(|speedup| {
                self.explored.options.has_enough_coverage(&speedup)
                    && speedup.interval.low >= FAR_FASTER
            });
        shows && !is_refuted
    }
}
