//! The folders below `src` show the architecture: a crate depends only on crates of its own wing and of those before it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The wings, in the order in which crates may depend on each other.
const WINGS: [&str; 7] = [
    "foundations",
    "domain",
    "collectives",
    "measuring",
    "deciding",
    "service",
    "command",
];

/// The crate that is no part of the product, and in no wing.
const FOR_TESTS: &str = "testkit";

fn source() -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    source.canonicalize().expect("the folder of all crates")
}

/// A crate of the workspace.
struct Package {
    /// The folder of its `Cargo.toml`.
    folder: PathBuf,
    /// What its product code, and the build of it, depends on within the workspace.
    dependencies: Vec<String>,
}

/// The crates of the workspace by name, as Cargo reads their `Cargo.toml`.
fn packages() -> BTreeMap<String, Package> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
        .current_dir(source())
        .output()
        .expect("cargo starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    packages.iter().map(read_package).collect()
}

fn read_package(package: &Value) -> (String, Package) {
    let name = package["name"].as_str().expect("a name").to_owned();
    let manifest = Path::new(package["manifest_path"].as_str().expect("a path"));
    let all_dependencies = package["dependencies"].as_array().expect("dependencies");
    let of_product = all_dependencies
        .iter()
        .filter(|dependency| dependency["path"].is_string() && dependency["kind"] != "dev");
    let dependencies = of_product
        .map(|dependency| dependency["name"].as_str().expect("a name").to_owned())
        .collect();
    let folder = manifest.parent().expect("a folder").to_owned();
    (
        name,
        Package {
            folder,
            dependencies,
        },
    )
}

/// The folder of a crate.
pub(crate) fn folder_of(package: &str) -> PathBuf {
    let packages = packages();
    let found = packages.get(package);
    found
        .unwrap_or_else(|| panic!("no crate {package}"))
        .folder
        .clone()
}

/// The place in [`WINGS`] of the wing that a crate's folder is in; `None` for a folder that is in no wing.
fn position_of_wing(folder: &Path) -> Option<usize> {
    let wing = folder.parent()?;
    if wing.parent()? != source() {
        return None;
    }
    let name = wing.file_name()?.to_str()?;
    WINGS.iter().position(|known| *known == name)
}

/// The dependencies that lead from a wing to a later one, or from the product to the crate for tests.
fn wrong_dependencies(packages: &BTreeMap<String, Package>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, package) in packages {
        if name == FOR_TESTS {
            continue;
        }
        let wing = position_of_wing(&package.folder);
        for dependency in &package.dependencies {
            let needed = packages
                .get(dependency)
                .and_then(|used| position_of_wing(&used.folder));
            if wing.is_none() || needed.is_none() || needed > wing {
                wrong.push(format!("{name} -> {dependency}"));
            }
        }
    }
    wrong
}

#[test]
fn crates_depend_only_on_their_own_wing_and_on_those_before_it() {
    let mut packages = packages();
    assert!(packages.len() > 30, "only {} crates", packages.len());
    assert_eq!(wrong_dependencies(&packages), [""; 0]);
    for (name, forbidden) in [("table", "store"), ("store", "cli"), ("fit", FOR_TESTS)] {
        let package = packages.get_mut(name).expect("a crate");
        package.dependencies.push(forbidden.to_owned());
    }
    let expected = ["fit -> testkit", "store -> cli", "table -> store"];
    assert_eq!(wrong_dependencies(&packages), expected);
}

/// The crates that a crate's product code depends on, directly or through others.
fn reached_from(package: &str, packages: &BTreeMap<String, Package>) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut next = vec![package.to_owned()];
    while let Some(name) = next.pop() {
        for dependency in &packages[&name].dependencies {
            if reached.insert(dependency.clone()) {
                next.push(dependency.clone());
            }
        }
    }
    reached
}

#[test]
fn what_is_measured_next_is_computed_without_a_store() {
    let packages = packages();
    let reached = reached_from("agenda", &packages);
    assert!(reached.contains("fit") && reached.contains("schedule"));
    assert!(!reached.contains("store"), "{reached:?}");
    assert!(reached_from("tuner", &packages).contains("store"));
}

#[test]
fn every_folder_of_src_is_a_wing_with_a_readme_that_names_its_crates() {
    let packages = packages();
    for (name, package) in &packages {
        if name == FOR_TESTS {
            assert_eq!(package.folder, source().join(FOR_TESTS));
            continue;
        }
        let wing = position_of_wing(&package.folder);
        let wing = WINGS[wing.unwrap_or_else(|| panic!("{name} is in no wing"))];
        assert_eq!(package.folder, source().join(wing).join(name));
        let readme = std::fs::read_to_string(source().join(wing).join("README.md"));
        let readme = readme.unwrap_or_else(|error| panic!("{wing}/README.md: {error}"));
        assert!(readme.contains(&format!("`{name}`")), "{wing}: {name}");
    }
    let entries = std::fs::read_dir(source()).expect("readable");
    for entry in entries {
        let name = entry.expect("an entry").file_name();
        let name = name.to_str().expect("UTF-8");
        let is_known =
            WINGS.contains(&name) || [FOR_TESTS, "ARCHITECTURE.md", "EXTENDING.md"].contains(&name);
        assert!(is_known, "src/{name} is neither a wing nor {FOR_TESTS}");
    }
}
