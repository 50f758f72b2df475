//! What released versions wrote is read by every later one. `scripts/release-fixtures` makes a folder for each release
//! and records its answers; the tests find all of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use testkit::process;

use crate::older;
use crate::run::Place;
use crate::serve::Serving;

/// What may differ from the answers of an earlier version: predictions and estimates, which improve, and what depends on
/// the present time. A text that a later version words anew is added, with its question.
const MAY_DIFFER: [&str; 6] = [
    "predicted_seconds",
    "detectable_gains",
    "least_budgets",
    "exhaustive_turns",
    "estimated_seconds",
    "node_hours_this_month",
];

/// The same for columns of reports.
const COLUMNS_THAT_MAY_DIFFER: [&str; 1] = ["expected_seconds"];

/// An answer's field that is the day on which the question was asked: what is measured today has today's date.
struct PresentDay {
    answer: &'static str,
    field: &'static str,
}

const PRESENT_DAYS: [PresentDay; 1] = [PresentDay {
    answer: "continued.json",
    field: "/after/date",
}];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// The folders of all released versions.
fn releases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/releases");
    let entries = fs::read_dir(folder).unwrap();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    folders
}

/// A version as numbers, which are in order.
fn numbers(version: &str) -> Vec<u32> {
    let parts = version.split('.').map(|part| part.parse().unwrap());
    parts.collect()
}

/// What is in `expected` and different in `found`, which may have further fields.
fn json_differences(at: &str, expected: &Value, found: &Value) -> Vec<String> {
    match (expected, found) {
        (Value::Object(expected_keys), Value::Object(found_keys)) => {
            let compared = expected_keys
                .iter()
                .filter(|(key, _)| !MAY_DIFFER.contains(&key.as_str()));
            let of_key = |(key, value): (&String, &Value)| {
                let place = format!("{at}/{key}");
                // A key with null is not the same as none.
                match found_keys.get(key) {
                    Some(found_value) => json_differences(&place, value, found_value),
                    None => vec![format!("{place}: {value} is lacking")],
                }
            };
            compared.flat_map(of_key).collect()
        }
        (Value::Array(expected_items), Value::Array(found_items))
            if expected_items.len() == found_items.len() =>
        {
            let pairs = expected_items.iter().zip(found_items).enumerate();
            pairs
                .flat_map(|(index, (one, other))| {
                    json_differences(&format!("{at}/{index}"), one, other)
                })
                .collect()
        }
        _ if expected == found => Vec::new(),
        _ => vec![format!("{at}: {expected} has become {found}")],
    }
}

/// Lines of comma-separated values, each as its values in the named columns; what lacks a column has none there.
fn columns<'a>(text: &'a str, names: &[&str]) -> Vec<Vec<Option<&'a str>>> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let places: Vec<Option<usize>> = names
        .iter()
        .map(|name| header.iter().position(|column| column == name))
        .collect();
    let values = |line: &'a str| {
        let cells: Vec<&str> = line.split(',').collect();
        let value = |place: &Option<usize>| place.and_then(|index| cells.get(index).copied());
        places.iter().map(value).collect()
    };
    lines.map(values).collect()
}

fn csv_differences(expected: &str, found: &str) -> Vec<String> {
    let header = expected.lines().next().unwrap_or_default();
    let names: Vec<&str> = header
        .split(',')
        .filter(|name| !COLUMNS_THAT_MAY_DIFFER.contains(name))
        .collect();
    let (expected_rows, found_rows) = (columns(expected, &names), columns(found, &names));
    let mut differences = Vec::new();
    if expected_rows.len() != found_rows.len() {
        let (before, now) = (expected_rows.len(), found_rows.len());
        differences.push(format!("{before} rows have become {now}"));
    }
    for (expected_row, found_row) in expected_rows.iter().zip(&found_rows) {
        if expected_row != found_row {
            differences.push(format!("{expected_row:?} has become {found_row:?}"));
        }
    }
    differences
}

/// What differs from a recorded answer, by the kind of its file. Comments in files of settings are left out: they have
/// the version that wrote them.
fn differences(file: &str, expected: &str, found: &str) -> Vec<String> {
    match file.rsplit_once('.').map(|(_, ending)| ending) {
        Some("json") => {
            let [expected, found] = [expected, found].map(|text| {
                let mut answer: Value = serde_json::from_str(text).unwrap();
                for day in PRESENT_DAYS.iter().filter(|day| day.answer == file) {
                    let date = answer.pointer_mut(day.field).unwrap();
                    assert!(date.is_string(), "{date}");
                    *date = "today".into();
                }
                answer
            });
            json_differences("", &expected, &found)
        }
        Some("csv") => csv_differences(expected, found),
        Some("conf") => {
            let rules = |text: &str| -> Vec<String> {
                let lines = text.lines().filter(|line| !line.starts_with('#'));
                lines.map(|line| line.trim_end().to_owned()).collect()
            };
            let (before, now) = (rules(expected), rules(found));
            if before == now {
                Vec::new()
            } else {
                vec![format!("{before:#?} has become {now:#?}")]
            }
        }
        _ if expected == found => Vec::new(),
        _ => vec![format!("{expected} has become {found}")],
    }
}

/// The body of an answer of the service to an administrator.
fn get(place: &Place, url: &str, path: &str) -> Result<String, String> {
    let bearer = format!("Bearer {}", place.read("service/token").trim());
    let request = ureq::get(format!("{url}/api/v1/{path}")).header("Authorization", bearer);
    let mut answer = request.call().map_err(|error| error.to_string())?;
    let body = answer.body_mut().read_to_string();
    body.map(|body| place.anonymous(body.as_bytes()))
        .map_err(|error| error.to_string())
}

/// Asks a copy of a release's files all that the release was asked; returns what has become different.
fn read_again(release: &Path) -> Vec<String> {
    let place = Place::new();
    older::put(&place, &release.join("site"), "", |text| text);
    let mut serving =
        Serving::start(&mut place.command(&["serve", "--config", "tuning/service.yaml"]));
    let url = format!("http://{}", serving.address());
    let questions = fs::read_to_string(release.join("questions")).unwrap();
    let mut found = Vec::new();
    for line in questions.lines() {
        let (file, question) = line.split_once(": ").unwrap();
        let answer = if let Some(path) = question.strip_prefix("GET ") {
            get(&place, &url, path)
        } else {
            let ran = place.run_line(&question.replace("@URL@", &url));
            match ran.code {
                Some(0) => Ok(ran.out.replace(&url, "@URL@")),
                _ => Err(format!("{:?}: {}", ran.code, ran.err)),
            }
        };
        let changed = match answer {
            Err(why) => vec![why],
            Ok(_) if file == "-" => Vec::new(),
            Ok(answer) => {
                let expected = fs::read_to_string(release.join("answers").join(file)).unwrap();
                differences(file, &expected.replace("@DIR@", "DIR"), &answer)
            }
        };
        found.extend(changed.iter().map(|what| format!("{question}: {what}")));
    }
    assert!(questions.lines().count() > 30, "{questions}");
    found
}

#[test]
fn every_released_version_is_read_as_it_read_itself() {
    let folders = releases();
    assert!(!folders.is_empty());
    for folder in folders {
        let changed = read_again(&folder);
        assert!(
            changed.is_empty(),
            "{}:\n{}",
            folder.display(),
            changed.join("\n")
        );
    }
}

/// From 0.2.0 on.
#[test]
fn every_release_in_the_changelog_has_fixtures() {
    let changelog = fs::read_to_string(root().join("CHANGELOG.md")).unwrap();
    let headings = changelog
        .lines()
        .filter_map(|line| line.strip_prefix("## "));
    let mut released: Vec<&str> = headings
        .filter_map(|heading| heading.split_once(" (").map(|(version, _)| version))
        .collect();
    // As long as no release is so late, this shows that headings are read at all.
    assert!(released.contains(&"0.1.0"), "{released:?}");
    released.retain(|version| numbers(version) >= numbers("0.2.0"));
    let folders: BTreeSet<String> = releases()
        .iter()
        .map(|folder| folder.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    for version in released {
        assert!(
            folders.contains(version),
            "{version} has no fixtures: scripts/release-fixtures {version} makes them"
        );
    }
}

#[test]
fn a_changed_answer_is_a_difference() {
    let json = |text: &str| differences("a.json", r#"{"a": [1, {"b": 2.5}]}"#, text);
    assert!(json(r#"{"c": 1, "a": [1, {"b": 2.5, "d": 3}]}"#).is_empty());
    for changed in [
        r#"{"a": [1, {"b": 2.4}]}"#,
        r#"{"a": [1]}"#,
        r#"{"a": [1, {}]}"#,
        "{}",
        "[]",
    ] {
        assert_eq!(json(changed).len(), 1, "{changed}");
    }
    let null = r#"{"a": null}"#;
    assert!(differences("a.json", null, null).is_empty());
    assert_eq!(differences("a.json", null, "{}").len(), 1);
    let expected = "bytes,seconds,expected_seconds\n8,1e-6,2e-6\n16,1e-6,3e-6\n";
    let csv = |text: &str| differences("a.csv", expected, text).len();
    assert_eq!(csv(expected), 0);
    // Columns may be added and change their places, predictions may improve.
    let moved = "seconds,new,bytes,expected_seconds\n1e-6,0,8,2.5e-6\n1e-6,0,16,3e-6\n";
    assert_eq!(csv(moved), 0);
    assert_eq!(csv("bytes,expected_seconds\n8,2e-6\n16,3e-6\n"), 2);
    assert_eq!(csv("bytes,seconds\n8,1e-6\n"), 1);
    assert_eq!(csv("bytes,seconds\n8,1e-6\n16,2e-6\n"), 1);
    let conf = |text: &str| differences("a.conf", "# by 0.2.0\n1 # collectives\n", text).len();
    assert_eq!(conf("# by 0.3.0\n1 # collectives\n"), 0);
    assert_eq!(conf("# by 0.2.0\n2 # collectives\n"), 1);
    assert_eq!(differences("log", "a\n", "b\n").len(), 1);
}

/// A repository with this one's crates and scripts, in which `colltune` calls itself 0.9.0.
struct Checkout {
    place: Place,
}

impl Checkout {
    fn new() -> Self {
        let place = Place::new();
        let sources = ["Cargo.toml", "Cargo.lock", "CHANGELOG.md", "scripts", "src"];
        let copied = Command::new("cp")
            .arg("-r")
            .args(sources.map(|name| root().join(name)))
            .arg(place.path(""))
            .status()
            .unwrap();
        assert!(copied.success());
        // After a release there is nothing unreleased yet.
        let heading = "## Unreleased\n";
        let noted =
            place
                .read("CHANGELOG.md")
                .replacen(heading, &format!("{heading}\n- A change.\n"), 1);
        place.write("CHANGELOG.md", noted);
        let real = env!("CARGO_BIN_EXE_colltune");
        let renamed = format!(
            "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'colltune 0.9.0'; exit 0; fi\nexec '{real}' \"$@\"\n"
        );
        place.write("bin/colltune", renamed);
        place.write(".gitignore", "/target\n");
        let checkout = Self { place };
        checkout.bash("chmod +x bin/colltune && git init --quiet && git add --all");
        checkout.commit("Begin");
        checkout
    }

    /// Runs a command of a shell, which must succeed; returns its output.
    #[track_caller]
    fn bash(&self, command: &str) -> String {
        let (code, out) = self.try_bash(command);
        assert_eq!(code, Some(0), "{command}: {out}");
        out
    }

    fn try_bash(&self, command: &str) -> (Option<i32>, String) {
        let mut shell = Command::new("bash");
        shell
            .args(["-ec", command])
            .current_dir(self.place.path(""))
            .env("COLLTUNE", self.place.path("bin/colltune"))
            .env_remove("CARGO_TARGET_DIR");
        let ended = process::run_to_end(&mut shell, Duration::from_secs(120));
        (ended.status.code(), ended.out + &ended.err)
    }

    fn commit(&self, subject: &str) {
        let identity = "-c user.name=test -c user.email=test@localhost";
        self.bash(&format!("git {identity} commit --quiet -am '{subject}'"));
    }

    /// Asserts that a release is refused for a reason, and that nothing has changed.
    #[track_caller]
    fn is_refused(&self, arguments: &str, reason: &str) {
        let status = "git status --porcelain; git diff";
        let before = self.bash(status);
        let (code, said) = self.try_bash(&format!("scripts/release {arguments}"));
        assert!(
            code != Some(0) && said.contains(reason),
            "{arguments}: {said}"
        );
        assert_eq!(self.bash(status), before, "{arguments}");
    }
}

#[test]
fn a_release_is_prepared_in_a_checkout() {
    let tools = ["git", "curl", "sqlite3"].map(process::find_program);
    if testkit::require(
        "tools of a release",
        tools.iter().all(Option::is_some).then_some(()),
    )
    .is_none()
    {
        return;
    }
    let checkout = Checkout::new();
    let changelog = checkout.place.read("CHANGELOG.md");
    let manifest = checkout.place.read("Cargo.toml");
    let lock = checkout.place.read("Cargo.lock");
    let present = env!("CARGO_PKG_VERSION");

    for wrong in ["", "0.9", "v0.9.0", "0.9.0 --dry", "0.9.0 --dry-run more"] {
        checkout.is_refused(wrong, "usage: scripts/release VERSION");
    }
    checkout.is_refused("0.1.0", "0.1.0 is not above");
    checkout.is_refused("0.0.9", "0.0.9 is not above");
    checkout.place.write("new", "");
    checkout.is_refused("0.9.0", "?? new");
    fs::remove_file(checkout.place.path("new")).unwrap();
    // The command calls itself otherwise: what was changed before is changed back.
    checkout.is_refused("0.9.1", "calls itself `colltune 0.9.0`");

    // A section that is empty or missing.
    let (before, rest) = changelog.split_once("## Unreleased\n").unwrap();
    let released = &rest[rest.find("\n## ").unwrap()..];
    for (text, reason) in [
        (format!("{before}## Unreleased\n\n{released}"), "is empty"),
        (format!("{before}{released}"), "there is no section"),
    ] {
        checkout.place.write("CHANGELOG.md", text);
        checkout.commit("Forget the notes");
        checkout.is_refused("0.9.0", reason);
    }
    let notes = "- What users need.";
    let written = format!("{before}## Unreleased\n\n{notes}\n{released}");
    checkout.place.write("CHANGELOG.md", &written);
    checkout.commit("Write the notes");

    let shown = checkout.bash("scripts/release 0.9.0 --dry-run");
    for line in [
        "-version = \"",
        "+version = \"0.9.0\"",
        "+## 0.9.0 (",
        notes,
    ] {
        assert!(shown.contains(line), "no `{line}` in:\n{shown}");
    }
    assert_eq!(checkout.bash("git status --porcelain"), "");

    let told = checkout.bash("scripts/release 0.9.0");
    let changed = checkout.bash("git status --porcelain");
    let fixtures = "src/command/cli/tests/fixtures/releases/0.9.0";
    assert_eq!(
        changed,
        format!(" M CHANGELOG.md\n M Cargo.lock\n M Cargo.toml\n?? {fixtures}/\n")
    );
    let [old, new] = [present, "0.9.0"].map(|version| format!("\nversion = \"{version}\"\n"));
    assert_eq!(
        checkout.place.read("Cargo.toml"),
        manifest.replacen(&old, &new, 1)
    );
    // The same crates from elsewhere, and all of its own in the new version.
    let of_others = |text: &str| -> Vec<String> {
        let packages = text
            .split("\n\n")
            .filter(|package| package.contains("source = "));
        packages.map(str::to_owned).collect()
    };
    let locked = checkout.place.read("Cargo.lock");
    assert_eq!(of_others(&locked), of_others(&lock));
    assert!(locked.contains("name = \"cli\"\nversion = \"0.9.0\"\n"));
    let text = checkout.place.read("CHANGELOG.md");
    let day = text.split_once("## Unreleased\n\n## 0.9.0 (").unwrap().1;
    assert_eq!(&day[10..], format!(")\n\n{notes}\n{released}"));
    let tag = checkout.place.read("target/release-0.9.0.txt");
    assert_eq!(tag, format!("colltune 0.9.0\n\n{notes}\n"));
    assert!(told.contains("git tag --annotate v0.9.0"), "{told}");
    assert_eq!(read_again(&checkout.place.path(fixtures)), [""; 0]);

    // Once it has its tag, its fixtures stay as they are.
    checkout
        .bash("git -c user.name=test -c user.email=test@localhost tag -am 'colltune 0.9.0' v0.9.0");
    let (code, said) = checkout.try_bash("scripts/release-fixtures 0.9.0");
    assert!(
        code == Some(2) && said.contains("has the tag v0.9.0"),
        "{said}"
    );
    checkout.bash("git add --all");
    checkout.commit("Release 0.9.0");
    checkout.is_refused("0.9.0", "there is a tag v0.9.0");
}
