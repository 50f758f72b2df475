//! Folders that a service's releases are deployed to.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use export::Options;
use export::deploy::{
    DeployError, DeployRequest, Deployed, ServiceRelease, deploy_table, list_all_versions,
    prune_versions, table_of,
};
use jiff::Timestamp;
use schedule::Collective;
use table::Table;

use crate::sample::{self, OPEN_MPI};

fn release(table: &Table, folder: &Path, digest: &str) -> Deployed {
    let request = DeployRequest {
        table,
        options: &Options::default(),
        confirmed_only: true,
        preload: None,
        replace: false,
        who: "service",
        release: Some(ServiceRelease {
            digest,
            module: "production",
        }),
    };
    deploy_table(&request, folder).expect("deployed")
}

fn table() -> Table {
    sample::table("openmpi", "4.1.4", OPEN_MPI)
}

fn changed() -> Table {
    let mut table = table();
    table.collectives.remove(&Collective::Barrier);
    table
}

fn empty() -> Table {
    let mut table = table();
    table.collectives.clear();
    table
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path)
        .expect("there")
        .permissions()
        .mode()
        & 0o7777
}

/// A copy of a folder may have lost the modes.
#[test]
fn a_release_lets_all_users_read_the_folder_again() {
    let site = tempfile::tempdir().expect("a folder");
    let folder = site.path().join("channel");
    let version = release(&table(), &folder, "d1").version.folder;
    let modules = version.join("modulefiles/colltune-table");
    let expected = [
        (folder.clone(), 0o755),
        (folder.join("history"), 0o644),
        (folder.join(".lock"), 0o600),
        (version.clone(), 0o755),
        (modules.clone(), 0o755),
        (modules.join("production"), 0o444),
        (version.join("environment.sh"), 0o444),
        (version.join("slurm.sh"), 0o444),
    ];
    for (path, mode) in expected.iter().rev() {
        let lost = if *mode == 0o600 { 0o644 } else { mode & 0o700 };
        fs::set_permissions(path, fs::Permissions::from_mode(lost)).expect("changed");
    }
    release(&table(), &folder, "d1");
    for (path, expected_mode) in expected {
        assert_eq!(mode(&path), expected_mode, "{path:?}");
    }
}

/// The values of some variables in a job after its script has read a file. `nodes` is the answer of a fake Slurm's
/// `srun` about the nodes; without it the job does not run under Slurm.
fn job(script: &Path, nodes: Option<bool>) -> (Vec<String>, String) {
    let print = "set -eu; OMPI_MCA_coll_tuned_dynamic_rules_filename=/of/submission; . \"$1\"; \
                 printf '%s\n' \"$COLLTUNE_RELEASE\" \"$COLLTUNE_WITH_TABLE\" \
                 \"${OMPI_MCA_coll_tuned_dynamic_rules_filename-unset}\"";
    let folder = tempfile::tempdir().expect("a folder");
    let srun = folder.path().join("srun");
    let code = i32::from(nodes == Some(false));
    let asked = folder.path().join("asked");
    let fake = format!(
        "#!/bin/sh\necho \"$@\" >>{}\nexit {code}\n",
        asked.display()
    );
    fs::write(&srun, fake).expect("written");
    fs::set_permissions(&srun, fs::Permissions::from_mode(0o755)).expect("executable");
    let mut command = Command::new("/bin/sh");
    command.args(["-c", print, "sh"]).arg(script);
    command.env_clear().env("PATH", folder.path());
    if nodes.is_some() {
        command.envs([("SLURM_JOB_ID", "7"), ("SLURM_JOB_NUM_NODES", "3")]);
    }
    let output = command.output().expect("a shell");
    assert!(output.status.success(), "{output:?}");
    let asked = fs::read_to_string(asked).unwrap_or_default();
    assert_eq!(
        asked.lines().count(),
        usize::from(nodes.is_some()),
        "{asked}"
    );
    if nodes.is_some() {
        assert!(
            asked.contains("--nodes=3 --ntasks=3 --ntasks-per-node=1"),
            "{asked}"
        );
    }
    let text = |bytes| String::from_utf8(bytes).expect("text");
    let lines = text(output.stdout).lines().map(str::to_owned).collect();
    (lines, text(output.stderr))
}

#[test]
fn a_job_of_slurm_uses_the_version_if_all_nodes_have_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let site = folder.path().join("a site's $tables");
    let deployed = release(&table(), &site, "d1");
    let script = site.join("current/slurm.sh");
    let place = deployed.version.folder.to_str().expect("text").to_owned();
    let used = [
        place.clone(),
        "env".to_owned(),
        format!("{place}/openmpi.conf"),
    ];
    assert_eq!(job(&script, Some(true)), (used.to_vec(), String::new()));
    assert_eq!(job(&script, None), (used.to_vec(), String::new()));
    let (found, warning) = job(&script, Some(false));
    assert_eq!(found, [&*place, "env", "unset"]);
    assert_eq!(
        warning,
        format!(
            "warning: not all nodes of the job can read {place}: all collectives are the library's own\n"
        )
    );
}

/// `.` ends a shell of POSIX if it cannot read the file.
#[test]
fn a_job_of_slurm_goes_on_if_files_of_the_version_cannot_be_read() {
    let site = tempfile::tempdir().expect("a folder");
    let deployed = release(&table(), site.path(), "d1");
    let version = &deployed.version.folder;
    let place = version.to_str().expect("text").to_owned();
    fs::remove_file(version.join("environment.sh")).expect("removed");
    for nodes in [None, Some(true)] {
        let (found, warning) = job(&version.join("slurm.sh"), nodes);
        assert_eq!(found, [&*place, "env", "unset"]);
        assert!(
            warning.contains("not all nodes of the job can read"),
            "{warning}"
        );
    }
}

/// Jobs need all files that the variables name, not the table alone.
#[test]
fn all_nodes_of_a_job_are_asked_for_all_files_that_it_reads() {
    let site = tempfile::tempdir().expect("a folder");
    let source = tempfile::tempdir().expect("a folder");
    let preload = crate::sample::preload_library(source.path());
    let request = DeployRequest {
        table: &table(),
        options: &Options::default(),
        confirmed_only: true,
        preload: Some(&preload),
        replace: false,
        who: "service",
        release: Some(ServiceRelease {
            digest: "d1",
            module: "production",
        }),
    };
    let version = deploy_table(&request, site.path())
        .expect("deployed")
        .version
        .folder;
    // A node runs what the job asks of it.
    let bin = site.path().join("bin");
    fs::create_dir(&bin).expect("made");
    let srun = "#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do shift; done\nexec \"$@\"\n";
    fs::write(bin.join("srun"), srun).expect("written");
    fs::set_permissions(bin.join("srun"), PermissionsExt::from_mode(0o755)).expect("executable");
    let job = || {
        let output = Command::new("/bin/sh")
            .args(["-euc", ". \"$1\"; echo \"$COLLTUNE_WITH_TABLE\"", "sh"])
            .arg(version.join("slurm.sh"))
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
            .env("SLURM_JOB_ID", "7")
            .output()
            .expect("a shell");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    assert!(job().ends_with("/with-table\n"), "{}", job());
    for name in [
        "table.yaml",
        "environment.sh",
        "with-table",
        "libcolltune.so",
        "openmpi.conf",
    ] {
        let (path, away) = (version.join(name), site.path().join("away"));
        fs::rename(&path, &away).expect("moved");
        assert_eq!(job(), "env\n", "without {name}");
        fs::rename(&away, &path).expect("moved back");
    }
}

#[test]
fn an_empty_table_leaves_everything_to_the_library() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = release(&table(), folder.path(), "d1");
    let withdrawn = release(&empty(), folder.path(), "d0");
    assert_eq!(withdrawn.before, Some(first.version.name));
    assert_eq!(withdrawn.module, "colltune-table/production");
    assert_eq!(first.module, withdrawn.module);
    let place = withdrawn.version.folder.to_str().expect("text");
    let (found, _) = job(&withdrawn.environment, None);
    assert_eq!(found, [place, "env", "unset"]);
    let table = Table::load(&withdrawn.version.folder.join("table.yaml")).expect("a table");
    assert!(table.collectives.is_empty());
}

#[test]
fn a_job_finds_the_table_of_a_release_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let first = release(&table(), folder, "d1").version.folder;
    let expected = first.join("table.yaml");
    for named in [
        folder,
        &folder.join("current"),
        &folder.join("current/"),
        &first,
    ] {
        assert_eq!(table_of(named).expect("a release"), expected, "{named:?}");
    }
    let second = release(&changed(), folder, "d2").version.folder;
    assert_eq!(
        table_of(folder).expect("a release"),
        second.join("table.yaml")
    );
    assert_eq!(table_of(&first).expect("a release"), expected);
    for other in [folder.join("none"), first.join("modulefiles")] {
        let error = table_of(&other).expect_err("no release");
        assert!(matches!(error, DeployError::NotOurs { .. }), "{error}");
    }
}

/// After any damage to the folder of a channel, the release is complete again.
#[test]
fn damaged_folders_are_repaired() {
    type Damage = fn(&Path, &Path);
    let damages: [(&str, Damage); 9] = [
        ("nothing", |_, _| {}),
        ("a file is cut", |_, version| {
            fs::remove_file(version.join("openmpi.conf")).unwrap();
            fs::write(version.join("openmpi.conf"), "1").unwrap();
        }),
        ("a file is missing", |_, version| {
            fs::remove_file(version.join("environment.sh")).unwrap();
        }),
        ("a folder is a file", |_, version| {
            fs::remove_dir_all(version.join("modulefiles")).unwrap();
            fs::write(version.join("modulefiles"), "").unwrap();
        }),
        ("a file is a folder", |_, version| {
            fs::remove_file(version.join("table.yaml")).unwrap();
            fs::create_dir_all(version.join("table.yaml/x")).unwrap();
        }),
        ("the version is missing", |_, version| {
            fs::remove_dir_all(version).unwrap();
        }),
        ("the version is a link", |folder, version| {
            fs::rename(version, folder.join("elsewhere")).unwrap();
            symlink("elsewhere", version).unwrap();
        }),
        ("the link is a folder", |folder, _| {
            fs::remove_file(folder.join("current")).unwrap();
            fs::create_dir(folder.join("current")).unwrap();
            fs::remove_file(folder.join("history")).unwrap();
            fs::write(folder.join("history"), b"\xff\xff").unwrap();
        }),
        ("the folder is missing", |folder, _| {
            fs::remove_dir_all(folder).unwrap();
        }),
    ];
    for (what, damage) in damages {
        let site = tempfile::tempdir().expect("a folder");
        let folder = site.path().join("channel");
        let read = |version: &Path| {
            let read = |name: &&str| {
                fs::read(version.join(name)).unwrap_or_else(|_| panic!("{what}: {name}"))
            };
            FILES.iter().map(read).collect::<Vec<_>>()
        };
        let version = release(&table(), &folder, "d1").version.folder;
        let before = read(&version);
        damage(&folder, &version);
        let again = release(&table(), &folder, "d1");
        assert_eq!(again.version.folder, version, "{what}");
        assert!(again.version.current, "{what}");
        assert!(version.symlink_metadata().unwrap().is_dir(), "{what}");
        assert_eq!(read(&version), before, "{what}");
        assert_eq!(
            table_of(&folder).expect("a release"),
            version.join("table.yaml"),
            "{what}"
        );
    }
}

const FILES: [&str; 8] = [
    "README.txt",
    "digest",
    "environment.sh",
    "modulefiles/colltune-table/production",
    "modulefiles/colltune-table/production.lua",
    "openmpi.conf",
    "slurm.sh",
    "table.yaml",
];

#[test]
fn versions_are_removed_that_no_job_can_use() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let names = || -> Vec<String> {
        let versions = list_all_versions(folder).expect("versions").into_iter();
        let digest = |version: export::deploy::DeployedVersion| {
            fs::read_to_string(version.folder.join("digest")).expect("readable")
        };
        versions
            .map(|version| digest(version).trim_end().to_owned())
            .collect()
    };
    for (digest, table) in [("d1", table()), ("d2", changed()), ("d3", empty())] {
        release(&table, folder, digest);
    }
    assert_eq!(names(), ["d1", "d2", "d3"]);
    let now = Timestamp::now();
    let hour = jiff::SignedDuration::from_hours(1);
    // All were current within the last hour.
    assert_eq!(prune_versions(folder, now - hour, &[]).expect("pruned"), 0);
    // By the history they are old now.
    assert_eq!(
        prune_versions(folder, now + hour, &["d1"]).expect("pruned"),
        1
    );
    assert_eq!(names(), ["d1", "d3"]);
    assert_eq!(prune_versions(folder, now + hour, &[]).expect("pruned"), 1);
    assert_eq!(names(), ["d3"]);
}
