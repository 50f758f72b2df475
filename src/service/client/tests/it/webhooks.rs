//! Messages to webhooks: what is sent, and to which addresses.

use std::time::Duration;

use client::WebhookSender;
use testkit::web::{Reply, Server};

const HEADERS: [(&str, &str); 2] = [("webhook-id", "msg_1"), ("webhook-signature", "v1,abc")];

fn sender(allows_private: bool) -> WebhookSender {
    WebhookSender::new(allows_private, Duration::from_secs(10))
}

#[test]
fn a_message_is_posted_with_its_headers() {
    let server = Server::start(|_| Reply::new(204, &[], ""));
    let url = format!("{}/hook?a=b", server.url());
    let status = sender(true).post_json(&url, &HEADERS, "{\"type\":\"test\"}");
    assert_eq!(status, Ok(204));
    let requests = server.requests();
    let [request] = &requests[..] else {
        panic!("{requests:?}");
    };
    assert_eq!((&*request.method, &*request.path), ("POST", "/hook?a=b"));
    assert_eq!(request.body, "{\"type\":\"test\"}");
    assert_eq!(request.headers["content-type"], "application/json");
    assert_eq!(request.headers["webhook-id"], "msg_1");
    assert_eq!(request.headers["webhook-signature"], "v1,abc");
}

#[test]
fn failures_and_redirects_are_told_and_redirects_are_not_followed() {
    for status in [301, 307, 400, 410, 500] {
        let server =
            Server::start(move |_| Reply::new(status, &[("location", "/elsewhere")], "why"));
        let answer = sender(true).post_json(&server.url(), &HEADERS, "{}");
        assert_eq!(answer, Ok(status));
        assert_eq!(server.requests().len(), 1);
    }
}

#[test]
fn private_addresses_are_refused_by_number_and_by_name() {
    let server = Server::start(|_| Reply::new(204, &[], ""));
    let by_number = server.url().replace("http:", "https:");
    let by_name = by_number.replace("127.0.0.1", "localhost");
    assert_ne!(by_number, by_name);
    for url in [by_number, by_name, "https://[::1]:9/".to_owned()] {
        let refused = sender(false).post_json(&url, &HEADERS, "{}");
        let problem = refused.expect_err(&url);
        assert!(
            problem.contains("no address of the internet") && problem.contains("private_addresses"),
            "{url}: {problem}"
        );
    }
    assert_eq!(server.requests(), []);
}

/// A webhook may be older than the configuration.
#[test]
fn addresses_without_encryption_are_refused_unless_private_ones_are_allowed() {
    let server = Server::start(|_| Reply::new(204, &[], ""));
    let url = format!("{}/credential", server.url());
    let refused = sender(false).post_json(&url, &HEADERS, "{}");
    let problem = refused.expect_err("refused");
    assert!(problem.contains("is not encrypted"), "{problem}");
    assert!(!problem.contains("credential"), "{problem}");
    assert_eq!(server.requests(), []);
    assert_eq!(sender(true).post_json(&url, &HEADERS, "{}"), Ok(204));
}

#[test]
fn a_receiver_that_does_not_answer_is_given_up() {
    let server = Server::start(|_| Reply::new(204, &[], "").after_pause(Duration::from_secs(60)));
    let hasty = WebhookSender::new(true, Duration::from_millis(300));
    let problem = hasty
        .post_json(&server.url(), &HEADERS, "{}")
        .expect_err("no answer");
    assert_eq!(problem, "no answer within 0.3 s");
}
