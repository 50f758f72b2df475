//! Asking a table.

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
    /// What is called.
    pub collective: Collective,
    /// The ranks.
    pub shape: CommShape,
    /// The order in which these stand on the nodes; [`RankOrder::Unknown`] asks for any.
    pub order: RankOrder,
    /// Message size, as defined by [`crate::message_size`].
    pub bytes: u64,
    /// Whether the operator commutes; without meaning where nothing is combined.
    pub operators: OperatorClass,
    /// How the answer will be used.
    pub deployment: Deployment,
}

/// A table's answer to a [`Query`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision<'t> {
    /// The question.
    pub query: Query,
    /// What to use.
    pub candidate: &'t Candidate,
    /// Expected time of the candidate, at the shape that `matched` names; unknown without
    /// evidence. See [`Table::lookup`] for sizes that were not measured.
    pub expected_seconds: Option<f64>,
    /// Expected time of the library's default, at the same shape.
    pub default_seconds: Option<f64>,
    /// The default's time divided by the candidate's: from the measured sizes ([`crate::MeasuredPoint::speedup`]),
    /// else as the rule states; 1 for the default itself. Being a median of paired ratios, it may differ from the
    /// ratio of the expected times.
    pub speedup: Option<f64>,
    /// How certain the decision is.
    pub confidence: Confidence,
    /// Whether fresh launches confirmed, on this shape, that the candidate is faster than the default.
    pub confirmed: bool,
    /// Whether the shape was measured.
    pub matched: ShapeMatch,
    /// The rule that decided.
    pub rule: RulePlace,
    /// What decides whether it is deployed; `None` if the table has no rule for the query.
    pub(crate) basis: Option<Basis<'t>>,
}

/// What a decision rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Basis<'t> {
    /// Whether the rule is confirmed on the shape that it was made for.
    pub(crate) confirmed: bool,
    /// The rule's confidence there.
    pub(crate) confidence: Confidence,
    /// Where the table is from.
    pub(crate) provenance: &'t Provenance,
}

impl Decision<'_> {
    /// The answer of a table without rules for a query: the library's default.
    pub const fn absent(query: &Query) -> Self {
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

/// How a query's shape was found in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShapeMatch {
    /// The very shape was measured.
    Measured,
    /// The shape was not measured; times are the model's.
    Model,
    /// The shape was not measured; times are interpolated between these two, with fewer and with more ranks.
    Interpolated(CommShape, CommShape),
    /// The shape was not measured; this one is used instead.
    Nearest(CommShape),
    /// The shape was not measured with ranks in the order asked for; this shape and order are used instead.
    OtherOrder(CommShape, RankOrder),
    /// The table has nothing for the collective, operator class and deployment.
    Absent,
}

impl ShapeMatch {
    /// Whether another shape, or another order of ranks, is used instead of the one asked for.
    pub const fn is_stand_in(self) -> bool {
        matches!(self, Self::Nearest(_) | Self::OtherOrder(..))
    }

    /// The shape and the order of ranks that are used instead of those asked for: `2x4`, or `2x4 with ranks
    /// in block order`.
    pub fn stand_in(self) -> Option<String> {
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
            Self::Nearest(_) | Self::OtherOrder(..) => {
                f.pad(&format!("nearest {}", self.stand_in().unwrap_or_default()))
            }
            Self::Absent => f.pad("none"),
        }
    }
}

/// Where a rule stands in its table.
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
    /// No rule of the table: the library's default for lack of a better answer.
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
                if let Some(order) = order.told_on(*shape) {
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
    /// Decides about a call. Depends only on the table and the query, so that ranks that
    /// ask the same get the same; allocates only where it interpolates between shapes.
    ///
    /// *Shape.* Among the entries of the collective that hold for the deployment and the operator
    /// class (any, if the collective combines nothing): the entry of exactly that shape whose order of
    /// ranks may be the one asked for ([`RankOrder::may_be`]), the first of several. Else, if entries with the times of
    /// candidates ([`ShapeRules::candidates`]) enclose the shape, what is the fastest by times that are interpolated
    /// between two of them: the nearest with fewer and with more ranks that have as many ranks a node, or else as many
    /// nodes, and a power of two ranks if the one asked for has. Such a decision is marked, of low confidence and not
    /// confirmed. Else the nearest. Nearer is a shape whose order may be the one asked for; then one with a power of two ranks if
    /// such a one is asked for, and one without
    /// if not; then one whose number of nodes is nearer by ratio, the smaller of two; then one whose ranks per node are.
    /// Such a stand-in is marked, and of low confidence. Without any entry the answer is the library's
    /// default, of low confidence, its time unknown.
    ///
    /// *Size.* The last rule of the entry whose `from_bytes` does not exceed the message size.
    ///
    /// *Times.* At measured sizes as measured; between them interpolated linearly in the
    /// logarithms of size and time; below the smallest as at the smallest; above the largest
    /// proportional to the size, as bandwidth rules there, and the confidence is one step lower.
    ///
    /// Each measured point belongs to the rule that holds at its size: it tells the time of that
    /// rule's candidate. If not all points that surround the size belong to the rule that decides,
    /// only the default's time is found in this way, and that of the candidate is the default's
    /// divided by the speed-up at the nearest measured point of the rule; without such a point, by
    /// the speed-up that the rule states. Between measured sizes, speed-ups are interpolated as times are; beyond
    /// them, the speed-up at the nearest one holds.
    pub fn lookup(&self, query: &Query) -> Decision<'_> {
        let decide = || {
            let (entry, matched) = self.answering(query)?;
            let rule = rule_at(&entry.rules, query.bytes)?;
            let candidate = match &entry {
                Cow::Borrowed(entry) => &rule_at(&entry.rules, query.bytes)?.candidate,
                Cow::Owned(_) => self.known(query.collective, &rule.candidate),
            };
            Some(decide(
                query,
                &entry,
                rule,
                matched,
                candidate,
                &self.provenance,
            ))
        };
        decide().unwrap_or(Decision::absent(query))
    }

    /// The entry that answers a query, and how the shape is found in it.
    pub(crate) fn answering(&self, query: &Query) -> Option<(Cow<'_, ShapeRules>, ShapeMatch)> {
        let nearest = self.nearest(query)?;
        if !nearest.is_of(query)
            && let Some((entry, [low, high])) = self.between(query)
        {
            return Some((Cow::Owned(entry), ShapeMatch::Interpolated(low, high)));
        }
        Some((Cow::Borrowed(nearest), nearest.matched(query)))
    }

    /// A candidate of which the table has times, as the table has it.
    fn known(&self, collective: Collective, candidate: &Candidate) -> &Candidate {
        let entries = self.collectives.get(&collective).into_iter().flatten();
        let mut known = entries.flat_map(|entry| &entry.candidates);
        let found = known.find(|times| times.candidate == *candidate);
        found.map_or(&Candidate::Default, |times| &times.candidate)
    }

    /// The entry to use for a query's shape, operator class and deployment.
    pub(crate) fn nearest(&self, query: &Query) -> Option<&ShapeRules> {
        let entries = self.collectives.get(&query.collective)?;
        let covering = entries.iter().filter(|entry| entry.covers(query));
        covering.min_by(|a, b| {
            distance(a, query)
                .partial_cmp(&distance(b, query))
                .unwrap_or(Ordering::Equal)
        })
    }
}

impl ShapeRules {
    /// Whether the rules hold for a query's operator class and deployment.
    pub(crate) fn covers(&self, query: &Query) -> bool {
        let combines = query.collective.is_reduction();
        (!combines || self.operators.cover(query.operators))
            && self.deployments.cover(query.deployment)
    }

    /// Whether the entry is for the shape of a query, and not for another order of ranks.
    pub(crate) fn is_of(&self, query: &Query) -> bool {
        self.shape == query.shape && !is_in_other_order(self, query)
    }

    /// How the shape of a query is found in this entry.
    pub(crate) fn matched(&self, query: &Query) -> ShapeMatch {
        match (self.is_of(query), self.source) {
            (true, RuleSource::Model | RuleSource::Interpolated) => ShapeMatch::Model,
            (true, RuleSource::Measured) => ShapeMatch::Measured,
            _ if is_in_other_order(self, query) => ShapeMatch::OtherOrder(self.shape, self.order),
            _ => ShapeMatch::Nearest(self.shape),
        }
    }
}

/// Whether the ranks of an entry certainly stood in another order than those asked for, on shapes where the
/// order makes a difference.
pub(crate) fn is_in_other_order(entry: &ShapeRules, query: &Query) -> bool {
    let have = entry.order.told_on(entry.shape);
    let asked = query.order.told_on(query.shape);
    have.zip(asked).is_some_and(|(have, asked)| have != asked)
}

/// How far an entry's shape is from the one that is asked for: whether its ranks stood in another order;
/// whether one has a power of two ranks and the other has not, since many algorithms are made for the one or
/// the other; then the ratio of the numbers of nodes, the smaller number first, then that of the ranks per
/// node.
fn distance(entry: &ShapeRules, query: &Query) -> (bool, bool, f64, u32, f64, u32) {
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

/// The rule that holds for a size, of rules by ascending size: the last that starts at or below it.
pub fn rule_at(rules: &[Rule], bytes: u64) -> Option<&Rule> {
    let after = rules.partition_point(|rule| rule.from_bytes <= bytes);
    rules.get(after.checked_sub(1)?)
}

fn decide<'t>(
    query: &Query,
    entry: &ShapeRules,
    rule: &Rule,
    matched: ShapeMatch,
    candidate: &'t Candidate,
    provenance: &'t Provenance,
) -> Decision<'t> {
    let is_default = rule.candidate == Candidate::Default;
    let times = Times::at(entry, rule, query.bytes);
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
        speedup: match is_default {
            true => Some(1.0),
            false => times.map_or(rule.speedup, |times| times.speedup),
        },
        confidence,
        confirmed: exact && rule.confirmed,
        matched,
        rule: RulePlace::Rule {
            collective: query.collective,
            shape: entry.shape,
            order: entry.order,
            operators: entry.operators,
            deployments: entry.deployments,
            from_bytes: rule.from_bytes,
        },
        basis: Some(Basis {
            confirmed: rule.confirmed,
            confidence: rule.confidence,
            provenance,
        }),
    }
}
