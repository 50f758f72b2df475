//! What to use in a cell, and the evidence for it.

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
    /// Where.
    pub cell: Cell,
    /// The operators it holds for; `any` where nothing is combined.
    pub operators: Operators,
    /// What to use.
    pub chosen: Candidate,
    /// What to use from here up to the next size, both excluded, by what fresh launches confirmed at both;
    /// absent at the largest size, and where choices were not confirmed: then times between sizes are
    /// interpolated.
    pub up_to_next: Option<Candidate>,
    /// Why.
    pub verdict: Verdict,
    /// How certain it is that the chosen one beats the default, or that no other does; high only
    /// where the intervals attain a coverage of 95 %.
    pub confidence: Confidence,
    /// Every candidate of this class that was measured, fastest first.
    pub ranking: Vec<Ranked>,
    /// Candidates that failed here at least once and are therefore out of the race.
    pub failed: Vec<Candidate>,
    /// What to use where only the library's own settings are to be had; absent where none of the
    /// library's own algorithms was measured.
    pub chosen_in_library: Option<Candidate>,
}

/// Why a candidate was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Verdict {
    /// Its median is the fastest, and it beats the default as the options of `fit` say.
    #[error("it is the fastest by its median and beats the default by enough to matter")]
    Fastest,
    /// The candidate beats the default and is about as fast as the fastest of those that do; chosen so that
    /// neighbouring sizes share a rule, for its fewer blocks, or as what is faster by its median
    /// does not beat the default significantly.
    #[error(
        "it beats the default by enough to matter and is about as fast as the fastest that does"
    )]
    NearFastest,
    /// The best other candidate is slower than the default: the interval of the ratio lies below 1.
    #[error("the default is faster than the best other candidate")]
    DefaultFastest,
    /// The best other candidate is faster than the default: the interval lies above 1; but the
    /// median gains less than `materiality`.
    #[error("the best other candidate is faster than the default, but by too little to matter")]
    Immaterial,
    /// The interval includes 1: whether the best other candidate is faster or slower than the
    /// default cannot be told.
    #[error("the difference between the default and the best other candidate may be noise")]
    WithinNoise,
    /// A candidate beats the default here, but none is acceptable for every datatype and operator
    /// measured at this size, which tables do not tell apart.
    #[error("no one candidate is good enough for every datatype and operator measured")]
    TypesDisagree,
    /// Only the default was measured.
    #[error("nothing else was measured")]
    NoRival,
    /// Nothing was measured on this shape: it is what the model expects.
    #[error("nothing was measured on this shape; the model expects it")]
    Extrapolated,
    /// The default was not measured or failed, so that nothing can be compared with it.
    #[error("the default was not measured")]
    DefaultNotMeasured,
    /// The candidate beats the default in fresh launches, in every pattern of calls.
    #[error("fresh launches confirm that it beats the default by enough to matter")]
    Confirmed,
    /// What beats the default in the launches that looked for candidates does not do so in fresh ones.
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
    /// A table says so, and only the measurements that it was made from could tell why.
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
    pub fn default(&self) -> Option<&Ranked> {
        self.ranked(&Candidate::Default)
    }

    /// The fastest candidate that beats the default, or else the fastest other one. Of a table alone
    /// that is what it chooses.
    pub fn rival(&self) -> Option<&Ranked> {
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

    /// The default's time divided by a candidate's: 1 of the default itself, nothing where that is not
    /// known.
    pub fn speedup_of(&self, candidate: &Candidate) -> Option<PairedRatio> {
        match candidate {
            Candidate::Default => Some(PairedRatio::point(1.0)),
            other => self.ranked(other)?.speedup,
        }
    }

    /// What the choice gains over the default.
    pub fn gain(&self) -> Option<PairedRatio> {
        self.speedup_of(&self.chosen)
    }

    /// Whether it rests on measurements, and not on the model.
    pub fn is_measured(&self) -> bool {
        self.verdict != Verdict::Extrapolated
    }

    /// Whether anything was compared with the default, if only to find that it fails.
    pub fn is_compared(&self) -> bool {
        match self.verdict {
            Verdict::DefaultNotMeasured => false,
            Verdict::NoRival => !self.failed.is_empty(),
            _ => true,
        }
    }

    /// Whether measurements say that something else than the default is to be used.
    pub fn replaces_default(&self) -> bool {
        match self.verdict {
            Verdict::Fastest | Verdict::NearFastest | Verdict::Confirmed => true,
            Verdict::OfTable => self.chosen != Candidate::Default,
            _ => false,
        }
    }
}

/// A candidate in a cell, beside the library's default.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Ranked {
    /// The candidate.
    #[serde(flatten, serialize_with = "Candidate::in_parts")]
    #[schemars(with = "CandidateParts")]
    pub candidate: Candidate,
    /// The number of samples.
    #[serde(flatten)]
    pub counts: Counts,
    /// Median time over launches.
    pub median_seconds: f64,
    /// Confidence interval of that median.
    pub interval: Interval,
    /// The default's time divided by the candidate's, paired within launches; above 1 the
    /// candidate is faster. Absent for the default, and where no launch measured both.
    #[serde(flatten, serialize_with = "with_interval")]
    #[schemars(with = "Speedup")]
    pub speedup: Option<PairedRatio>,
    /// How much longer the candidate takes than the first of the ranking, as a share: 0.02 is 2 %.
    pub behind_fastest: f64,
    /// What the fitted machine makes one expect.
    pub predicted_seconds: Option<f64>,
    /// Whether the candidate beats the default, as the options of `fit` say.
    pub beats_default: bool,
    /// Whether it beats the default and, compared with the fastest that does, costs no more than
    /// the noise, or is the same algorithm with other blocks that costs next to nothing.
    #[serde(skip)]
    pub acceptable: bool,
    /// Whether it is acceptable, or costs so little beside the fastest that beats the default that a
    /// shorter table is worth it (its `max_regret`); it beats the default itself.
    #[serde(skip)]
    pub tolerable: bool,
}

impl Ranked {
    /// An entry that rests on no measurement, or on one of which only the time is known.
    pub fn unmeasured(candidate: Candidate, seconds: f64) -> Self {
        Self {
            candidate,
            counts: Counts::default(),
            median_seconds: seconds,
            interval: Interval::point(seconds),
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
}

fn with_interval<S: Serializer>(ratio: &Option<PairedRatio>, to: S) -> Result<S::Ok, S::Error> {
    let parts = Speedup {
        speedup: ratio.map(|ratio| ratio.median),
        speedup_interval: ratio.map(|ratio| ratio.interval),
    };
    parts.serialize(to)
}
