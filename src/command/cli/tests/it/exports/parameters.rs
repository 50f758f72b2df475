//! Parameter files of Open MPI about components at work, on one node and on hosts of a virtual cluster.
//!
//! Who carries out a broadcast is seen by the algorithms of `tuned`: by its own rules, it is a pipeline on four ranks, which
//! no part of another component is.

use std::ffi::OsString;

use schedule::Collective;

use super::launch::Library;
use super::openmpi::{compile, function, traced_with};
use super::{Call, write_table};
use crate::cluster::Cluster;
use crate::run::Place;

/// Pipelines on four ranks or more, and messages from the root on fewer.
const RULES_OF_TUNED: &str = "1\n7\n2\n1 1\n0 1 0 0\n4 1\n0 3 0 0\n";

const SIZES: [u64; 3] = [1, 4096, 100_000];

/// A program with four ranks, to which parameter files are given.
struct Launches<'a> {
    library: &'a Library,
    place: &'a Place,
    flags: Vec<&'a str>,
}

impl<'a> Launches<'a> {
    fn prepare(library: &'a Library, place: &'a Place, flags: Vec<&'a str>) -> Self {
        compile(library, place);
        place.write("tuned.conf", RULES_OF_TUNED);
        Self {
            library,
            place,
            flags,
        }
    }

    /// Exports a table in which one candidate is chosen for each of some collectives on a shape; returns the file's text.
    fn export(&self, shape: &str, candidates: &[(&str, &str)]) -> String {
        let (nodes, ppn) = shape.split_once('x').expect("a shape");
        let mut table = String::new();
        for (collective, component) in candidates {
            let (size, operators) = match *collective {
                "barrier" => ("always 0 bytes", ""),
                "gather" => ("bytes of one rank's contribution", ""),
                "bcast" => ("bytes of one rank's vector", ""),
                _ => (
                    "bytes of one rank's vector",
                    "\n        operators: commutative",
                ),
            };
            table += &format!(
                "
  {collective}:
    message_size: {size}
    shapes:
      - nodes: {nodes}
        ppn: {ppn}{operators}
        deployment: library
        rules:
          - {{from: 0, candidate: 'native:{collective}/component_{component}', confidence: high, confirmed: true}}
"
            );
        }
        write_table(self.place, "openmpi", &self.library.version, &table);
        let exported = self.place.run(&[
            "export",
            "tables/night.yaml",
            "--format",
            "openmpi-parameters",
            "--assume-commutative",
            "--output",
            "params.conf",
        ]);
        assert_eq!(exported.code, Some(0), "{}", exported.err);
        assert!(!exported.err.contains("does not read"), "{}", exported.err);
        self.place.read("params.conf")
    }

    /// Whether `tuned` carries out a broadcast of each size on all ranks, with these parameters.
    fn is_by_tuned(&self, parameters: &str) -> [bool; SIZES.len()] {
        self.place.write("params.conf", parameters);
        let settings: [(&str, OsString); 3] = [
            (
                "mca_base_param_files",
                self.place.path("params.conf").into(),
            ),
            ("coll_tuned_use_dynamic_rules", "1".into()),
            (
                "coll_tuned_dynamic_rules_filename",
                self.place.path("tuned.conf").into(),
            ),
        ];
        let variables = settings.map(|(name, value)| (format!("OMPI_MCA_{name}"), value));
        let calls = SIZES.map(|bytes| Call {
            collective: Collective::Bcast,
            bytes,
            variant: "plain",
        });
        let trace = traced_with(self.library, self.place, 4, &calls, &self.flags, &variables);
        assert_eq!(trace.len(), SIZES.len());
        std::array::from_fn(|place| {
            let found = function(&trace[place], Collective::Bcast);
            found.is_some_and(|(name, _)| name == "pipeline")
        })
    }
}

/// 4.1 as the system has it; `None`, with a message, if it is another one.
fn system_library() -> Option<Library> {
    let library = Library::find("MPICC_OPENMPI", "mpicc.openmpi", "mpirun.openmpi", ") ");
    let library = library.filter(|library| library.version.starts_with("4.1."));
    testkit::require("Open MPI 4.1", library)
}

/// Runs a proof with four ranks on two hosts.
fn on_two_hosts(library: &Library, prove: impl Fn(&Launches<'_>)) {
    let Some(cluster) = Cluster::up() else { return };
    let place = Place::new();
    let options = cluster.launcher_options(&library.version);
    let mut flags: Vec<&str> = options.iter().map(String::as_str).collect();
    for passed_on in ["LD_PRELOAD", "COLLTUNE_TRACE", "COLLTUNE_TRACE_SPOOL"] {
        flags.extend(["-x", passed_on]);
    }
    prove(&Launches::prepare(library, &place, flags));
}

#[test]
fn openmpi_uses_han_for_the_collectives_of_an_exported_parameter_file_only() {
    let Some(library) = system_library() else {
        return;
    };
    on_two_hosts(&library, |launches| {
        assert_eq!(launches.is_by_tuned(""), [true; SIZES.len()]);
        let with_bcast = launches.export("2x2", &[("bcast", "han")]);
        assert_eq!(launches.is_by_tuned(&with_bcast), [false; SIZES.len()]);
        let without_bcast = launches.export("2x2", &[("gather", "han")]);
        assert_eq!(launches.is_by_tuned(&without_bcast), [true; SIZES.len()]);
        // The line that hands broadcasts back is what counts.
        let line = "coll_han_bcast_dynamic_global_communicator_module = 3\n";
        assert!(without_bcast.contains(line), "{without_bcast}");
        let shorter = without_bcast.replace(line, "");
        assert_eq!(launches.is_by_tuned(&shorter), [false; SIZES.len()]);
    });
}

#[test]
fn openmpi_5_uses_tuned_for_the_collectives_of_an_exported_parameter_file() {
    let Some(library) = Library::newer("openmpi-5.0.11", ") ") else {
        return;
    };
    on_two_hosts(&library, |launches| {
        assert_eq!(launches.is_by_tuned(""), [false; SIZES.len()]);
        let with_bcast = launches.export("2x2", &[("bcast", "tuned")]);
        assert_eq!(launches.is_by_tuned(&with_bcast), [true; SIZES.len()]);
        let without_bcast = launches.export("2x2", &[("gather", "tuned")]);
        assert_eq!(launches.is_by_tuned(&without_bcast), [false; SIZES.len()]);
    });
}

#[test]
fn openmpi_uses_the_shared_memory_component_of_an_exported_parameter_file() {
    let newer = Library::newer("openmpi-5.0.11", ") ");
    for library in system_library().into_iter().chain(newer) {
        let place = Place::new();
        let launches = Launches::prepare(&library, &place, Vec::new());
        let collectives = ["barrier", "bcast", "reduce", "allreduce"];
        let by_sm = launches.export("1x4", &collectives.map(|of| (of, "sm")));
        assert_eq!(launches.is_by_tuned(""), [true; SIZES.len()]);
        assert_eq!(launches.is_by_tuned(&by_sm), [false; SIZES.len()]);
    }
}
