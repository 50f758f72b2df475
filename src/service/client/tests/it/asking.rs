//! Requests and the handling of answers.

use client::{Ask, Remote, RemoteError, ServiceUrl, Token};
use serde_json::json;
use testkit::web::{HttpRequest, Reply, Server};
use vocabulary::ErrorKind;

fn remote(server: &Server, token: Option<&str>) -> Remote {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    let token = token.and_then(|token| {
        std::fs::write(&path, token).unwrap();
        Token::from_file_or_environment(Some(&path)).unwrap()
    });
    Remote::new(ServiceUrl::parse(&server.url()).unwrap(), token, None).unwrap()
}

fn refused(status: u16, body: &str) -> RemoteError {
    let body = body.to_owned();
    let server = Server::start(move |_| Reply::new(status, &[], &body));
    remote(&server, None)
        .request_json(Ask::get("/tasks"))
        .unwrap_err()
}

#[test]
fn requests_are_sent_as_given() {
    let server = Server::start(|request: &HttpRequest| {
        Reply::json(202, &format!("{{\"got\": {}}}", request.body))
    });
    let remote = remote(&server, Some("colltune_x"));
    let body = json!({"kind": "tune"});
    let ask = Ask::post("/tasks", &body).with_header("idempotency-key", "k");
    assert_eq!(
        remote.request_json(ask).unwrap(),
        json!({"got": {"kind": "tune"}})
    );
    let asked = &server.requests()[0];
    assert_eq!(
        (asked.method.as_str(), asked.path.as_str()),
        ("POST", "/api/v1/tasks")
    );
    for (name, value) in [
        ("authorization", "Bearer colltune_x"),
        ("content-type", "application/json"),
        ("idempotency-key", "k"),
    ] {
        assert_eq!(asked.headers[name], value);
    }
}

#[test]
fn problems_have_the_services_message() {
    for (status, outcome) in [
        (400, ErrorKind::Input),
        (401, ErrorKind::Input),
        (403, ErrorKind::Input),
        (404, ErrorKind::Input),
        (409, ErrorKind::No),
        (412, ErrorKind::No),
        (413, ErrorKind::Input),
        (422, ErrorKind::Input),
        (429, ErrorKind::Environment),
        (500, ErrorKind::Environment),
        (503, ErrorKind::Environment),
        (507, ErrorKind::Environment),
    ] {
        let error = refused(status, "{\"title\": \"Short\", \"detail\": \"Long.\"}");
        assert_eq!(error.kind(), outcome, "{status}");
        assert!(
            error
                .to_string()
                .ends_with(&format!("/api/v1/tasks: Long. ({status})")),
            "{error}"
        );
        let title_error = refused(status, "{\"title\": \"Short\"}");
        assert!(title_error.to_string().contains("Short"), "{title_error}");
        let html_error = refused(status, "<html>");
        assert_eq!(html_error.kind(), outcome, "{status}");
        assert!(!html_error.to_string().contains("html"), "{html_error}");
    }
    let error = refused(409, "{\"detail\": \"\\u001b[2J\\u0085\\u202e\\u2028\"}").to_string();
    assert!(
        error.contains(r"\u001b[2J\u0085\u202e\u2028 (409)"),
        "{error}"
    );
    let two_lines = refused(422, "{\"detail\": \"one\\n  two\"}").to_string();
    assert!(two_lines.contains("one\n  two (422)"), "{two_lines}");
    let long = refused(409, &format!("{{\"detail\": \"{}\"}}", "x".repeat(9999))).to_string();
    assert!(long.len() < 1200, "{}", long.len());
}

#[test]
fn answers_without_json_are_invalid() {
    let server = Server::start(|_| Reply::new(200, &[], "<html>"));
    let error = remote(&server, None)
        .request_json(Ask::get("/tasks"))
        .unwrap_err();
    assert!(matches!(error, RemoteError::Unexpected { .. }), "{error}");
    assert_eq!(error.kind(), ErrorKind::Environment);
    let empty_server = Server::start(|_| Reply::new(204, &[], ""));
    let answer = remote(&empty_server, None)
        .request_json(Ask::delete("/tokens/1"))
        .unwrap();
    assert_eq!(answer, json!(null));
}

#[test]
fn tokens_do_not_follow_redirects() {
    let other = Server::start(|_| Reply::json(200, "{}"));
    let place = other.url();
    for status in [301, 302, 303, 307, 308] {
        let place = place.clone();
        let server = Server::start(move |_| Reply::new(status, &[("location", &place)], ""));
        let remote = remote(&server, Some("secret"));
        let error = remote.request_json(Ask::get("/tasks")).unwrap_err();
        assert!(error.to_string().contains("redirects"), "{error}");
        let body = json!({});
        assert!(remote.request_json(Ask::post("/tasks", &body)).is_err());
    }
    assert!(other.requests().is_empty());
}

#[test]
fn only_certificates_of_the_file_are_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ca.pem");
    let url = || ServiceUrl::parse("https://127.0.0.1:1").unwrap();
    for text in [
        "",
        "none",
        "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
    ] {
        std::fs::write(&path, text).unwrap();
        let error = Remote::new(url(), None, Some(&path)).unwrap_err();
        assert!(matches!(error, RemoteError::Certificates { .. }), "{error}");
    }
    let none = folder.path().join("none");
    assert!(matches!(
        Remote::new(url(), None, Some(&none)),
        Err(RemoteError::File { .. })
    ));
}
