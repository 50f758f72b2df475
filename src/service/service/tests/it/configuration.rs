//! `service.yaml`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use service::{Configuration, Listen, ServiceError};

fn load(text: &str) -> Result<Configuration, String> {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("chain.pem"), "").expect("written");
    let path = folder.path().join("service.yaml");
    fs::write(&path, text).expect("written");
    match Configuration::load(&path) {
        Ok(configuration) => Ok(configuration),
        // Without the folder's name, which differs in each run.
        Err(ServiceError::Configuration(message)) => {
            let folder = folder.path().display().to_string();
            Err(message.replace(&format!("{folder}/"), ""))
        }
        Err(error) => panic!("{error}"),
    }
}

fn valid(text: &str) -> Configuration {
    load(text).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tuning/service.yaml")
}

#[test]
fn the_example_states_the_defaults() {
    let stated = Configuration::load(&example()).expect("valid");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    assert_eq!(stated, Configuration::for_folder(&root).expect("a folder"));
    assert!(stated.folder.is_absolute() && stated.state == stated.folder.join("service"));
}

#[test]
fn the_examples_of_other_values_are_valid_and_every_key_is_shown() {
    let text = fs::read_to_string(example()).expect("read");
    let blocks = testkit::commented_examples(&text);
    assert_eq!(blocks.len(), 6);
    for block in &blocks {
        valid(
            &block
                .replace("/etc/colltune/chain", "chain")
                .replace("/etc/colltune/key", "chain"),
        );
    }
    for (open, close) in [
        ("", ""),
        ("machines: [{", "}]"),
        ("tls: {", "}"),
        ("gates: {", "}"),
    ] {
        let asked = format!("{open}no-such-key: 1{close}");
        let refused = load(&asked).expect_err("refused");
        let (_, keys) = refused.split_once("keys here: ").expect("a list");
        for key in keys.split(", ") {
            assert!(
                text.contains(&format!("{key}: ")) || text.contains(&format!("{key}:\n")),
                "{key}"
            );
        }
    }
}

#[test]
fn values_are_read_as_documented() {
    let configuration = valid(
        "folder: .\nstate: ./var/../state\nlisten: unix:run/a.sock\nbehind_proxy: true\nlongest_wall_time: 1d12h\n\
         time_zone: Europe/Berlin\n\
         gates: {validation_days: 7}\nusage: {days: 14}\nmachines:\n- name: 1\n  campaigns: a/*.yaml\n- name: b.c_d-e\n  tasks: 4\n  \
         node_hours: 0.5\n  agent: true\n",
    );
    let folder = &configuration.folder;
    assert_eq!(configuration.state, folder.join("state"));
    assert_eq!(
        configuration.listen,
        Listen::Socket(folder.join("run/a.sock"))
    );
    assert_eq!(
        configuration.longest_wall_time,
        Duration::from_secs(36 * 3600)
    );
    assert_eq!(configuration.validation_days, 7);
    assert_eq!(configuration.usage_days, 14);
    assert_eq!(configuration.time_zone.iana_name(), Some("Europe/Berlin"));
    let [one, other] = &configuration.machines[..] else {
        panic!("{configuration:?}");
    };
    assert_eq!(
        (one.name.as_str(), &one.campaigns[..]),
        ("1", &["a/*.yaml".to_owned()][..])
    );
    assert_eq!((one.tasks, one.node_hours), (1, None));
    assert_eq!((other.tasks, other.node_hours), (4, Some(0.5)));
    assert_eq!((one.has_agent, other.has_agent), (false, true));
    assert_eq!(other.campaigns, ["tuning/*.yaml"]);
    assert_eq!(configuration.find_machine("1").expect("known"), one);
    let unknown = configuration
        .find_machine("2")
        .expect_err("unknown")
        .to_string();
    assert_eq!(unknown, "there is no machine `2`");
}

#[test]
fn reading_is_open_if_only_this_host_can_connect() {
    for (text, open) in [
        ("listen: 127.0.0.1:0", true),
        ("listen: 127.9.9.9:1", true),
        ("listen: \"[::1]:7878\"", true),
        ("listen: unix:a", true),
        ("behind_proxy: true", false),
        ("listen: unix:a\nbehind_proxy: true", false),
        ("listen: 0.0.0.0:7878\nbehind_proxy: true", false),
        (
            "listen: 10.0.0.1:443\ntls: {certificate: chain.pem, key: chain.pem}",
            false,
        ),
        ("behind_proxy: true\nopen_reading: true", true),
        ("listen: 127.0.0.1:0\nopen_reading: false", false),
    ] {
        assert_eq!(valid(text).open_reading, open, "{text}");
    }
}

#[test]
fn refusals_name_line_field_and_help() {
    for (text, expected) in [
        (
            "listen: 0.0.0.0:7878\n",
            "other hosts could connect to 0.0.0.0:7878, and the connection would not be encrypted
 --> service.yaml:1:9 (listen)
  |
1 | listen: 0.0.0.0:7878
  |         ^^^^^^^^^^^^
  = help: add `tls: {certificate: FILE, key: FILE}`; or `behind_proxy: true` if only a proxy that speaks TLS can \
             reach it; or listen on `127.0.0.1:7878`",
        ),
        (
            "# A name is no address.\nlisten: localhost:7878\n",
            "`localhost:7878` is neither an address with a port nor a socket
 --> service.yaml:2:9 (listen)
  |
2 | listen: localhost:7878
  |         ^^^^^^^^^^^^^^
  = help: write ADDRESS:PORT with a number for the address, as in `127.0.0.1:7878` or `\"[::1]:7878\"`, or `unix:PATH`",
        ),
        (
            "machines:\n  - name: local\n  - name: Local\n",
            "`Local` cannot be the name of a machine
 --> service.yaml:3:11 (machines[1].name)
  |
3 |   - name: Local
  |           ^^^^^
  = help: use 1 to 64 of `a` to `z`, digits, `-`, `_` and `.`, beginning with anything but `.`",
        ),
        (
            "machines:\n  - name: local\n  - name: local\n",
            "two machines are called `local`
 --> service.yaml:3:11 (machines[1].name)
  |
3 |   - name: local
  |           ^^^^^
  = help: give each machine a name of its own",
        ),
        (
            "machines:\n  - name: a\n    task: 2\n",
            "unknown key `task`
 --> service.yaml:3:5 (machines[0].task)
  |
3 |     task: 2
  |     ^^^^
  = help: did you mean `tasks`?",
        ),
        (
            "machines:\n  - name: a\n    tasks: 0\n",
            "expected a whole number from 1 to 1000, found `0`
 --> service.yaml:3:12 (machines[0].tasks)
  |
3 |     tasks: 0
  |            ^
  = help: write a whole number from 1 to 1000; tuning/service.yaml shows every key in use",
        ),
        (
            "longest_wall_time: 7\n",
            "`7` is not a duration; write it as in 90s, 20m, 1h30m or 500ms
 --> service.yaml:1:20 (longest_wall_time)
  |
1 | longest_wall_time: 7
  |                    ^
  = help: the unit is required: s, m, h or d",
        ),
        (
            "time_zone: Berlin\n",
            "`Berlin` is no time zone
 --> service.yaml:1:12 (time_zone)
  |
1 | time_zone: Berlin
  |            ^^^^^^
  = help: write the name of one in the IANA database, as in `Europe/Berlin`, or `UTC`",
        ),
        (
            "folder: nowhere\n",
            "`nowhere` is not a folder that can be opened: No such file or directory (os error 2)
 --> service.yaml:1:9 (folder)
  |
1 | folder: nowhere
  |         ^^^^^^^
  = help: name a folder that exists, relative to this file's own",
        ),
    ] {
        assert_eq!(load(text).expect_err(text), expected);
    }
}

#[test]
fn invalid_values_are_refused_at_their_line() {
    let long = format!("listen: unix:/{}", "a".repeat(107));
    for (text, line, message) in [
        ("", 1, "the configuration of a service is one mapping"),
        ("behind_proxy: yes\n", 1, "expected"),
        ("state:\n", 1, "this key has no value"),
        ("state: \"\"\n", 1, "a path is missing"),
        ("listen: 7878\n", 1, "`7878` is neither"),
        ("listen: \"unix:\"\n", 1, "a path is missing"),
        (&long, 1, "the socket's path has 108 bytes"),
        (
            "listen: \"[::]:80\"\n",
            1,
            "other hosts could connect to [::]:80",
        ),
        (
            "listen: unix:a\ntls: {certificate: chain.pem, key: chain.pem}\n",
            2,
            "a Unix socket cannot use TLS",
        ),
        (
            "tls:\n  certificate: chain.pem\n",
            2,
            "the key `key` is missing",
        ),
        (
            "tls:\n  certificate: chain.pem\n  key: none.pem\n",
            3,
            "`none.pem` cannot be read",
        ),
        ("machines: []\n", 1, "this list is empty"),
        ("machines:\n- tasks: 1\n", 2, "the key `name` is missing"),
        ("machines:\n- name: ../a\n", 2, "`../a` cannot be the name"),
        ("machines:\n- name: .a\n", 2, "`.a` cannot be the name"),
        (
            "machines:\n- name: a\n  campaigns: []\n",
            3,
            "this list is empty",
        ),
        (
            "machines:\n- name: a\n  campaigns: [b, ../c]\n",
            3,
            "the pattern `../c` leads out",
        ),
        (
            "machines:\n- name: a\n  campaigns: [/etc/*]\n",
            3,
            "the pattern `/etc/*` leads out",
        ),
        (
            "machines:\n- name: a\n  campaigns: [a/../../b]\n",
            3,
            "the pattern `a/../../b` leads out",
        ),
        (
            "machines:\n- name: a\n  node_hours: 0\n",
            3,
            "expected a number above 0",
        ),
        (
            "machines:\n- name: a\n  node_hours: -1\n",
            3,
            "expected a number above 0",
        ),
        (
            "machines:\n- name: a\n  node_hours: .nan\n",
            3,
            "expected a number",
        ),
        (
            "gates:\n  validation_days: 0\n",
            2,
            "expected a whole number from 1 to 3660",
        ),
        (
            "usage:\n  days: 4000\n",
            2,
            "expected a whole number from 1 to 3660",
        ),
        (
            "longest_wall_time: 400d\n",
            1,
            "`400d` is not a duration from",
        ),
        (
            "\ngates: {}\n\ngates: {}\n",
            4,
            "the key `gates` is written twice",
        ),
    ] {
        let refused = load(text).expect_err(text);
        assert!(refused.starts_with(message), "{text}\n{refused}");
        assert!(
            refused.contains(&format!("--> service.yaml:{line}:")),
            "{text}\n{refused}"
        );
        assert!(refused.contains("= help: "), "{text}\n{refused}");
    }
}

#[test]
fn missing_files_and_folders_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("none.yaml");
    let refused = Configuration::load(&path).expect_err("refused").to_string();
    assert!(
        refused.starts_with(&format!("cannot read {}: ", path.display())),
        "{refused}"
    );
    let refused_folder = Configuration::for_folder(&path)
        .expect_err("refused")
        .to_string();
    assert!(
        refused_folder.starts_with(&format!("cannot open the folder {}: ", path.display())),
        "{refused_folder}"
    );
}
