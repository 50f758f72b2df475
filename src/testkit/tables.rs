//! Decision tables.

use std::path::{Path, PathBuf};

use schedule::{Algorithm, Collective, Parameter};
use table::{
    Confidence, Deployments, Numerics, Operators, Provenance, Rule, RuleSource, ShapeRules, Table,
};
use vocabulary::{Candidate, CommShape, Library, Parameters, Pattern, RankOrder};

/// The text of a table for a library and any CPU; `collectives` is the text of its collectives.
pub fn table_yaml(name: &str, library: &str, version: &str, collectives: &str) -> String {
    let collectives = collectives.trim_start_matches('\n');
    format!(
        "format: colltune-table 3\nname: {name}\nprovenance:\n  campaign: 9f86d081\n  \
         store: .colltune/{name}.db\n  library: {{name: {library}, version: \"{version}\"}}\n  \
         colltune: \"0.1.0\"\n  date: \"2026-11-20\"\n  hosts: [n1]\n  cpu: any\n  \
         launches: 6\n  warnings: []\ncollectives:\n{collectives}"
    )
}

/// The text of a table of broadcasts on two shapes, such as `2x4` and `8x4`, with times of the default and of one
/// candidate, which no rule chooses. On the shape between them the interpolated times are geometric means: for the
/// default 4 us at 64 bytes and 80 us at 4 KiB, for the candidate 12 and 20 us. So the candidate is faster from 402
/// bytes on.
///
/// # Panics
/// If a shape has another form.
pub fn enclosing_yaml(shapes: [&str; 2], library: &str, version: &str, candidate: &str) -> String {
    let times = [("[4, 40]", "[9, 40]"), ("[4, 160]", "[16, 10]")];
    let entries = shapes.into_iter().zip(times).map(|(shape, (default, other))| {
        let (nodes, ppn) = shape.split_once('x').expect("nodes x ranks per node");
        format!(
            "      - nodes: {nodes}\n        ppn: {ppn}\n        deployment: any\n        rules:\n          \
             - {{from: 0, candidate: default, confidence: high}}\n        measured:\n          \
             bytes:                [64, 4K]\n          microseconds:         {default}\n          \
             default_microseconds: {default}\n          candidates:\n            \
             - {{candidate: '{candidate}', microseconds: {other}}}\n"
        )
    });
    let entries: String = entries.collect();
    let head = "  bcast:\n    message_size: bytes of one rank's vector\n    shapes:\n";
    table_yaml("between", library, version, &format!("{head}{entries}"))
}

/// Parses a table.
///
/// # Panics
/// If it is not valid.
#[track_caller]
pub fn parse_table(text: &str) -> Table {
    Table::parse(text, "sample.yaml".as_ref()).unwrap_or_else(|error| panic!("{error}"))
}

/// Marks all rules of a table as confirmed.
pub fn confirm_rules(mut table: Table) -> Table {
    let entries = table.collectives.values_mut().flatten();
    for rule in entries.flat_map(|entry| &mut entry.rules) {
        rule.confirmed = rule.candidate != Candidate::Default;
    }
    table
}

/// Saves a table to a folder, and returns its path.
///
/// # Panics
/// If it cannot be written.
pub fn save_table(table: &Table, folder: &Path) -> PathBuf {
    let path = folder.join("table.yaml");
    table.save(&path).expect("a valid table");
    path
}

/// The provenance of a table for a library and any CPU.
pub fn provenance_for(library: Library) -> Provenance {
    Provenance {
        campaign: "9f86d081".to_owned(),
        store: "none.db".to_owned(),
        library,
        colltune: "0.1.0".to_owned(),
        date: "2026-11-20".to_owned(),
        hosts: vec!["n1".to_owned()],
        cpu: Provenance::ANY_CPU.to_owned(),
        networks: Vec::new(),
        launches: 6,
        pattern: Pattern::Together,
        distributions: Vec::new(),
        min_confidence: Confidence::Medium,
        numerics: Numerics::default(),
        warnings: Vec::new(),
    }
}

/// A table with an entry for each collective on one node of two to five ranks. It chooses algorithm number `place`
/// (modulo their number) if this algorithm supports the number of ranks. The rules are measured and confirmed.
pub fn forcing_table(place: usize, library: Library) -> Table {
    let of = |collective: Collective| {
        let classes = if collective.is_reduction() {
            vec![Operators::Commutative, Operators::Noncommutative]
        } else {
            vec![Operators::Any]
        };
        let entries = classes.into_iter().flat_map(|operators| {
            let is_ordered = operators == Operators::Noncommutative;
            let candidate = forced_candidate(collective, is_ordered, place);
            let algorithm = schedule::find_algorithm(candidate.algorithm());
            let needs_even = algorithm.is_some_and(|algorithm| algorithm.even_ranks);
            let served = (2..=5_u32).filter(move |ppn| !needs_even || ppn.is_multiple_of(2));
            served.map(move |ppn| forced_rules(ppn, operators, candidate.clone()))
        });
        (collective, entries.collect())
    };
    Table {
        name: format!("forcing-{place}"),
        provenance: provenance_for(library),
        collectives: Collective::ALL.into_iter().map(of).collect(),
        verdicts: Vec::new(),
        nonblocking: None,
    }
}

fn forced_candidate(collective: Collective, is_ordered: bool, place: usize) -> Candidate {
    let fits = |algorithm: &&'static Algorithm| {
        !is_ordered
            || table::out_of_order(algorithm, &forced_parameters(algorithm, place)).is_none()
    };
    let algorithms: Vec<_> = schedule::algorithms_of(collective).filter(fits).collect();
    let algorithm = algorithms[place % algorithms.len()];
    Candidate::Ours {
        algorithm: algorithm.name(),
        parameters: forced_parameters(algorithm, place),
    }
}

fn forced_parameters(algorithm: &Algorithm, place: usize) -> Parameters {
    Parameters {
        blocks: (algorithm.takes(Parameter::Blocks) && place.is_multiple_of(2)).then_some(3),
        block_bytes: (algorithm.takes(Parameter::Blocks) && place % 2 == 1).then_some(512),
        ..Parameters::default()
    }
}

fn forced_rules(ppn: u32, operators: Operators, candidate: Candidate) -> ShapeRules {
    let rule = Rule {
        confirmed: true,
        ..Rule::new(0, candidate, Some(1.5), Confidence::High)
    };
    ShapeRules {
        shape: CommShape { nodes: 1, ppn },
        order: RankOrder::Unknown,
        operators,
        deployments: Deployments::Colltune,
        source: RuleSource::Measured,
        rules: vec![rule],
        measured: Vec::new(),
        candidates: Vec::new(),
    }
}
