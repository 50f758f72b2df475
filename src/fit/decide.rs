//! Which candidate to use in each cell.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Serialize, Serializer};
use table::{Confidence, Operators};
use wire::{Candidate, Cell, Subject};

use crate::ranking::{self, Ranked};
use crate::{CONFIDENCE, MachineFit, Summary, runs};
use statistics::PairedRatio;

/// When a difference counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecideOptions {
    /// How much faster than the default a candidate must be to replace it: 0.05 is 5 %.
    pub materiality: f64,
    /// Coverage that an interval needs to prove a difference; with less, as from fewer than 6
    /// launches, materiality decides alone.
    pub confidence: f64,
    /// How much slower than the fastest a candidate within its noise may be chosen, so that
    /// neighbouring sizes share a rule.
    pub tie: f64,
    /// The same for another block size of the fastest algorithm, even if it is surely slower.
    pub merge: f64,
}

impl Default for DecideOptions {
    fn default() -> Self {
        Self {
            materiality: 0.05,
            confidence: CONFIDENCE,
            tie: 0.02,
            merge: 0.01,
        }
    }
}

impl DecideOptions {
    /// Whether an interval is wide enough to prove something.
    pub(crate) fn settled(&self, ratio: &PairedRatio) -> bool {
        ratio.interval.coverage >= self.confidence
    }

    /// Whether a speed-up is material and, if there are launches enough to tell, significant.
    pub(crate) fn beats(&self, speedup: &PairedRatio) -> bool {
        speedup.median >= 1.0 + self.materiality
            && (!self.settled(speedup) || speedup.interval.low > 1.0)
    }
}

/// The decision for one cell and class of operators, with its evidence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellDecision {
    /// Where.
    pub cell: Cell,
    /// The operators it holds for; `any` where nothing is combined.
    #[serde(serialize_with = "operators_name")]
    pub operators: Operators,
    /// What to use.
    pub chosen: Candidate,
    /// Why.
    pub verdict: Verdict,
    /// How certain it is that the chosen one beats the default, or that no other does.
    pub confidence: Confidence,
    /// Every candidate of this class that was measured, fastest first.
    pub ranking: Vec<Ranked>,
    /// Candidates that failed here at least once and are therefore out of the race.
    pub failed: Vec<Candidate>,
}

/// Why a candidate was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is the fastest, materially and significantly faster than the default.
    Fastest,
    /// It beats the default and is about as fast as the fastest; chosen so that neighbouring sizes
    /// share a rule, or for its fewer blocks.
    NearFastest,
    /// The default is the fastest.
    DefaultFastest,
    /// The fastest is faster than the default by less than what counts.
    Immaterial,
    /// The fastest seems faster than the default, but that may be noise.
    WithinNoise,
    /// A candidate beats the default here, but not for another datatype or operator of this size,
    /// which tables do not tell apart.
    TypesDisagree,
    /// Nothing but the default was measured.
    NoRival,
    /// The default was not measured or failed, so that nothing can be compared with it.
    DefaultNotMeasured,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fastest => "it is the fastest, by more than noise and by enough to matter",
            Self::NearFastest => {
                "it beats the default and is about as fast as the fastest; chosen so that the \
                 table stays short"
            }
            Self::DefaultFastest => "the default is the fastest",
            Self::Immaterial => "the fastest gains too little over the default to matter",
            Self::WithinNoise => "the gain of the fastest over the default may be noise",
            Self::TypesDisagree => {
                "no candidate beats the default for every datatype and operator measured"
            }
            Self::NoRival => "nothing else was measured",
            Self::DefaultNotMeasured => "the default was not measured",
        })
    }
}

fn operators_name<S: Serializer>(operators: &Operators, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(operators.name())
}

impl CellDecision {
    /// The entry of a candidate in the ranking.
    pub fn ranked(&self, candidate: &Candidate) -> Option<&Ranked> {
        self.ranking
            .iter()
            .find(|ranked| ranked.candidate == *candidate)
    }
}

/// Decides every cell that was measured, by ascending cell and operators.
///
/// A candidate replaces the default where it is materially and significantly faster, as
/// [`DecideOptions`] say; so ties go to the default. Among candidates that are about as fast as
/// the fastest, the one is chosen that also serves the most neighbouring sizes, and of these the
/// one with the fewest blocks. Reductions are decided twice: for commutative operators, and for
/// noncommutative ones among ordered algorithms alone (though all times were measured with
/// commutative operators, the default's too). Candidates that failed anywhere in a cell, or that
/// the registry does not know, are not chosen there.
///
/// `summaries` as [`crate::summarise`] returns them; experiments are ignored.
pub fn decide(
    summaries: &[Summary],
    failures: &[(Subject, Candidate)],
    machine: Option<&MachineFit>,
    options: &DecideOptions,
) -> Vec<CellDecision> {
    let mut cells: BTreeMap<Cell, Vec<&Summary>> = BTreeMap::new();
    for summary in summaries {
        if let Subject::Cell(cell) = summary.subject {
            cells.entry(cell).or_default().push(summary);
        }
    }
    let failures: BTreeSet<(Subject, &Candidate)> = failures
        .iter()
        .map(|(subject, candidate)| (*subject, candidate))
        .collect();
    let mut decisions = Vec::new();
    for (cell, summaries) in &cells {
        for &operators in classes(cell) {
            let failed: Vec<Candidate> = failures
                .range((Subject::Cell(*cell), &Candidate::Default)..)
                .take_while(|(subject, _)| *subject == Subject::Cell(*cell))
                .map(|(_, candidate)| (*candidate).clone())
                .collect();
            let admitted: Vec<&Summary> = summaries
                .iter()
                .copied()
                .filter(|s| !failed.contains(&s.candidate) && serves(&s.candidate, operators))
                .collect();
            decisions.push(decide_alone(
                *cell, operators, &admitted, failed, machine, options,
            ));
        }
    }
    runs::choose(&mut decisions);
    decisions
}

/// The classes of operators that are decided apart.
fn classes(cell: &Cell) -> &'static [Operators] {
    if cell.collective.is_reduction() {
        &[Operators::Commutative, Operators::Noncommutative]
    } else {
        &[Operators::Any]
    }
}

/// Whether a candidate may be used with the operators.
fn serves(candidate: &Candidate, operators: Operators) -> bool {
    if *candidate == Candidate::Default {
        return true;
    }
    let Some(algorithm) = schedule::find(candidate.algorithm()) else {
        return false;
    };
    let inner = candidate.parameters().reduce;
    let inner = inner.map(|id| schedule::find(&format!("reduce/{id}")));
    let inner_ordered = inner.is_none_or(|inner| inner.is_some_and(|inner| inner.ordered));
    operators != Operators::Noncommutative || (algorithm.ordered && inner_ordered)
}

/// The decision for a cell without regard to its neighbours.
fn decide_alone(
    cell: Cell,
    operators: Operators,
    admitted: &[&Summary],
    failed: Vec<Candidate>,
    machine: Option<&MachineFit>,
    options: &DecideOptions,
) -> CellDecision {
    let kept = CellDecision {
        cell,
        operators,
        chosen: Candidate::Default,
        verdict: Verdict::DefaultNotMeasured,
        confidence: Confidence::Low,
        ranking: Vec::new(),
        failed,
    };
    let Some(default) = admitted.iter().find(|s| s.candidate == Candidate::Default) else {
        return kept;
    };
    let (ranking, confidence) = ranking::rank(&cell, admitted, default, machine, options);
    let verdict = match ranking.iter().find(|ranked| ranked.speedup.is_some()) {
        None => Verdict::NoRival,
        Some(_) if ranking.iter().any(|ranked| ranked.acceptable) => Verdict::Fastest,
        Some(best) => match best.speedup.map_or(1.0, |speedup| speedup.median) {
            median if median <= 1.0 => Verdict::DefaultFastest,
            median if median < 1.0 + options.materiality => Verdict::Immaterial,
            _ => Verdict::WithinNoise,
        },
    };
    CellDecision {
        verdict,
        confidence,
        ranking,
        ..kept
    }
}
