//! Rules of Open MPI's component han at work, on hosts of a virtual cluster.
//!
//! Who carries out a broadcast is seen by the algorithms of `tuned`: by its own rules, it has another one on all ranks than
//! on the ranks of one node, where han uses it for its part.

use std::ffi::OsString;

use schedule::Collective;

use super::launch::Library;
use super::openmpi::{compile, function, traced_with};
use super::{Call, write_table};
use crate::cluster::Cluster;
use crate::run::Place;

/// Pipelines on four ranks or more, and messages from the root on fewer.
const RULES_OF_TUNED: &str = "1\n7\n2\n1 1\n0 1 0 0\n4 1\n0 3 0 0\n";

const TABLE: &str = "
  bcast:
    message_size: bytes of one rank's vector
    shapes:
      - nodes: 2
        ppn: 2
        deployment: library
        rules:
          - {from: 0, candidate: 'native:bcast/component_tuned', confidence: high, confirmed: true}
          - {from: 1500, candidate: 'native:bcast/component_han', confidence: high, confirmed: true}
          - {from: 20K, candidate: 'native:bcast/component_tuned', confidence: high, confirmed: true}
";

#[test]
fn openmpi_obeys_exported_rules_of_han_at_their_thresholds() {
    let library = Library::find("MPICC_OPENMPI", "mpicc.openmpi", "mpirun.openmpi", ") ");
    let library = library.filter(|library| library.version.starts_with("4.1."));
    if let Some(library) = testkit::require("Open MPI 4.1", library) {
        prove(&library);
    }
}

#[test]
fn openmpi_5_obeys_exported_rules_of_han_at_their_thresholds() {
    if let Some(library) = Library::newer("openmpi-5.0.11", ") ") {
        prove(&library);
    }
}

fn prove(library: &Library) {
    let Some(cluster) = Cluster::up() else { return };
    let place = Place::new();
    write_table(&place, "openmpi", &library.version, TABLE);
    compile(library, &place);
    let exported = place.run(&[
        "export",
        "tables/night.yaml",
        "--format",
        "openmpi-han",
        "--output",
        "han.conf",
    ]);
    assert_eq!(exported.code, Some(0), "{}", exported.err);
    // The component that precedes `tuned` is the one that reads this file.
    assert!(!exported.err.contains("does not read"), "{}", exported.err);
    place.write("tuned.conf", RULES_OF_TUNED);
    let sizes = [1, 1499, 1500, 1501, 20479, 20480, 20481, 100_000];
    let calls = sizes.map(|bytes| Call {
        collective: Collective::Bcast,
        bytes,
        variant: "plain",
    });
    let settings = |with_rules: bool| {
        let mut all: Vec<(String, OsString)> = vec![
            ("coll_tuned_use_dynamic_rules".to_owned(), "1".into()),
            (
                "coll_tuned_dynamic_rules_filename".to_owned(),
                place.path("tuned.conf").into(),
            ),
        ];
        if with_rules {
            // The lines that the file itself says.
            let text = place.read("han.conf");
            let lines = text.lines().filter_map(|line| {
                let (name, value) = line.strip_prefix("#   ")?.split_once(" = ")?;
                Some((name.to_owned(), value.to_owned()))
            });
            all.extend(lines.map(|(name, value)| {
                let file = place.path("han.conf").display().to_string();
                (
                    name,
                    value.replace("/ABSOLUTE/PATH/OF/THIS-FILE", &file).into(),
                )
            }));
        } else {
            all.push(("coll_han_priority".to_owned(), "35".into()));
        }
        all.into_iter()
            .map(|(name, value)| (format!("OMPI_MCA_{name}"), value))
            .collect::<Vec<_>>()
    };
    let is_by_tuned = |with_rules: bool| -> Vec<bool> {
        let options = cluster.launcher_options(&library.version);
        let mut flags: Vec<&str> = options.iter().map(String::as_str).collect();
        for passed_on in ["LD_PRELOAD", "COLLTUNE_TRACE", "COLLTUNE_TRACE_SPOOL"] {
            flags.extend(["-x", passed_on]);
        }
        let trace = traced_with(library, &place, 4, &calls, &flags, &settings(with_rules));
        let algorithms = trace.iter().map(|line| function(line, Collective::Bcast));
        algorithms
            .map(|found| found.is_some_and(|(name, _)| name == "pipeline"))
            .collect()
    };
    assert_eq!(is_by_tuned(false), [false; 8], "without rules");
    let expected = sizes.map(|bytes| !(1500..20480).contains(&bytes));
    assert_eq!(is_by_tuned(true), expected);
}
