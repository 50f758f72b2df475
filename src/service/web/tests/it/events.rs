//! Server-sent events.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;
use service::{Actor, Scope};

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

impl Events {
    /// Waits until the service ends the stream, for at most five seconds.
    fn ends(mut self) {
        let limit = Some(Duration::from_secs(5));
        self.0.get_ref().set_read_timeout(limit).unwrap();
        while self.line().is_some() {}
    }

    /// Whether the stream is still open after some time in which an ended one would have ended.
    fn is_open(&mut self) -> bool {
        let limit = Some(Duration::from_millis(2500));
        self.0.get_ref().set_read_timeout(limit).unwrap();
        let mut line = String::new();
        self.0.read_line(&mut line).is_err()
    }
}

#[test]
fn streams_end_with_the_token_or_session_that_opened_them() {
    let site = Site::new();
    let stream = |header: &str| {
        let headers = format!("{header}\r\nConnection: close\r\n");
        Events::open(&site, "/api/v1/events", &headers)
    };
    let bearer = |token: &str| format!("Authorization: Bearer {token}");
    let session = |token: &str| {
        let begun = site.post("/api/v1/session", &[], &json!({"token": token}));
        let begun = begun.expect(201);
        let form_token = begun.json()["form_token"].as_str().unwrap().to_owned();
        let cookie = begun.header("set-cookie").unwrap();
        let cookie = format!("Cookie: {}", cookie.split(';').next().unwrap());
        (cookie, format!("X-Form-Token: {form_token}"))
    };
    let [revoked, kept, expiring] = [(); 3].map(|()| site.token(&[Scope::Read], &[]));
    let sessions = [&revoked, &kept, &kept].map(|token| session(token));
    let [of_revoked, mut of_kept, logged_out] =
        sessions.each_ref().map(|(cookie, _)| stream(cookie));
    let by_revoked = stream(&bearer(&revoked));
    let mut by_kept = stream(&bearer(&kept));
    let mut by_nobody = stream("X-Nothing: 1");

    // The token expires. Making another one lets the service read the database again.
    let name = |token: &str| {
        site.service
            .authenticate_token(token)
            .unwrap()
            .unwrap()
            .name
    };
    let database = rusqlite::Connection::open(site.folder().join("service/service.db")).unwrap();
    let end = jiff::Timestamp::now().as_millisecond() + 1500;
    let changed = database.execute(
        "UPDATE token SET expires_at = ?1 WHERE name = ?2",
        rusqlite::params![end, name(&expiring)],
    );
    assert_eq!(changed, Ok(1));
    site.token(&[Scope::Read], &[]);
    let by_expiring = stream(&bearer(&expiring));
    by_expiring.ends();
    assert!(jiff::Timestamp::now().as_millisecond() >= end);

    let admin = Actor {
        name: "test".to_owned(),
        scopes: vec![Scope::Admin],
        machines: Vec::new(),
    };
    let tokens = site.service.list_tokens(&admin).unwrap();
    let row = tokens.iter().find(|row| row.name == name(&revoked));
    site.service.revoke_token(&admin, row.unwrap().id).unwrap();
    by_revoked.ends();
    of_revoked.ends();

    let (cookie, form_token) = &sessions[2];
    site.send("DELETE /api/v1/session", &[cookie, form_token], "")
        .expect(204);
    logged_out.ends();
    assert!(by_kept.is_open());
    assert!(of_kept.is_open());
    // Reading is open: nothing that this visitor has can end.
    assert!(by_nobody.is_open());
}
