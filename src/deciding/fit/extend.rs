//! Decisions for shapes that were not measured.

use std::collections::{BTreeMap, BTreeSet};

use schedule::Schedule;
use vocabulary::{Candidate, Cell, CommShape, Library, Parameters};

use crate::decide::can_use_candidate;
use crate::predicted_blocks::predicted_block_bytes;
use crate::prediction::{predicted_ratio, predicted_seconds};
use crate::rules::is_same_as_default;
use crate::{MachineFit, PredictionMethod, Predictor, fit_curves};
use results::{CellDecision, Ranked, Summary, Verdict};

/// The factor on the materiality that a predicted gain must exceed, since predictions are less certain than
/// measurements.
const CAUTION: f64 = 2.0;

/// Decides cells of unmeasured shapes, at the sizes of measured ones, by the times that the model predicts.
///
/// For each shape, the reference is the nearest measured shape with as many ranks per node, with a power of two ranks
/// if the new shape has one. The expected time of a candidate of ours is its measured time on the reference shape times
/// the ratio of the model's predictions, each with its best blocks: the model's relative error is assumed to be
/// constant. The default's time grows like that of the algorithm that takes as long on the reference shape. If there is
/// none, it is extrapolated from its own times on several shapes ([`Predictor`]), or taken as constant if there are
/// fewer than two. A candidate must be expected to beat the default by twice the materiality, whatever was chosen on
/// the measured shape. All decisions have low confidence. Shapes without a reference have no decision.
///
/// Irregular collectives have no decisions: their default depends on the data's distribution in ways that no curve tells.
///
/// A candidate that was `merged` on the reference shape, as the same schedule as another one, is taken to have that
/// one's time.
pub fn decide_unmeasured_shapes(
    library: &str,
    summaries: &[Summary],
    decisions: &[CellDecision],
    machine: &MachineFit,
    materiality: f64,
    shapes: &[CommShape],
    merged: &BTreeMap<Cell, Vec<(Candidate, Candidate)>>,
) -> Vec<CellDecision> {
    let known: BTreeSet<CommShape> = decisions
        .iter()
        .map(|decision| decision.cell.shape)
        .collect();
    let shapes = shapes.iter().filter(|shape| !known.contains(shape));
    let shapes: Vec<CommShape> = shapes.copied().collect();
    let mut extended = Vec::new();
    if shapes.is_empty() {
        return extended;
    }
    let predictor = Predictor::new(&fit_curves(summaries));
    for shape in shapes {
        let alike = known.iter().filter(|known| known.ppn == shape.ppn);
        let Some(&from) = nearest_by_shape(alike, |other| **other, shape) else {
            continue;
        };
        let measured = decisions
            .iter()
            .filter(|decision| decision.cell.shape == from)
            .filter(|decision| !decision.cell.collective.is_irregular());
        extended.extend(measured.filter_map(|decision| {
            let extension = Extension {
                library,
                predictor: &predictor,
                machine,
                least: 1.0 + CAUTION * materiality,
                from: decision,
                merged: merged.get(&decision.cell).map_or(&[], Vec::as_slice),
                cell: Cell {
                    shape,
                    ..decision.cell
                },
            };
            extension.decide_cell()
        }));
    }
    extended
}

/// The nearest of several shapes to `shape`: preferably one with as many ranks per node, then one that also has, or also
/// lacks, a power of two ranks, then by the ratio of the ranks.
pub(crate) fn nearest_by_shape<T>(
    all: impl IntoIterator<Item = T>,
    shape_of: impl Fn(&T) -> CommShape,
    shape: CommShape,
) -> Option<T> {
    let is_power = |either: CommShape| either.ranks().is_power_of_two();
    let distance = |known: &T| {
        let known = shape_of(known);
        let class = (known.ppn != shape.ppn, is_power(known) != is_power(shape));
        let ratio = f64::from(known.ranks()) / f64::from(shape.ranks().max(1));
        (class, ratio.ln().abs())
    };
    all.into_iter().min_by(|a, b| {
        let ((class_a, far_a), (class_b, far_b)) = (distance(a), distance(b));
        class_a.cmp(&class_b).then(far_a.total_cmp(&far_b))
    })
}

/// One cell that was not measured.
struct Extension<'a> {
    library: &'a str,
    predictor: &'a Predictor,
    machine: &'a MachineFit,
    least: f64,
    from: &'a CellDecision,
    /// Candidates merged on the reference shape, each with the measured one that is the same schedule.
    merged: &'a [(Candidate, Candidate)],
    cell: Cell,
}

impl Extension<'_> {
    fn decide_cell(&self) -> Option<CellDecision> {
        let predicted = self.predictor.predict_time(
            &self.cell,
            &Candidate::Default,
            PredictionMethod::Model,
        )?;
        let default_seconds = self.default_as_algorithm().unwrap_or(predicted.seconds);
        let mut families: BTreeMap<Candidate, (&Candidate, &Ranked)> = BTreeMap::new();
        let is_settled = matches!(
            self.from.verdict,
            Verdict::Confirmed
                | Verdict::NotConfirmed
                | Verdict::PatternsDisagree
                | Verdict::Unconfirmed
        );
        // Where choices were confirmed, only confirmed candidates count.
        let known = self.from.ranking.iter();
        for ranked in known.filter(|ranked| !is_settled || ranked.beats_default) {
            let is_this = |(_, simplest): &&(Candidate, Candidate)| *simplest == ranked.candidate;
            let others = self.merged.iter().filter(is_this).map(|(other, _)| other);
            for candidate in [&ranked.candidate].into_iter().chain(others) {
                // Fastest first: the candidate with the best blocks represents its family.
                if candidate.is_ours() {
                    let family = families.entry(candidate.without_blocks());
                    family.or_insert((candidate, ranked));
                }
            }
        }
        let expected = families
            .values()
            .filter_map(|(c, r)| self.expect_candidate(c, r));
        let mut ranking: Vec<Ranked> = expected.collect();
        ranking.push(Ranked::unmeasured(Candidate::Default, default_seconds));
        ranking.sort_by(|a, b| {
            let by_time = a.median_seconds.total_cmp(&b.median_seconds);
            by_time.then_with(|| a.candidate.cmp(&b.candidate))
        });
        let is_ours = |ranked: &&Ranked| ranked.candidate != Candidate::Default;
        let chosen = match ranking.iter().find(is_ours) {
            Some(ours) if default_seconds / ours.median_seconds >= self.least => {
                ours.candidate.clone()
            }
            _ => Candidate::Default,
        };
        Some(CellDecision {
            chosen,
            verdict: Verdict::Extrapolated,
            ranking,
            ..CellDecision::undecided(self.cell, self.from.operators)
        })
    }

    /// The expected time of the default here, if on the reference shape it takes as long as an algorithm of ours, or
    /// the library's own equivalent, and keeps using it. Of several algorithms the one with the nearest time counts.
    fn default_as_algorithm(&self) -> Option<f64> {
        let library = Library {
            name: self.library.to_owned(),
            version: String::new(),
        };
        let default = self.from.ranked_default()?.median_seconds;
        let is_it = |candidate: &Candidate| is_same_as_default(self.from, candidate);
        let alike = self.from.ranking.iter().filter(|ranked| {
            let equivalent =
                libraries::library_equivalent(&library, &self.from.cell, &ranked.candidate);
            is_it(&ranked.candidate) || equivalent.as_ref().is_some_and(is_it)
        });
        let growths = alike.filter_map(|ranked| {
            let candidate = &ranked.candidate;
            let (here, there) = ((&self.cell, candidate), (&self.from.cell, candidate));
            let growth = predicted_ratio(self.machine, here, there)?;
            Some(((ranked.median_seconds / default).ln().abs(), growth))
        });
        let (_, growth) = growths.min_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(default * growth)
    }

    /// The expected time here of a candidate with a measured schedule, with the best blocks.
    fn expect_candidate(&self, known: &Candidate, measured: &Ranked) -> Option<Ranked> {
        let candidate = self.with_best_blocks(known)?;
        if !can_use_candidate(self.library, &self.cell, &candidate, self.from.operators) {
            return None;
        }
        let growth = predicted_ratio(
            self.machine,
            (&self.cell, &candidate),
            (&self.from.cell, known),
        )?;
        let here = predicted_seconds(self.machine, &self.cell, &candidate);
        Some(Ranked {
            predicted_seconds: measured.predicted_seconds.and(here),
            ..Ranked::unmeasured(candidate, measured.median_seconds * growth)
        })
    }

    fn with_best_blocks(&self, candidate: &Candidate) -> Option<Candidate> {
        let algorithm = schedule::find_algorithm(candidate.algorithm())?;
        let given = candidate.parameters();
        if given.block_bytes.is_none() && given.blocks.is_none() {
            return Some(candidate.clone());
        }
        let parameters = given.without_blocks();
        let best = predicted_block_bytes(self.machine, &self.cell, algorithm, &parameters)?;
        let unit = self.cell.datatype.size_bytes();
        let size = best.next_power_of_two().next_multiple_of(unit);
        let blocks = Parameters {
            block_bytes: Some(size),
            ..parameters.clone()
        };
        let is_whole = Schedule::new(algorithm, &self.cell.schedule_request(&blocks))
            .is_ok_and(|schedule| schedule.shape().blocks == 1);
        let parameters = if is_whole {
            Parameters {
                blocks: Some(1),
                ..parameters
            }
        } else {
            blocks
        };
        Some(Candidate::Ours {
            algorithm: candidate.algorithm().to_owned(),
            parameters,
        })
    }
}
