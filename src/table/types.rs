//! What a decision table is.

use std::collections::BTreeMap;

use schedule::Collective;
use serde::{Deserialize, Serialize};
use strum_macros::{Display, IntoStaticStr};
use vocabulary::{Candidate, CommShape, Library, Pattern, RankOrder, Through};

use crate::{CandidateTimes, Deployments, Operators, RuleSource, Verdict};

/// The newest version of the file format that this crate reads and writes.
pub const FORMAT_VERSION: u32 = 4;

/// The version that is written for tables in which no message goes through shared memory, so that older versions of this
/// crate read them.
const VERSION_WITHOUT_SHARED: u32 = 3;

/// A decision table: which candidate to use for a collective, communicator shape, operator class
/// and message size.
///
/// The fields are open so that a table can be built from decisions; [`Table::save`] refuses a
/// table that breaks the rules stated here, and [`Table::load`] never returns one.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// What the table is called, usually as its campaign.
    pub name: String,
    /// What the decisions rest on.
    pub provenance: Provenance,
    /// The decisions for each collective, at least one entry each; no two entries of a collective
    /// hold for the same shape, order of ranks, operator class and deployment, but that one for
    /// [`Operators::Any`] may follow one for [`Operators::Commutative`], which goes first.
    pub collectives: BTreeMap<Collective, Vec<ShapeRules>>,
    /// Verdicts that the table's store could not keep. Decisions that rewrite the table's file respect them
    /// ([`crate::turn_back`]).
    pub verdicts: Vec<Verdict>,
}

impl Table {
    /// The version of the format in which the table is written.
    pub(crate) fn format_version(&self) -> u32 {
        let chosen = self.entries().flat_map(|entry| &entry.rules);
        let timed = self.entries().flat_map(|entry| &entry.candidates);
        let judged = self.verdicts.iter().map(|verdict| &verdict.candidate);
        let mut named = chosen
            .map(|rule| &rule.candidate)
            .chain(timed.map(|times| &times.candidate))
            .chain(judged);
        match named.any(|candidate| candidate.parameters().through == Through::Shared) {
            true => FORMAT_VERSION,
            false => VERSION_WITHOUT_SHARED,
        }
    }

    /// The decisions for all collectives.
    pub fn entries(&self) -> impl Iterator<Item = &ShapeRules> {
        self.collectives.values().flatten()
    }
}

/// Where a table comes from.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// Digest of the campaign.
    pub campaign: String,
    /// The store that holds the samples, as a path.
    pub store: String,
    /// The MPI library that was measured, and whose default the speed-ups refer to.
    pub library: Library,
    /// Version of colltune that decided.
    pub colltune: String,
    /// Day of the last measurement, as in `2026-11-20`.
    pub date: String,
    /// Host names.
    pub hosts: Vec<String>,
    /// CPU model of the first host, or [`Provenance::ANY_CPU`]; empty if unknown.
    pub cpu: String,
    /// Number of launches: the statistical unit.
    pub launches: u32,
    /// How the calls that were measured followed each other.
    #[serde(default)]
    pub pattern: Pattern,
    /// The least confidence of rules that are deployed, unless a [`Policy`](crate::Policy) names another.
    #[serde(default)]
    pub min_confidence: Confidence,
    /// Reasons to trust the measurements less, each a full sentence.
    pub warnings: Vec<String>,
}

impl Provenance {
    /// The value that stands for a CPU model where the table is meant for nodes of all types.
    pub const ANY_CPU: &str = "any";

    /// Whether the table is meant for nodes with a CPU of that model. What is not known, of the table
    /// or of the node, speaks against nothing.
    pub fn is_for(&self, cpu: &str) -> bool {
        let is_open = [Self::ANY_CPU, ""].contains(&self.cpu.trim());
        is_open || cpu.is_empty() || self.cpu.trim() == cpu
    }
}

/// The decisions for one communicator shape and operator class.
#[derive(Clone, Debug, PartialEq)]
pub struct ShapeRules {
    /// The communicator shape; neither number is zero.
    pub shape: CommShape,
    /// The order in which the ranks stood on the nodes; the rules hold for that order.
    pub order: RankOrder,
    /// The operators that the rules hold for; [`Operators::Any`] where nothing is combined.
    pub operators: Operators,
    /// The deployments that the rules hold for.
    pub deployments: Deployments,
    /// Where the rules come from.
    pub source: RuleSource,
    /// The rules, at least one, by strictly ascending `from_bytes`; the first starts at 0.
    pub rules: Vec<Rule>,
    /// The evidence, by strictly ascending size: what [`Table::lookup`] expects times from. May be
    /// empty, then expected times are unknown.
    pub measured: Vec<MeasuredPoint>,
    /// The times at the measured sizes of those candidates that may be the fastest, or what the default does, on
    /// shapes between this one and others ([`Table::lookup`]); may be empty.
    pub candidates: Vec<CandidateTimes>,
}

impl ShapeRules {
    /// Whether the rules hold for an order of ranks on the entry's shape; one that is not known, here or
    /// there, may be any.
    pub fn is_in(&self, order: RankOrder) -> bool {
        self.order.on(self.shape).may_be(order.on(self.shape))
    }
}

/// One decision: holds from `from_bytes` up to the next rule's `from_bytes`, which is excluded;
/// the last rule has no upper end.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The smallest message size that the rule holds for, as defined by [`message_size`].
    pub from_bytes: u64,
    /// What to use: the library's default, or a registered algorithm with parameters it takes.
    pub candidate: Candidate,
    /// Expected time of the default divided by that of the candidate; absent for the default.
    pub speedup: Option<f64>,
    /// How certain the decision is.
    pub confidence: Confidence,
    /// Whether fresh launches confirmed that the candidate is faster than the default, at every measured
    /// size of the rule; false for the default, and in tables from before choices were confirmed.
    pub confirmed: bool,
}

impl Rule {
    /// A rule that is not confirmed, with its speed-up rounded to three significant digits, so that the
    /// file stays short.
    pub fn new(
        from_bytes: u64,
        candidate: Candidate,
        speedup: Option<f64>,
        confidence: Confidence,
    ) -> Self {
        let speedup = speedup.map(|ratio| round_significant(ratio, 3));
        Self {
            from_bytes,
            candidate,
            speedup,
            confidence,
            confirmed: false,
        }
    }
}

/// What was measured at one size with the candidate that the table chooses there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredPoint {
    /// Message size, as defined by [`message_size`].
    pub bytes: u64,
    /// Median time of the chosen candidate; positive and finite.
    pub seconds: f64,
    /// Median time of the library's default; positive and finite.
    pub default_seconds: f64,
    /// The default's time divided by the candidate's: the median of the ratios paired inside launches, or the
    /// ratio of the two times where nothing else is known; positive and finite.
    pub speedup: f64,
}

impl MeasuredPoint {
    /// A point with its times rounded to four significant digits, so that the file stays short; the speed-up
    /// is their ratio.
    pub fn new(bytes: u64, seconds: f64, default_seconds: f64) -> Self {
        let [seconds, default_seconds] = [seconds, default_seconds].map(rounded);
        Self {
            bytes,
            seconds,
            default_seconds,
            speedup: ratio(seconds, default_seconds),
        }
    }

    /// The same with another speed-up, rounded likewise.
    pub fn with_speedup(self, speedup: f64) -> Self {
        Self {
            speedup: rounded(speedup),
            ..self
        }
    }

    /// Whether the speed-up is the ratio of the two times.
    pub fn is_ratio_of_times(&self) -> bool {
        self.speedup == ratio(self.seconds, self.default_seconds)
    }
}

/// The default's time divided by the candidate's, clamped so that it is finite and positive as they are.
pub(crate) fn ratio(seconds: f64, default_seconds: f64) -> f64 {
    (default_seconds / seconds).clamp(f64::MIN_POSITIVE, f64::MAX)
}

/// A time or a speed-up as tables have it, to four significant digits.
pub fn rounded(value: f64) -> f64 {
    round_significant(value, 4)
}

/// The nearest number that has only `digits` significant decimal digits.
pub(crate) fn round_significant(value: f64, digits: usize) -> f64 {
    let text = format!("{value:.*e}", digits.saturating_sub(1));
    text.parse().unwrap_or(value)
}

/// How certain a decision is, from `low` over `medium` to `high`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    Display,
    IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Confidence {
    /// Decided by the size of the difference alone, from fewer than 6 launches, or taken over
    /// from another shape.
    Low,
    /// Between the two: enough launches, but at some measured size of the rule the interval does
    /// not settle it or settles it at less than 95 %, or the size asked for lies beyond the
    /// measured ones.
    #[default]
    Medium,
    /// At every measured size of the rule, the interval of the paired ratio of default to
    /// candidate excludes 1 at an attained coverage of at least 95 %; or the default was kept
    /// with the same certainty.
    High,
}

impl Confidence {
    /// Every value, ascending.
    pub const ALL: [Self; 3] = [Self::Low, Self::Medium, Self::High];

    /// The value of a name; `None` if there is no such value.
    pub fn named(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|confidence| <&str>::from(confidence) == name)
    }

    /// One step less certain.
    pub const fn lowered(self) -> Self {
        match self {
            Self::High => Self::Medium,
            Self::Medium | Self::Low => Self::Low,
        }
    }
}

/// What "message size" means for a collective, in the words that stand in the file.
pub const fn message_size(collective: Collective) -> &'static str {
    match collective {
        Collective::Bcast | Collective::Reduce | Collective::Allreduce | Collective::Scan => {
            "bytes of one rank's vector"
        }
        Collective::Gather | Collective::Allgather => "bytes of one rank's contribution",
        Collective::Scatter | Collective::ReduceScatterBlock => "bytes of one rank's part",
        Collective::ReduceScatter => "bytes of one rank's vector, the parts of all ranks together",
        Collective::Alltoall => "bytes of one block, from one rank to another",
        Collective::Barrier => "always 0 bytes",
    }
}
