//! State folders of older versions of the service, which later ones must bring to their own version without a loss.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde_json::Value;
use service::{Configuration, Digest};

use crate::fixture::Site;

fn fixture(name: &str) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    fixtures.join(name)
}

/// Copies a folder: databases are text, and `@DIR@` stands for the site's folder.
fn put(from: &Path, to: &Path, site: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_symlink() {
            symlink(fs::read_link(&path).unwrap(), &to).unwrap();
            continue;
        }
        if path.is_dir() {
            put(&path, &to, site);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let text = text.replace("@DIR@", site.to_str().unwrap());
        if to.extension().is_some_and(|ending| ending == "sql") {
            Connection::open(to.with_extension(""))
                .unwrap()
                .execute_batch(&text)
                .unwrap()
        } else {
            fs::write(&to, text).unwrap()
        }
        let is_secret = to.file_name().is_some_and(|name| name == "token");
        if is_secret {
            fs::set_permissions(&to, fs::Permissions::from_mode(0o600)).unwrap();
        }
    }
}

/// A service that has opened the state of an older one. It carries out no tasks.
fn opened(name: &str) -> Site {
    Site::with(|configuration, folder| {
        put(&fixture(name), folder, folder);
        let listen = configuration.listen.clone();
        let path = folder.join("tuning/service.yaml");
        *configuration = Configuration::load(&path).unwrap();
        configuration.listen = listen;
    })
}

/// Lists what is in `expected` and different in `found`, which may have further fields.
fn compare(place: &str, expected: &Value, found: &Value, differences: &mut Vec<String>) {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            for (key, value) in expected {
                let found = found.get(key).unwrap_or(&Value::Null);
                compare(&format!("{place}/{key}"), value, found, differences);
            }
        }
        (Value::Array(expected), Value::Array(found)) if expected.len() == found.len() => {
            for (index, (expected_item, found_item)) in expected.iter().zip(found).enumerate() {
                compare(
                    &format!("{place}/{index}"),
                    expected_item,
                    found_item,
                    differences,
                );
            }
        }
        _ if expected == found => {}
        _ => differences.push(format!("{place}: {expected} has become {found}")),
    }
}

#[test]
fn a_state_of_the_first_version_is_shown_unchanged() {
    let site = opened("state-1");
    let expected = fs::read_to_string(fixture("state-1").join("expected.json")).unwrap();
    let expected = expected.replace("@DIR@", site.folder().to_str().unwrap());
    let expected: BTreeMap<String, Value> = serde_json::from_str(&expected).unwrap();
    assert!(expected.len() > 20);
    let mut differences = Vec::new();
    for (path, expected_answer) in &expected {
        let answer = site.send(&format!("GET /api/v1{path}"), &[&site.bearer()], "");
        let found = answer.expect(200).json();
        compare(path, expected_answer, &found, &mut differences);
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn tables_channels_and_tokens_of_the_first_version_are_used() {
    let site = opened("state-1");
    let folder = fixture("state-1");
    let secret = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(site.owner, secret("service/token").trim());
    // Every table has the digest by which it is known.
    let blobs = fs::read_dir(folder.join("service/blobs/sha256")).unwrap();
    let blobs = blobs.flat_map(|entry| fs::read_dir(entry.unwrap().path()).unwrap());
    let mut count = 0;
    for blob in blobs {
        let text = fs::read(blob.unwrap().path()).unwrap();
        let digest = Digest::of_bytes(&text);
        let answer = site.get(&format!("/api/v1/blobs/{digest}")).expect(200);
        assert_eq!(answer.body.as_bytes(), text);
        count += 1;
    }
    assert_eq!(count, 5);
    // Jobs find the tables of the newest releases, also where the folder of the channel is lost.
    let channels = site.folder().join("service/channels");
    for (channel, digest) in [
        (
            "hydra/simulated-reference-6174701a/production",
            "eafb353d75",
        ),
        ("hydra/simulated-reference-6174701a/canary", "4ca292542d"),
        ("login/simulated-reference-6174701a/candidate", "a40f8f9951"),
    ] {
        let found = fs::read_to_string(channels.join(channel).join("current/digest")).unwrap();
        assert!(found.starts_with(digest), "{channel}: {found}");
    }
    // Tokens mean what they meant.
    let ask = |token: &str, line: &str| {
        let bearer = format!("Authorization: Bearer {}", secret(token).trim());
        site.send(line, &[&bearer, "Content-Type: application/json"], "{}")
            .status
    };
    assert_eq!(ask("nightly.token", "GET /api/v1/tasks?machine=hydra"), 200);
    assert_eq!(ask("nightly.token", "GET /api/v1/tokens"), 403);
    assert_eq!(ask("nightly.token", "POST /api/v1/tasks/9/cancel"), 202);
    assert_eq!(ask("node.token", "POST /api/v1/tasks/8/cancel"), 403);
    assert_eq!(ask("old.token", "GET /api/v1/machines"), 401);
}
