//! Folders with versions of tables.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use export::Options;
use export::deploy::{
    DeployError, DeployRequest, Deployed, deploy_table, list_all_versions, roll_back,
};
use schedule::Collective;
use table::{Deployment, Deployments, MeasuredPoint, Policy, Table};
use testkit::process::{self, NOBODY};
use vocabulary::Library;

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

fn put(table: &Table, folder: &Path) -> Result<Deployed, DeployError> {
    put_with(table, folder, Policy::default(), false, None)
}

fn put_with(
    table: &Table,
    folder: &Path,
    policy: Policy,
    confirmed_only: bool,
    preload: Option<&Path>,
) -> Result<Deployed, DeployError> {
    let options = Options {
        policy,
        ..Options::default()
    };
    let request = DeployRequest {
        table,
        options: &options,
        confirmed_only,
        preload,
        replace: false,
        who: "alice b",
        release: None,
    };
    deploy_table(&request, folder)
}

fn name(deployed: &Deployed) -> String {
    deployed.version.name.clone()
}

/// The target of the link.
fn current(folder: &Path) -> String {
    let target = fs::read_link(folder.join("current")).expect("a link");
    assert!(folder.join(&target).join("table.yaml").is_file());
    target.into_os_string().into_string().expect("text")
}

/// The value of a variable in a shell after it has read the environment file once more than `before`.
fn sourced(environment: &Path, variable: &str, before: &str) -> String {
    let script = format!("{before} . \"$1\"; printf %s \"${variable}\"");
    let output = Command::new("sh")
        .args(["-euc", &script, "sh"])
        .arg(environment)
        .env_clear()
        .output()
        .expect("a shell");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn versions_follow_each_other_and_are_rolled_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().join("opt/tables");
    let first = put(&table(), &folder).expect("deployed");
    assert!(name(&first).starts_with("night-2026-11-20-"), "{first:?}");
    assert_eq!((current(&folder), &first.before), (name(&first), &None));
    assert!(first.withheld.is_empty());
    // Again: nothing changes.
    let history = fs::read_to_string(folder.join("history")).expect("a history");
    let again = put(&table(), &folder).expect("deployed");
    assert_eq!(
        (name(&again), &again.before),
        (name(&first), &Some(name(&first)))
    );
    assert_eq!(
        fs::read_to_string(folder.join("history")).expect("a history"),
        history
    );
    assert!(history.contains(" alice-b deploy night-"), "{history}");

    let second = put(&changed(), &folder).expect("deployed");
    assert_ne!(name(&second), name(&first));
    assert_eq!(
        (current(&folder), &second.before),
        (name(&second), &Some(name(&first)))
    );
    let versions: Vec<(String, bool)> = list_all_versions(&folder)
        .expect("versions")
        .into_iter()
        .map(|version| (version.name, version.current))
        .collect();
    assert_eq!(versions, [(name(&first), false), (name(&second), true)]);

    assert_eq!(
        roll_back(&folder, "bob").expect("taken back").name,
        name(&first)
    );
    assert_eq!(current(&folder), name(&first));
    let error = roll_back(&folder, "bob").expect_err("nothing before");
    assert!(
        matches!(error, DeployError::NothingBefore { .. }),
        "{error}"
    );
    // The version exists already, and becomes current again.
    assert_eq!(
        name(&put(&changed(), &folder).expect("deployed")),
        name(&second)
    );
    assert_eq!(current(&folder), name(&second));
    assert_eq!(
        roll_back(&folder, "bob").expect("taken back").name,
        name(&first)
    );
    let whole_history = fs::read_to_string(folder.join("history")).expect("a history");
    assert_eq!(whole_history.lines().count(), 5, "{whole_history}");
}

#[test]
fn a_version_has_the_rules_that_the_policy_deploys() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut table = table();
    table.provenance.warnings = vec!["12.00 other tasks running on 2 cores.".to_owned()];
    let entries = table
        .collectives
        .get_mut(&Collective::Bcast)
        .expect("entries");
    entries[0].rules[1].confirmed = false;
    // Refused, and nothing is written.
    let site = folder.path().join("site");
    let error = put(&table, &site).expect_err("refused");
    let DeployError::Unconfirmed { withheld } = &error else {
        panic!("{error}");
    };
    assert_eq!(withheld.len(), 1);
    assert!(error.to_string().contains("bcast, 1x2"), "{error}");
    assert!(
        error
            .help()
            .is_some_and(|help| help.contains("validate --confirm"))
    );
    let mut simulated = table.clone();
    simulated.provenance.library.name = Library::SIMULATED.to_owned();
    let help = put(&simulated, &site).expect_err("refused").help();
    let help = help.expect("a remedy");
    assert!(
        help.contains("tune on the machine itself") && !help.contains("validate"),
        "{help}"
    );
    assert!(!site.exists());

    let default = Policy::default();
    let without = put_with(&table, &site, default, true, None).expect("deployed");
    assert_eq!(without.withheld.len(), 1);
    let place = &without.version.folder;
    let deployed = Table::load(&place.join("table.yaml")).expect("a table");
    assert_eq!(deployed, table.deployed_by(default).0);
    let read = |name: &str| fs::read_to_string(place.join(name)).expect("readable");
    let files = ["README.txt", "environment.sh", "openmpi.conf"];
    for name in files {
        let warning = "WARNING: 12.00 other tasks running on 2 cores.";
        assert!(
            read(name).lines().any(|line| line.ends_with(warning)),
            "{name}"
        );
        let mode = fs::metadata(place.join(name))
            .expect("a file")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o444, "{name}");
    }
    assert!(read("README.txt").contains(&withheld[0].to_string()));
    for name in ["README.txt", "environment.sh"] {
        let words: Vec<String> = read(name).split_whitespace().map(str::to_owned).collect();
        let text = words.join(" ").replace(" # ", " ");
        let note = "checking the type of CPU or its own version: use it only with openmpi-4.1.4, on nodes with \
                    `Some CPU`.";
        assert!(text.contains(note), "{text}");
    }

    let policy = Policy {
        unconfirmed: true,
        ..default
    };
    let all = put_with(&table, &site, policy, false, None).expect("deployed");
    assert_ne!(name(&all), name(&without));
    assert_eq!(
        Table::load(&all.version.folder.join("table.yaml")).expect("a table"),
        table
    );
}

#[test]
fn a_version_says_what_a_requirement_on_bits_costs() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut table = table();
    let entries = table
        .collectives
        .get_mut(&Collective::Allreduce)
        .expect("entries");
    let of_library = entries
        .iter_mut()
        .find(|entry| entry.deployments == Deployments::Library)
        .expect("an entry");
    // 8 and 2 times as fast as the default: 4 times in geometric mean.
    of_library.measured = [(64, 8.0), (2 << 20, 2.0)]
        .map(|(bytes, speedup)| MeasuredPoint::new(bytes, 1e-6, 1e-6 * speedup))
        .to_vec();
    let library = folder.path().join("libcolltune.so");
    fs::write(&library, "a library").expect("written");
    let site = folder.path().join("site");
    let required = Policy {
        numerics: Some("independent_of_size".parse().expect("a requirement")),
        ..Policy::default()
    };
    let costs = table.costs_of_numerics(required);
    let told = |deployment: Deployment| -> Vec<String> {
        let costs = costs.iter().filter(|cost| cost.deployment == deployment);
        costs.map(|cost| format!("{cost}.")).collect()
    };
    let in_library = told(Deployment::Library);
    // Nothing is known of the bits of the library's reductions, of which the table has five rules.
    assert!(in_library[0].contains("leaves 5 rules"), "{in_library:?}");
    assert!(
        in_library[0].contains("4.00 times as long"),
        "{in_library:?}"
    );
    // The rules for our algorithms keep the requirement.
    assert_eq!(told(Deployment::Colltune), Vec::<String>::new());
    let check = |preload: Option<&Path>, policy: Policy, expected: &[String]| {
        let deployed = put_with(&table, &site, policy, false, preload).expect("deployed");
        let readme = deployed.version.folder.join("README.txt");
        let readme = fs::read_to_string(readme).expect("readable");
        let words: Vec<&str> = readme.split_whitespace().collect();
        let mut notes = deployed.notes;
        notes.retain(|note| note.starts_with("`numerics"));
        notes.sort();
        let mut expected = expected.to_vec();
        expected.sort();
        assert_eq!(notes, expected);
        for cost in &in_library {
            let is_told = words.join(" ").contains(cost);
            assert_eq!(is_told, expected.contains(cost), "{readme}");
        }
    };
    check(None, required, &in_library);
    check(Some(&library), required, &in_library);
    check(Some(&library), Policy::default(), &[]);
}

#[test]
fn a_table_without_usable_rules_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let site = folder.path().join("site");
    let mut empty = table();
    empty.collectives.clear();
    let error = put(&empty, &site).expect_err("refused");
    assert!(matches!(error, DeployError::Nothing { .. }), "{error}");
    // All of its rules need colltune in the program.
    let ours = "
  bcast:
    message_size: bytes of one rank's vector
    shapes:
      - {nodes: 1, ppn: 2, rules: [{from: 0, candidate: bcast/chain, confidence: high}]}
";
    let ours = sample::table("openmpi", "4.1.4", ours);
    let unusable = put(&ours, &site).expect_err("refused");
    assert!(
        matches!(unusable, DeployError::NothingForLibrary { .. }),
        "{unusable}"
    );
    assert!(!site.exists());
    let preload = sample::preload_library(folder.path());
    let deployed =
        put_with(&ours, &site, Policy::default(), false, Some(&preload)).expect("deployed");
    assert!(!deployed.version.folder.join("openmpi.conf").exists());
}

#[test]
fn the_environment_names_the_version_and_not_the_link() {
    let folder = tempfile::tempdir().expect("a folder");
    let site = folder.path().join("a site's tables $HOME");
    let preload = sample::preload_library(folder.path());
    let deployed = put(&table(), &site).expect("deployed");
    assert_eq!(deployed.environment, site.join("current/environment.sh"));
    let place = deployed.version.folder.to_str().expect("text").to_owned();
    let value = |variable: &str| sourced(&deployed.environment, variable, "");
    assert_eq!(value("OMPI_MCA_coll_tuned_use_dynamic_rules"), "1");
    let file = format!("{place}/openmpi.conf");
    assert_eq!(value("OMPI_MCA_coll_tuned_dynamic_rules_filename"), file);
    assert!(Path::new(&file).is_file());
    let text = fs::read_to_string(&deployed.environment).expect("readable");
    assert!(
        !text.contains("export LD_PRELOAD") && !text.contains("COLLTUNE_TABLE"),
        "{text}"
    );

    let policy = Policy {
        unconfirmed: true,
        extrapolate: true,
        ..Policy::default()
    };
    let preloading = put_with(&table(), &site, policy, false, Some(&preload)).expect("deployed");
    let preloading_place = preloading.version.folder.to_str().expect("text").to_owned();
    // Launchers and other programs are not preloaded into.
    for name in ["LD_PRELOAD", "COLLTUNE_TABLE", "PATH"] {
        let before = format!("{name}=/other;");
        assert_eq!(sourced(&preloading.environment, name, &before), "/other");
    }
    let script = preloading.program.expect("a script");
    assert_eq!(script, site.join("current/with-table"));
    let mode = fs::metadata(&script).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o555);
    for name in ["README.txt", "environment.sh"] {
        let instructions =
            fs::read_to_string(preloading.version.folder.join(name)).expect("readable");
        // Not through the link, which each rank would resolve at another time.
        let command = r#"mpirun -n 4 "$COLLTUNE_WITH_TABLE" ./solver"#;
        assert!(
            instructions.lines().any(|line| line.ends_with(command)),
            "{instructions}"
        );
    }
    assert_eq!(
        sourced(&preloading.environment, "COLLTUNE_WITH_TABLE", ""),
        format!("{preloading_place}/with-table")
    );
    let seen = |others: &[(&str, &str)]| {
        let print = "printf '%s\n' \"$LD_PRELOAD\" \"$COLLTUNE_TABLE\" \"$COLLTUNE_UNCONFIRMED\" \
                     \"$COLLTUNE_EXTRAPOLATE\" \"$COLLTUNE_MIN_CONFIDENCE\" \"$*\"";
        let output = Command::new(&script)
            .args(["/bin/sh", "-c", print, "sh", "a b", "c"])
            .env_clear()
            .envs(others.iter().copied())
            .output()
            .expect("started");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    let rest = format!("{preloading_place}/table.yaml\n1\n1\nmedium\na b c\n");
    // LD_PRELOAD cannot name a copy in this folder, since its path has spaces.
    let preload = preload.display();
    assert_eq!(seen(&[]), format!("{preload}\n{rest}"));
    assert!(!Path::new(&preloading_place).join("libcolltune.so").exists());
    assert!(
        preloading
            .notes
            .iter()
            .any(|note| note.contains("a colon or a space")),
        "{:?}",
        preloading.notes
    );
    // Before other preloaded libraries.
    assert_eq!(
        seen(&[("LD_PRELOAD", "/other.so"), ("COLLTUNE_TABLE", "/other")]),
        format!("{preload}:/other.so\n{rest}")
    );
}

/// Jobs load the library that was deployed, whatever is built or removed later, and another build is another version.
#[test]
fn a_version_has_a_copy_of_the_library_that_it_preloads() {
    let folder = tempfile::tempdir().expect("a folder");
    let site = folder.path().join("site");
    let preload = sample::preload_library(folder.path());
    let put = || put_with(&table(), &site, Policy::default(), false, Some(&preload));
    let first = put().expect("deployed");
    let place = first.version.folder.clone();
    assert_eq!(put().expect("deployed").version.name, first.version.name);
    assert!(
        first.notes.iter().all(|note| !note.contains("LD_PRELOAD")),
        "{:?}",
        first.notes
    );

    let copy = place.join("libcolltune.so");
    let built = fs::read(&preload).expect("readable");
    assert_eq!(fs::read(&copy).expect("a copy"), built);
    let script = fs::read_to_string(place.join("with-table")).expect("readable");
    let loads = format!("export LD_PRELOAD={}\"", copy.display());
    assert!(script.contains(&loads), "{script}");
    let slurm = fs::read_to_string(place.join("slurm.sh")).expect("readable");
    assert!(slurm.contains(&copy.display().to_string()), "{slurm}");

    fs::write(&preload, b"another build").expect("written");
    let second = put().expect("deployed");
    assert_ne!(second.version.name, first.version.name);
    assert_eq!(fs::read(&copy).expect("a copy"), built);
    fs::remove_file(&preload).expect("removed");
    let error = put().expect_err("refused").to_string();
    assert!(
        error.contains("cannot read") && error.contains("libcolltune.so"),
        "{error}"
    );

    // A damaged copy is a changed version, as any other file.
    fs::set_permissions(&copy, PermissionsExt::from_mode(0o644)).expect("writable");
    fs::write(&copy, b"damaged").expect("written");
    fs::write(&preload, &built).expect("written");
    let altered = put().expect_err("refused");
    assert!(
        matches!(&altered, DeployError::Altered { file, .. } if file == "libcolltune.so"),
        "{altered}"
    );
}

/// A job may have read the environment of another version before, of this library or another one.
#[test]
fn the_environment_leaves_nothing_of_another_version() {
    let folder = tempfile::tempdir().expect("a folder");
    let site = folder.path();
    let preload = sample::preload_library(folder.path());
    let ours = "
  bcast:
    message_size: bytes of one rank's vector
    shapes:
      - {nodes: 1, ppn: 2, rules: [{from: 0, candidate: bcast/chain, confidence: high}]}
";
    let ours = sample::table("openmpi", "4.1.4", ours);
    let newer = put(
        &sample::table("openmpi", "6.0.0", OPEN_MPI),
        &site.join("6"),
    );
    let older = put(&table(), &site.join("4"));
    let none = put_with(
        &ours,
        &site.join("none"),
        Policy::default(),
        false,
        Some(&preload),
    );
    let [newer, older, none] = [newer, older, none].map(|d| d.expect("deployed").environment);
    let after = |first: &Path, second: &Path, variable: &str| {
        let of_mpich = "export MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE=/x MPIR_CVAR_DEVICE_COLLECTIVES=percoll \
                        MPIR_CVAR_SCAN_DEVICE_COLLECTIVE=0 OMPI_MCA_btl=self;";
        let before = format!("{of_mpich} . '{}';", first.display());
        sourced(second, variable, &format!("{before} set +u;"))
    };
    let [rules, file] = ["use_dynamic_rules", "dynamic_rules_filename"]
        .map(|name| format!("OMPI_MCA_coll_tuned_{name}"));
    assert_eq!(after(&older, &newer, "OMPI_MCA_coll"), "^han");
    assert_eq!(after(&newer, &older, "OMPI_MCA_coll"), "");
    // A site may set another value.
    let own = sourced(&older, "OMPI_MCA_coll", "export OMPI_MCA_coll=^hcoll;");
    assert_eq!(own, "^hcoll");
    assert_eq!(after(&newer, &older, &rules), "1");
    for second in [&older, &none] {
        for of_mpich in [
            "COLL_SELECTION_TUNING_JSON_FILE",
            "DEVICE_COLLECTIVES",
            "SCAN_DEVICE_COLLECTIVE",
        ] {
            let name = format!("MPIR_CVAR_{of_mpich}");
            assert_eq!(after(&newer, second, &name), "", "{name}");
        }
        assert_eq!(after(&newer, second, "OMPI_MCA_btl"), "self");
    }
    for name in [&*rules, &*file] {
        assert_eq!(after(&newer, &none, name), "", "{name}");
    }
}

/// No text of a table becomes a command in the files made from it.
#[test]
fn texts_of_a_table_stay_in_comments() {
    let folder = tempfile::tempdir().expect("a folder");
    let evil = "x\nexport EVIL=1\n#";
    let mut table = table();
    table.provenance.cpu = evil.to_owned();
    table.provenance.warnings = vec![evil.to_owned()];
    let options = Options {
        remarks: vec![format!("A remark {evil}")],
        ..Options::default()
    };
    let request = DeployRequest {
        table: &table,
        options: &options,
        confirmed_only: false,
        preload: Some(&sample::preload_library(folder.path())),
        replace: false,
        who: evil,
        release: None,
    };
    let deployed = deploy_table(&request, folder.path()).expect("deployed");
    let place = &deployed.version.folder;
    let names = ["README.txt", "environment.sh", "with-table", "openmpi.conf"];
    for name in names {
        let text = fs::read_to_string(place.join(name)).expect("readable");
        assert!(text.contains("export EVIL=1"), "{name}");
        assert!(
            !text.lines().any(|line| line.starts_with("export EVIL")),
            "{name}: {text}"
        );
    }
}

/// Whenever a process is killed, `current` leads to a whole version, and the next process cleans up.
#[test]
fn half_written_versions_are_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let first = put(&table(), folder).expect("deployed");
    // Killed while a version was written, and while a link was made.
    fs::create_dir_all(folder.join(".half-written/modulefiles")).expect("a folder");
    fs::write(folder.join(".half-written/table.yaml"), "format: coll").expect("written");
    fs::write(folder.join(".half-written/environment.sh"), "").expect("written");
    symlink("nowhere", folder.join(".next")).expect("a link");
    // Killed after the history was written and before the link was replaced; then in the middle of a line.
    let mut history = fs::read_to_string(folder.join("history")).expect("a history");
    history += &format!(
        "2026-11-22T00:00:00Z bob deploy night-x after {}\n2026-11-22T00:0",
        name(&first)
    );
    fs::write(folder.join("history"), &history).expect("written");
    assert_eq!(current(folder), name(&first));
    assert_eq!(list_all_versions(folder).expect("versions").len(), 1);

    let second = put(&changed(), folder).expect("deployed");
    assert_eq!(current(folder), name(&second));
    let after = fs::read_to_string(folder.join("history")).expect("a history");
    assert!(after.starts_with(&history), "only appended to: {after}");
    let left: Vec<PathBuf> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().into())
        .filter(|name: &PathBuf| name.to_string_lossy().starts_with('.'))
        .collect();
    assert_eq!(left, [PathBuf::from(".lock")]);
    // Killed before the link was replaced once more: the version was not made current then.
    let line = format!(
        "2099-01-01T00:00:00Z bob rollback {} after {}\n",
        name(&first),
        name(&second)
    );
    fs::write(folder.join("history"), after + &line).expect("written");
    let versions = list_all_versions(folder).expect("versions");
    let dates: Vec<_> = versions.iter().map(|version| &version.date).collect();
    assert_eq!(dates, [&first.version.date, &second.version.date]);
    assert_eq!(
        roll_back(folder, "bob").expect("taken back").name,
        name(&first)
    );
    roll_back(folder, "bob").expect_err("nothing before");
}

/// What another user owns leads root nowhere.
#[test]
fn the_folder_of_another_user_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    if process::as_another_user(NOBODY, &["true"]).is_none() {
        return;
    }
    let [site, made] = ["site", "made"].map(|name| folder.path().join(name));
    fs::create_dir(&site).expect("made");
    symlink(&made, site.join(".lock")).expect("a link");
    chown(&site, Some(NOBODY), None).expect("given away");
    for place in [site.clone(), site.join("below")] {
        let error = put(&table(), &place).expect_err("refused");
        assert!(matches!(error, DeployError::Untrusted(_)), "{error}");
        assert!(error.help().is_some_and(|help| help.contains("--owner")));
    }
    assert!(!made.exists());
    assert_eq!(fs::read_dir(&site).expect("a folder").count(), 1);
}

#[test]
fn other_files_are_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let refused = |what: &str| {
        let error = put(&table(), folder).expect_err("refused");
        assert!(error.to_string().contains(what), "{error}");
        assert!(error.help().is_some());
        let entries = fs::read_dir(folder).expect("a folder");
        let places = entries.map(|entry| entry.expect("an entry").path());
        places
            .filter(|place| !place.is_symlink() && place.join("table.yaml").exists())
            .count()
    };
    fs::create_dir(folder.join("current")).expect("a folder");
    assert_eq!(
        refused("current: it is not a symbolic link to a version"),
        0
    );
    fs::remove_dir(folder.join("current")).expect("removed");
    symlink("/etc", folder.join("current")).expect("a link");
    assert_eq!(
        refused("it is a symbolic link to /etc, which is not a version"),
        0
    );
    fs::remove_file(folder.join("current")).expect("removed");

    let lock = File::create(folder.join(".lock")).expect("a file");
    lock.lock().expect("locked");
    assert_eq!(refused("another colltune is deploying to"), 0);
    // The lock of an earlier version excludes this one, and is from now on closed to others.
    let mode = lock.metadata().expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    drop(lock);
    for place in [".lock", "history"] {
        let (path, elsewhere) = (folder.join(place), folder.join("made"));
        let _ = fs::remove_file(&path);
        symlink(&elsewhere, &path).expect("a link");
        let error = put(&table(), folder).expect_err("refused").to_string();
        assert!(error.contains("it is a symbolic link"), "{place}: {error}");
        assert!(!elsewhere.exists());
        fs::remove_file(&path).expect("removed");
    }

    let deployed = put(&table(), folder).expect("deployed");
    let file = deployed.version.folder.join("openmpi.conf");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("writable");
    fs::write(&file, "").expect("written");
    assert_eq!(refused("openmpi.conf of the version"), 1);
    let second = put(&changed(), folder).expect("deployed");
    fs::remove_dir_all(&deployed.version.folder).expect("removed");
    let error = roll_back(folder, "bob").expect_err("gone");
    let said = format!("{}, is no longer in", name(&deployed));
    assert!(error.to_string().contains(&said), "{error}");
    assert_eq!(current(folder), name(&second));
}
