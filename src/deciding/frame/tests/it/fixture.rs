//! Stores of a few samples.

use std::path::Path;

use rusqlite::{Connection, params};
use schedule::Collective;
use store::{Import, ImportedLaunch, Store};
use vocabulary::{
    Candidate, Cell, CommShape, Datatype, Experiment, ExperimentKind, Library, Operator,
    Parameters, ServingComponent, Subject, Through,
};
use wire::Environment;

/// The begin of the launches, in seconds since the Unix epoch.
pub(crate) const STARTED: i64 = 1_764_400_000;

pub(crate) fn library(name: &str) -> Library {
    Library {
        name: name.to_owned(),
        version: "4.1.4".to_owned(),
    }
}

fn shape() -> CommShape {
    CommShape { nodes: 2, ppn: 4 }
}

pub(crate) fn bcast(bytes: u64) -> Subject {
    Subject::Cell(Cell {
        collective: Collective::Bcast,
        shape: shape(),
        bytes,
        datatype: Datatype::Byte,
        operator: None,
        distribution: schedule::Distribution::Uniform,
    })
}

fn experiment(kind: ExperimentKind) -> Subject {
    Subject::Experiment(Experiment {
        kind,
        shape: CommShape { nodes: 1, ppn: 2 },
        bytes: 16,
        through: Through::Shared,
    })
}

/// A candidate with a name that CSV must quote.
fn ours() -> Candidate {
    Candidate::Ours {
        algorithm: "bcast/binary_pipelined".to_owned(),
        parameters: Parameters {
            block_bytes: Some(64),
            through: Through::Shared,
            ..Parameters::default()
        },
    }
}

/// A store with these times of the default in a broadcast of each size.
pub(crate) fn store_of(path: &Path, library_name: &str, sizes: &[(u64, Vec<f64>)]) -> Store {
    let mut store = Store::open_or_create(path).expect("created");
    let subjects = sizes.iter().map(|(bytes, seconds)| {
        let sample = (Candidate::Default, seconds.clone());
        (bcast(*bytes), vec![sample])
    });
    let import = import(library_name, Environment::default(), subjects.collect());
    store.add_imports(&[import]).expect("stored");
    store
}

fn import(
    library_name: &str,
    environment: Environment,
    subjects: Vec<(Subject, Vec<store::ImportedSample>)>,
) -> Import {
    Import {
        digest: "digest".to_owned(),
        name: "times".to_owned(),
        text: "{}".to_owned(),
        library: library(library_name),
        launches: vec![ImportedLaunch {
            environment,
            subjects,
        }],
    }
}

/// A store with a broadcast, two experiments, and, as a fourth measurement, the same broadcast in skewed calls, where
/// the second repetition is invalid and the candidate left early.
pub(crate) fn small_store(folder: &Path) -> Store {
    let path = folder.join("small.db");
    let environment = Environment {
        colltune: "0.1.0".to_owned(),
        hosts: vec!["node1".to_owned(), "node2".to_owned()],
        cpu: "CPU\u{1b}".to_owned(),
        components: [("tuned", false), ("han", true)]
            .map(|(component, over_nodes)| ServingComponent {
                collective: Collective::Bcast,
                component: component.to_owned(),
                over_nodes,
            })
            .to_vec(),
        ..Environment::default()
    };
    let combine = ExperimentKind::Combine {
        datatype: Datatype::Float64,
        operator: Operator::Max,
    };
    let default = |seconds: &[f64]| vec![(Candidate::Default, seconds.to_vec())];
    let subjects = vec![
        (
            bcast(1024),
            vec![
                (Candidate::Default, vec![0.1, 0.1 + 0.2]),
                (ours(), vec![2e-6]),
            ],
        ),
        (experiment(ExperimentKind::PingPong), default(&[3e-7])),
        (experiment(combine), default(&[4e-7])),
    ];
    let mut store = Store::open_or_create(&path).expect("created");
    store
        .add_imports(&[import("openmpi", environment, subjects)])
        .expect("stored");
    let connection = Connection::open(&path).expect("opened");
    let run = |statement: &str, values: &[&dyn rusqlite::ToSql]| {
        let changed = connection.execute(statement, values).expect(statement);
        assert_eq!(changed, 1, "{statement}");
    };
    run("UPDATE launch SET started = ?1", params![STARTED]);
    run("INSERT INTO rank_order VALUES (1, 2, 4, '\"cyclic\"')", &[]);
    run(
        "INSERT INTO task SELECT launch, 3, subject, 0.0, NULL, '\"skewed\"' FROM task WHERE number = 0",
        &[],
    );
    let seconds: Vec<u8> = [1e-6_f64, 5e-6]
        .iter()
        .flat_map(|time| time.to_le_bytes())
        .collect();
    let left = r#"{"round":3,"leader":1,"ratio":2.0,"saved_repetitions":5.0,"saved_seconds":0.1}"#;
    run(
        "INSERT INTO sample SELECT launch, 3, 0, candidate, 7, 16, ?1, ?2, 2e-8, ?3
         FROM sample WHERE task = 0 AND position = 1",
        params![seconds, 1_u32.to_le_bytes(), left],
    );
    store
}
