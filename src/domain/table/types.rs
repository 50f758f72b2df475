//! The types of a decision table.

use std::collections::BTreeMap;

use schedule::Collective;
use serde::{Deserialize, Serialize};
use strum_macros::{Display, IntoStaticStr};
use vocabulary::{Candidate, CommShape, Distribution, Library, Pattern, RankOrder, Through};

use crate::{CandidateTimes, Deployments, Numerics, Operators, RuleSource, Verdict};

/// The newest version of the file format that this crate reads and writes.
pub const FORMAT_VERSION: u32 = 7;

/// The first version that can have what a table has; tables are written in the lowest one, so that older versions of
/// this crate can read them.
const VERSION_WITH_CURRENT_NAMES: u32 = 3;
const VERSION_WITH_SHARED_MEMORY: u32 = 4;
const VERSION_WITH_NETWORKS: u32 = 5;
const VERSION_WITH_ALL_COLLECTIVES: u32 = 6;
const VERSION_WITH_NUMERICS: u32 = 7;
pub(crate) const VERSION_WITH_NONBLOCKING: u32 = 7;

/// The collectives of which tables could name only the library's own algorithms before
/// [`VERSION_WITH_ALL_COLLECTIVES`].
const LIBRARY_ONLY_BEFORE: [Collective; 3] =
    [Collective::Alltoall, Collective::Barrier, Collective::Scan];

/// The collectives that tables did not have before [`VERSION_WITH_ALL_COLLECTIVES`].
const ABSENT_BEFORE: [Collective; 1] = [Collective::Exscan];

/// A decision table: which candidate to use for a collective, communicator shape, operator class
/// and message size.
///
/// The fields are public so that a table can be built from decisions; [`Table::save`] refuses a table that breaks the
/// rules stated here, and [`Table::load`] never returns one.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The table's name, usually that of its campaign.
    pub name: String,
    /// The measurements behind the decisions.
    pub provenance: Provenance,
    /// The entries of each collective for blocking calls, at least one. No two entries of a collective hold for the same
    /// shape, order of ranks, operator class and deployment, except that one for [`Operators::Any`] may follow one for
    /// [`Operators::Commutative`], which takes precedence.
    pub collectives: BTreeMap<Collective, Vec<ShapeRules>>,
    /// Findings of `colltune validate` about the table's choices. [`Table::parse`] marks the rules that they refute,
    /// and decisions that rewrite the table's file apply them ([`crate::turn_back`]).
    pub verdicts: Vec<Verdict>,
    /// The rules for nonblocking calls, if they were measured: a table with this one's name and library, without verdicts and
    /// such a section. Its pattern is [`Pattern::Nonblocking`], its collectives are among [`vocabulary::NONBLOCKING`], and its
    /// rules name the default or algorithms of ours that send through MPI. With it, `collectives` may be empty.
    pub nonblocking: Option<Box<Table>>,
}

impl Table {
    /// The version of the format in which the table is written.
    pub(crate) fn format_version(&self) -> u32 {
        let distributions =
            (!self.provenance.distributions.is_empty()).then_some(VERSION_WITH_ALL_COLLECTIVES);
        let numerics = (!self.provenance.numerics.is_none()).then_some(VERSION_WITH_NUMERICS);
        let networks = (!self.provenance.networks.is_empty()).then_some(VERSION_WITH_NETWORKS);
        let of_entries = self.collectives.iter().flat_map(|(collective, entries)| {
            let chosen = entries.iter().flat_map(|entry| &entry.rules);
            let timed = entries.iter().flat_map(|entry| &entry.candidates);
            let named = chosen
                .map(|rule| &rule.candidate)
                .chain(timed.map(|times| &times.candidate));
            named.map(|candidate| version_with_candidate(*collective, candidate))
        });
        let verdicts = self.verdicts.iter();
        let of_verdicts =
            verdicts.map(|verdict| version_with_candidate(verdict.collective, &verdict.candidate));
        let section = self.nonblocking.as_ref();
        let needed = of_entries
            .chain(of_verdicts)
            .chain(section.map(|_| VERSION_WITH_NONBLOCKING))
            .chain(networks)
            .chain(numerics)
            .chain(distributions);
        needed.max().unwrap_or(VERSION_WITH_CURRENT_NAMES)
    }

    /// The entries of all collectives, for blocking calls.
    pub fn entries(&self) -> impl Iterator<Item = &ShapeRules> {
        self.collectives.values().flatten()
    }
}

/// The first version of the format in which a rule for a collective can name a candidate.
fn version_with_candidate(collective: Collective, candidate: &Candidate) -> u32 {
    if collective.is_irregular() {
        return VERSION_WITH_ALL_COLLECTIVES;
    }
    // No algorithm of ours that takes a number of requests is older.
    let is_later = ABSENT_BEFORE.contains(&collective)
        || LIBRARY_ONLY_BEFORE.contains(&collective) && candidate.is_ours()
        || candidate.parameters().max_requests.is_some();
    if is_later {
        VERSION_WITH_ALL_COLLECTIVES
    } else if candidate.parameters().through == Through::Shared {
        VERSION_WITH_SHARED_MEMORY
    } else {
        VERSION_WITH_CURRENT_NAMES
    }
}

/// The origin of a table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// Digest of the campaign.
    pub campaign: String,
    /// The store that holds the samples, as a path.
    pub store: String,
    /// The measured MPI library, to whose default the speed-ups refer.
    pub library: Library,
    /// Version of colltune that made the decisions.
    pub colltune: String,
    /// Day of the last measurement, as in `2026-11-20`.
    pub date: String,
    /// Host names.
    pub hosts: Vec<String>,
    /// CPU model of the first host, or [`Provenance::ANY_CPU`]; empty if unknown.
    pub cpu: String,
    /// The networks of the first host (`environment::find_networks`), over which the messages between nodes went; empty
    /// if they are unknown, or if nothing was measured on several nodes.
    #[serde(default)]
    pub networks: Vec<String>,
    /// Number of launches, the statistical unit.
    pub launches: u32,
    /// The pattern of the measured calls.
    #[serde(default)]
    pub pattern: Pattern,
    /// The distributions of the data in irregular collectives with which these were measured; empty without irregular
    /// collectives.
    #[serde(default, deserialize_with = "vocabulary::read_distributions")]
    pub distributions: Vec<Distribution>,
    /// The least confidence of deployed rules, unless a [`Policy`](crate::Policy) gives another.
    #[serde(default)]
    pub min_confidence: Confidence,
    /// What the bits of reductions by deployed rules must not depend on, unless a [`Policy`](crate::Policy) requires
    /// something else.
    #[serde(default)]
    pub numerics: Numerics,
    /// Reasons to trust the measurements less, each a full sentence.
    pub warnings: Vec<String>,
}

impl Provenance {
    /// The value of `cpu` for a table that is meant for nodes of all types.
    pub const ANY_CPU: &str = "any";

    /// Whether launches were made for the table: the rules of a site's file are not measured, nor is a withdrawn table.
    pub fn has_launches(&self) -> bool {
        self.launches > 0
    }

    /// Whether the table is meant for nodes with a CPU of that model. An unknown model, of the table or of the node,
    /// matches any.
    pub fn is_for_cpu(&self, cpu: &str) -> bool {
        let is_open = [Self::ANY_CPU, ""].contains(&self.cpu.trim());
        is_open || cpu.is_empty() || self.cpu.trim() == cpu
    }

    /// Whether the table is meant for nodes with these networks. Unknown networks, of the table or of the node, match
    /// any.
    pub fn is_for_networks(&self, networks: &[String]) -> bool {
        self.networks.is_empty() || networks.is_empty() || self.networks == networks
    }

    /// The type of node that the table is meant for, as in "nodes with `AMD EPYC 7763` connected by Ethernet (ixgbe)".
    pub fn describe_nodes(&self) -> String {
        let cpu = match self.cpu.trim() {
            "" => "nodes of an unknown type".to_owned(),
            Self::ANY_CPU => "nodes of any type".to_owned(),
            cpu => format!("nodes with `{cpu}`"),
        };
        if self.networks.is_empty() {
            cpu
        } else {
            format!("{cpu} connected by {}", self.networks.join(" and "))
        }
    }

    /// Whether both tables are meant for nodes of one type: with the same CPU and the same networks. What is unknown,
    /// or [`Provenance::ANY_CPU`], matches any.
    pub fn has_same_nodes(&self, other: &Self) -> bool {
        let of_any = other.cpu.trim() == Self::ANY_CPU;
        (of_any || self.is_for_cpu(other.cpu.trim())) && self.is_for_networks(&other.networks)
    }
}

/// The decisions for one communicator shape and operator class.
#[derive(Clone, Debug, PartialEq)]
pub struct ShapeRules {
    /// The communicator shape; neither number is zero.
    pub shape: CommShape,
    /// The order of ranks on the nodes that the rules hold for.
    pub order: RankOrder,
    /// The operators that the rules hold for; [`Operators::Any`] where nothing is combined.
    pub operators: Operators,
    /// The deployments that the rules hold for.
    pub deployments: Deployments,
    /// The origin of the rules.
    pub source: RuleSource,
    /// The rules, at least one, by strictly ascending `from_bytes`; the first starts at 0. There is one rule for an
    /// irregular collective that does not decide by size ([`Collective::decides_by_size`]).
    pub rules: Vec<Rule>,
    /// The measured points, by strictly ascending size, from which [`Table::lookup`] derives expected times; without
    /// points, these are unknown. Where several distributions were measured, times and speed-ups are geometric means
    /// over them.
    pub measured: Vec<MeasuredPoint>,
    /// The times at the measured sizes of candidates that may be the fastest, or the same as the default, on shapes
    /// between this one and others ([`Table::lookup`]); may be empty. Where several distributions were measured, a time is
    /// the mean of the default divided by the lowest speed-up.
    pub candidates: Vec<CandidateTimes>,
}

impl ShapeRules {
    /// Whether the rules hold for an order of ranks on the entry's shape; an unknown order, on either side, matches
    /// any.
    pub fn holds_for_order(&self, order: RankOrder) -> bool {
        self.order
            .on_shape(self.shape)
            .may_be(order.on_shape(self.shape))
    }
}

/// One decision, which holds from `from_bytes` up to but excluding the next rule's `from_bytes`; the last rule has no
/// upper end.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rule {
    /// The smallest size in bytes that the rule holds for.
    pub from_bytes: u64,
    /// The library's default, or a registered algorithm with parameters that it takes.
    #[serde(flatten, serialize_with = "Candidate::in_parts")]
    #[cfg_attr(feature = "schema", schemars(with = "vocabulary::CandidateParts"))]
    pub candidate: Candidate,
    /// Expected time of the default divided by that of the candidate; none for the default.
    pub speedup: Option<f64>,
    /// The confidence of the decision.
    pub confidence: Confidence,
    /// Whether fresh launches confirmed that the candidate is faster than the default, at every measured
    /// size of the rule; false for the default, and in tables from before choices were confirmed.
    pub confirmed: bool,
    /// Whether `colltune validate` found the candidate slower or failing at these sizes. No policy deploys such a rule.
    /// The table's verdicts determine it ([`Table::mark_refuted`]), so it is not written.
    #[serde(skip)]
    pub refuted: bool,
}

impl Rule {
    /// An unconfirmed rule. The speed-up is rounded to three significant digits to keep the file short.
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
            refuted: false,
        }
    }
}

/// The measurements at one size of the candidate that the table chooses there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredPoint {
    /// Message size, as defined by [`message_size`].
    pub bytes: u64,
    /// Median time of the chosen candidate; positive and finite.
    pub seconds: f64,
    /// Median time of the library's default; positive and finite.
    pub default_seconds: f64,
    /// The default's time divided by the candidate's: the median of the ratios paired within launches, or the ratio of
    /// the two times if the paired ratios are unknown; positive and finite.
    pub speedup: f64,
}

impl MeasuredPoint {
    /// A point with times rounded to four significant digits to keep the file short; the speed-up is their ratio.
    pub fn new(bytes: u64, seconds: f64, default_seconds: f64) -> Self {
        let [seconds, default_seconds] = [seconds, default_seconds].map(round_for_table);
        Self {
            bytes,
            seconds,
            default_seconds,
            speedup: speedup_ratio(seconds, default_seconds),
        }
    }

    /// The point with another speed-up, rounded to four significant digits.
    pub fn with_speedup(self, speedup: f64) -> Self {
        Self {
            speedup: round_for_table(speedup),
            ..self
        }
    }

    /// Whether the speed-up is the ratio of the two times.
    pub fn is_ratio_of_times(&self) -> bool {
        self.speedup == speedup_ratio(self.seconds, self.default_seconds)
    }
}

/// The default's time divided by the candidate's, clamped to finite, positive numbers.
pub(crate) fn speedup_ratio(seconds: f64, default_seconds: f64) -> f64 {
    (default_seconds / seconds).clamp(f64::MIN_POSITIVE, f64::MAX)
}

/// A time or a speed-up rounded for tables, to four significant digits.
pub fn round_for_table(value: f64) -> f64 {
    round_significant(value, 4)
}

/// The nearest number that has only `digits` significant decimal digits.
pub(crate) fn round_significant(value: f64, digits: usize) -> f64 {
    let text = format!("{value:.*e}", digits.saturating_sub(1));
    text.parse().unwrap_or(value)
}

/// The certainty of a decision, from `low` over `medium` to `high`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Serialize, Deserialize, Display, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Confidence {
    /// Decided by the size of the difference alone, from fewer than 6 launches, or transferred from another shape.
    Low,
    /// Between the two: enough launches, but at some measured size of the rule the interval does not exclude 1, or does
    /// so at less than 95 %; or the requested size lies beyond the measured ones.
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
    pub fn from_name(name: &str) -> Option<Self> {
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

/// The definition of "message size" for a collective, as written in the file.
pub const fn message_size(collective: Collective) -> &'static str {
    match collective {
        Collective::Bcast
        | Collective::Reduce
        | Collective::Allreduce
        | Collective::Scan
        | Collective::Exscan => "bytes of one rank's vector",
        Collective::Gather | Collective::Allgather => "bytes of one rank's contribution",
        Collective::Scatter | Collective::ReduceScatterBlock => "bytes of one rank's part",
        Collective::ReduceScatter => "bytes of one rank's vector, the parts of all ranks together",
        Collective::Allgatherv | Collective::Gatherv => {
            "bytes of all ranks' contributions together"
        }
        Collective::Scatterv => "bytes of all ranks' parts together",
        Collective::Alltoall => "bytes of one block, from one rank to another",
        Collective::Alltoallv | Collective::Alltoallw => {
            "mean bytes of a block, from one rank to another"
        }
        Collective::Barrier => "always 0 bytes",
    }
}
