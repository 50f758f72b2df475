//! Following a task.

use std::sync::atomic::{AtomicUsize, Ordering};

use client::{Following, Remote, ServiceUrl, follow_task};
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
    (told, ended.map(|(_, task)| task.state))
}

fn task(state: &str, reason: &str) -> Reply {
    Reply::json(
        200,
        &format!("{{\"id\": 7, \"state\": \"{state}\", \"reason\": \"{reason}\"}}"),
    )
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
fn errors_of_requests_are_returned_at_once() {
    let (_, ended) = follow_these(vec![Reply::problem(404, "there is no task `7`")]);
    assert_eq!(ended.unwrap_err().kind(), ErrorKind::Input);
}
