//! From the text of a table to the table: strict, and precise about what it refuses.

use std::collections::BTreeMap;
use std::path::Path;

use schedule::Collective;
use vocabulary::{CommShape, Library};

use crate::document::{self, Extent};
use crate::field::{Field, Fields};
use crate::problem::{Fault, Problem};
use crate::rule::{self, Group};
use crate::{
    Deployments, FORMAT_VERSION, Invalid, MeasuredPoint, Operators, Provenance, Rule, RuleSource,
    ShapeRules, Table, TableError, message_size,
};

/// What stands before the version in `format`.
pub(crate) const FORMAT_NAME: &str = "colltune-table";

impl Table {
    /// Reads the text of a table; `path` is only named in errors.
    ///
    /// # Errors
    /// [`TableError::Invalid`] for the first problem found: anything but plain YAML, a newer
    /// format, an unknown, missing or doubled key, a wrong type, an unknown algorithm, a parameter
    /// that the algorithm does not take, sizes that leave a gap or do not ascend, overlapping
    /// entries, an unordered algorithm where operators need not commute.
    pub fn parse(text: &str, path: &Path) -> Result<Self, TableError> {
        let result = document::read(text).and_then(|root| match root {
            Some(root) => table(&Field::root(&root)),
            None => {
                let extent = Extent {
                    line: 1,
                    column: 1,
                    length: 1,
                };
                Err(Fault {
                    problem: Problem::NotATable,
                    extent,
                    field: String::new(),
                })
            }
        });
        result.map_err(|fault| TableError::Invalid(Box::new(Invalid::new(fault, text, path))))
    }
}

fn table(root: &Field<'_>) -> Result<Table, Fault> {
    // A newer format may have other keys, so its version has the first word.
    let version = format(&root.entries()?)?;
    let fields = root.mapping(&["format", "name", "provenance", "collectives"])?;
    let provenance = provenance(&fields.required("provenance")?)?;
    Ok(Table {
        name: fields.required_text("name")?,
        collectives: collectives(
            &fields.required("collectives")?,
            &provenance.library.name,
            version,
        )?,
        provenance,
    })
}

/// The version of the format.
fn format(fields: &Fields<'_>) -> Result<u32, Fault> {
    let Some(format) = fields.get("format") else {
        return Err(fields.fault(Problem::NotATable));
    };
    let found = format.text()?;
    let version = found
        .strip_prefix(FORMAT_NAME)
        .and_then(|rest| rest.trim().parse().ok());
    match version {
        Some(version @ 1..=FORMAT_VERSION) => Ok(version),
        Some(found) if found > FORMAT_VERSION => Err(format.fault(Problem::NewerFormat { found })),
        _ => Err(format.fault(Problem::Format {
            found: found.to_owned(),
        })),
    }
}

fn provenance(field: &Field<'_>) -> Result<Provenance, Fault> {
    let fields = field.mapping(&[
        "campaign", "store", "library", "colltune", "date", "hosts", "cpu", "launches", "warnings",
    ])?;
    let library = fields.required("library")?.mapping(&["name", "version"])?;
    Ok(Provenance {
        campaign: fields.required_text("campaign")?,
        store: fields.required_text("store")?,
        library: Library {
            name: library.required_text("name")?,
            version: library.required_text("version")?,
        },
        colltune: fields.required_text("colltune")?,
        date: fields.required_text("date")?,
        hosts: fields.required("hosts")?.texts()?,
        cpu: fields.required_text("cpu")?,
        launches: fields.required("launches")?.count()?,
        warnings: fields.required("warnings")?.texts()?,
    })
}

fn collectives(
    field: &Field<'_>,
    library: &str,
    version: u32,
) -> Result<BTreeMap<Collective, Vec<ShapeRules>>, Fault> {
    let mut collectives = BTreeMap::new();
    for (key, value) in field.entries()?.iter() {
        let collective = key.name.parse::<Collective>().map_err(|_| {
            let known = Collective::MEASURED
                .map(|known| known.name().to_owned())
                .to_vec();
            let name = key.name.to_owned();
            key.fault(Problem::UnknownName {
                kind: "collective",
                name,
                known,
            })
        })?;
        let fields = value.mapping(&["message_size", "shapes"])?;
        let size = fields.required("message_size")?;
        if size.text()? != message_size(collective) {
            let found = size.text()?.to_owned();
            return Err(size.fault(Problem::MessageSize { collective, found }));
        }
        let group = Group::of(collective, library);
        let entries = shapes(&fields.required("shapes")?, group, version)?;
        collectives.insert(collective, entries);
    }
    Ok(collectives)
}

fn shapes(field: &Field<'_>, group: Group<'_>, version: u32) -> Result<Vec<ShapeRules>, Fault> {
    let mut entries: Vec<ShapeRules> = Vec::new();
    let mut lines = Vec::new();
    for item in field.items()? {
        let entry = shape_rules(&item, group, version)?;
        let earlier = entries.iter().position(|earlier| overlap(earlier, &entry));
        if let Some(first_line) = earlier.map(|i| lines[i]) {
            let ShapeRules {
                shape, operators, ..
            } = entry;
            return Err(item.fault(Problem::DuplicateShape {
                shape,
                operators,
                first_line,
            }));
        }
        entries.push(entry);
        lines.push(item.line());
    }
    if entries.is_empty() {
        let remedy = "remove the collective: what is not in the table gets the default";
        return Err(field.fault(Problem::Empty {
            key: "shapes",
            remedy,
        }));
    }
    Ok(entries)
}

fn overlap(a: &ShapeRules, b: &ShapeRules) -> bool {
    a.shape == b.shape && a.operators.overlap(b.operators) && a.deployments.overlap(b.deployments)
}

fn shape_rules(field: &Field<'_>, group: Group<'_>, version: u32) -> Result<ShapeRules, Fault> {
    let collective = group.collective;
    let fields = field.mapping(match version {
        1 => &["nodes", "ppn", "operators", "rules", "measured"],
        _ => &[
            "nodes",
            "ppn",
            "operators",
            "deployment",
            "source",
            "rules",
            "measured",
        ],
    })?;
    let shape = CommShape {
        nodes: positive(&fields, "nodes")?,
        ppn: positive(&fields, "ppn")?,
    };
    let operators = match fields.get("operators") {
        None => Operators::Any,
        Some(field) => {
            let operators = field.word("operator class", &Operators::ALL, Operators::name)?;
            if operators != Operators::Any && !collective.is_reduction() {
                return Err(field.fault(Problem::NothingCombined {
                    collective,
                    operators,
                }));
            }
            operators
        }
    };
    let deployments = match fields.get("deployment") {
        // All that tables of version 1 say.
        None => Deployments::Colltune,
        Some(field) => field.word("deployment", &Deployments::ALL, Deployments::name)?,
    };
    let source = match fields.get("source") {
        None => RuleSource::Measured,
        Some(field) => field.word("source of rules", &RuleSource::ALL, RuleSource::name)?,
    };
    let group = Group {
        shape,
        operators,
        deployments,
        ..group
    };
    let rules = rules(&fields.required("rules")?, group)?;
    let measured = fields
        .get("measured")
        .map_or(Ok(Vec::new()), |field| measured(&field))?;
    Ok(ShapeRules {
        shape,
        operators,
        deployments,
        source,
        rules,
        measured,
    })
}

fn positive(fields: &Fields<'_>, key: &'static str) -> Result<u32, Fault> {
    let field = fields.required(key)?;
    match field.count()? {
        0 => Err(field.fault(Problem::Zero { key })),
        count => Ok(count),
    }
}

fn rules(field: &Field<'_>, group: Group<'_>) -> Result<Vec<Rule>, Fault> {
    let mut rules: Vec<Rule> = Vec::new();
    for item in field.items()? {
        let (rule, from) = rule::read(&item, group)?;
        let from_bytes = rule.from_bytes;
        match rules.last().map(|rule| rule.from_bytes) {
            None if from_bytes > 0 => return Err(from.fault(Problem::Gap { from_bytes })),
            Some(previous) if previous >= from_bytes => {
                return Err(from.fault(Problem::NotAscending {
                    bytes: from_bytes,
                    previous,
                }));
            }
            _ => rules.push(rule),
        }
    }
    if rules.is_empty() {
        let remedy = "write one rule at least, as in `- {from: 0, candidate: default, confidence: \
                      high}`";
        return Err(field.fault(Problem::Empty {
            key: "rules",
            remedy,
        }));
    }
    Ok(rules)
}

fn measured(field: &Field<'_>) -> Result<Vec<MeasuredPoint>, Fault> {
    let fields = field.mapping(&["bytes", "microseconds", "default_microseconds"])?;
    let mut sizes: Vec<u64> = Vec::new();
    for item in fields.required("bytes")?.items()? {
        let bytes = item.bytes()?;
        if let Some(previous) = sizes.last().copied().filter(|previous| *previous >= bytes) {
            return Err(item.fault(Problem::NotAscending { bytes, previous }));
        }
        sizes.push(bytes);
    }
    let times = |key: &'static str| -> Result<Vec<f64>, Fault> {
        let row = fields.required(key)?;
        let items = row.items()?;
        if items.len() != sizes.len() {
            let (expected, found) = (sizes.len(), items.len());
            return Err(row.fault(Problem::RowLength { expected, found }));
        }
        items.iter().map(Field::microseconds).collect()
    };
    let (chosen, default) = (times("microseconds")?, times("default_microseconds")?);
    let points = sizes.iter().zip(chosen).zip(default);
    Ok(points
        .map(|((&bytes, seconds), default_seconds)| MeasuredPoint {
            bytes,
            seconds,
            default_seconds,
        })
        .collect())
}
