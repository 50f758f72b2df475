//! What is expensive, beside what must not wait for it.

use std::fs;
use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::json;
use service::{Digest, Scope};

use crate::fixture::{Answer, Site, exchange};
use crate::pages_bed::{Busy, admin};

/// A table with this many shapes, which takes the longer to read the more it has.
fn table(name: &str, shapes: usize) -> String {
    let entries: String = (1..=shapes)
        .map(|nodes| {
            format!(
                "      - nodes: {nodes}\n        ppn: 2\n        deployment: any\n        rules:\n          \
                 - {{from: 0, candidate: default, confidence: high}}\n        measured:\n          \
                 bytes:                [64, 4K]\n          microseconds:         [4, 40]\n          \
                 default_microseconds: [4, 40]\n"
            )
        })
        .collect();
    let head = "  bcast:\n    message_size: bytes of one rank's vector\n    shapes:\n";
    testkit::tables::table_yaml(name, "openmpi", "4.1.4", &format!("{head}{entries}"))
}

fn add(site: &Site, text: &str) -> Digest {
    let taken = site.service.add_table(&admin(), "local", text);
    taken.unwrap().digest
}

/// Tables whose reports keep a thread busy for some time.
fn heavy(site: &Site, count: usize) -> Vec<Digest> {
    let one = |index: usize| add(site, &table(&format!("heavy{index}"), 3000));
    (0..count).map(one).collect()
}

/// Requests a report, without reading it.
fn request_report(site: &Site, digest: &Digest) -> TcpStream {
    let mut stream = site.connect();
    let lines = "HTTP/1.1\r\nHost: localhost\r\nConnection: close";
    write!(stream, "GET /api/v1/tables/{digest}/report {lines}\r\n\r\n").unwrap();
    stream
}

#[test]
fn expensive_reads_delay_neither_pulls_nor_changes_nor_readiness() {
    let site = Site::new();
    let small = add(&site, &table("small", 1));
    let path = "/api/v1/machines/local/libraries/openmpi-4.1.4/channels/production";
    let change = |expected: &str, request: serde_json::Value| {
        site.post(&format!("{path}/releases"), &[expected], &request)
            .expect(201)
    };
    let request =
        json!({"action": "release", "digest": small, "override_gates": true, "reason": "to try"});
    change("If-None-Match: *", request);
    let reports = heavy(&site, 12);

    let done = AtomicUsize::new(0);
    let streams: Vec<TcpStream> = reports.iter().map(|of| request_report(&site, of)).collect();
    std::thread::scope(|scope| {
        for stream in &streams {
            let counter = &done;
            scope.spawn(move || {
                exchange(stream, b"");
                counter.fetch_add(1, Ordering::Relaxed);
            });
        }
        std::thread::sleep(Duration::from_millis(50));
        let begun = done.load(Ordering::Relaxed);
        site.get("/readyz").expect(200);
        // The first request with a token after tokens have changed reads the database.
        let token = site.token(&[Scope::Read], &[]);
        let bearer = format!("Authorization: Bearer {token}");
        site.send(&format!("GET {path}"), &[&bearer], "")
            .expect(200);
        site.send(&format!("GET /api/v1/blobs/{small}"), &[&bearer], "")
            .expect(200);
        change(
            "If-Match: *",
            json!({"action": "withdraw", "reason": "slow"}),
        );
        // Pages that only read rows do not wait either.
        assert_eq!(site.get("/channels").status, 200);
        let ended = done.load(Ordering::Relaxed) - begun;
        for stream in &streams {
            stream.shutdown(Shutdown::Both).unwrap();
        }
        assert!(ended <= 4, "{ended} of 12 reports were made meanwhile");
    });
}

/// Changes that read large tables first: releases that closed gates refuse, and submissions.
#[test]
fn expensive_changes_delay_neither_pulls_nor_withdrawals_nor_readiness() {
    let site = Site::new();
    let small = add(&site, &table("small", 1));
    let channels = "/api/v1/machines/local/libraries/openmpi-4.1.4/channels";
    let request =
        json!({"action": "release", "digest": small, "override_gates": true, "reason": "to try"});
    let production = format!("{channels}/production/releases");
    site.post(&production, &["If-None-Match: *"], &request)
        .expect(201);
    let digest = &heavy(&site, 1)[0];
    let refused = [
        (
            format!("{channels}/candidate/releases"),
            json!({"action": "release", "digest": digest}),
        ),
        (
            "/api/v1/tasks".to_owned(),
            json!({"kind": "validate", "table": digest}),
        ),
    ];
    let withdrawal = json!({"action": "withdraw", "reason": "slow"});
    for (path, refused_request) in refused {
        let done = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..12 {
                scope.spawn(|| {
                    let answer = site.post(&path, &["If-None-Match: *"], &refused_request);
                    done.fetch_add(1, Ordering::Relaxed);
                    assert_eq!(answer.status / 100, 4, "{answer:?}");
                });
            }
            std::thread::sleep(Duration::from_millis(50));
            let begun = done.load(Ordering::Relaxed);
            site.get("/readyz").expect(200);
            site.get(&format!("/api/v1/blobs/{small}")).expect(200);
            let ended = done.load(Ordering::Relaxed) - begun;
            assert!(ended <= 4, "{path}: {ended} of 12 were answered meanwhile");
            if path == "/api/v1/tasks" {
                return;
            }
            site.post(&production, &["If-Match: *"], &withdrawal)
                .expect(201);
            let ended_later = done.load(Ordering::Relaxed) - begun;
            assert!(
                ended_later <= 6,
                "{path}: {ended_later} of 12 were answered meanwhile"
            );
        });
    }
}

#[test]
fn results_are_kept_and_still_need_permission() {
    let site = Site::of_two_machines(|configuration| configuration.open_reading = false);
    let digest = add(&site, &table("kept", 2));
    let other = add(&site, &table("changed", 3));
    let bearer = |token: &str| format!("Authorization: Bearer {token}");
    let reader = bearer(&site.token(&[Scope::Read], &["local"]));
    let stranger = bearer(&site.token(&[Scope::Read], &["other"]));
    let paths = [
        format!("/api/v1/tables/{digest}"),
        format!("/api/v1/tables/{digest}/report"),
        format!("/api/v1/tables/{digest}/export/openmpi"),
        format!("/api/v1/tables/{digest}/diff/{other}"),
        format!("/tables/{digest}/diff?to={other}"),
    ];
    let get = |path: &str, header: &str| site.send(&format!("GET {path}"), &[header], "");
    let answers: Vec<Answer> = paths.iter().map(|path| get(path, &reader)).collect();
    for removed in [&digest, &other] {
        let folder = site.folder().join("service/blobs/sha256");
        let folder = folder.join(&removed.as_str()[..2]);
        fs::remove_file(folder.join(format!("{removed}.yaml"))).unwrap();
    }
    for (path, first) in paths.iter().zip(answers) {
        assert_eq!(first.status, 200, "{path}: {first:?}");
        let again = get(path, &reader);
        assert_eq!((again.status, again.body), (200, first.body), "{path}");
        // What belongs to other machines does not exist for their readers.
        assert_eq!(get(path, &stranger).status, 404, "{path}");
        assert_eq!(
            get(path, "X-Nothing: 1").status / 100,
            if path.starts_with("/api") { 4 } else { 3 }
        );
    }
    // What was not made before cannot be made any more.
    get(&format!("/api/v1/tables/{digest}/export/c-header"), &reader).expect(500);
}

#[test]
fn work_that_nobody_waits_for_ends() {
    let site = Site::new();
    let reports = heavy(&site, 12);
    let small = add(&site, &table("small", 1));
    let start = Instant::now();
    site.get(&format!("/api/v1/tables/{}/report", reports[0]));
    let one = start.elapsed();
    let abandoned: Vec<_> = reports[1..]
        .iter()
        .map(|digest| request_report(&site, digest))
        .collect();
    std::thread::sleep(Duration::from_millis(50));
    drop(abandoned);
    let small_start = Instant::now();
    assert_eq!(
        site.get(&format!("/api/v1/tables/{small}/report")).status,
        200
    );
    // Two of this client were being made; eleven would have taken five or six times as long as one.
    let took = small_start.elapsed();
    assert!(took < one * 7 / 2, "{took:?}, and one takes {one:?}");
}

/// Gives each table of a database another name.
fn rename_tables(database: &Connection, rename: impl Fn(&str) -> String) {
    let own = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
    let mut query = database.prepare(own).unwrap();
    let names = query.query_map([], |row| row.get(0)).unwrap();
    let names: Vec<String> = names.map(Result::unwrap).collect();
    drop(query);
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        let renamed = rename(&name);
        let statement = format!("ALTER TABLE \"{name}\" RENAME TO \"{renamed}\"");
        database.execute_batch(&statement).unwrap();
    }
}

/// Meanwhile nothing can be read of the database, whose tables have other names, and nothing can be changed, since another
/// connection holds its lock. Readers do not wait for that lock.
#[test]
fn lookups_and_manifests_do_not_access_the_database() {
    let busy = Busy::new(false);
    let site = &busy.site;
    let channel = "/api/v1/machines/local/libraries/openmpi-4.1.4/channels/canary";
    let lookup = format!("{channel}/lookup");
    let question = json!({"collective": "allreduce", "nodes": 1, "ppn": 2, "bytes": "64K"});
    // The first request after a token was made reads the tokens.
    let bearer = format!("Authorization: Bearer {}", busy.token(&[Scope::Read]));
    let get = |path: &str| site.send(&format!("GET {path}"), &[&bearer], "");
    get("/api/v1/tasks").expect(200);

    let other = Connection::open(site.folder().join("service/service.db")).unwrap();
    rename_tables(&other, |name| format!("hidden_{name}"));
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let start = Instant::now();
    let manifest = get(&format!("{channel}?client=n7")).expect(200);
    let etag = manifest.header("etag").unwrap();
    let condition = format!("If-None-Match: {etag}");
    let unchanged = site.send(&format!("GET {channel}"), &[&bearer, &condition], "");
    assert_eq!(unchanged.status, 304);
    let found = get(&format!(
        "{lookup}?collective=allreduce&nodes=1&ppn=2&bytes=64K"
    ))
    .expect(200);
    assert_eq!(found.json()["algorithm"], "dual_root");
    let questions = json!(vec![question; 1000]).to_string();
    let headers = [bearer.as_str(), "Content-Type: application/json"];
    site.send(&format!("POST {lookup}"), &headers, &questions)
        .expect(200);
    let taken = start.elapsed();
    assert!(taken < Duration::from_secs(1), "{taken:?}");
    // Without this, the test would prove nothing.
    let refused = get("/api/v1/tasks");
    assert!(refused.status >= 500, "{refused:?}");

    other.execute_batch("ROLLBACK").unwrap();
    rename_tables(&other, |name| name.replacen("hidden_", "", 1));
    get("/api/v1/tasks").expect(200);
}
