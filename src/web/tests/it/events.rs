//! Server-sent events.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::fixture::Site;

/// An event stream: its lines as they come.
pub(crate) struct Events(BufReader<TcpStream>);

impl Events {
    pub(crate) fn open(site: &Site, path: &str, headers: &str) -> Self {
        Self::with_head(site, path, headers).1
    }

    /// The same, with the lines before the first event.
    pub(crate) fn with_head(site: &Site, path: &str, headers: &str) -> (Vec<String>, Self) {
        let mut stream = site.connect();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n"
        )
        .unwrap();
        let mut events = Self(BufReader::new(stream));
        let head: Vec<String> =
            std::iter::from_fn(|| events.line().filter(|line| !line.is_empty())).collect();
        assert!(head[0].starts_with("HTTP/1.1 200"), "{head:?}");
        assert!(
            head.iter()
                .any(|line| line == "content-type: text/event-stream"),
            "{head:?}"
        );
        (head, events)
    }

    /// The next line; none at the end.
    pub(crate) fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.0.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => Some(line.trim_end().to_owned()),
            Err(error) => panic!("{error}"),
        }
    }

    /// The next value of a field, within five seconds.
    pub(crate) fn field(&mut self, name: &str) -> String {
        self.0
            .get_ref()
            .set_read_timeout(Some(Duration::from_secs(5)))
            .unwrap();
        let start = format!("{name}: ");
        loop {
            let line = self.line().unwrap();
            if let Some(value) = line.strip_prefix(&start) {
                return value.to_owned();
            }
        }
    }
}

#[test]
fn an_unknown_id_is_answered_with_an_event_about_lost_events() {
    let site = Site::new();
    for id in ["1", "x", "-1", "99999999999999999999999"] {
        let mut events = Events::open(&site, "/api/v1/events", &format!("Last-Event-ID: {id}\r\n"));
        assert_eq!(events.field("event"), "lost", "{id}");
    }
}
