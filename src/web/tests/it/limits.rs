//! Clients that send too much, or too slowly.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use crate::fixture::{Site, exchange};

#[test]
fn requests_that_are_too_large_are_refused() {
    let site = Site::new();
    let long = format!("GET /api/v1/tasks?campaign={}", "a".repeat(5000));
    site.send(&long, &[], "").expect(414);
    let long = format!("X-Long: {}", "a".repeat(40_000));
    assert_eq!(site.send("GET /healthz", &[&long], "").status, 431);
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

#[test]
fn connections_beyond_the_limit_are_refused_at_once() {
    let site = Site::new();
    let mut open = Vec::new();
    // The limit is 2048; this process may have fewer descriptors for both ends.
    let refused = (0..2500).find_map(|_| {
        let stream = TcpStream::connect(site.address.unwrap()).ok()?;
        stream
            .set_read_timeout(Some(Duration::from_millis(1)))
            .unwrap();
        let mut start = [0; 12];
        match (&stream).read(&mut start) {
            Ok(read) => Some(start[..read].to_vec()),
            Err(_) => {
                open.push(stream);
                None
            }
        }
    });
    if let Some(refused) = refused {
        assert_eq!(refused, b"HTTP/1.1 503");
        assert!(open.len() >= 2000, "{}", open.len());
    }
    drop(open);
    let answered = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        site.get("/healthz").status == 200
    });
    assert!(answered);
}
