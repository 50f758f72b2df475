//! Tables beside which files for libraries are written.

use std::ffi::OsStr;
use std::fs;

use export::{Format, Options};
use table::Table;
use tuner::{Export, export_beside};

/// A table with one decision for the library's own settings.
fn table(library: &str, candidate: &str) -> Table {
    let text = format!(
        "format: colltune-table 2
name: night
provenance:
  campaign: 9f86d081
  store: .colltune/night.db
  library: {library}
  colltune: \"0.1.0\"
  date: \"2026-11-20\"
  hosts: [n1]
  cpu: Some CPU
  launches: 6
  warnings: []
collectives:
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
    Table::parse(&text, "night.yaml".as_ref()).expect("a table")
}

const OPENMPI: &str = "{name: openmpi, version: \"4.1.4\"}";
const RING: &str = "\"native:allreduce/recursive_doubling\"";

#[test]
fn what_a_library_can_be_told_is_written_in_its_format() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("night.yaml");
    let written = |library: &str, candidate: &str| {
        let table = table(library, candidate);
        export_beside(&table, &path, OsStr::new("")).expect("writable")
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
    let Some(Export::Written { path: rules, .. }) =
        written("{name: openmpi, version: \"6.0.0\"}", RING)
    else {
        panic!("no export")
    };
    assert_eq!(rules, folder.path().join("night.openmpi.json"));
    // Nothing to tell, and nobody to tell it to.
    assert!(written(OPENMPI, "default").is_none());
    assert!(written("{name: simulated, version: \"1\"}", RING).is_none());
    // Its own decisions are needed, and no such library is to be found.
    assert!(matches!(
        written("{name: mpich, version: \"4.9.9\"}", RING),
        Some(Export::Impossible(_))
    ));
}
