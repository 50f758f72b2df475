//! Versions that leave everything to the library.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use export::Options;
use export::deploy::{
    DeployError, DeployRequest, Deployed, deploy_table, list_all_versions, roll_back,
    withdraw_table,
};
use schedule::Collective;
use table::Table;

use crate::sample::{self, OPEN_MPI};

fn table() -> Table {
    sample::table("openmpi", "4.1.4", OPEN_MPI)
}

fn put(table: &Table, folder: &Path) -> Deployed {
    let request = DeployRequest {
        table,
        options: &Options::default(),
        confirmed_only: false,
        preload: None,
        replace: false,
        who: "alice",
        release: None,
    };
    deploy_table(&request, folder).expect("deployed")
}

fn current(folder: &Path) -> String {
    let target = fs::read_link(folder.join("current")).expect("a link");
    target.into_os_string().into_string().expect("text")
}

/// The variables that a job has after it has read a file through `current` and started a program by the script.
fn job(folder: &Path, file: &str, environment: &[(&str, &str)]) -> Vec<String> {
    let output = Command::new("/bin/sh")
        .args([
            "-euc",
            ". \"$1\"; exec \"$COLLTUNE_WITH_TABLE\" /usr/bin/env",
            "sh",
        ])
        .arg(folder.join("current").join(file))
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .envs(environment.iter().copied())
        .output()
        .expect("a shell");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let text = String::from_utf8(output.stdout).expect("text");
    let is_setting = |line: &&str| {
        ["OMPI_MCA_", "MPIR_CVAR_", "LD_PRELOAD"]
            .iter()
            .any(|name| line.starts_with(name))
    };
    text.lines().filter(is_setting).map(str::to_owned).collect()
}

#[test]
fn the_first_version_is_withdrawn_and_returns() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let first = put(&table(), folder).version.name;
    for file in ["environment.sh", "slurm.sh"] {
        assert_eq!(job(folder, file, &[]).len(), 2, "{file}");
    }
    let error = roll_back(folder, "bob").expect_err("nothing before");
    assert!(
        matches!(error, DeployError::NothingBefore { .. }),
        "{error}"
    );
    assert!(error.help().is_some_and(|help| help.contains("--withdraw")));

    let withdrawn = withdraw_table(folder, "bob").expect("withdrawn");
    assert_eq!(current(folder), withdrawn.name);
    assert!(
        withdrawn.name.starts_with("withdrawn-20") && withdrawn.current,
        "{withdrawn:?}"
    );
    // Jobs go on: their scripts find all files, and the settings of an environment from before are gone.
    let old = [
        ("OMPI_MCA_coll_tuned_use_dynamic_rules", "1"),
        ("MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE", "/x"),
    ];
    for file in ["environment.sh", "slurm.sh"] {
        assert_eq!(job(folder, file, &old), [""; 0], "{file}");
    }
    let ran = Command::new(folder.join("current/with-table"))
        .args(["echo", "a b"])
        .output()
        .expect("started");
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "a b\n");
    assert!(
        folder
            .join("current/modulefiles/colltune-table/night")
            .is_file()
    );
    let left = Table::load(&withdrawn.folder.join("table.yaml")).expect("a table");
    assert!(left.collectives.is_empty());
    assert_eq!(left.provenance.library, table().provenance.library);

    // Again: nothing changes.
    let history = fs::read_to_string(folder.join("history")).expect("a history");
    assert_eq!(withdraw_table(folder, "bob").expect("withdrawn"), withdrawn);
    assert_eq!(
        fs::read_to_string(folder.join("history")).expect("a history"),
        history
    );
    let line = format!(" bob withdraw {} after {first}\n", withdrawn.name);
    assert!(history.ends_with(&line), "{history}");

    assert_eq!(roll_back(folder, "bob").expect("back").name, first);
    assert_eq!(job(folder, "environment.sh", &old).len(), 2);
    roll_back(folder, "bob").expect_err("nothing before");
    // Deployed over a withdrawn version, a table is rolled back to it.
    withdraw_table(folder, "bob").expect("withdrawn");
    let mut changed = table();
    changed.collectives.remove(&Collective::Barrier);
    let second = put(&changed, folder).version.name;
    let back = roll_back(folder, "bob").expect("back");
    assert_eq!(back.name, withdrawn.name);
    assert_eq!(roll_back(folder, "bob").expect("back").name, first);
    let mut names: Vec<String> = list_all_versions(folder)
        .expect("versions")
        .into_iter()
        .map(|version| version.name)
        .collect();
    names.sort_unstable();
    let mut expected = [first, second, withdrawn.name];
    expected.sort_unstable();
    assert_eq!(names, expected);
}

/// What jobs read must work again even if the version that they should read is gone.
#[test]
fn a_version_that_was_removed_or_damaged_is_withdrawn() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let first = put(&table(), folder).version.folder;
    let mut changed = table();
    changed.collectives.remove(&Collective::Barrier);
    let second = put(&changed, folder).version.folder;
    fs::remove_dir_all(&second).expect("removed");
    let withdrawn = withdraw_table(folder, "bob").expect("withdrawn");
    assert_eq!(current(folder), withdrawn.name);
    assert_eq!(job(folder, "environment.sh", &[]), [""; 0]);

    let error = roll_back(folder, "bob").expect_err("the version before is gone");
    assert!(matches!(error, DeployError::Gone { .. }), "{error}");
    let again = put(&changed, folder).version.folder;
    let file = again.join("table.yaml");
    fs::remove_file(&file).expect("removed");
    fs::write(&file, "format: other\n").expect("written");
    let withdrawn_again = withdraw_table(folder, "bob").expect("withdrawn");
    assert_eq!(withdrawn_again.name, withdrawn.name);
    assert!(first.is_dir());

    // Without the link `current`, scripts of jobs end where they read it; withdrawing makes it again.
    let versions = list_all_versions(folder).expect("versions").len();
    fs::remove_file(folder.join("current")).expect("removed");
    let relinked = withdraw_table(folder, "bob").expect("withdrawn");
    assert_eq!(current(folder), relinked.name);
    assert_eq!(list_all_versions(folder).expect("versions").len(), versions);
    assert_eq!(job(folder, "environment.sh", &[]), [""; 0]);

    // There is no version whose library is known.
    let alone = tempfile::tempdir().expect("a folder");
    let alone = alone.path();
    let only = put(&table(), alone).version.folder;
    fs::remove_dir_all(&only).expect("removed");
    let no_table = withdraw_table(alone, "bob").expect_err("nothing to withdraw");
    assert!(
        matches!(no_table, DeployError::NoTable { .. }),
        "{no_table}"
    );
    assert!(no_table.help().is_some());
}

#[test]
fn there_is_nothing_to_withdraw() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    for place in [folder.to_owned(), folder.join("none")] {
        for undo in [withdraw_table, roll_back] {
            let error = undo(&place, "bob").expect_err("nothing is there");
            assert!(
                matches!(error, DeployError::NothingDeployed { .. }),
                "{error}"
            );
            assert!(error.help().is_some());
        }
    }
    assert_eq!(fs::read_dir(folder).expect("a folder").count(), 0);
    // Other software has such links, too.
    for target in ["/etc", "gcc-12"] {
        symlink(target, folder.join("current")).expect("a link");
        let error = withdraw_table(folder, "bob").expect_err("not ours");
        assert!(matches!(error, DeployError::NotOurs { .. }), "{error}");
        assert_eq!(
            fs::read_link(folder.join("current")).expect("a link"),
            Path::new(target)
        );
        fs::remove_file(folder.join("current")).expect("removed");
    }
}

/// From release 5.0 on, versions leave out the component `han`; a site's own choice of components stays.
#[test]
fn the_choice_of_components_is_taken_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    put(&sample::table("openmpi", "5.0.1", OPEN_MPI), folder);
    let set = job(folder, "environment.sh", &[]);
    assert!(set.contains(&"OMPI_MCA_coll=^han".to_owned()), "{set:?}");
    let left = |environment: &[(&str, &str)]| {
        let of_components = |line: &String| line.starts_with("OMPI_MCA_coll=");
        let mut all = Vec::new();
        for file in ["environment.sh", "slurm.sh"] {
            all.extend(
                job(folder, file, environment)
                    .into_iter()
                    .filter(of_components),
            );
        }
        all
    };
    let (ours, own) = (("OMPI_MCA_coll", "^han"), ("OMPI_MCA_coll", "^hcoll"));
    let off = ("COLLTUNE_DISABLE", "1");
    assert_eq!(left(&[ours, off]), [""; 0]);
    assert_eq!(left(&[own, off]), ["OMPI_MCA_coll=^hcoll"; 2]);
    withdraw_table(folder, "bob").expect("withdrawn");
    assert_eq!(left(&[ours]), [""; 0]);
    assert_eq!(left(&[own]), ["OMPI_MCA_coll=^hcoll"; 2]);
}

/// A link that a site made for a shorter path, when each version had its own module files.
#[test]
fn a_link_through_the_current_version_gives_way_to_module_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    symlink("current/modulefiles", folder.join("modulefiles")).expect("a link");
    put(&table(), folder);
    assert!(
        folder
            .join("modulefiles/colltune-table/night.lua")
            .is_file()
    );
    fs::remove_dir_all(folder.join("modulefiles")).expect("removed");
    // The module files cannot be written; the table is withdrawn all the same, and the error says so.
    symlink("/etc", folder.join("modulefiles")).expect("a link");
    let error = withdraw_table(folder, "bob").expect_err("not ours");
    assert!(matches!(error, DeployError::NotOurs { .. }), "{error}");
    assert!(current(folder).starts_with("withdrawn-"));
    assert_eq!(job(folder, "environment.sh", &[]), [""; 0]);
}

#[test]
fn one_job_is_left_to_the_library() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    put(&table(), folder);
    let old = ("OMPI_MCA_coll_tuned_use_dynamic_rules", "1");
    for file in ["environment.sh", "slurm.sh"] {
        for (value, settings) in [("1", 0), ("yes", 0), ("0", 2), ("", 2)] {
            let found = job(folder, file, &[("COLLTUNE_DISABLE", value), old]);
            assert_eq!(found.len(), settings, "{file}, {value}: {found:?}");
        }
    }
}
