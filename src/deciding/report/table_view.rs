//! The view of a table without the measurements that it was made from.

use results::{CellDecision, MeasuringCost, Ranked, RepetitionCounts, Verdict};
use schedule::Collective;
use statistics::PairedRatio;
use table::{Confidence, Deployment, Policy, RuleSource, ShapeRules, Table, rule_at};
use vocabulary::{Candidate, Cell, Datatype};
use wire::Environment;

use crate::view::{Basis, Comparison, LibraryRules, View, find_withheld_reasons};

impl View {
    /// The view of a table alone: its rules and the times in it.
    pub fn from_table(table: &Table) -> Self {
        let mut comparisons = Vec::new();
        let mut cells = Vec::new();
        for (&collective, entries) in &table.collectives {
            let leading = entries.iter().filter(|entry| is_leading(entry, entries));
            for entry in leading {
                let of_library = library_entries(entry, entries);
                let found = decisions_of_entry(collective, entry, &of_library);
                let comparison = comparison_of_entry(table, collective, entry, &of_library, &found);
                comparisons.push(comparison);
                cells.extend(found);
            }
        }
        Self {
            name: table.name.clone(),
            basis: Basis::TableAlone,
            provenance: table.provenance.clone(),
            environment: Environment::default(),
            cost: MeasuringCost {
                cells: cells.len(),
                ..MeasuringCost::default()
            },
            starts: None,
            repetitions: RepetitionCounts::default(),
            parameters: Vec::new(),
            poor_predictions: Vec::new(),
            comparisons,
            withheld: find_withheld_reasons(table, &cells),
            numerics: table.costs_of_numerics(Policy::default()),
            cells,
            pairs: Vec::new(),
            curves: Vec::new(),
            scores: Vec::new(),
            failures: Vec::new(),
        }
    }
}

/// Whether an entry leads the comparison of its shape: it holds for colltune, or no entry of the shape does.
fn is_leading(entry: &ShapeRules, entries: &[ShapeRules]) -> bool {
    let holds = |rules: &ShapeRules| rules.deployments.hold_for(Deployment::Colltune);
    let same = |other: &&ShapeRules| {
        is_of_same_ranks(entry, other) && other.operators.overlap(entry.operators)
    };
    holds(entry) || !entries.iter().filter(same).any(holds)
}

/// Whether two entries are for the same shape and order of ranks.
fn is_of_same_ranks(entry: &ShapeRules, other: &ShapeRules) -> bool {
    other.shape == entry.shape && other.holds_for_order(entry.order)
}

/// The entries of the same shape that are only for the library's own settings.
fn library_entries<'t>(entry: &ShapeRules, entries: &'t [ShapeRules]) -> Vec<&'t ShapeRules> {
    let belongs = |other: &&ShapeRules| {
        is_of_same_ranks(entry, other)
            && other.operators.overlap(entry.operators)
            && !other.deployments.hold_for(Deployment::Colltune)
    };
    entries.iter().filter(belongs).collect()
}

fn comparison_of_entry(
    table: &Table,
    collective: Collective,
    entry: &ShapeRules,
    of_library: &[&ShapeRules],
    found: &[CellDecision],
) -> Comparison {
    Comparison {
        collective,
        shape: entry.shape,
        order: entry.order,
        operators: entry.operators,
        datatype: Datatype::Byte,
        operator: None,
        distribution: None,
        sizes: found.to_vec(),
        rules: entry.rules.clone(),
        lacks: table.lacks_of_entry(collective, entry, Policy::default()),
        library_rules: of_library
            .iter()
            .map(|other| LibraryRules::from_entry(table, collective, other))
            .collect(),
        blocks: Vec::new(),
    }
}

/// The table's decisions at the sizes for which it has times.
fn decisions_of_entry(
    collective: Collective,
    entry: &ShapeRules,
    of_library: &[&ShapeRules],
) -> Vec<CellDecision> {
    let of_library = of_library.first().copied().or_else(|| {
        let covers = entry.deployments.hold_for(Deployment::Library);
        covers.then_some(entry)
    });
    let points = entry.measured.iter().map(|point| {
        let bytes = point.bytes;
        let entry_rule = rule_at(&entry.rules, bytes);
        let chosen = entry_rule.map_or(Candidate::Default, |rule| rule.candidate.clone());
        let mut ranking = Vec::new();
        let mut add = |candidate: &Candidate, seconds: f64, speedup: f64| {
            let is_known = |other: &Ranked| other.candidate == *candidate;
            if !ranking.iter().any(is_known) {
                let speedup = PairedRatio::single_value(speedup);
                ranking.push(Ranked {
                    speedup: (*candidate != Candidate::Default).then_some(speedup),
                    ..Ranked::unmeasured(candidate.clone(), seconds)
                });
            }
        };
        add(&Candidate::Default, point.default_seconds, 1.0);
        add(&chosen, point.seconds, point.speedup);
        let chosen_in_library = of_library.map(|other| {
            let rule = rule_at(&other.rules, bytes);
            let candidate = rule.map_or(&Candidate::Default, |rule| &rule.candidate);
            let place = other
                .measured
                .binary_search_by_key(&bytes, |other| other.bytes);
            if let Ok(place) = place {
                let other = &other.measured[place];
                add(candidate, other.seconds, other.speedup);
            }
            candidate.clone()
        });
        CellDecision {
            cell: Cell {
                collective,
                shape: entry.shape,
                bytes,
                datatype: Datatype::Byte,
                operator: None,
                distribution: schedule::Distribution::Uniform,
            },
            operators: entry.operators,
            verdict: match entry.source {
                RuleSource::Measured => Verdict::OfTable,
                RuleSource::Model | RuleSource::Interpolated => Verdict::Extrapolated,
            },
            confidence: entry_rule.map_or(Confidence::Low, |rule| rule.confidence),
            chosen,
            up_to_next: None,
            chosen_in_library,
            ranking,
            failed: Vec::new(),
        }
    });
    points.collect()
}
