//! Parsers of arguments.

use std::ops::RangeInclusive;

use answers::{FindingState, Scope, TaskKind, WebhookEvent};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use launcher::LibraryChoice;
use libraries::LibraryName;
use regex::Regex;
use schedule::{Collective, Distribution, UnknownCollective};
use table::{Confidence, Deployment, OperatorClass};
use thiserror::Error;
use vocabulary::bounds::{Bounds, NODES, RANKS, SHARE};
use vocabulary::units::parse_byte_range;
use vocabulary::{CommShape, Library, RankOrder, Through};

/// An argument that cannot be read.
#[derive(Debug, Error)]
pub(crate) enum ValueError {
    #[error(
        "write name and version, as in openmpi-4.1.4; colltune knows {}",
        LibraryName::ALL.map(LibraryName::name).join(" and ")
    )]
    Library,
    #[error(
        "write {}, with or without a version as in openmpi-4.1.4",
        LibraryName::ALL.map(LibraryName::name).join(" or ")
    )]
    LibraryName,
    /// Not a collective.
    #[error(transparent)]
    Collective(#[from] UnknownCollective),
    #[error("write a regular expression: {0}")]
    Regex(String),
    #[error("write {SHARE}")]
    Share,
    #[error("write nodes and ranks per node, as in 2x4, with {RANKS} in all")]
    Shape,
    #[error("write {RANKS}")]
    Count,
    #[error("write {NODES}")]
    Nodes,
    #[error("write {0}, or a range as in 2..1K x2 (both ends included)")]
    Counts(Bounds<u32>),
    #[error("write a number of ranks, or a range as in 1..64 (both ends included), of at most {}", RANKS.largest_value())]
    Ranks,
}

/// The name of a collective.
pub(crate) fn collective_parser() -> impl TypedValueParser<Value = Collective> {
    PossibleValuesParser::new(Collective::ALL.map(Collective::name))
        .try_map(|name| Collective::from_name(&name).ok_or(UnknownCollective(name)))
}

/// A regular expression.
pub(crate) fn parse_regex(text: &str) -> Result<Regex, ValueError> {
    Regex::new(text).map_err(|error| {
        // The last line of its message says what is wrong; those before draw the place.
        let message = error.to_string();
        let problem = message.lines().last().unwrap_or(&message);
        ValueError::Regex(problem.trim_start_matches("error: ").to_owned())
    })
}

/// The distributions of irregular calls.
pub(crate) fn distribution_parser() -> impl TypedValueParser<Value = Distribution> {
    named_value_parser(Distribution::ALL, Distribution::name)
}

/// One of these values, by its name.
fn named_value_parser<T, const N: usize>(
    all: [T; N],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    PossibleValuesParser::new(all.map(name)).map(move |given| {
        let mut found = all.into_iter().filter(|value| name(*value) == given);
        // The parser accepts no other names.
        found.next().unwrap_or(all[0])
    })
}

/// `commutative` or `noncommutative`.
pub(crate) fn operator_class_parser() -> impl TypedValueParser<Value = OperatorClass> {
    named_value_parser(OperatorClass::ALL, <&str>::from)
}

/// `block`, `cyclic` or `other`.
pub(crate) fn rank_order_parser() -> impl TypedValueParser<Value = RankOrder> {
    named_value_parser(RankOrder::KNOWN, RankOrder::name)
}

/// `mpi` or `shared`.
pub(crate) fn transport_parser() -> impl TypedValueParser<Value = Through> {
    named_value_parser(Through::ALL.map(|(_, through)| through), Through::name)
}

pub(crate) fn confidence_parser() -> impl TypedValueParser<Value = Confidence> {
    named_value_parser(Confidence::ALL, <&str>::from)
}

/// The verb of a task.
pub(crate) fn task_kind_parser() -> impl TypedValueParser<Value = TaskKind> {
    named_value_parser(TaskKind::ALL, <&str>::from)
}

/// The state of a finding.
pub(crate) fn finding_state_parser() -> impl TypedValueParser<Value = FindingState> {
    named_value_parser(FindingState::ALL, <&str>::from)
}

/// An event of webhooks.
pub(crate) fn webhook_event_parser() -> impl TypedValueParser<Value = WebhookEvent> {
    named_value_parser(WebhookEvent::CHOICES, <&str>::from)
}

/// A permission of a token.
pub(crate) fn scope_parser() -> impl TypedValueParser<Value = Scope> {
    named_value_parser(Scope::ALL, <&str>::from)
}

/// `colltune` or `library`.
pub(crate) fn deployment_parser() -> impl TypedValueParser<Value = Deployment> {
    named_value_parser(Deployment::ALL, <&str>::from)
}

/// A library with its version, `openmpi-4.1.4`.
pub(crate) fn parse_library(text: &str) -> Result<Library, ValueError> {
    Library::from_text(text).ok_or(ValueError::Library)
}

/// A library with or without a version, `mpich` or `openmpi-4.1.4`.
pub(crate) fn parse_library_choice(text: &str) -> Result<LibraryChoice, ValueError> {
    let (name, version) = match text.split_once('-') {
        Some((name, version)) => (name, Some(version.to_owned())),
        None => (text, None),
    };
    let name = Some(libraries::find_library(name).ok_or(ValueError::LibraryName)?);
    if version.as_deref() == Some("") {
        return Err(ValueError::Library);
    }
    Ok(LibraryChoice {
        name,
        version,
        ..LibraryChoice::default()
    })
}

/// A shape, `2x4`.
pub(crate) fn parse_shape(text: &str) -> Result<CommShape, ValueError> {
    let (nodes, ppn) = text.split_once('x').ok_or(ValueError::Shape)?;
    let shape = match (nodes.parse(), ppn.parse()) {
        (Ok(nodes), Ok(ppn)) => CommShape::try_new(nodes, ppn),
        _ => None,
    };
    shape.ok_or(ValueError::Shape)
}

/// Numbers of ranks or nodes in one argument; clap would take a `Vec` for several arguments.
pub(crate) type Counts = Vec<u32>;

/// Numbers of ranks: `8`, `2..1K x2`.
pub(crate) fn parse_rank_counts(text: &str) -> Result<Counts, ValueError> {
    parse_bounded_counts(text, RANKS)
}

/// Numbers of nodes: `8`, `2..1K x2`.
pub(crate) fn parse_node_counts(text: &str) -> Result<Counts, ValueError> {
    parse_bounded_counts(text, NODES)
}

fn parse_bounded_counts(text: &str, bounds: Bounds<u32>) -> Result<Counts, ValueError> {
    let counts = parse_byte_range(text).unwrap_or_default();
    let counts = counts
        .into_iter()
        .map(|count| bounds.if_within(u32::try_from(count).ok()?));
    let counts = counts.collect::<Option<Counts>>();
    counts
        .filter(|counts| !counts.is_empty())
        .ok_or(ValueError::Counts(bounds))
}

/// A number of nodes within [`NODES`].
pub(crate) fn parse_node_count(text: &str) -> Result<u32, ValueError> {
    let count = text.parse().ok().and_then(|count| NODES.if_within(count));
    count.ok_or(ValueError::Nodes)
}

/// A number of ranks within [`RANKS`].
pub(crate) fn parse_rank_count(text: &str) -> Result<u32, ValueError> {
    let count = text.parse().ok().and_then(|count| RANKS.if_within(count));
    count.ok_or(ValueError::Count)
}

/// A share within [`SHARE`], as in 0.05.
pub(crate) fn parse_share(text: &str) -> Result<f64, ValueError> {
    let share: Option<f64> = text.parse().ok();
    share
        .and_then(|share| SHARE.if_within(share))
        .ok_or(ValueError::Share)
}

/// A number of ranks or a range that includes both ends: `8`, `1..64`.
pub(crate) fn parse_rank_range(text: &str) -> Result<RangeInclusive<u32>, ValueError> {
    let (first, last) = match text.split_once("..") {
        Some((first, last)) => (parse_rank(first)?, parse_rank(last)?),
        None => (parse_rank(text)?, parse_rank(text)?),
    };
    if first > last || !RANKS.contains(first) || !RANKS.contains(last) {
        return Err(ValueError::Ranks);
    }
    Ok(first..=last)
}

fn parse_rank(text: &str) -> Result<u32, ValueError> {
    text.trim().parse().map_err(|_| ValueError::Ranks)
}
