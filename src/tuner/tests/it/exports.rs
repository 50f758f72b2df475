//! Files for libraries, written beside tables.

use std::ffi::OsStr;
use std::fs;

use export::{Format, Options};
use table::{Policy, Table};
use testkit::tables;
use tuner::{Export, export_beside};

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
fn rules_for_a_library_are_written_in_its_format() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("night.yaml");
    let written = |[library, version]: [&str; 2], candidate: &str| {
        let table = table(library, version, candidate);
        export_beside(&table, &path, OsStr::new(""), None, Policy::default()).expect("writable")
    };
    let Export::Written { path: rules, .. } = written(OPENMPI, RING) else {
        panic!("no export")
    };
    assert_eq!(rules, folder.path().join("night.openmpi.conf"));
    let text = fs::read_to_string(rules).expect("written");
    export::openmpi::Classic
        .validate(&text, &Options::default())
        .expect("a rules file");
    // Open MPI 6 reads another format.
    let Export::Written { path: rules, .. } = written(["openmpi", "6.0.0"], RING) else {
        panic!("no export")
    };
    assert_eq!(rules, folder.path().join("night.openmpi.json"));
    // There is nothing to export, or no format.
    let is_told = |export: Export| {
        matches!(
            export,
            Export::Absent {
                reason: Some(_),
                ..
            }
        )
    };
    assert!(written(OPENMPI, "default").path().is_none());
    assert!(!is_told(written(OPENMPI, "default")));
    assert!(written(["simulated", "1"], RING).path().is_none());
    assert!(!is_told(written(["simulated", "1"], RING)));
    // The library's own decisions are needed, and that library is not installed.
    assert!(is_told(written(["mpich", "4.9.9"], RING)));
}

#[test]
fn an_earlier_export_is_reported_if_nothing_is_left_to_export() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("night.yaml");
    let warnings = |[library, version]: [&str; 2], candidate: &str| {
        let table = table(library, version, candidate);
        let export = export_beside(&table, &path, OsStr::new(""), None, Policy::default());
        export
            .expect("writable")
            .warnings(&table.provenance.library)
            .join("\n")
    };
    let stale = |name: &str| {
        let stale = folder.path().join(name);
        format!(
            "{} still has rules that the table no longer has. Remove it",
            stale.display()
        )
    };
    let told = stale("night.openmpi.conf");
    assert_eq!(warnings(OPENMPI, "default"), "");
    assert!(!warnings(OPENMPI, RING).contains(&told));
    assert!(warnings(OPENMPI, "default").contains(&told));
    // With an export that the format refuses.
    let mpich = ["mpich", "4.9.9"];
    let before = warnings(mpich, RING);
    assert!(before.starts_with("nothing is exported for"), "{before}");
    fs::write(folder.path().join("night.mpich.json"), "of before").expect("written");
    let after = warnings(mpich, RING);
    assert!(after.starts_with(&before), "{after}");
    assert!(after.contains(&stale("night.mpich.json")), "{after}");
}
