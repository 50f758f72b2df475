//! The end of the service.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use crate::events::Events;
use crate::fixture::Site;

#[test]
fn open_event_streams_end_with_the_service_within_five_seconds() {
    let mut site = Site::new();
    let mut streams: Vec<Events> = (0..50)
        .map(|_| Events::open(&site, "/api/v1/events", ""))
        .collect();
    // A connection that waits between two requests, and one that has sent half a request.
    let mut idle = site.connect();
    idle.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    idle.read_exact(&mut [0; 12]).unwrap();
    let mut half = site.connect();
    half.write_all(b"GET /healthz HTTP/1.1\r\nHo").unwrap();
    let start = Instant::now();
    site.end().unwrap();
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
    for stream in &mut streams {
        while stream.line().is_some() {}
    }
    assert!(std::net::TcpStream::connect(site.address.unwrap()).is_err());
}
