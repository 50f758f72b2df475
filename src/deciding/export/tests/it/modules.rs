//! Module files under Lmod and Environment Modules.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use export::Options;
use export::deploy::{
    DeployRequest, Deployed, deploy_table, list_all_versions, roll_back, table_of, withdraw_table,
};
use table::Table;
use testkit::process;

use crate::sample::{self, OPEN_MPI};

fn table(name: &str) -> Table {
    let mut table = sample::table("openmpi", "4.1.4", OPEN_MPI);
    name.clone_into(&mut table.name);
    table
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

type Environment = BTreeMap<String, String>;

/// The commands that define `module` in a shell, for each module system that is here.
fn systems() -> Vec<String> {
    let lmod = Path::new("/usr/share/lmod/lmod/libexec/lmod");
    let lmod = testkit::require("Lmod", lmod.is_file().then_some(lmod));
    let folder = process::find_program("tclsh").and(process::find_cached("environment-modules"));
    let modules = testkit::require("Environment Modules", folder);
    let lmod = lmod.map(|lmod| format!("'{}' bash", lmod.display()));
    let modules = modules.map(|path| format!("tclsh '{}/modulecmd.tcl' bash", path.display()));
    let define = |command| format!("module() {{ eval \"$({command} \"$@\")\"; }}\n");
    lmod.into_iter().chain(modules).map(define).collect()
}

/// The environment of a shell after some commands, which must not print anything.
#[track_caller]
fn after(system: &str, before: &Environment, commands: &str, words: &[&str]) -> Environment {
    let output = Command::new("bash")
        .args(["-ec", &format!("{system}{commands}\nenv -0"), "bash"])
        .args(words)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .envs(before)
        .output()
        .expect("a shell");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.is_empty(),
        "{commands}: {said}"
    );
    let text = String::from_utf8(output.stdout).expect("text");
    let lines = text.split('\0').filter_map(|line| line.split_once('='));
    lines
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// The variables for libraries and jobs.
fn settings(environment: &Environment) -> Environment {
    let is_setting = |name: &String| {
        ["OMPI_MCA_", "MPIR_CVAR_", "COLLTUNE_"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
    };
    let settings = environment.iter().filter(|(name, _)| is_setting(name));
    settings
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn environment(settings: &[(&str, &str)]) -> Environment {
    settings
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

const USE: &str = "module use \"$1\"; module load \"$2\"";
const ENDS: [&str; 2] = ["module unload colltune-table", "module purge"];
const FILE: &str = "OMPI_MCA_coll_tuned_dynamic_rules_filename";

/// The paths that jobs may name in `module use`.
fn paths(site: &Path) -> [String; 2] {
    [site.join("modulefiles"), site.join("current/modulefiles")].map(|path| text(&path))
}

fn text(path: &Path) -> String {
    path.to_str().expect("text").to_owned()
}

/// Whatever is current then, and even if the version was removed.
#[test]
fn a_loaded_module_can_be_unloaded() {
    for system in systems() {
        for index in 0..2 {
            let folder = tempfile::tempdir().expect("a folder");
            // Environment Modules themselves do not find modules in a folder with such a name.
            let strange = if system.contains("tclsh") {
                "modulefiles/site"
            } else {
                "modulefiles/{a} [site] $x"
            };
            let site = folder.path().join([strange, "site"][index]);
            let first = put(&table("night"), &site).version.folder;
            let second = put(&table("day"), &site).version.folder;
            let path = &paths(&site)[index];
            // These are the user's own, and stay.
            let own = environment(&[
                ("OMPI_MCA_coll", "^hcoll"),
                ("MPIR_CVAR_DEVICE_COLLECTIVES", "all"),
                ("COLLTUNE_LOG", "1"),
            ]);
            let load = |name: &str| after(&system, &own, USE, &[path, name]);
            let loaded = load("colltune-table/day");
            assert_eq!(loaded["COLLTUNE_RELEASE"], text(&second));
            assert_eq!(loaded["COLLTUNE_WITH_TABLE"], "env");
            assert_eq!(loaded[FILE], text(&second.join("openmpi.conf")));
            assert_eq!(loaded["OMPI_MCA_coll"], "^hcoll");
            let unloads = |what: &str| {
                for end in ENDS {
                    let left = settings(&after(&system, &loaded, end, &[]));
                    assert_eq!(left, own, "{what}, {end}, {path}\n{system}");
                }
            };
            unloads("at once");
            // Older names remain; what is loaded is current.
            let by_older_name = load("colltune-table/night");
            assert_eq!(by_older_name["COLLTUNE_RELEASE"], text(&second));
            roll_back(&site, "bob").expect("rolled back");
            unloads("after a rollback");
            let earlier = load("colltune-table/night");
            assert_eq!(earlier["COLLTUNE_RELEASE"], text(&first));
            let withdrawn = withdraw_table(&site, "bob").expect("withdrawn");
            unloads("after a withdrawal");
            fs::remove_dir_all(&second).expect("removed");
            unloads("after the version was removed");
            for name in ["colltune-table/day", "colltune-table/night"] {
                let reloaded = load(name);
                let mut expected = own.clone();
                expected.insert("COLLTUNE_RELEASE".to_owned(), text(&withdrawn.folder));
                expected.insert("COLLTUNE_WITH_TABLE".to_owned(), "env".to_owned());
                let mut found = settings(&reloaded);
                found.remove("COLLTUNE_MODULE").expect("the names");
                assert_eq!(found, expected, "{name}");
                let left = after(&system, &reloaded, ENDS[0], &[]);
                assert_eq!(settings(&left), own, "{name}");
            }
        }
    }
}

/// The modules of all libraries and types of node of a folder can be in one path, under names of their own.
#[test]
fn modules_of_several_libraries_are_loaded_by_their_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let site = folder.path();
    let first = put(&table("night"), site);
    let mut other = table("night");
    "5.0.7".clone_into(&mut other.provenance.library.version);
    let beside = put(&other, site);
    let both = "module use \"$1\" \"$2\"; module load \"$3\"";
    for system in systems() {
        for deployed in [&first, &beside] {
            let paths = [&first, &beside].map(|either| text(&either.modules));
            let words = [&*paths[0], &paths[1], &deployed.module];
            let loaded = after(&system, &Environment::new(), both, &words);
            let version = &deployed.version.folder;
            assert_eq!(loaded["COLLTUNE_RELEASE"], text(version), "{system}");
            let left = after(&system, &loaded, ENDS[1], &[]);
            assert_eq!(settings(&left), Environment::new(), "{system}");
        }
    }
}

/// One plain name is listed, as before there were shared module files.
#[test]
fn only_the_module_of_the_current_version_is_listed() {
    let folder = tempfile::tempdir().expect("a folder");
    let site = folder.path();
    let listed = || {
        let entries = fs::read_dir(site.join("current/modulefiles/colltune-table"));
        let names = entries
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name().into_string());
        let mut names: Vec<String> = names.map(|name| name.expect("text")).collect();
        names.retain(|name| !name.starts_with('.'));
        names.sort_unstable();
        names.join(" ")
    };
    put(&table("night.lua"), site);
    assert_eq!(listed(), "night-lua night-lua.lua");
    put(&table("day"), site);
    assert_eq!(listed(), "day day.lua night-lua.lua");
    roll_back(site, "bob").expect("rolled back");
    assert_eq!(listed(), "day.lua night-lua night-lua.lua");
    withdraw_table(site, "bob").expect("withdrawn");
    assert_eq!(listed(), "day.lua night-lua night-lua.lua");
}

#[test]
fn a_module_leaves_one_job_to_the_library() {
    let folder = tempfile::tempdir().expect("a folder");
    let site = folder.path().join("site");
    put(&table("night"), &site);
    let path = &paths(&site)[0];
    for system in systems() {
        for (value, is_on) in [("1", false), ("0", true), ("", true)] {
            let own = environment(&[("COLLTUNE_DISABLE", value)]);
            let loaded = after(&system, &own, USE, &[path, "colltune-table/night"]);
            assert_eq!(loaded.contains_key(FILE), is_on, "{value}: {system}");
            assert_eq!(loaded["COLLTUNE_WITH_TABLE"], "env");
            // What is set in between does not matter.
            let end = "export COLLTUNE_DISABLE=1; module unload colltune-table";
            let left = settings(&after(&system, &loaded, end, &[]));
            assert_eq!(left, environment(&[("COLLTUNE_DISABLE", "1")]));
        }
    }
}

/// A module that is found through a version's folder is that version's, and one that was copied is the folder's.
#[test]
fn a_module_is_found_in_other_places() {
    let folder = tempfile::tempdir().expect("a folder");
    let site = folder.path().join("site");
    let first = put(&table("night"), &site).version.folder;
    let second = put(&table("day"), &site).version.folder;
    let elsewhere = folder.path().join("all/colltune-table");
    fs::create_dir_all(&elsewhere).expect("created");
    for name in ["day", "day.lua"] {
        let from = site.join("modulefiles/colltune-table").join(name);
        fs::copy(from, elsewhere.join(name)).expect("copied");
    }
    for system in systems() {
        for (path, version) in [
            (first.join("modulefiles"), &first),
            (folder.path().join("all"), &second),
        ] {
            let words = [&*text(&path), "colltune-table/day"];
            let loaded = after(&system, &Environment::new(), USE, &words);
            assert_eq!(loaded["COLLTUNE_RELEASE"], text(version), "{system}");
        }
    }
}

/// The folder that colltune wrote before module files were shared: `night`, and then `day`, which is current.
fn older(site: &Path) {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/deployed-1");
    copy(&fixture, site, &text(site));
}

/// Copies a folder; its files get the new place in their texts.
fn copy(from: &Path, to: &Path, site: &str) {
    fs::create_dir_all(to).expect("created");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let (path, copied) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().expect("a kind");
        if kind.is_symlink() {
            symlink(fs::read_link(&path).expect("a link"), copied).expect("linked");
        } else if kind.is_dir() {
            copy(&path, &copied, site);
        } else {
            let text = fs::read_to_string(&path).expect("readable");
            fs::write(&copied, text.replace("/opt/tables", site)).expect("written");
            let mode = fs::metadata(&path).expect("a file").permissions();
            fs::set_permissions(copied, mode).expect("changed");
        }
    }
}

/// Names, the current one last.
fn names(site: &Path) -> Vec<String> {
    let mut versions = list_all_versions(site).expect("versions");
    versions.sort_by_key(|version| version.current);
    versions.into_iter().map(|version| version.name).collect()
}

#[test]
fn folders_of_an_older_version_are_used_on() {
    let night = "night-2026-11-20-8f724c867eda";
    let day = "day-2026-11-20-f1123bdff6c5";
    for system in systems() {
        for index in 0..2 {
            let folder = tempfile::tempdir().expect("a folder");
            let site: PathBuf = folder.path().join("site");
            older(&site);
            assert_eq!(names(&site), [night, day]);
            let table = table_of(&site).expect("a table");
            assert_eq!(table, site.join(day).join("table.yaml"));
            // A module that was loaded by that version is unloaded.
            let through_current = &paths(&site)[1];
            let none = Environment::new();
            let words = [&**through_current, "colltune-table/day"];
            let loaded = after(&system, &none, USE, &words);
            assert_eq!(loaded["COLLTUNE_RELEASE"], text(&site.join(day)));
            let back = roll_back(&site, "bob").expect("rolled back");
            assert_eq!(back.name, night);
            for end in ENDS {
                let left = settings(&after(&system, &loaded, end, &[]));
                assert_eq!(left, none, "{end}: {system}");
                // The choice of components is taken back, but not a site's own.
                for (value, stays) in [("^han", false), ("^hcoll", true)] {
                    let mut before = loaded.clone();
                    before.insert("OMPI_MCA_coll".to_owned(), value.to_owned());
                    let remaining = settings(&after(&system, &before, end, &[]));
                    assert_eq!(
                        remaining.contains_key("OMPI_MCA_coll"),
                        stays,
                        "{end}: {system}"
                    );
                }
            }
            // From now on the old version's module can be, too.
            let night_words = [&*paths(&site)[index], "colltune-table/night"];
            let night_loaded = after(&system, &none, USE, &night_words);
            let file = text(&site.join(night).join("openmpi.conf"));
            assert_eq!(night_loaded[FILE], file);
            let script = text(&site.join(night).join("with-table"));
            assert_eq!(night_loaded["COLLTUNE_WITH_TABLE"], script);
            let third = put(&self::table("dawn"), &site).version.name;
            let left = settings(&after(&system, &night_loaded, ENDS[1], &[]));
            assert_eq!(left, none, "{system}");
            assert_eq!(names(&site), [day, night, &third]);
            assert_eq!(roll_back(&site, "bob").expect("rolled back").name, night);
            withdraw_table(&site, "bob").expect("withdrawn");
            assert_eq!(roll_back(&site, "bob").expect("rolled back").name, night);
        }
    }
}
