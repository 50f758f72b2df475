//! Tests of the real Slurm on virtual hosts that other tests use.
//!
//! Needs root, slurm-wlm, munge and iproute2; if one is missing, says so and does nothing.

mod agents;
mod bed;
mod campaigns;
mod failures;
mod partitions;
mod reframe;
mod service;
mod site;
mod steps;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::exports::launch::Library;
use crate::run::{Place, script};
use bed::Bed;

/// Whether nothing is left of a Slurm with nodes of these names.
fn gone(node: &str) -> bool {
    let (prefix, _) = node.rsplit_once('-').unwrap();
    let namespaces = Command::new("ip").args(["netns", "list"]).output().unwrap();
    let folder = prefix.replace("colltune", "/run/colltune-slurm");
    !String::from_utf8_lossy(&namespaces.stdout).contains(prefix)
        && !fs::read_to_string("/etc/hosts").unwrap().contains(prefix)
        && !Path::new(&folder).exists()
}

#[test]
fn jobs_start_ranks_of_openmpi_and_mpich_on_both_nodes() {
    let Some(bed) = Bed::up() else { return };
    let libraries = [
        Library::find("MPICC_OPENMPI", "mpicc.openmpi", "mpirun.openmpi", ") "),
        Library::find("MPICC_MPICH", "mpicc.mpich", "mpiexec.mpich", "Version:"),
    ];
    let expected = format!(
        "rank 0 of 4 on {one}, 2 here, sum 6
rank 1 of 4 on {one}, 2 here, sum 6
rank 2 of 4 on {two}, 2 here, sum 6
rank 3 of 4 on {two}, 2 here, sum 6
",
        one = bed.node(1),
        two = bed.node(2),
    );
    for library in libraries.into_iter().flatten() {
        let place = Place::new();
        let program = library.compile(&place, "slurm/where.c", &[]);
        // Neither hosts nor numbers of ranks are given: the library gets its allocation from Slurm.
        let (launcher, program) = (library.mpirun.display(), program.display());
        place.write(
            "job",
            format!("#!/bin/sh\nset -e\n{launcher} {program} > unsorted\nsort unsorted\n"),
        );
        let options = [
            "--nodes=2",
            "--ntasks-per-node=2",
            "--time=2",
            "--output=out",
        ];
        let state = bed.finish(&place.path(""), &[&options[..], &["job"]].concat());
        let out = fs::read_to_string(place.path("out")).unwrap_or_default();
        assert_eq!(state, "COMPLETED", "{out}");
        assert_eq!(out, expected, "{}", library.version);
    }
    let node = bed.node(1);
    drop(bed);
    assert!(gone(&node));
}

#[test]
fn killed_parts_can_be_started_again() {
    let Some(bed) = Bed::up() else { return };
    let place = Place::new();
    let run = |command: &[&str]| bed.run(&place.path(""), command);
    let ping = ["scontrol", "ping"];
    bed.kill("controller");
    assert_eq!(run(&ping).code, Some(1));
    bed.kill("2");
    bed.restore();
    run(&ping).good();
    let ran = run(&["srun", "--nodes=2", "hostname"]).good();
    for number in [1, 2] {
        assert!(ran.out.contains(&bed.node(number)), "{ran:?}");
    }
}

#[test]
fn a_slurm_ends_with_the_process_that_started_it() {
    let Some(bed) = Bed::up() else { return };
    let mut companion = Command::new("sleep").arg("100").spawn().unwrap();
    let process = companion.id().to_string();
    let node = bed.node(1);
    let (code, printed) = script(
        "virtual-slurm",
        &["up", "--id", &bed.id, "--while", &process],
    );
    assert_eq!(code, Some(0), "{printed}");
    assert!(!gone(&node));
    companion.kill().unwrap();
    companion.wait().unwrap();
    let end = Instant::now() + Duration::from_secs(30);
    while !gone(&node) {
        assert!(Instant::now() < end, "it lives on");
        std::thread::sleep(Duration::from_millis(100));
    }
}
