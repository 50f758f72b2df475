//! What a table knows without the measurements that it was made from.

use schedule::Collective;
use table::{Deployment, Rule, RuleSource, ShapeRules, Table};
use vocabulary::{Candidate, Cell, Datatype};
use wire::Environment;

use crate::Repetitions;
use crate::cells::{Basis, CellResult, Timed};
use crate::view::{Best, Comparison, MeasuringCost, Ratio, SizeRow, Verdict, View};

impl View {
    /// What a report can say of a table alone: its rules, and the times that it shows.
    pub fn of_table(table: &Table) -> Self {
        let mut comparisons = Vec::new();
        let mut cells = Vec::new();
        for (&collective, entries) in &table.collectives {
            let leading = entries.iter().filter(|entry| leads(entry, entries));
            for entry in leading {
                let of_library = of_library(entry, entries);
                comparisons.push(comparison(collective, entry, &of_library));
                cells.extend(results(collective, entry, &of_library));
            }
        }
        Self {
            name: table.name.clone(),
            basis: Basis::TableAlone,
            provenance: table.provenance.clone(),
            environment: Environment::default(),
            cost: MeasuringCost {
                seconds: 0.0,
                cells: cells.len(),
                repetitions: 0,
                call_seconds: 0.0,
                shares: None,
                left: 0,
                saved_seconds: 0.0,
                search: None,
            },
            starts: None,
            repetitions: Repetitions::default(),
            parameters: Vec::new(),
            comparisons,
            cells,
            pairs: Vec::new(),
            curves: Vec::new(),
            failures: Vec::new(),
        }
    }
}

/// Whether an entry stands for a shape: it holds for all candidates, or nothing else does.
fn leads(entry: &ShapeRules, entries: &[ShapeRules]) -> bool {
    let holds = |entry: &ShapeRules| entry.deployments.cover(Deployment::Colltune);
    let same = |other: &&ShapeRules| {
        other.shape == entry.shape && other.operators.overlap(entry.operators)
    };
    holds(entry) || !entries.iter().filter(same).any(holds)
}

/// The entries of the same shape that hold for the library's own settings alone.
fn of_library<'t>(entry: &ShapeRules, entries: &'t [ShapeRules]) -> Vec<&'t ShapeRules> {
    let belongs = |other: &&ShapeRules| {
        other.shape == entry.shape
            && other.operators.overlap(entry.operators)
            && !other.deployments.cover(Deployment::Colltune)
    };
    entries.iter().filter(belongs).collect()
}

fn comparison(
    collective: Collective,
    entry: &ShapeRules,
    of_library: &[&ShapeRules],
) -> Comparison {
    let sizes = entry.measured.iter().map(|point| {
        let chosen = chosen(entry, point.bytes);
        let ratio = point.default_seconds / point.seconds;
        let is_default = *chosen == Candidate::Default;
        SizeRow {
            bytes: point.bytes,
            default_seconds: point.default_seconds,
            best: (!is_default).then(|| Best {
                candidate: chosen.clone(),
                seconds: point.seconds,
                speedup: alone(ratio),
            }),
            verdict: verdict(entry, is_default),
        }
    });
    Comparison {
        collective,
        shape: entry.shape,
        operators: entry.operators,
        datatype: Datatype::Byte,
        operator: None,
        sizes: sizes.collect(),
        rules: entry.rules.clone(),
        library_rules: of_library
            .iter()
            .map(|other| (other.operators, other.rules.clone()))
            .collect(),
        blocks: Vec::new(),
    }
}

fn results(
    collective: Collective,
    entry: &ShapeRules,
    of_library: &[&ShapeRules],
) -> Vec<CellResult> {
    let of_library = of_library.first().copied().or_else(|| {
        let covers = entry.deployments.cover(Deployment::Library);
        covers.then_some(entry)
    });
    let points = entry.measured.iter().map(|point| {
        let (chosen, bytes) = (chosen(entry, point.bytes), point.bytes);
        let timed = |candidate: &Candidate, seconds: f64| Timed {
            candidate: candidate.clone(),
            seconds,
            interval: None,
            launches: 0,
            repetitions: 0,
            speedup: (*candidate != Candidate::Default)
                .then(|| alone(point.default_seconds / seconds)),
            expected_seconds: None,
        };
        let mut candidates = vec![timed(&Candidate::Default, point.default_seconds)];
        let mut add = |candidate: &Candidate, seconds: f64| {
            if candidates.iter().all(|other| other.candidate != *candidate) {
                candidates.push(timed(candidate, seconds));
            }
        };
        add(chosen, point.seconds);
        let chosen_in_library = of_library.map(|other| {
            let candidate = self::chosen(other, bytes);
            let measured = other.measured.iter().find(|other| other.bytes == bytes);
            if let Some(other) = measured {
                add(candidate, other.seconds);
            }
            candidate.clone()
        });
        CellResult {
            cell: Cell {
                collective,
                shape: entry.shape,
                bytes,
                datatype: Datatype::Byte,
                operator: None,
            },
            operators: entry.operators,
            chosen: chosen.clone(),
            chosen_in_library,
            verdict: verdict(entry, *chosen == Candidate::Default),
            source: entry.source,
            candidates,
        }
    });
    points.collect()
}

/// The candidate of the rule that holds for a size.
fn chosen(entry: &ShapeRules, bytes: u64) -> &Candidate {
    let holds = |rule: &&Rule| rule.from_bytes <= bytes;
    let rule = entry.rules.iter().rfind(holds);
    rule.map_or(&Candidate::Default, |rule| &rule.candidate)
}

fn verdict(entry: &ShapeRules, is_default: bool) -> Verdict {
    match (entry.source, is_default) {
        (RuleSource::Model, _) => Verdict::Expected,
        (RuleSource::Measured, true) => Verdict::Kept,
        (RuleSource::Measured, false) => Verdict::Chosen,
    }
}

/// A ratio of which no interval is known.
fn alone(value: f64) -> Ratio {
    Ratio {
        value,
        low: value,
        high: value,
        coverage: 0.0,
    }
}
