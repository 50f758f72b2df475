//! Clients that send too much, or too slowly.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use crate::events::Events;
use crate::fixture::{Answer, Site, exchange};

#[test]
fn requests_that_are_too_large_are_refused() {
    let site = Site::new();
    let long = format!("GET /api/v1/tasks?campaign={}", "a".repeat(5000));
    site.send(&long, &[], "").expect(414);
    let long_header = format!("X-Long: {}", "a".repeat(40_000));
    assert_eq!(site.send("GET /healthz", &[&long_header], "").status, 431);
    let many: Vec<_> = (0..100).map(|index| format!("X-{index}: a")).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    assert_eq!(site.send("GET /healthz", &many, "").status, 431);
    // A body with too large a length is refused before it arrives.
    let bearer = site.bearer();
    let start = Instant::now();
    let text = format!(
        "POST /api/v1/tokens HTTP/1.1\r\nHost: localhost\r\n{bearer}\r\nContent-Type: application/json\r\n\
         Connection: close\r\nContent-Length: 99999999999\r\n\r\n"
    );
    exchange(site.connect(), text.as_bytes()).expect(413);
    assert!(start.elapsed() < Duration::from_secs(5));
}

/// Reading many fields would take long, and anyone can send them.
#[test]
fn forms_with_many_fields_are_refused() {
    let site = Site::new();
    let log_in = |form: &str| {
        let media = "Content-Type: application/x-www-form-urlencoded";
        site.send("POST /login", &[media], form).status
    };
    let token = "token=colltune_00";
    assert_eq!(log_in(token), 401);
    assert_eq!(log_in(&format!("{token}{}", "&a=b".repeat(999))), 401);
    assert_eq!(log_in(&format!("{token}{}", "&a=b".repeat(1000))), 413);
    assert_eq!(log_in(&format!("{token}&a={}", "b".repeat(64 << 10))), 413);
}

/// Anyone can send bodies, and all that have arrived in part are in memory.
#[test]
fn only_tables_and_questions_may_be_long() {
    let site = Site::new();
    let bearer = site.bearer();
    let send = |request: &str, media: &str, body: &str| {
        let media = format!("Content-Type: {media}");
        site.send(request, &[&media, &bearer], body).status
    };
    let long = " ".repeat(65 << 10);
    let json = "application/json";
    assert_eq!(send("POST /api/v1/session", json, &long), 413);
    assert_eq!(send("POST /api/v1/tasks", json, &long), 413);
    let table = "POST /api/v1/machines/local/tables";
    assert_eq!(send(table, "application/yaml", &long), 422);
}

#[test]
fn chunks_are_counted_too() {
    let site = Site::new();
    let mut text = format!(
        "POST /api/v1/tokens HTTP/1.1\r\nHost: localhost\r\n{}\r\nContent-Type: application/json\r\n\
         Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n",
        site.bearer()
    );
    for _ in 0..40 {
        text += &format!("10000\r\n{}\r\n", " ".repeat(1 << 16));
    }
    text += "0\r\n\r\n";
    let mut stream = site.connect();
    let mut writer = stream.try_clone().unwrap();
    // The answer may come before everything is sent, and data sent after it resets the connection.
    let writing = std::thread::spawn(move || {
        let _ = writer.write_all(text.as_bytes());
        let _ = writer.shutdown(Shutdown::Write);
    });
    let mut start = [0; 12];
    stream.read_exact(&mut start).unwrap();
    assert_eq!(&start, b"HTTP/1.1 413");
    drop(stream);
    writing.join().unwrap();
}

#[test]
fn half_open_connections_do_not_slow_others() {
    let site = Site::new();
    let half: Vec<TcpStream> = (0..300)
        .map(|index| {
            let mut stream = site.connect();
            let part: &[u8] = if index % 2 == 0 {
                b""
            } else {
                b"GET /healthz HT"
            };
            stream.write_all(part).unwrap();
            stream
        })
        .collect();
    let mut times: Vec<Duration> = (0..50)
        .map(|_| {
            let start = Instant::now();
            site.get("/api/v1/machines/local/libraries/a-1/channels/canary")
                .expect(404);
            start.elapsed()
        })
        .collect();
    times.sort();
    assert!(times[25] < Duration::from_millis(200), "{times:?}");
    drop(half);
}

#[test]
fn headers_must_arrive_within_ten_seconds() {
    let site = Site::new();
    let start = Instant::now();
    let slow: Vec<TcpStream> = [&b"GET /healthz HTTP/1.1\r\nHost: "[..], b""]
        .map(|part| {
            let mut stream = site.connect();
            stream.write_all(part).unwrap();
            stream
        })
        .into();
    for mut stream in slow {
        let mut answer = Vec::new();
        // Closed or reset.
        let _ = stream.read_to_end(&mut answer);
        assert!(!answer.starts_with(b"HTTP/1.1 200"));
    }
    let took = start.elapsed();
    assert!(
        (Duration::from_secs(8)..Duration::from_secs(18)).contains(&took),
        "{took:?}"
    );
}

/// Opens more connections than one client may, sends the same on each, and returns the answer to the last one. There is
/// none if this process may not have so many descriptors for both ends.
fn fill(site: &Site, first: &[u8]) -> (Vec<TcpStream>, Option<Answer>) {
    let mut open = Vec::new();
    for index in 0..1600 {
        let Ok(mut stream) = TcpStream::connect(site.address.unwrap()) else {
            return (open, None);
        };
        // One that is refused at once need not take anything.
        let _ = stream.write_all(first);
        open.push(stream);
        // The kernel's queue of connections is short.
        if index % 50 == 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    let last = open.pop().unwrap();
    last.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    (open, Some(exchange(last, b"")))
}

#[test]
fn one_client_takes_three_quarters_of_the_connections_and_is_then_refused_at_once() {
    let site = Site::new();
    let (open, refused) = fill(&site, b"");
    if let Some(refused) = refused {
        let detail = refused.expect(429).json()["detail"].clone();
        let expected = "of this client, 1536 connections are open, and the other places are kept for other clients: \
                        try again later";
        assert_eq!(detail, expected);
        let root = nix::unistd::geteuid().is_root().then_some(());
        if testkit::require("namespaces and other users", root).is_some() {
            site.send_as_nobody("GET /readyz", &[], "").expect(200);
        }
    }
    drop(open);
    let answered = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        site.get("/healthz").status == 200
    });
    assert!(answered);
}

fn behind_a_proxy() -> Site {
    Site::with(|configuration, _| configuration.behind_proxy = true)
}

#[test]
fn requests_behind_a_proxy_leave_some_for_other_clients() {
    let site = behind_a_proxy();
    // Their bodies do not arrive.
    let half = format!(
        "POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 10.0.0.1\r\n\
         Content-Type: application/json\r\nContent-Length: 10\r\nConnection: close\r\n{}\r\n\r\n",
        site.bearer()
    );
    let (_open, refused) = fill(&site, half.as_bytes());
    let Some(refused) = refused else { return };
    let detail = refused.expect(429).json()["detail"].to_string();
    assert!(
        detail.contains("of this client, 1536 requests are being answered"),
        "{detail}"
    );
    for (client, status) in [("10.0.0.1", 429), ("10.0.0.2", 200), ("2001:db8::1", 200)] {
        let client = format!("X-Forwarded-For: {client}");
        assert_eq!(site.send("GET /readyz", &[&client], "").status, status);
    }
}

#[test]
fn event_streams_are_left_for_other_clients() {
    let site = behind_a_proxy();
    let open = |client: &str| {
        let headers = format!("X-Forwarded-For: {client}\r\n");
        Events::open(&site, "/api/v1/events", &headers)
    };
    let _taken: Vec<_> = (0..384).map(|_| open("10.0.0.1")).collect();
    let mut one_more = site.connect();
    one_more
        .write_all(
            b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 10.0.0.1\r\n\r\n",
        )
        .unwrap();
    let mut status = [0; 12];
    one_more.read_exact(&mut status).unwrap();
    assert_eq!(&status, b"HTTP/1.1 429");
    let _other = open("10.0.0.2");
    let _third = open("10.0.0.3");
}
