//! Malformed requests from random numbers.

use fastrand::Rng;

use crate::fixture::{Answer, Site, exchange};

/// `COLLTUNE_SEED` repeats the seed that a failure has printed.
fn random() -> Rng {
    let given = std::env::var("COLLTUNE_SEED").ok();
    let seed = given.map_or_else(|| fastrand::u64(..1 << 32), |seed| seed.parse().unwrap());
    println!("COLLTUNE_SEED={seed}");
    Rng::with_seed(seed)
}

const PARTS: [&str; 45] = [
    "api",
    "v1",
    "tasks",
    "blobs",
    "tables",
    "machines",
    "local",
    "libraries",
    "openmpi-4.1.4",
    "channels",
    "production",
    "releases",
    "lookup",
    "tokens",
    "audit",
    "session",
    "diff",
    "report",
    "export",
    "log",
    "campaigns",
    "schedules",
    "schedules/nightly/pause",
    "findings",
    "trends",
    "webhooks",
    "webhooks/1/test",
    "agent",
    "machines/local/agent/claim",
    "machines/local/agent/heartbeat",
    "usage",
    "machines/local/usage",
    "assets",
    "..",
    "%2e%2e",
    "%2E%2E%2F",
    ".",
    "",
    "%00",
    "%ff",
    "%",
    "etc%2fpasswd",
    "1",
    "-1",
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
];
const QUERIES: [&str; 10] = [
    "",
    "?",
    "?from=1",
    "?from=18446744073709551615",
    "?limit=0",
    "?before=a",
    "?client=..%2F..",
    "?%ff=%00",
    "?collective=allreduce&nodes=0&ppn=4294967296&bytes=-1",
    "?machine=%F0%9F%92%A9",
];
const BODIES: [&str; 11] = [
    "",
    "{",
    "[]",
    "null",
    "{\"kind\": \"tune\", \"campaign\": \"../../etc/passwd\"}",
    "{\"digest\": \"../..\"}",
    "{\"url\": \"http://169.254.169.254/\"}",
    "{\"state\": \"accepted\", \"reason\": \"\\u0000\"}",
    "{\"task\": {\"kind\": \"check\"}, \"times\": \"99 99 * * *\"}",
    "\u{feff}{}",
    "[[[[[[[[[[[[[[[[[[[[[[",
];

#[test]
fn random_paths_and_bodies_are_refused_without_effect() {
    let (site, mut random) = (Site::new(), random());
    let bearer = site.bearer();
    for _ in 0..800 {
        let method = random
            .choice(["GET", "POST", "DELETE", "PUT", "HEAD", "OPTIONS"])
            .unwrap();
        let mut path = "/api/v1".to_owned();
        if random.u8(..4) == 0 {
            path.clear();
        }
        for _ in 0..random.usize(1..8) {
            path += "/";
            path += random.choice(PARTS).unwrap();
        }
        path += random.choice(QUERIES).unwrap();
        let body = random.choice(BODIES).unwrap();
        let mut headers = vec!["Content-Type: application/json", "If-Match: \"0\""];
        if random.bool() {
            headers.push(&bearer);
        }
        // An event stream has no end.
        if path.contains("events") {
            continue;
        }
        let answer = site.send(&format!("{method} {path}"), &headers, body);
        let is_fine = (200..500).contains(&answer.status);
        assert!(is_fine, "{method} {path} {body}: {answer:?}");
        assert!(!answer.body.contains("root:"), "{path}");
    }
    site.get("/readyz").expect(200);
}

#[test]
fn random_bytes_are_refused_without_effect() {
    let (site, mut random) = (Site::new(), random());
    for _ in 0..200 {
        let mut bytes = b"POST /api/v1/tokens HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
            Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nnull\r\n0\r\n\r\n"
            .to_vec();
        for _ in 0..random.usize(1..20) {
            let place = random.usize(..bytes.len());
            match random.u8(..3) {
                0 => bytes[place] = random.u8(..),
                1 => bytes.insert(place, random.u8(..)),
                _ => drop(bytes.remove(place)),
            }
        }
        let stream = site.connect();
        let answer: Answer = {
            use std::io::Write;
            (&stream).write_all(&bytes).unwrap();
            stream.shutdown(std::net::Shutdown::Write).unwrap();
            exchange(stream, b"")
        };
        assert!(
            answer.status < 500,
            "{:?}: {answer:?}",
            String::from_utf8_lossy(&bytes)
        );
    }
    site.get("/readyz").expect(200);
}

#[test]
fn two_lengths_of_a_body_are_refused() {
    let site = Site::new();
    for headers in [
        "Content-Length: 4\r\nContent-Length: 5",
        "Content-Length: 4\r\nTransfer-Encoding: identity",
        "Content-Length: +4",
        "Content-Length: 4, 5",
        "Transfer-Encoding: chunked, identity",
    ] {
        let text = format!(
            "POST /api/v1/tokens HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n\r\nnullGET / HTTP/1.1\r\n\r\n"
        );
        let answer = exchange(site.connect(), text.as_bytes());
        assert!((400..500).contains(&answer.status), "{headers}: {answer:?}");
        assert_eq!(answer.body.matches("HTTP/1.1").count(), 0, "{answer:?}");
    }
}
