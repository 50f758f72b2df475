//! Tables beside which files for libraries are written.

use std::ffi::OsStr;
use std::fs;

use export::{Format, Options};
use table::{Policy, Table};
use testkit::tables;
use tuner::{Export, export_beside, exported_beside};

/// A table with one decision for the library's own settings.
fn table(library: &str, version: &str, candidate: &str) -> Table {
    let collectives = format!(
        "
  allreduce:
    message_size: bytes of one rank's vector
    shapes:
      - nodes: 1
        ppn: 4
        operators: commutative
        deployment: library
        rules:
          - {{from: 0, candidate: default, confidence: high}}
          - {{from: 4096, candidate: {candidate}, speedup: 1.5, confidence: high}}
"
    );
    tables::parsed(&tables::yaml("night", library, version, &collectives))
}

const OPENMPI: [&str; 2] = ["openmpi", "4.1.4"];
const RING: &str = "\"native:allreduce/recursive_doubling\"";

#[test]
fn what_a_library_can_be_told_is_written_in_its_format() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("night.yaml");
    let written = |[library, version]: [&str; 2], candidate: &str| {
        let table = table(library, version, candidate);
        export_beside(&table, &path, OsStr::new(""), None, Policy::default()).expect("writable")
    };
    let Some(Export::Written { path: rules, .. }) = written(OPENMPI, RING) else {
        panic!("no export")
    };
    assert_eq!(rules, folder.path().join("night.openmpi.conf"));
    let text = fs::read_to_string(rules).expect("written");
    export::openmpi::Classic
        .validate(&text, &Options::default())
        .expect("a rules file");
    // Open MPI 6 reads another format.
    let Some(Export::Written { path: rules, .. }) = written(["openmpi", "6.0.0"], RING) else {
        panic!("no export")
    };
    assert_eq!(rules, folder.path().join("night.openmpi.json"));
    // Nothing to tell, and nobody to tell it to.
    assert!(written(OPENMPI, "default").is_none());
    assert!(written(["simulated", "1"], RING).is_none());
    // Its own decisions are needed, and no such library is to be found.
    assert!(matches!(
        written(["mpich", "4.9.9"], RING),
        Some(Export::Impossible(_))
    ));
}

#[test]
fn what_was_exported_before_is_found_when_nothing_is_left_to_tell() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("night.yaml");
    let [library, version] = OPENMPI;
    let told = table(library, version, RING);
    assert_eq!(exported_beside(&told, &path), None);
    export_beside(&told, &path, OsStr::new(""), None, Policy::default()).expect("writable");
    let nothing = table(library, version, "default");
    let stale = folder.path().join("night.openmpi.conf");
    assert_eq!(exported_beside(&nothing, &path), Some(stale));
}
