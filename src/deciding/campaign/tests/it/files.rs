//! The files in `tuning/` and those that `colltune init` writes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use campaign::{Campaign, CampaignError, init_template};
use testkit::commented_examples;
use vocabulary::units::format_seconds;

use crate::parse;

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../tuning")
        .join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(path(name)).expect("the file is part of the repository")
}

/// As if the virtual cluster, which some campaigns need, were running in the folder above `tuning`.
fn parse_with_hosts(text: &str, place: &Path) -> Result<Campaign, CampaignError> {
    let hosts = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(&hosts, "a\nb\nc\nd\n").expect("written");
    let file = hosts.path().display().to_string();
    let jobs = path("../jobs/").display().to_string();
    let text = text.replace("/run/colltune-cluster/hosts", &file);
    let text = text.replace("job: jobs/", &format!("job: {jobs}"));
    Campaign::parse_for(&text, place, crate::CORES)
}

#[test]
fn every_file_loads() {
    for entry in std::fs::read_dir(path(".")).expect("a directory") {
        let path = entry.expect("an entry").path();
        // Machines are in another folder; the service's configuration is no campaign.
        if path.is_dir() || path.ends_with("service.yaml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("readable");
        let campaign = parse_with_hosts(&text, &path).map_err(|error| error.to_string());
        let stem = path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .map(str::to_owned);
        assert_eq!(
            campaign.map(|campaign| Some(campaign.name)),
            Ok(stem),
            "{}",
            path.display()
        );
    }
}

#[test]
fn the_quickstart_is_quick() {
    let campaign = Campaign::parse_for(&read("quickstart.yaml"), "q".as_ref(), 2).expect("valid");
    assert!(
        campaign.budget_seconds <= 120.0,
        "{}",
        format_seconds(campaign.budget_seconds)
    );
    assert_eq!(campaign.launches, 6);
    assert_eq!(campaign.cells().len(), 24);
}

#[test]
fn the_reference_states_the_defaults() {
    let stated = parse(&read("reference.yaml")).expect("valid");
    let defaults = parse("name: reference\n").expect("valid");
    assert_eq!(
        stated.digest(),
        defaults.digest(),
        "\n{stated:#?}\n{defaults:#?}"
    );
}

#[test]
fn the_examples_in_the_reference_are_valid() {
    let examples = commented_examples(&read("reference.yaml"));
    assert!(examples.len() >= 8, "only {} found", examples.len());
    for example in examples {
        let text = format!("name: x\n{example}");
        let result = parse_with_hosts(&text, "x.yaml".as_ref()).map_err(|error| error.to_string());
        assert!(result.is_ok(), "{example}\n{result:?}");
    }
}

/// All keys below `prefix`, from the error about a key that does not exist.
fn keys(prefix: &[&str]) -> BTreeSet<Vec<String>> {
    let nested: String = prefix.iter().map(|key| format!("{key}: {{")).collect();
    let text = format!(
        "{{name: x, {nested}no-such-key: 1{}}}",
        "}".repeat(prefix.len())
    );
    let text = if prefix.is_empty() {
        "{no-such-key: 1}".to_owned()
    } else {
        text
    };
    let Err(CampaignError::Invalid(found)) = parse(&text) else {
        return BTreeSet::new();
    };
    let Some(known) = found.help.strip_prefix("keys here: ") else {
        return BTreeSet::new();
    };
    assert_eq!(found.message, "unknown key `no-such-key`");
    let mut all = BTreeSet::new();
    for key in known.split(", ") {
        let below: Vec<&str> = prefix.iter().copied().chain([key]).collect();
        all.extend(keys(&below));
        all.insert(below.into_iter().map(str::to_owned).collect());
    }
    all
}

/// The paths of all keys in a text.
fn written(value: &serde_yaml::Value, at: &[String], into: &mut BTreeSet<Vec<String>>) {
    match value {
        serde_yaml::Value::Mapping(entries) => {
            for (key, entry) in entries {
                let mut path = at.to_vec();
                path.push(key.as_str().expect("keys are texts").to_owned());
                written(entry, &path, into);
                into.insert(path);
            }
        }
        serde_yaml::Value::Sequence(items) => {
            items.iter().for_each(|item| written(item, at, into));
        }
        _ => {}
    }
}

#[test]
fn the_reference_has_every_key() {
    let reference = read("reference.yaml");
    let mut shown = BTreeSet::new();
    for text in commented_examples(&reference).iter().chain([&reference]) {
        written(
            &serde_yaml::from_str(text).expect("valid YAML"),
            &[],
            &mut shown,
        );
    }
    let known = keys(&[]);
    // Checks the method by which the keys are found.
    for expected in [
        "launcher local oversubscribe",
        "launcher pbs job template text",
        "launcher slurm job queue",
        "library version",
        "repetitions slice",
        "shapes ppn",
    ] {
        let path: Vec<String> = expected.split(' ').map(str::to_owned).collect();
        assert!(known.contains(&path), "{expected} is not in {known:?}");
    }
    // Keys of jobs are described once for all batch systems that have them.
    let of_any = |path: &Vec<String>| {
        let systems = launcher::BATCH_SYSTEMS.map(|system| system.name().to_owned());
        let mut others = systems.iter().map(|system| {
            let mut path = path.clone();
            if path.get(1).is_some_and(|key| systems.contains(key)) {
                path[1].clone_from(system);
            }
            path
        });
        others.any(|other| shown.contains(&other))
    };
    let missing: Vec<String> = known
        .iter()
        .filter(|path| !of_any(path))
        .map(|path| path.join("."))
        .collect();
    assert!(missing.is_empty(), "not in the reference: {missing:?}");
}

#[test]
fn templates_are_campaigns() {
    for (cores, library) in [(1, None), (2, Some("openmpi")), (12, Some("mpich"))] {
        let text = init_template(cores, library);
        let campaign = Campaign::parse_for(&text, "new.yaml".as_ref(), cores).expect("valid");
        assert_eq!(
            campaign.library.name.map(launcher::LibraryName::name),
            library
        );
        let shapes: Vec<String> = campaign.shapes.iter().map(ToString::to_string).collect();
        assert!(
            text.contains(&format!("auto is {} here", shapes.join(", "))),
            "{text}"
        );
    }
    insta::assert_snapshot!(init_template(2, Some("openmpi")));
}
