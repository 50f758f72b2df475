//! Asking a table.

use std::cmp::Ordering;
use std::fmt;

use schedule::Collective;
use vocabulary::{Candidate, CommShape};

use crate::interpolate::Times;
use crate::{
    Confidence, Deployment, Deployments, OperatorClass, Operators, Rule, RuleSource, ShapeRules,
    Table,
};

/// A call to decide about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Query {
    /// What is called.
    pub collective: Collective,
    /// On which ranks.
    pub shape: CommShape,
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
    /// The default's time divided by the candidate's: from the expected times, else as the rule
    /// says; 1 for the default itself.
    pub speedup: Option<f64>,
    /// How certain the decision is.
    pub confidence: Confidence,
    /// Whether fresh launches confirmed, on this shape, that the candidate is faster than the default.
    pub confirmed: bool,
    /// Whether the shape was measured.
    pub matched: ShapeMatch,
    /// The rule that decided.
    pub rule: RulePlace,
}

/// How a query's shape was found in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShapeMatch {
    /// The very shape was measured.
    Measured,
    /// It was not, but the model was asked about this very shape.
    Model,
    /// It was not: this one stands in for it.
    Nearest(CommShape),
    /// The table has nothing for the collective, operator class and deployment.
    Absent,
}

impl fmt::Display for ShapeMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Measured => f.pad("measured"),
            Self::Model => f.pad("model"),
            Self::Nearest(shape) => f.pad(&format!("nearest {shape}")),
            Self::Absent => f.pad("none"),
        }
    }
}

/// Where a rule stands in its table.
///
/// Displayed as in `allreduce, 1x2, commutative operators, from 1500 bytes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RulePlace {
    /// A rule of the table.
    Rule {
        /// Its collective.
        collective: Collective,
        /// Its shape.
        shape: CommShape,
        /// Its operator class.
        operators: Operators,
        /// Its deployment.
        deployments: Deployments,
        /// Its first size.
        from_bytes: u64,
    },
    /// No rule of the table: the library's default for lack of a better answer.
    Absent {
        /// The collective asked for.
        collective: Collective,
        /// The operator class asked for.
        operators: OperatorClass,
        /// The deployment asked for.
        deployment: Deployment,
    },
}

impl fmt::Display for RulePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule {
                collective,
                shape,
                operators,
                deployments,
                from_bytes,
            } => {
                write!(f, "{collective}, {shape}, ")?;
                if *operators != Operators::Any {
                    write!(f, "{operators} operators, ")?;
                }
                if *deployments != Deployments::Colltune {
                    write!(f, "{deployments} deployment, ")?;
                }
                write!(f, "from {from_bytes} bytes")
            }
            Self::Absent {
                collective,
                operators,
                deployment,
            } => {
                write!(f, "no rule for {collective}")?;
                if collective.is_reduction() {
                    write!(f, " with {operators} operators")?;
                }
                match deployment {
                    Deployment::Colltune => Ok(()),
                    Deployment::Library => f.write_str(" by the library's own settings"),
                }
            }
        }
    }
}

impl Table {
    /// Decides about a call. Depends on nothing but the table and the query, so that ranks that
    /// ask the same get the same; allocates nothing.
    ///
    /// *Shape.* Among the entries of the collective that hold for the deployment and the operator
    /// class (any, if the collective combines nothing): the entry of exactly that shape; else the
    /// nearest. Nearer is a shape with a power of two ranks if such a one is asked for, and one without
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
    /// the speed-up that the rule states.
    pub fn lookup(&self, query: &Query) -> Decision<'_> {
        let entries = self
            .collectives
            .get(&query.collective)
            .map_or(&[][..], Vec::as_slice);
        let entry = nearest(entries, query);
        match entry.and_then(|entry| Some((entry, rule_at(&entry.rules, query.bytes)?))) {
            Some((entry, rule)) => decide(query, entry, rule),
            None => unknown(query),
        }
    }
}

/// The entry to use for a query's shape and operator class.
fn nearest<'t>(entries: &'t [ShapeRules], query: &Query) -> Option<&'t ShapeRules> {
    let combines = query.collective.is_reduction();
    let covering = entries
        .iter()
        .filter(|e| !combines || e.operators.cover(query.operators))
        .filter(|e| e.deployments.cover(query.deployment));
    let asked = query.shape;
    covering.min_by(|a, b| {
        distance(a.shape, asked)
            .partial_cmp(&distance(b.shape, asked))
            .unwrap_or(Ordering::Equal)
    })
}

/// How far a measured shape is from the one that is asked for: whether one has a power of two ranks and
/// the other has not, since many algorithms are made for the one or the other; then the ratio of the
/// numbers of nodes, the smaller number first, then that of the ranks per node.
fn distance(have: CommShape, asked: CommShape) -> (bool, f64, u32, f64, u32) {
    let ratio = |a: u32, b: u32| f64::from(a.max(b)) / f64::from(a.min(b).max(1));
    (
        have != asked && have.ranks().is_power_of_two() != asked.ranks().is_power_of_two(),
        ratio(have.nodes, asked.nodes),
        have.nodes,
        ratio(have.ppn, asked.ppn),
        have.ppn,
    )
}

/// The last rule that starts at or below a size.
pub(crate) fn rule_at(rules: &[Rule], bytes: u64) -> Option<&Rule> {
    let after = rules.partition_point(|rule| rule.from_bytes <= bytes);
    rules.get(after.checked_sub(1)?)
}

fn decide<'t>(query: &Query, entry: &'t ShapeRules, rule: &'t Rule) -> Decision<'t> {
    let is_default = rule.candidate == Candidate::Default;
    let times = Times::at(entry, rule, query.bytes);
    let default_seconds = times.map(|times| times.default_seconds);
    let expected_seconds = times.and_then(|times| times.seconds);
    let ratio = expected_seconds
        .zip(default_seconds)
        .map(|(ours, default)| default / ours);
    let exact = entry.shape == query.shape;
    let confidence = match times {
        _ if !exact => Confidence::Low,
        Some(Times { beyond: true, .. }) => rule.confidence.lowered(),
        _ => rule.confidence,
    };
    Decision {
        query: *query,
        candidate: &rule.candidate,
        expected_seconds,
        default_seconds,
        speedup: if is_default {
            Some(1.0)
        } else {
            ratio.or(rule.speedup)
        },
        confidence,
        confirmed: exact && rule.confirmed,
        matched: if exact && entry.source == RuleSource::Model {
            ShapeMatch::Model
        } else if exact {
            ShapeMatch::Measured
        } else {
            ShapeMatch::Nearest(entry.shape)
        },
        rule: RulePlace::Rule {
            collective: query.collective,
            shape: entry.shape,
            operators: entry.operators,
            deployments: entry.deployments,
            from_bytes: rule.from_bytes,
        },
    }
}

fn unknown<'t>(query: &Query) -> Decision<'t> {
    Decision {
        query: *query,
        candidate: &Candidate::Default,
        expected_seconds: None,
        default_seconds: None,
        speedup: Some(1.0),
        confidence: Confidence::Low,
        confirmed: false,
        matched: ShapeMatch::Absent,
        rule: RulePlace::Absent {
            collective: query.collective,
            operators: query.operators,
            deployment: query.deployment,
        },
    }
}
