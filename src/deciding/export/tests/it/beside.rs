//! Tables for several libraries and types of node in one folder.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use export::Options;
use export::deploy::{
    DeployError, DeployRequest, Deployed, deploy_table, folders_beside, list_all_versions,
    roll_back, target_of, withdraw_table,
};
use schedule::Collective;
use table::{Policy, Table};

use crate::sample::{self, OPEN_MPI};

fn table() -> Table {
    sample::table("openmpi", "4.1.4", OPEN_MPI)
}

/// The same with one rule less.
fn changed() -> Table {
    let mut table = table();
    table.collectives.remove(&Collective::Barrier);
    table
}

fn on_cpu(mut table: Table, cpu: &str) -> Table {
    cpu.clone_into(&mut table.provenance.cpu);
    table
}

fn put(table: &Table, folder: &Path) -> Result<Deployed, DeployError> {
    put_with(table, folder, false)
}

fn put_with(table: &Table, folder: &Path, replace: bool) -> Result<Deployed, DeployError> {
    let options = Options {
        policy: Policy::default(),
        ..Options::default()
    };
    let request = DeployRequest {
        table,
        options: &options,
        confirmed_only: false,
        preload: None,
        replace,
        who: "alice",
        release: None,
    };
    deploy_table(&request, folder)
}

/// The folder of versions that a table was deployed to.
fn home(deployed: &Deployed) -> PathBuf {
    let folder = deployed.version.folder.parent();
    folder.expect("a folder of versions").to_owned()
}

/// The library and CPU of the table that jobs get through a link.
fn served(folder: &Path) -> (String, String) {
    let table = Table::load(&folder.join("current/table.yaml")).expect("a table");
    let provenance = table.provenance;
    (provenance.library.to_string(), provenance.cpu)
}

#[test]
fn tables_for_other_libraries_and_nodes_are_current_side_by_side() {
    let folder = tempfile::tempdir().expect("a folder");
    let site = folder.path();
    let first = put(&table(), site).expect("deployed");
    assert_eq!(home(&first), site);
    assert_eq!(first.module, "colltune-table/night");

    // Another library, another series of releases, and another type of node.
    let newer = sample::table("openmpi", "6.0.0", OPEN_MPI);
    let milan = on_cpu(table(), "AMD EPYC 7763 64-Core Processor");
    let newer_on_milan = on_cpu(newer.clone(), "AMD EPYC 7763 64-Core Processor");
    let expected = [
        (&newer, "openmpi-6.0"),
        (&milan, "openmpi-4.1-amd-epyc-7763-64-core"),
        (&newer_on_milan, "openmpi-6.0-amd-epyc-7763-64-core"),
    ];
    for (table, name) in expected {
        let deployed = put(table, site).expect("deployed");
        let place = site.join(name);
        assert_eq!(home(&deployed), place);
        assert_eq!(deployed.before, None);
        assert_eq!(deployed.environment, place.join("current/environment.sh"));
        assert_eq!(deployed.modules, place.join("modulefiles"));
        // All of them can be in one MODULEPATH.
        assert_eq!(deployed.module, format!("colltune-table/{name}"));
        let provenance = &table.provenance;
        let is_for = (provenance.library.to_string(), provenance.cpu.clone());
        assert_eq!(served(&place), is_for);
        // Deploying again changes nothing.
        let again = put(table, site).expect("deployed");
        assert_eq!(again.version.name, deployed.version.name);
        assert_eq!(again.before, Some(deployed.version.name));
    }
    assert_eq!(
        served(site),
        ("openmpi-4.1.4".to_owned(), "Some CPU".to_owned())
    );
    let beside: Vec<PathBuf> = folders_beside(site).expect("listed");
    let mut names = expected.map(|(_, name)| site.join(name));
    names.sort();
    assert_eq!(beside, names);
    let all = list_all_versions(site).expect("listed");
    assert_eq!(all.iter().filter(|version| version.current).count(), 4);

    // Newer tables replace those for the same library and nodes alone; all releases of a series have one table.
    let mut update = changed();
    "4.1.8".clone_into(&mut update.provenance.library.version);
    let second = put(&update, site).expect("deployed");
    assert_eq!(
        (home(&second), second.before),
        (site.to_owned(), Some(first.version.name.clone()))
    );
    let mut milan_update = milan.clone();
    milan_update.collectives.remove(&Collective::Barrier);
    let place = site.join("openmpi-4.1-amd-epyc-7763-64-core");
    assert_eq!(home(&put(&milan_update, site).expect("deployed")), place);
    assert_eq!(served(&site.join("openmpi-6.0")).0, "openmpi-6.0.0");

    // Each folder is rolled back and withdrawn by itself.
    roll_back(&place, "bob").expect("rolled back");
    withdraw_table(&site.join("openmpi-6.0"), "bob").expect("withdrawn");
    let module = fs::read_to_string(site.join("openmpi-6.0/current/module")).expect("readable");
    assert_eq!(module, "colltune-table/openmpi-6.0\n");
    assert_eq!(served(site).0, "openmpi-4.1.8");
    // What is withdrawn is still for the library that it was for.
    assert_eq!(
        home(&put(&newer, site).expect("deployed")),
        site.join("openmpi-6.0")
    );
    withdraw_table(site, "bob").expect("withdrawn");
    let target = target_of(site).expect("listed").expect("a target");
    assert_eq!(target.library.to_string(), "openmpi-4.1.8");
    assert_eq!(home(&put(&milan, site).expect("deployed")), place);
    assert_eq!(home(&put(&table(), site).expect("deployed")), site);
}

/// What is not known about a table's nodes does not make them others.
#[test]
fn tables_for_unknown_nodes_are_for_all() {
    let folder = tempfile::tempdir().expect("a folder");
    let site = folder.path();
    put(&table(), site).expect("deployed");
    for cpu in ["any", "", " Some CPU "] {
        let deployed = put(&on_cpu(changed(), cpu), site).expect("deployed");
        assert_eq!(home(&deployed), site, "{cpu:?}");
        let again = put(&table(), site).expect("deployed");
        assert_eq!(home(&again), site, "{cpu:?}");
    }
}

#[test]
fn a_folder_for_one_library_takes_tables_for_another_one_only_if_asked_to() {
    let folder = tempfile::tempdir().expect("a folder");
    let site = folder.path();
    let newer = sample::table("openmpi", "6.0.0", OPEN_MPI);
    put(&table(), site).expect("deployed");
    let beside = home(&put(&newer, site).expect("deployed"));
    let error = put(&table(), &beside).expect_err("refused");
    assert!(matches!(error, DeployError::OtherTarget { .. }), "{error}");
    let help = error.help().expect("a remedy");
    assert!(help.contains(&format!("--to {}", site.display())), "{help}");
    assert_eq!(served(&beside).0, "openmpi-6.0.0");
    // Its own library's tables can be deployed by its own name.
    let deployed = put(&newer, &beside).expect("deployed");
    assert_eq!(deployed.module, "colltune-table/openmpi-6.0");

    // After an update of the library, jobs go on to read the same link.
    let replaced = put_with(&newer, site, true).expect("deployed");
    assert_eq!(home(&replaced), site);
    // Jobs that read the other one are not forgotten.
    let note = format!("Jobs that read {} keep its table", beside.display());
    assert!(
        replaced.notes.iter().any(|said| said.contains(&note)),
        "{:?}",
        replaced.notes
    );
    assert_eq!(served(site).0, "openmpi-6.0.0");
    assert_eq!(home(&put(&newer, site).expect("deployed")), site);
    assert_eq!(
        home(&put(&table(), site).expect("deployed")),
        site.join("openmpi-4.1")
    );
}

/// It is then not known what jobs with it would lose.
#[test]
fn a_version_with_a_damaged_table_is_not_taken_for_an_empty_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let site = folder.path();
    let first = put(&table(), site).expect("deployed").version;
    let path = first.folder.join("table.yaml");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("writable");
    fs::write(&path, "junk").expect("written");
    let newer = sample::table("openmpi", "6.0.0", OPEN_MPI);
    let error = put(&newer, site).expect_err("refused");
    assert!(
        matches!(error, DeployError::UnknownTarget { .. }),
        "{error}"
    );
    assert!(error.help().expect("a remedy").contains("--replace"));
    let current = fs::read_link(site.join("current")).expect("a link");
    assert_eq!(current.as_os_str(), &*first.name);
    put_with(&newer, site, true).expect("deployed");
}

#[test]
fn nothing_is_deployed_into_a_version() {
    let folder = tempfile::tempdir().expect("a folder");
    let site = folder.path();
    let version = put(&table(), site).expect("deployed").version.folder;
    let files = || {
        let entries = fs::read_dir(&version).expect("listed");
        let mut names: Vec<_> = entries
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        names.sort();
        names
    };
    let before = files();
    for replace in [false, true] {
        for place in [&version, &site.join("current")] {
            let error = put_with(&changed(), place, replace).expect_err("refused");
            assert!(matches!(error, DeployError::InVersion { .. }), "{error}");
        }
    }
    assert_eq!(files(), before);
}

/// However a folder is named, it is the same.
#[test]
fn links_and_parents_lead_to_the_same_folders() {
    let folder = tempfile::tempdir().expect("a folder");
    let site = folder.path().join("site");
    let newer = sample::table("openmpi", "6.0.0", OPEN_MPI);
    put(&table(), &site).expect("deployed");
    let beside = home(&put(&newer, &site).expect("deployed"));
    let link = folder.path().join("link");
    symlink(&beside, &link).expect("linked");
    for name in [&link, &beside.join("modulefiles/..")] {
        let error = put(&table(), name).expect_err("refused");
        assert!(matches!(error, DeployError::OtherTarget { .. }), "{error}");
        let deployed = put(&newer, name).expect("deployed");
        assert_eq!(deployed.module, "colltune-table/openmpi-6.0");
    }
    // Paths that jobs read do not depend on another folder.
    let deployed = put(&table(), &beside.join("..")).expect("deployed");
    assert_eq!(deployed.environment, site.join("current/environment.sh"));

    // A site may move one of them to another disk, and a backup may lack the histories.
    let moved = folder.path().join("moved");
    fs::rename(&beside, &moved).expect("moved");
    symlink(&moved, &beside).expect("linked");
    fs::remove_file(moved.join("history")).expect("removed");
    fs::remove_file(site.join("history")).expect("removed");
    assert_eq!(home(&put(&newer, &site).expect("deployed")), beside);
    assert_eq!(folders_beside(&site).expect("listed"), [beside]);
}

/// The tables of a folder are for the nodes of those that name nodes.
#[test]
fn a_table_for_unknown_nodes_does_not_let_another_type_of_node_replace_the_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let site = folder.path();
    let milan = on_cpu(table(), "AMD EPYC 7763");
    put(&table(), site).expect("deployed");
    put(&on_cpu(changed(), "any"), site).expect("deployed");
    let beside = home(&put(&milan, site).expect("deployed"));
    assert_eq!(beside, site.join("openmpi-4.1-amd-epyc-7763"));

    // A folder for the very nodes is closer than one for unknown ones.
    let other_folder = tempfile::tempdir().expect("a folder");
    let other_site = other_folder.path();
    put(&on_cpu(table(), "any"), other_site).expect("deployed");
    assert_eq!(
        home(&put(&table(), other_site).expect("deployed")),
        other_site
    );
    let other_beside = home(&put(&milan, other_site).expect("deployed"));
    assert_ne!(other_beside, other_site);
    assert_eq!(
        home(&put(&milan, other_site).expect("deployed")),
        other_beside
    );
}

#[test]
fn nodes_on_other_networks_have_a_folder_that_names_the_network() {
    let folder = tempfile::tempdir().expect("a folder");
    let site = folder.path();
    let on = |network: &str| {
        let mut table = table();
        table.provenance.networks = vec![network.to_owned()];
        table
    };
    put(&on("Ethernet 10 Gb/s (ixgbe)"), site).expect("deployed");
    let faster = put(&on("InfiniBand 200 Gb/s (mlx5_core MT4123)"), site).expect("deployed");
    assert_eq!(home(&faster), site.join("openmpi-4.1-infiniband-200-gb-s"));
}

/// Nothing that a site has put into the folder is overwritten or taken for a folder of versions.
#[test]
fn names_that_are_taken_are_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let site = folder.path();
    put(&table(), site).expect("deployed");
    fs::create_dir(site.join("openmpi-6.0")).expect("made");
    fs::write(site.join("openmpi-6.0-2"), "notes").expect("written");
    let newer = sample::table("openmpi", "6.0.0", OPEN_MPI);
    let deployed = put(&newer, site).expect("deployed");
    assert_eq!(home(&deployed), site.join("openmpi-6.0-3"));
    assert_eq!(
        fs::read_to_string(site.join("openmpi-6.0-2")).expect("readable"),
        "notes"
    );
    assert_eq!(
        folders_beside(site).expect("listed"),
        [site.join("openmpi-6.0-3")]
    );
}
