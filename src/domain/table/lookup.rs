//! Queries to a table.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use schedule::Collective;
use vocabulary::{Candidate, CommShape, RankOrder};

use crate::interpolate::Times;
use crate::{
    Confidence, Deployment, Deployments, OperatorClass, Operators, Provenance, Rule, RuleSource,
    ShapeRules, Table,
};

/// A call to decide about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Query {
    /// The collective.
    pub collective: Collective,
    /// The communicator's shape.
    pub shape: CommShape,
    /// The order of ranks on the nodes; [`RankOrder::Unknown`] matches any.
    pub order: RankOrder,
    /// Message size, as defined by [`crate::message_size`].
    pub bytes: u64,
    /// Whether the operator commutes; ignored where nothing is combined.
    pub operators: OperatorClass,
    /// The deployment in which the answer is used.
    pub deployment: Deployment,
}

impl Query {
    /// The queries about calls of 0 bytes on a shape: for each deployment and, where something is combined, for both
    /// classes of operators.
    pub(crate) fn all_on_shape(
        collective: Collective,
        shape: CommShape,
        order: RankOrder,
    ) -> impl Iterator<Item = Self> {
        let classes = if collective.is_reduction() {
            &OperatorClass::ALL[..]
        } else {
            &[OperatorClass::Commutative]
        };
        let of_deployment = move |deployment| {
            classes.iter().map(move |&operators| Self {
                collective,
                shape,
                order,
                bytes: 0,
                operators,
                deployment,
            })
        };
        Deployment::ALL.into_iter().flat_map(of_deployment)
    }
}

/// A table's answer to a [`Query`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision<'t> {
    /// The query.
    pub query: Query,
    /// The candidate to use.
    pub candidate: &'t Candidate,
    /// Expected time of the candidate on the shape that `matched` names; `None` without evidence. [`Table::lookup`]
    /// defines it for sizes that were not measured.
    pub expected_seconds: Option<f64>,
    /// Expected time of the library's default, at the same shape.
    pub default_seconds: Option<f64>,
    /// The default's time divided by the candidate's: from the measured sizes ([`crate::MeasuredPoint::speedup`]),
    /// otherwise from the rule; 1 for the default itself. It is a median of paired ratios and may differ from the ratio
    /// of the expected times.
    pub speedup: Option<f64>,
    /// The confidence of the decision.
    pub confidence: Confidence,
    /// Whether fresh launches confirmed, on this shape, that the candidate is faster than the default.
    pub confirmed: bool,
    /// The way in which the shape was found in the table.
    pub matched: ShapeMatch,
    /// The rule that decided.
    pub rule: RulePlace,
    /// The properties that decide whether it is deployed; `None` if the table has no rule for the query.
    pub(crate) basis: Option<Basis<'t>>,
}

/// The properties of a rule that determine whether a policy deploys it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Basis<'t> {
    /// Whether the rule is confirmed on the shape that it was made for.
    pub(crate) confirmed: bool,
    /// The confidence of the rule on that shape.
    pub(crate) confidence: Confidence,
    /// Whether a validation refuted the rule on that shape.
    pub(crate) refuted: bool,
    /// The table's provenance.
    pub(crate) provenance: &'t Provenance,
    /// All entries of the collective.
    pub(crate) entries: &'t [ShapeRules],
}

/// Apart from the other entries, whose order makes no difference.
impl PartialEq for Basis<'_> {
    fn eq(&self, other: &Self) -> bool {
        let Self {
            confirmed,
            confidence,
            refuted,
            provenance,
            entries: _,
        } = *self;
        confirmed == other.confirmed
            && confidence == other.confidence
            && refuted == other.refuted
            && provenance == other.provenance
    }
}

impl Decision<'_> {
    /// The answer of a table without rules for a query: the library's default.
    pub const fn without_rule(query: &Query) -> Self {
        Self {
            query: *query,
            candidate: &Candidate::Default,
            expected_seconds: None,
            default_seconds: None,
            speedup: Some(1.0),
            confidence: Confidence::Low,
            confirmed: false,
            matched: ShapeMatch::Absent,
            rule: RulePlace::Absent(*query),
            basis: None,
        }
    }
}

/// The way in which a query's shape was found in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShapeMatch {
    /// Exactly this shape was measured.
    Measured,
    /// The shape was not measured; times are the model's.
    Model,
    /// The shape was not measured; times are interpolated between these two shapes, with fewer and with more ranks.
    Interpolated(CommShape, CommShape),
    /// The shape was not measured; this one is used instead.
    Nearest(CommShape),
    /// The shape was not measured in the requested order of ranks; this shape and order are used instead.
    OtherOrder(CommShape, RankOrder),
    /// The table has no entry for the collective, operator class and deployment.
    Absent,
}

impl ShapeMatch {
    /// Whether another shape, or another order of ranks, is used instead of the requested one.
    pub const fn is_stand_in(self) -> bool {
        matches!(self, Self::Nearest(_) | Self::OtherOrder(..))
    }

    /// The shape and the order of ranks that are used instead of the requested ones: `2x4`, or `2x4 with ranks in block
    /// order`.
    pub fn describe_stand_in(self) -> Option<String> {
        match self {
            Self::Nearest(shape) => Some(shape.to_string()),
            Self::OtherOrder(shape, order) => Some(format!("{shape} with ranks in {order} order")),
            Self::Measured | Self::Model | Self::Interpolated(..) | Self::Absent => None,
        }
    }
}

impl fmt::Display for ShapeMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Measured => f.pad("measured"),
            Self::Model => f.pad("model"),
            Self::Interpolated(low, high) => {
                f.pad(&format!("interpolated between {low} and {high}"))
            }
            Self::Nearest(_) | Self::OtherOrder(..) => f.pad(&format!(
                "nearest {}",
                self.describe_stand_in().unwrap_or_default()
            )),
            Self::Absent => f.pad("none"),
        }
    }
}

/// The place of a rule in its table.
///
/// Displayed as in `allreduce, 2x4, cyclic order, commutative operators, from 1500 bytes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RulePlace {
    /// A rule of the table.
    Rule {
        /// Its collective.
        collective: Collective,
        /// Its shape.
        shape: CommShape,
        /// Its order of ranks.
        order: RankOrder,
        /// Its operator class.
        operators: Operators,
        /// Its deployment.
        deployments: Deployments,
        /// Its first size.
        from_bytes: u64,
    },
    /// No rule of the table: the library's default is used for lack of a rule.
    Absent(Query),
}

impl fmt::Display for RulePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule {
                collective,
                shape,
                order,
                operators,
                deployments,
                from_bytes,
            } => {
                write!(f, "{collective}, {shape}, ")?;
                if let Some(order) = order.known_on_shape(*shape) {
                    write!(f, "{order} order, ")?;
                }
                if *operators != Operators::Any {
                    write!(f, "{operators} operators, ")?;
                }
                if *deployments != Deployments::Colltune {
                    write!(f, "{deployments} deployment, ")?;
                }
                write!(f, "from {from_bytes} bytes")
            }
            Self::Absent(query) => {
                write!(f, "no rule for {}", query.collective)?;
                if query.collective.is_reduction() {
                    write!(f, " with {} operators", query.operators)?;
                }
                match query.deployment {
                    Deployment::Colltune => Ok(()),
                    Deployment::Library => f.write_str(" by the library's own settings"),
                }
            }
        }
    }
}

impl Table {
    /// Decides about a call. The decision depends only on the table and the query, so ranks with equal queries get
    /// equal decisions. This function allocates only when it interpolates between shapes.
    ///
    /// *Shape.* The entries of the collective for the deployment and the operator class (or for any class, if the
    /// collective combines nothing) are tried in this order:
    ///
    /// 1. The first entry of exactly that shape whose order of ranks may be the requested one ([`RankOrder::may_be`]).
    /// 2. If entries with the times of candidates ([`ShapeRules::candidates`]) enclose the shape, the candidate with
    ///    the shortest time interpolated between two of them. These are the nearest with fewer and with more ranks that
    ///    have as many ranks per node, or else as many nodes, and a power of two ranks exactly if the requested shape
    ///    has one. Such a decision is marked, has low confidence and is not confirmed.
    /// 3. The nearest entry. Entries whose order may be the requested one come first, then those that have a power of
    ///    two ranks exactly if the requested shape has one, then those with the nearer number of nodes by ratio (of
    ///    equal ratios, the smaller number), then those with the nearer number of ranks per node. Such a stand-in is
    ///    marked and has low confidence.
    /// 4. If there is no entry, the library's default, with low confidence and an unknown time.
    ///
    /// *Size.* The last rule of the entry whose `from_bytes` does not exceed the message size decides. The size is
    /// ignored where a collective does not decide by size ([`Collective::decides_by_size`]); there the expected times
    /// are unknown, unless there is no data, and the speed-up is that of the rule.
    ///
    /// *Times.* At measured sizes, times are as measured; between them, they are interpolated linearly in the
    /// logarithms of size and time. Below the smallest size they are constant. Above the largest they are proportional
    /// to the size, since bandwidth dominates there, and the confidence is one step lower.
    ///
    /// Each measured point belongs to the rule that holds at its size and gives the time of that rule's candidate. If a
    /// point next to the size belongs to another rule than the deciding one, only the default's time is found in this
    /// way. The candidate's time is then the default's divided by the speed-up at the nearest measured point of the
    /// rule or, without such a point, by the speed-up of the rule. Between measured sizes, speed-ups are interpolated
    /// like times; beyond them, the speed-up at the nearest measured size holds.
    pub fn lookup(&self, query: &Query) -> Decision<'_> {
        let query = &Query {
            bytes: if query.collective.decides_by_size() {
                query.bytes
            } else {
                0
            },
            ..*query
        };
        let decide = || {
            let (entry, matched) = self.answering_entry(query)?;
            let rule = rule_at(&entry.rules, query.bytes)?;
            let candidate = match &entry {
                Cow::Borrowed(entry) => &rule_at(&entry.rules, query.bytes)?.candidate,
                Cow::Owned(_) => self.own_candidate(query.collective, &rule.candidate),
            };
            Some(decide_by_rule(
                query, &entry, rule, matched, candidate, self,
            ))
        };
        decide().unwrap_or(Decision::without_rule(query))
    }

    /// The entry that answers a query, and how its shape was found.
    pub(crate) fn answering_entry(
        &self,
        query: &Query,
    ) -> Option<(Cow<'_, ShapeRules>, ShapeMatch)> {
        let nearest = self.nearest_entry(query)?;
        if !nearest.is_for_shape_of(query)
            && let Some((entry, [low, high])) = self.interpolated_rules(query)
        {
            return Some((Cow::Owned(entry), ShapeMatch::Interpolated(low, high)));
        }
        Some((Cow::Borrowed(nearest), nearest.shape_match(query)))
    }

    /// The table's own copy of a candidate that has times in the table.
    fn own_candidate(&self, collective: Collective, candidate: &Candidate) -> &Candidate {
        let entries = self.collectives.get(&collective).into_iter().flatten();
        let mut known = entries.flat_map(|entry| &entry.candidates);
        let found = known.find(|times| times.candidate == *candidate);
        found.map_or(&Candidate::Default, |times| &times.candidate)
    }

    /// The nearest entry for a query's shape, operator class and deployment.
    pub(crate) fn nearest_entry(&self, query: &Query) -> Option<&ShapeRules> {
        let entries = self.collectives.get(&query.collective)?;
        let covering = entries.iter().filter(|entry| entry.holds_for_query(query));
        covering.min_by(|a, b| {
            shape_distance(a, query)
                .partial_cmp(&shape_distance(b, query))
                .unwrap_or(Ordering::Equal)
        })
    }
}

impl ShapeRules {
    /// Whether the rules hold for a query's operator class and deployment.
    pub(crate) fn holds_for_query(&self, query: &Query) -> bool {
        let combines = query.collective.is_reduction();
        (!combines || self.operators.hold_for(query.operators))
            && self.deployments.hold_for(query.deployment)
    }

    /// Whether the entry is for the shape of a query, and not for another order of ranks.
    pub(crate) fn is_for_shape_of(&self, query: &Query) -> bool {
        self.shape == query.shape && !is_in_other_order(self, query)
    }

    /// How the shape of a query is found in this entry.
    pub(crate) fn shape_match(&self, query: &Query) -> ShapeMatch {
        match (self.is_for_shape_of(query), self.source) {
            (true, RuleSource::Model | RuleSource::Interpolated) => ShapeMatch::Model,
            (true, RuleSource::Measured) => ShapeMatch::Measured,
            _ if is_in_other_order(self, query) => ShapeMatch::OtherOrder(self.shape, self.order),
            _ => ShapeMatch::Nearest(self.shape),
        }
    }
}

/// Whether the ranks of an entry were certainly in another order than the requested one, on shapes where the order
/// makes a difference.
pub(crate) fn is_in_other_order(entry: &ShapeRules, query: &Query) -> bool {
    let have = entry.order.known_on_shape(entry.shape);
    let asked = query.order.known_on_shape(query.shape);
    have.zip(asked).is_some_and(|(have, asked)| have != asked)
}

/// The distance of an entry's shape from the requested one: whether its ranks were in another order; whether only one
/// of the two has a power of two ranks, since many algorithms are made for one of these cases; then the ratio of the
/// numbers of nodes, the smaller number first; then the same for the ranks per node.
fn shape_distance(entry: &ShapeRules, query: &Query) -> (bool, bool, f64, u32, f64, u32) {
    let (have, asked) = (entry.shape, query.shape);
    let ratio = |a: u32, b: u32| f64::from(a.max(b)) / f64::from(a.min(b).max(1));
    (
        is_in_other_order(entry, query),
        have != asked && have.ranks().is_power_of_two() != asked.ranks().is_power_of_two(),
        ratio(have.nodes, asked.nodes),
        have.nodes,
        ratio(have.ppn, asked.ppn),
        have.ppn,
    )
}

/// The rule for a size, of rules by ascending size: the last that starts at or below it.
pub fn rule_at(rules: &[Rule], bytes: u64) -> Option<&Rule> {
    let after = rules.partition_point(|rule| rule.from_bytes <= bytes);
    rules.get(after.checked_sub(1)?)
}

fn decide_by_rule<'t>(
    query: &Query,
    entry: &ShapeRules,
    rule: &Rule,
    matched: ShapeMatch,
    candidate: &'t Candidate,
    table: &'t Table,
) -> Decision<'t> {
    let is_default = rule.candidate == Candidate::Default;
    // The times at the smallest size say nothing about a call of unknown size.
    let knows_size = query.collective.decides_by_size() || !query.collective.has_data();
    let times = Times::at_size(entry, rule, query.bytes).filter(|_| knows_size);
    let default_seconds = times.map(|times| times.default_seconds);
    let expected_seconds = times.and_then(|times| times.seconds);
    let exact = matches!(matched, ShapeMatch::Measured | ShapeMatch::Model);
    let confidence = match times {
        _ if !exact => Confidence::Low,
        Some(Times { beyond: true, .. }) => rule.confidence.lowered(),
        _ => rule.confidence,
    };
    Decision {
        query: *query,
        candidate,
        expected_seconds,
        default_seconds,
        speedup: if is_default {
            Some(1.0)
        } else {
            times.map_or(rule.speedup, |times| times.speedup)
        },
        confidence,
        confirmed: exact && rule.confirmed,
        matched,
        rule: entry.rule_place(query.collective, rule.from_bytes),
        basis: Some(Basis {
            confirmed: rule.confirmed,
            confidence: rule.confidence,
            refuted: rule.refuted,
            provenance: &table.provenance,
            entries: table
                .collectives
                .get(&query.collective)
                .map_or(&[], Vec::as_slice),
        }),
    }
}
