//! Measurements made without colltune.

use store::{Import, ImportedLaunch, Store, StoreError};
use vocabulary::{Candidate, Pattern, Subject};
use wire::Environment;

use crate::fixture::{cell, library};

fn import() -> Import {
    let samples = vec![(Candidate::Default, vec![1e-6, 2e-6])];
    Import {
        digest: "digest".to_owned(),
        name: "times.csv".to_owned(),
        text: "{}".to_owned(),
        library: library("openmpi"),
        launches: vec![ImportedLaunch {
            environment: Environment::default(),
            subjects: vec![(Subject::Cell(cell(8)), samples)],
        }],
    }
}

#[test]
fn an_import_is_stored_once_as_launches_that_cost_nothing() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let mut store = Store::open_or_create(&folder.path().join("a.db")).expect("created");
    assert_eq!(store.add_imports(&[import()]).expect("stored"), [1]);
    let samples = store
        .samples(&library("openmpi"), Pattern::Together)
        .expect("readable");
    assert_eq!(samples[0].seconds, [1e-6, 2e-6]);
    let error = store.add_imports(&[import()]).expect_err("the same digest");
    assert!(matches!(error, StoreError::Imported { .. }), "{error}");
    assert_eq!(store.launches().expect("readable").len(), 1);
    assert_eq!(store.unfinished_launches().expect("readable"), []);
    let spent = store
        .spent_seconds(&library("openmpi"), None)
        .expect("readable");
    assert_eq!(spent, 0.0, "other people's time");
}
