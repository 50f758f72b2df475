//! What the project's own documents promise.

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
