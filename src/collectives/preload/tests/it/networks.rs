//! Tables for nodes on other networks.

use std::os::unix::fs::symlink;
use std::path::Path;

use schedule::Collective;
use table::{ShapeRules, Table};
use tempfile::TempDir;
use testkit::mpi::chosen_installation;
use testkit::tables::{forcing_table, save_table};
use vocabulary::CommShape;

use crate::launch::{compiled, run_preloaded};

const OMNI_PATH: &str = "Omni-Path 100 Gb/s (hfi1)";

/// Rules for allreduce on one node and on two.
fn table(networks: &[&str]) -> Table {
    let mut table = forcing_table(1, chosen_installation().library());
    let mut entries = table.collectives[&Collective::Allreduce].clone();
    let of_two = |entry: &ShapeRules| ShapeRules {
        shape: CommShape { nodes: 2, ppn: 2 },
        ..entry.clone()
    };
    entries.retain(|entry| entry.shape.ppn == 2);
    let of_two: Vec<_> = entries.iter().map(of_two).collect();
    entries.extend(of_two);
    table.collectives = [(Collective::Allreduce, entries)].into();
    table.provenance.networks = networks.iter().map(|text| (*text).to_owned()).collect();
    table
}

/// Describes a node's only adapter as the kernel does.
fn describe(node: &Path, driver: &str, rate: &str) {
    let folder = node.join("class/infiniband/adapter");
    let port = folder.join("ports/1");
    std::fs::create_dir_all(folder.join("device")).expect("made");
    std::fs::create_dir_all(&port).expect("made");
    let driver = Path::new("/sys/bus/pci/drivers").join(driver);
    symlink(driver, folder.join("device/driver")).expect("linked");
    for (name, text) in [
        ("link_layer", "InfiniBand"),
        ("state", "4: ACTIVE"),
        ("rate", rate),
    ] {
        std::fs::write(port.join(name), text).expect("written");
    }
}

/// A run of two ranks on each of two nodes, of which the second has another network if it `differs`.
fn run(networks: &[&str], differs: bool, force: &str) -> String {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("networks.c", folder.path(), &["-rdynamic", "-ldl"]);
    let path = save_table(&table(networks), folder.path());
    describe(&folder.path().join("a"), "hfi1", "100 Gb/sec (4X EDR)");
    let (driver, rate) = if differs {
        ("mlx5_core", "200 Gb/sec (4X HDR)")
    } else {
        ("hfi1", "100 Gb/sec (4X EDR)")
    };
    describe(&folder.path().join("b"), driver, rate);
    let arguments = [folder.path().display().to_string()];
    let more = [
        ("NODE_OF", "aabb"),
        ("COLLTUNE_FORCE", force),
        ("COLLTUNE_ATTACH_AFTER", "0"),
    ];
    run_preloaded(&program, &arguments, 4, &path, &more).expect_success()
}

/// Checks the first rank's number of calls that the table decides about, of 20, and the warnings.
fn check(text: &str, ours: u64, warning: &str) {
    assert_eq!(crate::corners::calls(text, "allreduce/"), ours, "{text}");
    let warnings: Vec<_> = text
        .lines()
        .filter(|line| line.contains("warning"))
        .collect();
    assert_eq!(warnings.len(), usize::from(!warning.is_empty()), "{text}");
    assert!(warnings.iter().all(|line| line.contains(warning)), "{text}");
}

#[test]
fn tables_for_other_networks_serve_communicators_within_a_node_under_mpi() {
    check(&run(&[OMNI_PATH], false, "0"), 20, "");
    // All ranks find the difference of one node's.
    let text = run(&[OMNI_PATH], true, "0");
    check(
        &text,
        10,
        "made for nodes connected by Omni-Path 100 Gb/s (hfi1), and ",
    );
    assert!(
        text.contains("is connected by InfiniBand 200 Gb/s (mlx5_core): calls"),
        "{text}"
    );
    assert!(text.contains("COLLTUNE_FORCE=networks"), "{text}");
    assert!(
        text.contains("default (the table was made on other networks)"),
        "{text}"
    );
    check(
        &run(&[OMNI_PATH], true, "cpu"),
        10,
        "COLLTUNE_FORCE=networks",
    );
    check(
        &run(&[OMNI_PATH], true, "networks"),
        20,
        "(mlx5_core); it is used anyway",
    );
    // What is unknown matches any.
    check(&run(&[], true, "0"), 20, "");
}
