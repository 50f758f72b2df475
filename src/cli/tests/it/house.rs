//! What the project's own documents promise.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_example_table_can_be_asked() {
    let table = table::Table::load(&root().join("tables/example.yaml")).unwrap();
    let path = root().join("tuning").join(format!("{}.yaml", table.name));
    let campaign = campaign::Campaign::load(&path).unwrap();
    assert!(table.collectives.keys().eq(campaign.sizes.keys()));
    // A search looks at some cells more often than the campaign asks for, and at none less.
    assert!(table.provenance.launches >= campaign.launches);
    // Nothing is missing; where patterns of calls disagree, a table says so.
    let mut warnings = table.provenance.warnings.iter();
    assert!(warnings.all(|warning| warning.starts_with("the default stays where ")));
    let report = std::fs::read_to_string(root().join("reports/example.md")).unwrap();
    assert!(report.contains(&table.provenance.campaign));
}

/// The text of the file of a test's module, at whatever depth it is.
fn module(folder: &Path, name: &str) -> Option<String> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let mut paths = entries.map(|entry| entry.path());
    paths.find_map(|path| match path.is_dir() {
        true => module(&path, name),
        false if path.file_name()? == format!("{name}.rs").as_str() => {
            std::fs::read_to_string(path).ok()
        }
        false => None,
    })
}

#[test]
fn the_threat_model_names_tests_that_are_there() {
    let text = std::fs::read_to_string(root().join("docs/service.md")).unwrap();
    let (_, threats) = text.split_once("## Threat model").unwrap();
    let mut named = 0;
    for name in threats.split('`') {
        let Some((place, function)) = name.split_once("::") else {
            continue;
        };
        let (of, file) = place.split_once(' ').unwrap();
        let tests = root().join("src").join(of).join("tests/it");
        let found = module(&tests, file).unwrap_or_else(|| panic!("no tests {place}"));
        let signature = format!("fn {function}()");
        assert!(found.contains(&signature), "there is no test {name}");
        named += 1;
    }
    assert!(named > 30, "{named}");
}

/// Public types of one name in several crates or files, and why each may have it.
const SHARED_NAMES: &[(&str, &str)] = &[
    ("Action", "a line of a folder's history; a step of a round"),
    (
        "Analysis",
        "what a store's samples say; the same with what reports need",
    ),
    ("Attempt", "tests start programs with their own"),
    (
        "Cache",
        "one of a machine's caches; whether calls find data in it",
    ),
    ("Call", "a call on MPI; a call whose time is predicted"),
    ("Channel", "a client reads what a service writes"),
    (
        "Choice",
        "what a library is told; what tables differ in; what is compiled",
    ),
    ("Clock", "a global clock; what a clock can tell apart"),
    (
        "Comparison",
        "tables side by side; algorithms side by side in a report",
    ),
    ("Confirmation", "what a campaign asks for; what came of it"),
    (
        "Deployed",
        "a version; a file in place while it is validated",
    ),
    ("Event", "in a simulation; in the loop"),
    (
        "Executor",
        "carries out calls of a benchmark; carries out a schedule",
    ),
    ("Failure", "in the loop; as it is recorded"),
    ("Format", "of exports; of imports"),
    (
        "Found",
        "a file that is no store; a verdict that is no match",
    ),
    ("Layout", "of shared memory; of a rank's buffers"),
    ("Machine", "as it is modelled; as a service lists it"),
    ("Manifest", "a client reads what a service writes"),
    ("Message", "in simulated time; in steps"),
    ("Misfit", "of the model; of a table in a program"),
    ("Node", "of the tree in MPICH's files; of a machine"),
    ("Nodes", "that a launcher is given; that ranks share"),
    ("Origin", "of a table; of samples"),
    ("Outcome", "of a request, a job, and a launch in a store"),
    ("Page", "a client reads what a service writes"),
    ("Parameters", "numbers in schedules; as people write them"),
    ("Problem", "a service's answer; a mistake in a file"),
    ("Progress", "of a benchmark, a message, and a campaign"),
    ("Ranks", "that a failure concerns; that a launcher starts"),
    ("Record", "of an imported file; of a spool"),
    ("Release", "what is deployed of one; as a service keeps it"),
    ("Repetitions", "that are asked for; that were valid"),
    (
        "Request",
        "for a deployment, a job, a schedule, a search, and in tests",
    ),
    ("Row", "of files that readers check; of a program's summary"),
    ("Segment", "of shared memory; of a curve; of a trace"),
    ("Selection", "of candidates; a file of MPICH"),
    ("Slice", "of measuring time; of a list of a service"),
    ("Span", "of time; of blocks"),
    ("Status", "of a job in its batch system; of a parameter"),
    ("Summary", "of samples; of a program's calls"),
    ("Task", "a client reads what a service writes; of a plan"),
    ("Turn", "of an executor; of tests that start ranks"),
    ("Verdict", "of a decision, a proof, and a validation"),
    ("Version", "of a deployed table; of a service's table"),
    ("Withheld", "a rule; how reports count them"),
    ("Work", "of a trace; in steps; of a task"),
];

/// Adds the names of public types in a folder's files.
fn public_types(folder: &Path, names: &mut BTreeMap<String, BTreeSet<PathBuf>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            if !["tests", "benches", "examples"].contains(&name) {
                public_types(&path, names);
            }
            continue;
        }
        if !name.ends_with(".rs") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for line in text.lines() {
            let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            let kinds = ["struct", "enum", "trait", "type", "union"];
            if line.starts_with("pub ") && words.nth(1).is_some_and(|word| kinds.contains(&word)) {
                let name = words.next().unwrap().to_owned();
                names.entry(name).or_default().insert(path.clone());
            }
        }
    }
}

#[test]
fn a_public_type_name_stands_for_one_thing() {
    let mut names = BTreeMap::new();
    public_types(&root().join("src"), &mut names);
    let shared = names.iter().filter(|(_, files)| files.len() > 1);
    let shared: BTreeSet<&str> = shared.map(|(name, _)| name.as_str()).collect();
    let known: BTreeSet<&str> = SHARED_NAMES.iter().map(|(name, _)| *name).collect();
    let new: Vec<_> = shared
        .difference(&known)
        .map(|name| &names[*name])
        .collect();
    assert!(new.is_empty(), "choose another name, or say why: {new:#?}");
    let gone: Vec<_> = known.difference(&shared).collect();
    assert!(gone.is_empty(), "no longer shared: {gone:?}");
}
