//! The decision for a cell, and the evidence for it.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use statistics::{Interval, PairedRatio};
use table::{Confidence, Operators};
use thiserror::Error;
use vocabulary::{Candidate, CandidateParts, Cell};

use crate::Counts;

/// The decision for one cell and class of operators, with its evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct CellDecision {
    /// The cell.
    pub cell: Cell,
    /// The class of operators; `any` if the collective combines nothing.
    pub operators: Operators,
    /// The candidate to use.
    pub chosen: Candidate,
    /// The candidate to use between this size and the next, both excluded: one that fresh launches confirm at both, or
    /// confirm at one while the interval at the other shows a gain of 1.1x or more. `None` at the largest size, and where
    /// choices were not confirmed: times between sizes are interpolated then.
    pub up_to_next: Option<Candidate>,
    /// The reason for the choice.
    pub verdict: Verdict,
    /// The confidence that the chosen candidate beats the default, or that no candidate does; high only if the
    /// intervals attain a coverage of 95 %.
    pub confidence: Confidence,
    /// All measured candidates of this class, fastest first.
    pub ranking: Vec<Ranked>,
    /// Candidates that are excluded because they failed here at least once.
    pub failed: Vec<Candidate>,
    /// The candidate to use through the library's own settings; `None` if none of the library's own algorithms was
    /// measured.
    pub chosen_in_library: Option<Candidate>,
}

/// The reason why a candidate was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Verdict {
    /// The candidate has the shortest median, and it beats the default according to the options of `fit`.
    #[error("it is the fastest by its median and beats the default by enough to matter")]
    Fastest,
    /// The candidate beats the default and is about as fast as the fastest candidate that does. It was chosen so that
    /// neighbouring sizes share a rule, for its fewer blocks, or because the candidates with shorter medians do not
    /// beat the default significantly.
    #[error(
        "it beats the default by enough to matter and is about as fast as the fastest that does"
    )]
    NearFastest,
    /// The best other candidate is slower than the default: the interval of the ratio lies below 1.
    #[error("the default is faster than the best other candidate")]
    DefaultFastest,
    /// The best other candidate is faster than the default, since the interval lies above 1, but the median gain is
    /// less than `materiality`.
    #[error("the best other candidate is faster than the default, but by too little to matter")]
    Immaterial,
    /// The best other candidate beats the default, but in too few launches to choose it.
    #[error(
        "the best other candidate seems faster than the default, but was measured in too few launches"
    )]
    TooFewLaunches,
    /// The interval includes 1, so the best other candidate may be faster or slower than the default.
    #[error("the difference between the default and the best other candidate may be noise")]
    WithinNoise,
    /// A candidate beats the default here, but none is acceptable for every datatype, operator and distribution measured
    /// at this size, among which tables do not distinguish; or it sends other messages for shorter elements.
    #[error(
        "no single candidate is good enough for every datatype, operator and distribution of this size"
    )]
    TypesDisagree,
    /// The candidate is chosen for all sizes and distributions on this shape, among which tables do not distinguish: it
    /// beats the default at others, and loses at none.
    #[error(
        "it beats the default at other sizes or distributions and loses at none, and one rule holds for all"
    )]
    LosesNowhere,
    /// A candidate beats the default here, but none was compared and loses nowhere at all other sizes and distributions,
    /// among which tables do not distinguish.
    #[error(
        "what beats the default here loses or was not compared at another size or distribution, and one rule holds for all"
    )]
    LosesElsewhere,
    /// Only the default was measured.
    #[error("nothing else was measured")]
    NoRival,
    /// Nothing was measured on this shape; the choice follows from the model.
    #[error("nothing was measured on this shape; the model predicts it")]
    Extrapolated,
    /// The default was not measured or failed, so nothing can be compared with it.
    #[error("the default was not measured")]
    DefaultNotMeasured,
    /// The candidate beats the default in fresh launches, in every pattern of calls.
    #[error("fresh launches confirm that it beats the default by enough to matter")]
    Confirmed,
    /// The candidate that beats the default in exploring launches does not do so in fresh ones.
    #[error(
        "fresh launches do not confirm that another candidate beats the default by enough to \
         matter"
    )]
    NotConfirmed,
    /// A candidate beats the default in fresh launches in one pattern of calls and not in another.
    #[error("another candidate beats the default in one pattern of calls and not in another")]
    PatternsDisagree,
    /// A candidate that beats the default in exploring launches was not measured in enough fresh launches.
    #[error(
        "another candidate may beat the default, but was not measured in enough fresh launches"
    )]
    Unconfirmed,
    /// `colltune validate` found the candidate that would be chosen slower than the default, or failing.
    #[error(
        "`colltune validate` found the candidate that would be chosen slower than the default, or failing"
    )]
    Refuted,
    /// The decision is read from a table, which does not record the reason.
    #[error("the table says so")]
    OfTable,
}

impl CellDecision {
    /// The decision for a cell in which nothing was measured: the default stays.
    pub fn undecided(cell: Cell, operators: Operators) -> Self {
        Self {
            cell,
            operators,
            chosen: Candidate::Default,
            up_to_next: None,
            verdict: Verdict::DefaultNotMeasured,
            confidence: Confidence::Low,
            ranking: Vec::new(),
            failed: Vec::new(),
            chosen_in_library: None,
        }
    }

    /// The entry of a candidate in the ranking.
    pub fn ranked(&self, candidate: &Candidate) -> Option<&Ranked> {
        self.ranking
            .iter()
            .find(|ranked| ranked.candidate == *candidate)
    }

    /// The entry of the library's default.
    pub fn ranked_default(&self) -> Option<&Ranked> {
        self.ranked(&Candidate::Default)
    }

    /// The fastest candidate that beats the default, or else the fastest candidate other than the default. For a
    /// decision read from a table, the chosen candidate.
    pub fn best_rival(&self) -> Option<&Ranked> {
        let rivals = || {
            self.ranking
                .iter()
                .filter(|ranked| ranked.speedup.is_some())
        };
        match self.verdict {
            Verdict::OfTable => rivals().find(|ranked| ranked.candidate == self.chosen),
            _ => rivals()
                .find(|ranked| ranked.beats_default)
                .or_else(|| rivals().next()),
        }
    }

    /// The default's time divided by a candidate's; 1 for the default itself, `None` if it is unknown.
    pub fn speedup_of(&self, candidate: &Candidate) -> Option<PairedRatio> {
        match candidate {
            Candidate::Default => Some(PairedRatio::single_value(1.0)),
            other => self.ranked(other)?.speedup,
        }
    }

    /// The default's time divided by that of the chosen candidate.
    pub fn chosen_gain(&self) -> Option<PairedRatio> {
        self.speedup_of(&self.chosen)
    }

    /// Whether the decision rests on measurements, not on the model.
    pub fn is_measured(&self) -> bool {
        self.verdict != Verdict::Extrapolated
    }

    /// Whether another candidate was compared with the default or failed.
    pub fn is_compared(&self) -> bool {
        match self.verdict {
            Verdict::DefaultNotMeasured => false,
            Verdict::NoRival => !self.failed.is_empty(),
            _ => true,
        }
    }

    /// Whether measurements favour another candidate over the default.
    pub fn replaces_default(&self) -> bool {
        match self.verdict {
            Verdict::Fastest
            | Verdict::NearFastest
            | Verdict::LosesNowhere
            | Verdict::Confirmed => true,
            Verdict::OfTable => self.chosen != Candidate::Default,
            _ => false,
        }
    }
}

/// A candidate of a cell compared with the library's default.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Ranked {
    /// The candidate.
    #[serde(flatten, serialize_with = "Candidate::in_parts")]
    #[schemars(with = "CandidateParts")]
    pub candidate: Candidate,
    /// Launches and repetitions.
    #[serde(flatten)]
    pub counts: Counts,
    /// Median time over launches.
    pub median_seconds: f64,
    /// Confidence interval of that median.
    pub interval: Interval,
    /// The default's time divided by the candidate's, paired within launches; above 1 the candidate is faster. `None`
    /// for the default, and if no launch measured both.
    #[serde(flatten, serialize_with = "with_interval")]
    #[schemars(with = "Speedup")]
    pub speedup: Option<PairedRatio>,
    /// The extra time over the first candidate of the ranking, as a share: 0.02 is 2 %.
    pub behind_fastest: f64,
    /// The time that the fitted machine model predicts.
    pub predicted_seconds: Option<f64>,
    /// Whether the candidate beats the default, according to the options of `fit`.
    pub beats_default: bool,
    /// Whether it beats the default and is slower than the fastest candidate that does by no more than noise, or is
    /// the same algorithm with other blocks at almost the same time.
    #[serde(skip)]
    pub acceptable: bool,
    /// Whether it is acceptable, or beats the default and is slower than the fastest candidate that does by at most
    /// `max_regret`. Such a candidate is accepted for a shorter table.
    #[serde(skip)]
    pub tolerable: bool,
}

impl Ranked {
    /// An entry without measurements, or with a time alone.
    pub fn unmeasured(candidate: Candidate, seconds: f64) -> Self {
        Self {
            candidate,
            counts: Counts::default(),
            median_seconds: seconds,
            interval: Interval::single_value(seconds),
            speedup: None,
            behind_fastest: 0.0,
            predicted_seconds: None,
            beats_default: false,
            acceptable: false,
            tolerable: false,
        }
    }
}

#[derive(JsonSchema, Serialize)]
struct Speedup {
    /// The default's time divided by the candidate's: the median of ratios paired within launches; null for the
    /// default.
    speedup: Option<f64>,
    /// The interval of that median.
    speedup_interval: Option<Interval>,
    /// The number of launches with these ratios: fresh ones if they confirmed the candidate.
    speedup_launches: Option<u32>,
}

fn with_interval<S: Serializer>(ratio: &Option<PairedRatio>, to: S) -> Result<S::Ok, S::Error> {
    let parts = Speedup {
        speedup: ratio.map(|ratio| ratio.median),
        speedup_interval: ratio.map(|ratio| ratio.interval),
        speedup_launches: ratio.map(|ratio| ratio.launches),
    };
    parts.serialize(to)
}
