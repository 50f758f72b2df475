//! `colltune remote`: its requests, output and exit codes.

use answers::{
    ChannelKey, Gate, GateState, MadeToken, Overrides, Release, ReleaseAction, ReleaseChannel,
    SchedulePause, Scope, Task, TaskKind, TaskRequest, TaskState, TokenRow,
};
use serde::Serialize;
use serde_json::{Value, json};
use testkit::web::{HttpRequest, Reply, Server};

use crate::run::{Place, Ran};

/// Runs `colltune remote` against a server with these answers.
fn ask(
    args: &[&str],
    answer: impl Fn(&HttpRequest) -> Reply + Send + Sync + 'static,
) -> (Ran, Vec<HttpRequest>) {
    let server = Server::start(answer);
    let place = Place::new();
    place.write("token", "colltune_secret\n");
    let url = server.url();
    let args = [&["remote", "--url", &url, "--token-file", "token"], args].concat();
    let ran = place.run(&args);
    for text in [&ran.out, &ran.err] {
        assert!(!text.contains("colltune_secret"), "{text}");
    }
    (ran, server.requests())
}

/// An answer of a service, with a key that only a later version has.
fn of_later_version(answer: &impl Serialize) -> Value {
    let mut answer = json!(answer);
    answer["of_later_version"] = json!({"id": 0});
    answer
}

fn task(state: TaskState, code: Option<i32>) -> Value {
    of_later_version(&Task {
        id: 7,
        request: TaskRequest {
            kind: TaskKind::Tune,
            machine: Some("local".to_owned()),
            campaign: Some("tuning/night.yaml".to_owned()),
            table: None,
            deployment: None,
            overrides: Overrides::default(),
        },
        name: Some("night".to_owned()),
        state,
        reason: "because".to_owned(),
        follows: None,
        actor: "me".to_owned(),
        schedule: None,
        submitted_at: SINCE.parse().unwrap(),
        started_at: None,
        ended_at: None,
        attempts: 1,
        exit_code: code,
        expected_node_seconds: None,
        node_seconds: 0.0,
        outcome: None,
        made: None,
    })
}

const SINCE: &str = "2026-11-20T12:00:00Z";

/// A release of a table whose digest consists of this digit.
fn release(action: ReleaseAction, digit: &str) -> Value {
    of_later_version(&Release {
        sequence: 13,
        key: ChannelKey {
            machine: "local".to_owned(),
            library: "openmpi-4.1.4".to_owned(),
            channel: ReleaseChannel::Production,
        },
        action,
        digest: digit.repeat(64).parse().unwrap(),
        actor: "me".to_owned(),
        reason: String::new(),
        gates: vec![Gate {
            name: "validated".to_owned(),
            state: GateState::Open,
            reason: "it is".to_owned(),
        }],
        at: SINCE.parse().unwrap(),
    })
}

fn body(request: &HttpRequest) -> Value {
    serde_json::from_str(&request.body).unwrap()
}

#[test]
fn a_task_is_submitted_with_the_given_options() {
    let args = [
        "submit",
        "tune",
        "--campaign",
        "tuning/night.yaml",
        "--budget",
        "10m",
        "--nodes",
        "1,2",
        "--key",
        "k",
        "--json",
    ];
    let (ran, asked) = ask(&args, |_| {
        Reply::json(202, &task(TaskState::Waiting, None).to_string())
    });
    assert_eq!(ran.good().json(), task(TaskState::Waiting, None));
    let expected = json!({
        "kind": "tune", "campaign": "tuning/night.yaml", "overrides": {"budget": "10m", "nodes": [1, 2]},
    });
    assert_eq!(body(&asked[0]), expected);
    assert_eq!(asked[0].headers["idempotency-key"], "k");
    let digest = "0".repeat(64);
    let validate_args = [
        "submit",
        "validate",
        "--table",
        &digest,
        "--deployment",
        "library",
    ];
    let (_, validate_requests) = ask(&validate_args, |_| {
        Reply::json(202, &task(TaskState::Waiting, None).to_string())
    });
    let expected_validation = json!({
        "kind": "validate", "table": digest, "deployment": "library", "overrides": {},
    });
    assert_eq!(body(&validate_requests[0]), expected_validation);
    assert_eq!(
        validate_requests[0].headers["authorization"],
        "Bearer colltune_secret"
    );
}

#[test]
fn waiting_exits_like_the_task() {
    for (state, code, expected) in [
        (TaskState::Done, Some(0), 0),
        (TaskState::Done, Some(1), 1),
        (TaskState::Failed, Some(2), 2),
        (TaskState::Failed, Some(3), 3),
        (TaskState::Failed, Some(4), 4),
        (TaskState::Failed, Some(139), 3),
        (TaskState::Failed, None, 3),
        (TaskState::Cancelled, None, 3),
    ] {
        let answer = move |request: &HttpRequest| match request.method.as_str() {
            "POST" => Reply::json(202, &task(TaskState::Waiting, None).to_string()),
            _ => Reply::json(200, &task(state, code).to_string()),
        };
        let (ran, _) = ask(&["submit", "tune", "--campaign", "c", "--wait"], answer);
        assert_eq!(ran.code, Some(expected), "{state} {code:?}: {ran:?}");
        assert!(
            ran.out.contains(&format!("{state}: because")),
            "{}",
            ran.out
        );
        let (watched, _) = ask(&["watch", "7", "--json"], answer);
        assert_eq!(
            (watched.code, &watched.json()["state"]),
            (Some(expected), &json!(state))
        );
    }
}

#[test]
fn no_unreachable_and_wrong_have_different_exit_codes() {
    for (status, code) in [
        (409, 1),
        (412, 1),
        (401, 2),
        (403, 2),
        (404, 2),
        (422, 2),
        (429, 3),
        (500, 3),
        (503, 3),
    ] {
        for args in [
            &["task", "7"][..],
            &["cancel", "7"],
            &["tokens", "--revoke", "1"],
        ] {
            let (ran, _) = ask(args, move |_| Reply::problem(status, "this is why"));
            ran.bad(code, &["this is why", &status.to_string()]);
        }
    }
    let place = Place::new();
    place
        .run(&["remote", "tasks"])
        .bad(2, &["no service is given", "COLLTUNE_URL"]);
    place
        .run(&["remote", "--url", "nowhere", "tasks"])
        .bad(2, &["URL of a service"]);
    place
        .run(&["remote", "--url", "http://127.0.0.1:1", "tasks"])
        .bad(3, &["is unavailable"]);
    place
        .run(&["remote", "--url", "unix:/none", "tasks"])
        .bad(3, &["is unavailable"]);
    place.write("token", "x");
    let args = [
        "remote",
        "--url",
        "http://tables.invalid",
        "--token-file",
        "token",
        "tasks",
    ];
    place.run(&args).bad(2, &["unencrypted"]);
}

#[test]
fn url_and_token_may_be_in_the_environment() {
    let server = Server::start(|_| Reply::json(200, "{\"items\": []}"));
    let mut command = Place::new().command(&["remote", "tasks"]);
    command
        .env("COLLTUNE_URL", server.url())
        .env("COLLTUNE_TOKEN", "t");
    let output = command.current_dir("/").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(server.requests()[0].headers["authorization"], "Bearer t");
    assert_eq!(server.requests()[0].path, "/api/v1/tasks?limit=50");
}

#[test]
fn releases_name_the_release_that_they_follow() {
    let channel = ["--machine", "local", "--library", "openmpi-4.1.4"];
    let path = "/api/v1/machines/local/libraries/openmpi-4.1.4/channels/production";
    let answer = |request: &HttpRequest| match request.method.as_str() {
        "GET" => Reply::new(200, &[("etag", "\"12\"")], "{}"),
        _ => Reply::json(201, &release(ReleaseAction::Release, "a").to_string()),
    };
    let digest = "a".repeat(64);
    let args = [&["release", &digest][..], &channel].concat();
    let (ran, asked) = ask(&args, answer);
    let expected_text = format!(
        "release 13 of local openmpi-4.1.4 production: release {digest}\n  validated is open: it is\n"
    );
    assert_eq!(ran.good().out, expected_text);
    assert_eq!(
        (asked[0].path.as_str(), asked[1].path.clone()),
        (path, format!("{path}/releases"))
    );
    assert_eq!(asked[1].headers["if-match"], "\"12\"");
    let expected =
        json!({"action": "release", "digest": digest, "reason": "", "override_gates": false});
    assert_eq!(body(&asked[1]), expected);

    // The release is made, whatever a later version says of it.
    let later = json!({"sequence": "14", "action": "promote"});
    let later_text = later.to_string();
    let (made_later, _) = ask(
        &[&args[..], &["--json"]].concat(),
        move |request| match request.method.as_str() {
            "GET" => Reply::new(200, &[("etag", "\"12\"")], "{}"),
            _ => Reply::json(201, &later_text),
        },
    );
    assert_eq!(made_later.good().json(), later);

    let rollback = [
        &["rollback", "--reason", "slow", "--expect", "11"][..],
        &channel,
    ]
    .concat();
    let (_, rollback_asked) = ask(&rollback, answer);
    assert_eq!(rollback_asked[0].headers["if-match"], "\"11\"");
    assert_eq!(
        body(&rollback_asked[0]),
        json!({"action": "rollback", "digest": null, "reason": "slow", "override_gates": false})
    );

    let withdrawal = [
        &["withdraw", "--reason", "slow", "--channel", "canary"][..],
        &channel,
    ]
    .concat();
    let (_, withdrawal_asked) = ask(&withdrawal, |request| match request.method.as_str() {
        "GET" => Reply::problem(404, "no releases"),
        _ => Reply::json(201, &release(ReleaseAction::Withdraw, "b").to_string()),
    });
    assert_eq!(withdrawal_asked[1].headers["if-none-match"], "*");
    assert!(
        withdrawal_asked[1].path.contains("/channels/canary/"),
        "{}",
        withdrawal_asked[1].path
    );

    // Closed gates are a "no".
    let gated_release = [&["release", &digest][..], &channel].concat();
    let (stopped, _) = ask(&gated_release, |request| match request.method.as_str() {
        "GET" => Reply::new(200, &[("etag", "\"12\"")], "{}"),
        _ => Reply::problem(409, "validated: no validation of this table"),
    });
    stopped.bad(1, &["validated: no validation"]);
    let refused = json!({
        "detail": "all in one sentence",
        "gates": [
            {"name": "readable", "state": "open", "reason": "it is"},
            {"name": "confirmed", "state": "closed", "reason": "2 rules are not"},
            {"name": "validated", "state": "closed", "reason": "validate it"},
        ],
    });
    let (told, _) = ask(&gated_release, move |request| {
        match request.method.as_str() {
            "GET" => Reply::new(200, &[("etag", "\"12\"")], "{}"),
            _ => Reply::json(409, &refused.to_string()),
        }
    });
    told.bad(
        1,
        &[
            "(409)\n  confirmed: 2 rules are not\n  validated: validate it\n",
            "--override-gates",
        ],
    );
    let (without_reason, asked_nothing) = ask(&[&["rollback"][..], &channel].concat(), answer);
    without_reason.bad(2, &["--reason"]);
    assert!(asked_nothing.is_empty());
}

#[test]
fn lists_are_printed_as_columns_or_as_json() {
    let page = json!({"items": [task(TaskState::Running, None)], "next": 7});
    let text = page.to_string();
    let (ran, asked) = ask(
        &["tasks", "--state", "running", "--machine", "a b"],
        move |_| Reply::json(200, &text),
    );
    assert_eq!(
        asked[0].path,
        "/api/v1/tasks?state=running&machine=a%20b&limit=50"
    );
    let out = ran.good().out;
    for part in ["7  tune", "tuning/night.yaml", "because", "--before 7"] {
        assert!(out.contains(part), "no `{part}` in:\n{out}");
    }
    let channels = json!([release(ReleaseAction::Release, "0")]).to_string();
    let as_text = channels.clone();
    let (listed, _) = ask(&["channels"], move |_| Reply::json(200, &as_text));
    let row = "local    openmpi-4.1.4  production       13  000000000000  2026-11-20T12:00:00Z  me";
    let listed = listed.good().out;
    assert!(listed.contains(row), "{listed}");
    let (as_json, _) = ask(&["channels", "--json"], move |_| {
        Reply::json(200, &channels)
    });
    assert_eq!(as_json.good().json()[0]["of_later_version"]["id"], 0);
}

#[test]
fn a_long_log_is_put_together() {
    let (ran, asked) = ask(&["log", "7"], |request| {
        if request.path.ends_with("from=0") {
            Reply::json(
                200,
                "{\"text\": \"half a li\", \"next\": 9, \"length\": 12}",
            )
        } else {
            Reply::json(200, "{\"text\": \"ne\\n\", \"next\": 12, \"length\": 12}")
        }
    });
    assert_eq!(ran.good().out, "half a line\n");
    assert_eq!(asked.len(), 2);
}

#[test]
fn only_the_new_token_is_printed() {
    let args = [
        "tokens",
        "--make",
        "nightly",
        "--scope",
        "read,submit",
        "--days",
        "90",
    ];
    let token = TokenRow {
        id: 3,
        name: "nightly".to_owned(),
        scopes: vec![Scope::Read, Scope::Submit],
        machines: Vec::new(),
        created_at: SINCE.parse().unwrap(),
        created_by: "me".to_owned(),
        expires_at: Some("2027-02-18T12:00:00Z".parse().unwrap()),
        revoked_at: None,
    };
    let tokens = json!([of_later_version(&token)]).to_string();
    // The secret is shown only now, whatever a later version says of the token.
    let later = json!({"secret": "colltune_new", "token": {"id": "3", "scopes": ["judge"]}});
    for as_json in [false, true] {
        let later_text = later.to_string();
        let flags: &[&str] = if as_json { &["--json"] } else { &[] };
        let (made_later, _) = ask(&[&args[..], flags].concat(), move |_| {
            Reply::json(201, &later_text)
        });
        assert!(made_later.good().out.contains("colltune_new"));
    }
    let made = of_later_version(&MadeToken {
        secret: "colltune_new".to_owned(),
        token,
    });
    let (ran, asked) = ask(&args, move |_| Reply::json(201, &made.to_string()));
    assert_eq!(ran.good().out, "colltune_new\n");
    let expected =
        json!({"name": "nightly", "scopes": ["read", "submit"], "machines": [], "days": 90});
    assert_eq!(body(&asked[0]), expected);
    let (listed, _) = ask(&["tokens"], move |_| Reply::json(200, &tokens));
    let listed = listed.good().out;
    assert!(
        listed.contains("3  nightly  read, submit  2027-02-18T12:00:00Z"),
        "{listed}"
    );
}

fn schedule(paused: Option<SchedulePause>) -> Value {
    let Value::Object(task) = task(TaskState::Waiting, None) else {
        panic!("a task");
    };
    of_later_version(&json!({
        "name": "nightly", "revision": 12, "time_zone": "UTC", "changed_by": "me", "changed_at": SINCE,
        "definition": {"task": task["request"], "times": "30 2 * * *", "later": true},
        "failures": 2, "next_at": SINCE, "last_task": 7, "paused": paused,
    }))
}

#[test]
fn a_schedule_is_put_at_the_revision_that_was_read() {
    let args = [
        "schedule",
        "nightly",
        "check",
        "--machine",
        "local",
        "--channel",
        "openmpi-4.1.4/production",
        "--times",
        "30 2 * * *",
        "--window",
        "22:00-06:00",
        "--on",
        "fingerprint,suspicion",
    ];
    let definition = json!({
        "task": {"kind": "check", "machine": "local", "overrides": {}},
        "channel": {"library": "openmpi-4.1.4", "channel": "production"},
        "times": "30 2 * * *", "windows": ["22:00-06:00"],
        "events": {"fingerprint": true, "suspicion": true},
    });
    let answer = |request: &HttpRequest| {
        let body = schedule(None).to_string();
        let headers = [("content-type", "application/json"), ("etag", "\"11\"")];
        assert!(["GET", "PUT"].contains(&&*request.method));
        Reply::new(200, &headers, body)
    };
    let (ran, asked) = ask(&args, answer);
    let expected = "schedule nightly comes next at 2026-11-20T12:00:00Z (revision 12)\n";
    assert_eq!(ran.good().out, expected);
    assert_eq!(asked[1].path, "/api/v1/schedules/nightly");
    assert_eq!(asked[1].headers["if-match"], "\"11\"");
    assert_eq!(body(&asked[1]), definition);
    // A new one must not exist yet.
    let (_, asked_new) = ask(&args, |request| match &*request.method {
        "GET" => Reply::problem(404, "there is none"),
        _ => Reply::json(201, &schedule(None).to_string()),
    });
    assert_eq!(asked_new[1].headers["if-none-match"], "*");
    let expecting = [&args[..], &["--expect", "0"]].concat();
    let (refused, asked_at_once) = ask(&expecting, |_| Reply::problem(412, "it has changed"));
    assert_eq!((refused.code, asked_at_once.len()), (Some(1), 1));
    let wrong = ["schedule", "nightly", "check", "--channel", "production"];
    let (usage, _) = ask(&wrong, |_| Reply::problem(500, "never asked"));
    assert_eq!(usage.code, Some(2));
}

#[test]
fn schedules_are_listed_paused_resumed_and_removed() {
    let pause = SchedulePause {
        by: "ann".to_owned(),
        reason: "maintenance".to_owned(),
        at: SINCE.parse().unwrap(),
    };
    let list = json!([schedule(Some(pause.clone()))]).to_string();
    let (listed, asked_list) = ask(&["schedules", "--machine", "local"], move |_| {
        Reply::json(200, &list)
    });
    let out = listed.good().out;
    assert!(
        out.contains("ann: maintenance") && out.contains("30 2 * * *"),
        "{out}"
    );
    assert_eq!(asked_list[0].path, "/api/v1/schedules?machine=local");
    for verb in ["pause", "resume"] {
        let paused = (verb == "pause").then(|| pause.clone());
        let answer = schedule(paused).to_string();
        let args = [verb, "nightly", "--reason", "maintenance"];
        let (ran, asked) = ask(&args, move |_| Reply::json(200, &answer));
        assert_eq!(ran.good().out.contains("is paused by ann"), verb == "pause");
        assert_eq!(asked[0].path, format!("/api/v1/schedules/nightly/{verb}"));
        assert_eq!(body(&asked[0]), json!({"reason": "maintenance"}));
    }
    let (removed, asked_removal) = ask(&["unschedule", "nightly"], |_| Reply::new(204, &[], ""));
    assert_eq!(removed.good().out, "schedule nightly is removed\n");
    assert_eq!(
        (
            &*asked_removal[0].method,
            &*asked_removal[0].headers["if-match"]
        ),
        ("DELETE", "*")
    );
}

#[test]
fn findings_are_listed_shown_and_decided() {
    let finding = json!({
        "id": 3, "machine": "hydra", "library": "openmpi-4.1.4", "cause": "algorithm", "slower": true, "state": "open",
        "found_at": SINCE, "later": 1,
        "changes": [{
            "series": 1, "name": "bcast 1x2 64: bcast/chain", "quantity": "ratio", "before": 0.5, "after": 0.75,
            "began_at": SINCE, "found_by": 9,
            "control": {"series": 2, "chosen": "bcast/ring", "before": 0.6, "after": 0.61, "points_after": 2},
        }],
        "notes": [{"at": SINCE, "actor": "ann", "state": "open", "reason": "was not the switch"}],
    });
    let mut listed = finding.clone();
    listed["changes"] = json!(1);
    let page = json!({"items": [listed], "next": 3}).to_string();
    let list_args = [
        "findings",
        "--state",
        "open",
        "--machine",
        "hydra",
        "--limit",
        "1",
    ];
    let (ran, asked) = ask(&list_args, move |_| Reply::json(200, &page));
    let out = ran.good().out;
    assert!(
        out.contains("choice slower") && out.contains("--before 3"),
        "{out}"
    );
    assert_eq!(
        asked[0].path,
        "/api/v1/findings?state=open&machine=hydra&limit=1"
    );
    let whole = finding.to_string();
    let (shown, _) = ask(&["finding", "3"], move |_| Reply::json(200, &whole));
    let shown = shown.good().out;
    for part in [
        "finding 3 (open) on hydra",
        "bcast 1x2 64: bcast/chain",
        "0.500",
        "0.750",
        "bcast/ring: 0.600, then 0.610",
        "ann: open, was not the switch",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let decided = finding.to_string();
    let args = ["triage", "3", "accepted", "--reason", "new switch"];
    let (accepted, requests) = ask(&args, move |_| Reply::json(200, &decided));
    assert_eq!(accepted.good().out, "finding 3 is accepted\n");
    assert_eq!(
        (&*requests[0].method, &*requests[0].path),
        ("PATCH", "/api/v1/findings/3")
    );
    assert_eq!(
        body(&requests[0]),
        json!({"state": "accepted", "reason": "new switch"})
    );
    let (refused, _) = ask(&args, |_| Reply::problem(409, "is accepted already"));
    assert_eq!(refused.code, Some(1));
}

#[test]
fn remote_lookup_sends_the_query_of_colltune_lookup() {
    let args = [
        "lookup",
        "--machine",
        "local",
        "--library",
        "openmpi-4.1.4",
        "-c",
        "allreduce",
        "-n",
        "1",
        "-k",
        "2",
        "-b",
        "64K",
    ];
    let (ran, asked) = ask(&args, |_| {
        Reply::json(
            200,
            "{\"candidate\": \"allreduce/ring\", \"speedup\": 2.5, \"reason\": null, \"deployed\": true}",
        )
    });
    let out = ran.good().out;
    assert!(
        out.starts_with("allreduce/ring\n") && out.contains("speedup     2.5"),
        "{out}"
    );
    let (_, query) = asked[0].path.split_once("/lookup?").unwrap();
    assert_eq!(
        query,
        "collective=allreduce&nodes=1&ppn=2&operator=commutative&deployment=colltune&bytes=65536"
    );
}

#[test]
fn no_answer_of_a_service_is_reported_as_a_bug() {
    for text in [
        "",
        "null",
        "[]",
        "{}",
        "7",
        "\"x\"",
        "[7]",
        "{\"items\": 7}",
        "{\"items\": [7]}",
        "<html>",
    ] {
        for args in [
            &["tasks"][..],
            &["task", "7"],
            &["channels"],
            &["tokens"],
            &["schedules"],
            &["pause", "x", "--reason", "y"],
            &["log", "7"],
            &["tokens", "--make", "x", "--scope", "read"],
            &["cancel", "7"],
        ] {
            let (ran, _) = ask(args, move |_| Reply::json(200, text));
            assert!(
                matches!(ran.code, Some(0 | 3)),
                "{args:?} of {text}: {ran:?}"
            );
        }
    }
}
