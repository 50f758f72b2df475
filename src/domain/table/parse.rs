//! The strict reader of a table's text.

use std::collections::BTreeMap;
use std::path::Path;

use printable::is_unprintable;
use schedule::Collective;
use serde::Deserialize;
use strict_yaml::{Diagnostic, Document, Field, Kind, Mistake, Scalar, Verbatim};
use vocabulary::RankOrder;
use vocabulary::bounds::{BYTES, Bounds, SPEEDUP, TIME};
use vocabulary::units::{UnitError, parse_bytes};

use crate::candidate_times::{self, TimesDefinition};
use crate::rule::{self, Group, RuleDefinition};
use crate::types::{VERSION_WITH_NONBLOCKING, speedup_ratio};
use crate::verdicts::{self, VerdictDefinition};
use crate::{
    Deployments, FORMAT_VERSION, MeasuredPoint, Operators, Problem, Provenance, Rule, RuleSource,
    ShapeRules, Table, TableError, decimal, message_size, nonblocking, unknown_collective,
};

/// The word before the version in `format`.
pub(crate) const FORMAT_NAME: &str = "colltune-table";
const KIND: Kind = Kind {
    name: "a table",
    start: "a table begins with `format: ...`; colltune writes tables itself",
    reference: None,
};

pub(crate) type Checked<T> = Result<T, Box<Diagnostic>>;

/// The whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TableDefinition {
    #[serde(rename = "format")]
    _format: Verbatim,
    name: String,
    provenance: Provenance,
    collectives: BTreeMap<String, CollectiveDefinition>,
    #[serde(default)]
    verdicts: Vec<VerdictDefinition>,
    nonblocking: Option<SectionDefinition>,
}

/// The rules for nonblocking calls.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SectionDefinition {
    provenance: Provenance,
    collectives: BTreeMap<String, CollectiveDefinition>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CollectiveDefinition {
    message_size: String,
    shapes: Vec<ShapeDefinition>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ShapeDefinition {
    nodes: u32,
    ppn: u32,
    order: Option<RankOrder>,
    operators: Option<Operators>,
    deployment: Option<Deployments>,
    source: Option<RuleSource>,
    rules: Vec<RuleDefinition>,
    measured: Option<MeasuredDefinition>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MeasuredDefinition {
    bytes: Vec<Scalar>,
    microseconds: Vec<Verbatim>,
    default_microseconds: Vec<Verbatim>,
    speedup: Option<Vec<Verbatim>>,
    #[serde(default)]
    candidates: Vec<TimesDefinition>,
}

impl Table {
    /// Reads the text of a table; errors name `path`.
    ///
    /// # Errors
    /// [`TableError::Invalid`] for the first problem found: anything but plain YAML, a newer format, an unknown,
    /// missing or doubled key, a wrong type, an unknown algorithm, a parameter that the algorithm does not take, sizes
    /// that leave a gap or do not ascend, overlapping entries, an unordered algorithm for noncommutative operators.
    pub fn parse(text: &str, path: &Path) -> Result<Self, TableError> {
        let document = Document::parse(&KIND, path, text)?;
        // A newer format may have other keys, so its version is checked first.
        let version = read_format_version(&document)?;
        let definition: TableDefinition = document.read_values()?;
        let (name, provenance) = (definition.name, definition.provenance);
        let place = |key| Place {
            document: &document,
            field: Field::from_key(key),
        };
        check_library(&place("provenance"), &provenance)?;
        let verdicts = verdicts::read_verdicts(&place("verdicts"), definition.verdicts, version)?;
        let library = &provenance.library.name;
        let at_collectives = place("collectives");
        let mut table = Self {
            collectives: read_collectives(
                &at_collectives,
                definition.collectives,
                library,
                version,
            )?,
            name,
            provenance,
            verdicts,
            nonblocking: None,
        };
        if let Some(section) = definition.nonblocking {
            table.nonblocking = Some(read_section(
                &place("nonblocking"),
                section,
                &table,
                version,
            )?);
        } else if table.is_of_nonblocking_calls() && !table.collectives.is_empty() {
            return Err(at_collectives.problem_here(Problem::OutsideSection).into());
        }
        table.mark_refuted();
        Ok(table)
    }
}

/// Reads the rules for nonblocking calls of a table of which the rest has been read.
fn read_section(
    place: &Place<'_>,
    definition: SectionDefinition,
    around: &Table,
    version: u32,
) -> Checked<Box<Table>> {
    if version < VERSION_WITH_NONBLOCKING {
        return Err(place.at_key(Problem::LaterSection { version }));
    }
    let SectionDefinition {
        provenance,
        collectives,
    } = definition;
    check_library(&place.key("provenance"), &provenance)?;
    let library = &provenance.library.name;
    let section = Table {
        name: around.name.clone(),
        collectives: read_collectives(&place.key("collectives"), collectives, library, version)?,
        provenance,
        verdicts: Vec::new(),
        nonblocking: None,
    };
    nonblocking::check_section(place, around, &section)?;
    Ok(Box::new(section))
}

fn check_library(place: &Place<'_>, provenance: &Provenance) -> Checked<()> {
    let library = &provenance.library;
    for (key, value) in [("name", &library.name), ("version", &library.version)] {
        if value.contains(is_unprintable) {
            let place = place.key("library").key(key);
            return Err(place.problem_here(Problem::Control { key }));
        }
    }
    Ok(())
}

fn read_collectives(
    at_collectives: &Place<'_>,
    definitions: BTreeMap<String, CollectiveDefinition>,
    library: &str,
    version: u32,
) -> Checked<BTreeMap<Collective, Vec<ShapeRules>>> {
    let mut collectives = BTreeMap::new();
    for (name, of_collective) in definitions {
        let place = at_collectives.key(&name);
        let collective = name.parse::<Collective>().map_err(|unknown| {
            let known = Collective::ALL.map(Collective::name);
            place.at_key(unknown_collective(&unknown, known))
        })?;
        let found = of_collective.message_size;
        if found != message_size(collective) {
            let problem = Problem::MessageSize { collective, found };
            return Err(place.key("message_size").problem_here(problem));
        }
        let group = Group::for_collective(collective, library, version);
        let shapes = read_shapes(&place.key("shapes"), of_collective.shapes, group)?;
        collectives.insert(collective, shapes);
    }
    Ok(collectives)
}

/// A value of the document and its place, for errors.
#[derive(Clone)]
pub(crate) struct Place<'a> {
    document: &'a Document<'a>,
    field: Field,
}

impl Place<'_> {
    pub(crate) fn key(&self, key: &str) -> Self {
        let field = self.field.key(key);
        Self { field, ..*self }
    }

    pub(crate) fn index(&self, index: usize) -> Self {
        let field = self.field.index(index);
        Self { field, ..*self }
    }

    /// A problem with the value.
    pub(crate) fn problem_here(&self, problem: impl strict_yaml::Problem) -> Box<Diagnostic> {
        self.document.error_at_value(&self.field, problem)
    }

    pub(crate) fn at_key(&self, problem: impl strict_yaml::Problem) -> Box<Diagnostic> {
        self.document.error_at_key(&self.field, problem)
    }

    /// A problem with a value other than the expected one.
    pub(crate) fn unfit_value(&self, expected: &str) -> Box<Diagnostic> {
        self.document.unfit_value_error(&self.field, expected)
    }
}

/// A size in bytes, `1500` or `64K`.
pub(crate) fn parse_size<'a>(Scalar(text): &Scalar, place: impl Fn() -> Place<'a>) -> Checked<u64> {
    parse_bytes(text).map_err(|error| match error {
        UnitError::LargeSize(_) => place().unfit_value(&BYTES.to_string()),
        _ => place().unfit_value(rule::SIZE),
    })
}

/// The version of the format.
fn read_format_version(document: &Document<'_>) -> Checked<u32> {
    let field = Field::from_key("format");
    let fault = |problem| Err(document.error_at_value(&field, problem));
    let Some(found) = document.text_of(&field) else {
        return fault(Problem::NotATable);
    };
    let version = found.strip_prefix(FORMAT_NAME);
    match version.and_then(|rest| rest.trim().parse().ok()) {
        Some(version @ 1..=FORMAT_VERSION) => Ok(version),
        Some(newer) if newer > FORMAT_VERSION => fault(Problem::NewerFormat { found: newer }),
        _ => fault(Problem::Format {
            found: found.to_owned(),
        }),
    }
}

fn read_shapes(
    place: &Place<'_>,
    definitions: Vec<ShapeDefinition>,
    group: Group<'_>,
) -> Checked<Vec<ShapeRules>> {
    let mut entries: Vec<ShapeRules> = Vec::new();
    for (index, definition) in definitions.into_iter().enumerate() {
        let item = place.index(index);
        if group.version == 1 {
            refuse_later_keys(&item, &definition)?;
        }
        let entry = read_shape_rules(&item, definition, group)?;
        if let Some(earlier) = entries
            .iter()
            .position(|earlier| entries_overlap(earlier, &entry))
        {
            let ShapeRules {
                shape, operators, ..
            } = entry;
            return Err(item.problem_here(Problem::DuplicateShape {
                shape,
                operators,
                first_line: place.document.line_of_field(&place.index(earlier).field),
            }));
        }
        entries.push(entry);
    }
    if entries.is_empty() {
        let remedy = "remove the collective: what is not in the table gets the default";
        let key = "shapes";
        return Err(place.problem_here(Problem::Empty { key, remedy }));
    }
    Ok(entries)
}

/// Refuses keys that version 1 of the format does not have.
fn refuse_later_keys(place: &Place<'_>, definition: &ShapeDefinition) -> Checked<()> {
    let keys = [
        ("order", definition.order.is_some()),
        ("deployment", definition.deployment.is_some()),
        ("source", definition.source.is_some()),
    ];
    match keys.into_iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((key, _)) => {
            let known = ["nodes", "ppn", "operators", "rules", "measured"];
            Err(place.key(key).at_key(Mistake::unknown_key(key, &known)))
        }
    }
}

/// Whether two entries overlap. An entry for all operators may follow one for commutative ones: it holds for the
/// others.
fn entries_overlap(earlier: &ShapeRules, entry: &ShapeRules) -> bool {
    let is_for_others =
        (earlier.operators, entry.operators) == (Operators::Commutative, Operators::Any);
    earlier.shape == entry.shape
        && earlier.holds_for_order(entry.order)
        && earlier.operators.overlap(entry.operators)
        && !is_for_others
        && earlier.deployments.overlap(entry.deployments)
}

fn read_shape_rules(
    place: &Place<'_>,
    definition: ShapeDefinition,
    group: Group<'_>,
) -> Checked<ShapeRules> {
    let shape = rule::check_shape(place, definition.nodes, definition.ppn)?;
    let collective = group.collective;
    let operators = definition.operators.unwrap_or(Operators::Any);
    if operators != Operators::Any && !collective.is_reduction() {
        return Err(place
            .key("operators")
            .problem_here(Problem::NothingCombined {
                collective,
                operators,
            }));
    }
    let group = Group {
        shape,
        order: definition.order.unwrap_or_default(),
        operators,
        // Tables of version 1 have no other deployment.
        deployments: definition.deployment.unwrap_or(Deployments::Colltune),
        ..group
    };
    let measured = definition.measured;
    let source = definition.source.unwrap_or_default();
    let rules = read_rules(&place.key("rules"), definition.rules, group)?;
    if source == RuleSource::Model
        && let Some(index) = rules.iter().position(|rule| rule.confirmed)
    {
        let item = place.key("rules").index(index);
        return Err(item
            .key("confirmed")
            .problem_here(Problem::ConfirmedByModel));
    }
    let (measured, candidates) = match measured {
        None => (Vec::new(), Vec::new()),
        Some(rows) => {
            let place = place.key("measured");
            let points = read_points(&place, &rows)?;
            let sizes: Vec<u64> = points.iter().map(|point| point.bytes).collect();
            let place = place.key("candidates");
            let times =
                candidate_times::read_candidate_times(&place, rows.candidates, &sizes, group)?;
            (points, times)
        }
    };
    Ok(ShapeRules {
        shape,
        order: group.order,
        operators,
        deployments: group.deployments,
        source,
        rules,
        measured,
        candidates,
    })
}

fn read_rules(
    place: &Place<'_>,
    definitions: Vec<RuleDefinition>,
    group: Group<'_>,
) -> Checked<Vec<Rule>> {
    let mut rules: Vec<Rule> = Vec::new();
    for (index, definition) in definitions.into_iter().enumerate() {
        let item = place.index(index);
        let rule = rule::read_rule(&item, definition, group)?;
        let bytes = rule.from_bytes;
        let problem = match rules.last().map(|last| last.from_bytes) {
            None if bytes > 0 => Problem::Gap { from_bytes: bytes },
            Some(previous) if previous >= bytes => Problem::NotAscending { bytes, previous },
            _ => {
                rules.push(rule);
                continue;
            }
        };
        return Err(item.key("from").problem_here(problem));
    }
    let has_one_rule = group.collective.is_irregular() && !group.collective.decides_by_size();
    if let Some(second) = rules.get(1).filter(|_| has_one_rule) {
        let problem = Problem::NoCommonSize {
            collective: group.collective,
            from_bytes: second.from_bytes,
        };
        return Err(place.index(1).key("from").problem_here(problem));
    }
    if rules.is_empty() {
        let remedy = "write one rule at least, as in `- {from: 0, candidate: default, confidence: \
                      high}`";
        let key = "rules";
        return Err(place.problem_here(Problem::Empty { key, remedy }));
    }
    Ok(rules)
}

fn read_points(place: &Place<'_>, given: &MeasuredDefinition) -> Checked<Vec<MeasuredPoint>> {
    let mut sizes: Vec<u64> = Vec::new();
    let bytes_row = place.key("bytes");
    for (index, size) in given.bytes.iter().enumerate() {
        let item = || bytes_row.index(index);
        let bytes = parse_size(size, item)?;
        if let Some(previous) = sizes.last().copied().filter(|previous| *previous >= bytes) {
            return Err(item().problem_here(Problem::NotAscending { bytes, previous }));
        }
        sizes.push(bytes);
    }
    let row_of = |key, texts: &[Verbatim], shift, bounds: Bounds<f64>, unit| -> Checked<Vec<f64>> {
        let row = place.key(key);
        let (expected, found) = (sizes.len(), texts.len());
        if found != expected {
            return Err(row.problem_here(Problem::RowLength { expected, found }));
        }
        let values = texts.iter().enumerate().map(|(index, Verbatim(text))| {
            let value =
                decimal::parse_scaled(text, shift).and_then(|value| bounds.if_within(value));
            value.ok_or_else(|| row.index(index).unfit_value(&format!("{bounds}{unit}")))
        });
        values.collect()
    };
    let times = |key, texts: &[Verbatim]| row_of(key, texts, -6, TIME, ", in microseconds");
    let chosen = times("microseconds", &given.microseconds)?;
    let default = times("default_microseconds", &given.default_microseconds)?;
    let points = sizes.iter().zip(chosen).zip(default);
    let mut points: Vec<MeasuredPoint> = points
        .map(|((&bytes, seconds), default_seconds)| MeasuredPoint {
            bytes,
            seconds,
            default_seconds,
            speedup: speedup_ratio(seconds, default_seconds),
        })
        .collect();
    if let Some(speedups) = &given.speedup {
        let speedups = row_of("speedup", speedups, 0, SPEEDUP, "")?;
        for (point, speedup) in points.iter_mut().zip(speedups) {
            point.speedup = speedup;
        }
    }
    Ok(points)
}
