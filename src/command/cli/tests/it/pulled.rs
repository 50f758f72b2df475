//! `colltune pull`, killed at any moment, and `colltune run --channel`.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use client::Folder;
use testkit::process::{self, NOBODY};
use testkit::tables;
use testkit::web::{Reply, Server, Site};

use crate::run::{Place, keys};

const RULES: &str = "  bcast:
    message_size: bytes of one rank's vector
    shapes:
      - nodes: 1
        ppn: 2
        rules:
          - {from: 0, candidate: 'bcast/binomial', speedup: 1.5, confidence: high, confirmed: true}
";

fn table(name: &str) -> String {
    tables::table_yaml(name, "openmpi", "4.1.4", RULES)
}

/// A service with a channel, unavailable while the flag is set.
fn service() -> (Site, String, Arc<AtomicBool>) {
    let (site, is_away) = (Site::default(), Arc::new(AtomicBool::new(false)));
    let (own, flag) = (site.clone(), Arc::clone(&is_away));
    let server = Server::start(move |request| {
        if flag.load(Ordering::Relaxed) {
            Reply::default()
        } else {
            own.answer_request(request)
        }
    });
    (site, server.url() + Site::CHANNEL, is_away)
}

#[test]
fn pull_says_which_table_is_current_and_whether_it_is_new() {
    let place = Place::new();
    let (site, url, is_away) = service();
    let pull = ["pull", &url, "--to", "tables"];
    place.run(&pull).bad(
        2,
        &[
            "there is no such channel (404)",
            "there is no earlier table",
        ],
    );
    let digest = site.release_table(table("first"));
    let path = format!("DIR/tables/{digest}.yaml");
    let ran = place.run(&pull).good();
    assert_eq!(ran.out, format!("{path} is now the table of release 1\n"));
    let again = place.run(&pull).good();
    assert_eq!(
        again.out,
        format!("{path} is still the table of release 1\n")
    );
    assert_eq!(
        place.run(&[&pull[..], &["--quiet"]].concat()).good().out,
        ""
    );
    let as_json = place
        .run(&[&pull[..], &["--json", "--jitter", "1"]].concat())
        .good();
    assert_eq!(keys(&as_json.json()), ["digest", "new", "release", "table"]);
    is_away.store(true, Ordering::Relaxed);
    let unavailable = place.run(&pull);
    assert_eq!(unavailable.err.lines().count(), 1, "{}", unavailable.err);
    unavailable.bad(3, &["is unavailable", &format!("{path} stays")]);
    place
        .run(&["pull", "http://127.0.0.1", "--to", "tables"])
        .bad(2, &["/machines/"]);
    place.write("token", "two words");
    let refused = place.run(&[&pull[..], &["--token-file", "token"]].concat());
    refused.bad(2, &["token has no token"]);
}

/// What another user owns leads root nowhere, unless root takes on that user's rights.
#[test]
fn root_pulls_to_the_folder_of_another_user_with_the_rights_of_that_user() {
    let place = Place::new();
    place.open_to_others();
    let (site, url, _) = service();
    let digest = site.release_table(table("first"));
    if process::as_another_user(NOBODY, &["true"]).is_none() {
        return;
    }
    let home = place.path("home");
    fs::create_dir(&home).unwrap();
    chown(&home, Some(NOBODY), Some(NOBODY)).unwrap();
    let pull = ["pull", &url, "--to", "home/tables"];
    place
        .run(&pull)
        .bad(2, &["DIR/home belongs to ", "help: ", "--owner"]);
    assert_eq!(fs::read_dir(&home).unwrap().count(), 0);
    let number = NOBODY.to_string();
    let ran = place.run(&[&pull[..], &["--owner", &number]].concat());
    let path = format!("DIR/home/tables/{digest}.yaml");
    assert_eq!(
        ran.good().out,
        format!("{path} is now the table of release 1\n")
    );
    for entry in fs::read_dir(home.join("tables")).unwrap() {
        let written = entry.unwrap().path();
        assert_eq!(
            fs::symlink_metadata(&written).unwrap().uid(),
            NOBODY,
            "{written:?}"
        );
    }
}

#[test]
fn an_older_table_that_cannot_be_pulled_is_an_error_after_the_new_one_is_current() {
    let (site, old) = (
        Site::default(),
        Site::default().release_table(table("first")),
    );
    let (own, lost) = (site.clone(), format!("/api/v1/blobs/{old}"));
    let server = Server::start(move |request| {
        if request.path == lost {
            Reply::problem(500, "it is damaged")
        } else {
            own.answer_request(request)
        }
    });
    site.release_table(table("first"));
    let digest = site.release_table(table("second"));
    let place = Place::new();
    let ran = place.run(&["pull", &(server.url() + Site::CHANNEL), "--to", "t"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.err.contains("could not be pulled (1)"), "{}", ran.err);
    assert_eq!(Folder::last_good(&place.path("t")).unwrap().0, digest);
}

#[test]
fn a_pull_that_is_killed_at_any_moment_leaves_a_whole_table() {
    let place = Place::new();
    let (site, url, _) = service();
    site.release_table(table("first"));
    place.run(&["pull", &url, "--to", "t"]).good();
    let seed = std::env::var("COLLTUNE_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("COLLTUNE_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut before = Folder::last_good(&place.path("t")).unwrap().0;
    let mut turned = 0;
    for turn in 0..60 {
        let after = site.release_table(table(&format!("t{turn}")));
        if turn % 7 == 0 {
            site.keep_newest(2);
        }
        let mut command = place.command(&["pull", &url, "--to", "t"]);
        let mut child = command.stdout(Stdio::null()).spawn().unwrap();
        sleep(Duration::from_micros(random.u64(0..80_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        let (found, path) = Folder::last_good(&place.path("t")).expect("a whole table");
        assert!(found == before || found == after, "turn {turn}");
        table::Table::load(&path).unwrap();
        turned += usize::from(found == after);
        before = found;
    }
    println!("{turned} of 60 were turned before they were killed");
    site.keep_newest(1);
    place.run(&["pull", &url, "--to", "t"]).good();
    let names = fs::read_dir(place.path("t"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    // Two hidden files, the link and its table.
    assert_eq!(names.count(), 4);
}

#[test]
fn run_resolves_a_channel_once_and_uses_the_last_table_if_the_service_is_unavailable() {
    let place = Place::new();
    place.write("lib/openmpi-4.1.4/libcolltune.so", "");
    let (site, url, is_away) = service();
    let run = ["run", "--channel", &url, "--print-environment"];
    is_away.store(true, Ordering::Relaxed);
    place
        .run(&run)
        .bad(3, &["is unavailable", "there is no earlier table"]);
    is_away.store(false, Ordering::Relaxed);
    let digest = site.release_table(table("first"));
    let ran = place.run(&run).good();
    let variable = ran
        .out
        .lines()
        .find(|line| line.starts_with("export COLLTUNE_TABLE="));
    let variable = variable.unwrap();
    assert!(
        variable.contains("DIR/.colltune/channels/here_openmpi-4.1.4_production_"),
        "{variable}"
    );
    assert!(variable.ends_with(&format!("/{digest}.yaml")), "{variable}");
    // The path is that of the table itself, so it stays valid when another one is released.
    site.release_table(table("second"));
    let path = variable.split('=').nth(1).unwrap().trim_matches('\'');
    let path = path.replace(
        "DIR",
        place.path("").to_str().unwrap().trim_end_matches('/'),
    );
    assert_eq!(fs::read_to_string(path).unwrap(), table("first"));
    is_away.store(true, Ordering::Relaxed);
    let offline = place.run(&run);
    assert_eq!(offline.code, Some(0), "{}", offline.err);
    assert!(offline.out.contains(&digest), "{}", offline.out);
    assert!(
        offline.err.starts_with("warning: ") && offline.err.contains("which was pulled last"),
        "{}",
        offline.err
    );
    // Anybody may have put a table into a folder that all users may write to.
    let folders = fs::read_dir(place.path(".colltune/channels")).unwrap();
    let folder = folders.map(|entry| entry.unwrap().path()).next().unwrap();
    let permit = |mode| fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
    permit(0o777);
    place.run(&run).bad(2, &["all users may write to"]);
    permit(0o755);
    place
        .run(&["run", "--channel", "nowhere", "--print-environment"])
        .bad(2, &["URL of a channel"]);
    place
        .run(&["run", "--print-environment"])
        .bad(2, &["TABLE.yaml"]);
    place
        .run(&["run", "t.yaml", "--channel", &url, "--print-environment"])
        .bad(2, &["--channel"]);
}

#[test]
fn all_ranks_of_a_job_get_one_table_while_others_are_released() {
    let place = Place::with_mpirun(
        // Options with values come before the program.
        "while [ \"$1\" != ./ranks ]; do\n  [ \"$1\" = -x ] && export \"$2\"\n  shift\ndone\nexec ./ranks",
    );
    place.write("lib/openmpi-4.1.4/libcolltune.so", "");
    place.write("ranks", "#!/bin/sh\nfor rank in 1 2 3 4 5; do\n  /bin/cat \"$COLLTUNE_TABLE\" | /usr/bin/head -2 >> seen\n  /bin/sleep 0.1\ndone\n");
    let chmod = Command::new("chmod")
        .args(["+x"])
        .arg(place.path("ranks"))
        .status();
    assert!(chmod.unwrap().success());
    let (site, url, _) = service();
    site.release_table(table("t0"));
    let mut command = place.command(&[
        "run",
        "--channel",
        &url,
        "--",
        "mpirun",
        "-n",
        "2",
        "./ranks",
    ]);
    let mut child = command.spawn().unwrap();
    for turn in 1..8 {
        sleep(Duration::from_millis(60));
        site.release_table(table(&format!("t{turn}")));
        let cache = fs::read_dir(place.path(".colltune/channels"));
        let folder = cache.ok().and_then(|mut folders| folders.next());
        if let Some(folder) = folder {
            let folder = folder.unwrap().path();
            place
                .run(&["pull", &url, "--to", folder.to_str().unwrap()])
                .good();
        }
    }
    child.wait().unwrap();
    let seen = place.read("seen");
    let names: std::collections::BTreeSet<_> = seen
        .lines()
        .filter(|line| line.starts_with("name:"))
        .collect();
    assert_eq!(names.len(), 1, "{seen}");
    assert_eq!(seen.lines().count(), 10, "{seen}");
}
