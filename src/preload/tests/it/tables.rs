//! Tables that choose certain algorithms everywhere.

use std::path::{Path, PathBuf};

use schedule::{Algorithm, Collective, Parameter};
use table::{Confidence, Deployments, Operators, Provenance, Rule, RuleSource, ShapeRules, Table};
use vocabulary::{Candidate, CommShape, Library, Parameters};

/// A table that chooses the algorithm at that place, round and round, for every collective.
pub(crate) fn forcing(place: usize, library: Library) -> Table {
    let of = |collective: Collective| {
        let classes = match collective.is_reduction() {
            true => vec![Operators::Commutative, Operators::Noncommutative],
            false => vec![Operators::Any],
        };
        let entries = classes.into_iter().map(|operators| {
            let is_ordered = operators == Operators::Noncommutative;
            entry(
                operators,
                vec![rule(candidate(collective, is_ordered, place))],
            )
        });
        (collective, entries.collect())
    };
    Table {
        name: format!("forcing-{place}"),
        provenance: provenance(library),
        collectives: Collective::ALL.into_iter().map(of).collect(),
    }
}

fn candidate(collective: Collective, is_ordered: bool, place: usize) -> Candidate {
    let fits = |algorithm: &&'static Algorithm| {
        !is_ordered || table::out_of_order(algorithm, &parameters(algorithm, place)).is_none()
    };
    let algorithms: Vec<_> = schedule::of(collective).filter(fits).collect();
    let algorithm = algorithms[place % algorithms.len()];
    Candidate::Ours {
        algorithm: algorithm.name(),
        parameters: parameters(algorithm, place),
    }
}

fn parameters(algorithm: &Algorithm, place: usize) -> Parameters {
    Parameters {
        blocks: (algorithm.takes(Parameter::Blocks) && place.is_multiple_of(2)).then_some(3),
        block_bytes: (algorithm.takes(Parameter::Blocks) && place % 2 == 1).then_some(512),
        ..Parameters::default()
    }
}

fn rule(candidate: Candidate) -> Rule {
    Rule::new(0, candidate, Some(1.5), Confidence::High)
}

fn entry(operators: Operators, rules: Vec<Rule>) -> ShapeRules {
    ShapeRules {
        shape: CommShape { nodes: 1, ppn: 4 },
        operators,
        deployments: Deployments::Colltune,
        source: RuleSource::Measured,
        rules,
        measured: Vec::new(),
    }
}

fn provenance(library: Library) -> Provenance {
    Provenance {
        campaign: "9f86d081".to_owned(),
        store: "none.db".to_owned(),
        library,
        colltune: "0.1.0".to_owned(),
        date: "2026-11-20".to_owned(),
        hosts: vec!["n1".to_owned()],
        cpu: Provenance::ANY_CPU.to_owned(),
        launches: 6,
        warnings: Vec::new(),
    }
}

/// The table as a file in a folder.
pub(crate) fn saved(table: &Table, folder: &Path) -> PathBuf {
    let path = folder.join("table.yaml");
    table.save(&path).expect("a valid table");
    path
}
