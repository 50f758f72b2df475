//! Files for libraries, written beside tables.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use export::{Format, Options};
use table::{Operators, Policy, Table};
use testkit::tables;
use tuner::{Export, NoExport, export_beside};
use vocabulary::{ErrorKind, Library};

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
    tables::parse_table(&tables::table_yaml("night", library, version, &collectives))
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
    let Export::Written {
        path: json_rules, ..
    } = written(["openmpi", "6.0.0"], RING)
    else {
        panic!("no export")
    };
    assert_eq!(json_rules, folder.path().join("night.openmpi.json"));
    // The library's own decisions are needed, and that library is not installed.
    let mpich = written(["mpich", "4.9.9"], RING);
    assert!(
        matches!(mpich, Export::Absent(NoExport::Refused { stale: None, .. })),
        "{mpich:?}"
    );
    let told = mpich
        .warnings(&Library {
            name: "mpich".to_owned(),
            version: "4.9.9".to_owned(),
        })
        .join("\n");
    assert!(told.starts_with("nothing is exported for mpich-4.9.9"));
    assert!(mpich.require_current().is_ok());
    let none = written(["simulated", "1"], RING);
    assert!(matches!(none, Export::Absent(NoExport::NoFormat)));
    assert_eq!(none.describe(), None);
}

#[test]
fn an_earlier_export_does_not_stay_in_use() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("night.yaml");
    let written = |[library, version]: [&str; 2], candidate: &str| {
        let mut table = tables::confirm_rules(table(library, version, candidate));
        // Files for libraries cannot limit a rule to some operators.
        for entry in table.collectives.values_mut().flatten() {
            entry.operators = Operators::Any;
        }
        export_beside(&table, &path, OsStr::new(""), None, Policy::default()).expect("writable")
    };
    for (library, version, decides) in [("openmpi", "4.1.4", "conf"), ("openmpi", "6.0.0", "json")]
    {
        let library = [library, version];
        // Without an earlier export there is nothing to write.
        let absent = written(library, "default");
        assert!(matches!(absent, Export::Absent(NoExport::NoRules)));
        let said = absent.describe().expect("a reason");
        assert!(said.contains("no rule for the library's own algorithms"));
        let file = folder.path().join(format!("night.openmpi.{decides}"));
        assert!(!file.exists());
        assert!(written(library, RING).path().is_some());
        let names = |rules_file: &Path| {
            let text = fs::read_to_string(rules_file).expect("written");
            // In a classic file, a row that begins at 4096.
            text.contains("\"recursive_doubling\"") || text.contains("\n4096 ")
        };
        assert!(names(&file));
        // The last rule is removed: the file leaves everything to the library.
        assert_eq!(written(library, "default").path(), Some(&*file));
        assert!(!names(&file));
    }
    // With an export that the format refuses.
    fs::write(folder.path().join("night.mpich.json"), "of before").expect("written");
    let refused = written(["mpich", "4.9.9"], RING);
    let error = refused.require_current().expect_err("stale");
    assert_eq!(error.kind(), ErrorKind::Input);
    let text = error.to_string();
    assert!(
        text.contains("night.mpich.json still has the rules of the table before"),
        "{text}"
    );
}
