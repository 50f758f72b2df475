//! Following a task.

use std::sync::atomic::{AtomicUsize, Ordering};

use client::{Following, Remote, ServiceUrl, follow_task};
use serde_json::json;
use testkit::web::{Reply, Server};
use vocabulary::ErrorKind;

fn follow_these(replies: Vec<Reply>) -> (Vec<String>, Result<String, client::RemoteError>) {
    let turn = AtomicUsize::new(0);
    let server = Server::start(move |_| {
        let turn = turn.fetch_add(1, Ordering::Relaxed);
        replies[turn.min(replies.len() - 1)].clone()
    });
    let remote = Remote::new(ServiceUrl::parse(&server.url()).unwrap(), None, None).unwrap();
    let mut told = Vec::new();
    let ended = follow_task(&remote, 7, |news| {
        told.push(match news {
            Following::Task(task) => format!("{}: {}", task.state, task.reason),
            Following::Unreachable(_) => "away".to_owned(),
        });
    });
    (told, ended.map(|(_, task)| task.state.to_string()))
}

fn task(state: &str, reason: &str) -> Reply {
    // With keys that only a later version has.
    let task = json!({
        "id": 7, "state": state, "reason": reason, "actor": "me", "submitted_at": "2026-11-20T12:00:00Z",
        "attempts": 1, "node_seconds": 0.5, "mood": "good",
        "request": {"kind": "tune", "machine": "local", "urgency": 3, "overrides": {"nodes": [2], "gpus": 4}},
    });
    Reply::json(200, &task.to_string())
}

#[test]
fn a_task_is_followed_to_its_end_across_a_restart_of_the_service() {
    let (told, ended) = follow_these(vec![
        task("waiting", "task 6 runs"),
        task("waiting", "task 6 runs"),
        task("running", "measures"),
        Reply::default(),
        Reply::problem(503, "it starts"),
        task("running", "measures"),
        task("done", "it made a table"),
    ]);
    assert_eq!(ended.unwrap(), "done");
    let expected = [
        "waiting: task 6 runs",
        "running: measures",
        "away",
        "done: it made a table",
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_state_of_a_later_service_is_an_error_at_once() {
    let (told, ended) = follow_these(vec![
        task("running", "measures"),
        task("paused", "of a later version"),
    ]);
    let error = ended.unwrap_err();
    assert!(matches!(error, client::RemoteError::Unexpected { .. }));
    assert!(error.to_string().contains("paused"), "{error}");
    assert_eq!(told, ["running: measures"]);
}

#[test]
fn errors_of_requests_are_returned_at_once() {
    let (_, ended) = follow_these(vec![Reply::problem(404, "there is no task `7`")]);
    assert_eq!(ended.unwrap_err().kind(), ErrorKind::Input);
}
