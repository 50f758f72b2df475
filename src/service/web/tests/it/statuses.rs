//! The answers of each address.

use serde_json::json;
use service::Scope;

use crate::fixture::Site;

const UNKNOWN: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

#[test]
fn missing_things_are_answered_with_a_problem() {
    let site = Site::new();
    assert_eq!(site.get("/healthz").expect(200).body, "ok\n");
    site.get("/readyz").expect(200);
    let machines = site.get("/api/v1/machines").expect(200).json();
    assert_eq!(machines[0]["name"], "local");
    site.get("/api/v1/campaigns").expect(200);
    assert_eq!(
        site.get("/api/v1/tasks").expect(200).json(),
        json!({"items": []})
    );
    assert_eq!(site.get("/api/v1/channels").expect(200).json(), json!([]));
    for path in [
        "/api/v1/tasks/1",
        "/api/v1/tasks/1/log",
        "/api/v1/tasks/1/events",
        "/api/v1/tasks/-1",
        "/api/v1/tasks/one",
        "/api/v1/tasks/18446744073709551616",
        "/api/v1/nothing",
        "/nothing",
        "/api/v1/machines/other/tables",
        "/api/v1/machines/local/libraries/openmpi-4.1.4/channels/production",
        "/api/v1/machines/local/libraries/openmpi-4.1.4/channels/other",
        "/api/v1/tables/0123",
        "/api/v1/blobs/..%2F..%2Fservice.db",
        &format!("/api/v1/blobs/{UNKNOWN}"),
        &format!("/api/v1/blobs/{}", UNKNOWN.to_uppercase()),
        &format!("/api/v1/tables/{UNKNOWN}"),
        &format!("/api/v1/tables/{UNKNOWN}/diff/{UNKNOWN}"),
        &format!("/api/v1/tables/{UNKNOWN}/report"),
        &format!("/api/v1/tables/{UNKNOWN}/export/openmpi"),
    ] {
        site.get(path).expect(404);
    }
    for query in ["?limit=many", "?colour=red", "?state=lost", "?before=-1"] {
        site.get(&format!("/api/v1/tasks{query}")).expect(400);
    }
    let wrong = site.send("PUT /api/v1/tasks", &[], "").expect(405);
    assert!(
        wrong
            .header("allow")
            .is_some_and(|methods| methods.contains("POST"))
    );
}

#[test]
fn bodies_are_read_strictly() {
    let site = Site::new();
    let bearer = site.bearer();
    let media = "Content-Type: application/json";
    let send = |headers: &[&str], body: &str| {
        let mut all = vec![bearer.as_str()];
        all.extend(headers);
        site.send("POST /api/v1/tokens", &all, body)
    };
    send(&[], "{}").expect(415);
    send(&["Content-Type: text/plain"], "{}").expect(415);
    send(&[media, media], "{}").expect(400);
    let found = send(&[media], "{\n  \"name\": }").expect(400).json();
    assert_eq!((&found["line"], &found["column"]), (&json!(2), &json!(11)));
    let unknown_key = send(&[media], "{\"name\": \"a\", \"colour\": \"red\"}")
        .expect(422)
        .json();
    assert_eq!(unknown_key["line"], 1);
    assert!(
        unknown_key["detail"].as_str().unwrap().contains("colour"),
        "{unknown_key}"
    );
    send(
        &[media],
        &format!("{{\"name\": \"{}\"}}", "a".repeat(1 << 20)),
    )
    .expect(413);
    let made = send(&[media], "{\"name\": \"a\", \"scopes\": [\"read\"]}").expect(201);
    assert_eq!(
        made.header("location"),
        Some(format!("/api/v1/tokens/{}", made.json()["token"]["id"]).as_str())
    );
    assert!(
        made.json()["secret"]
            .as_str()
            .unwrap()
            .starts_with("colltune_")
    );
}

#[test]
fn tokens_are_made_listed_and_revoked_by_administrators() {
    let site = Site::new();
    let new = json!({"name": "ci", "scopes": ["read", "submit"], "days": 3});
    let made = site.post("/api/v1/tokens", &[], &new).expect(201).json();
    let (id, secret) = (&made["token"]["id"], made["secret"].as_str().unwrap());
    let bearer = format!("Authorization: Bearer {secret}");
    site.send("GET /api/v1/machines", &[&bearer], "")
        .expect(200);
    for line in [
        "GET /api/v1/tokens",
        "GET /api/v1/audit",
        &format!("DELETE /api/v1/tokens/{id}"),
    ] {
        site.send(line, &[&bearer], "").expect(403);
        // Requests without a token are asked for one.
        site.send(line, &[], "").expect(401);
    }
    let all = site
        .send("GET /api/v1/tokens", &[&site.bearer()], "")
        .expect(200);
    assert!(!all.body.contains(secret), "{all:?}");
    site.send(
        &format!("DELETE /api/v1/tokens/{id}"),
        &[&site.bearer()],
        "",
    )
    .expect(204);
    site.send("DELETE /api/v1/tokens/999", &[&site.bearer()], "")
        .expect(404);
    site.send("GET /api/v1/machines", &[&bearer], "")
        .expect(401);
    let audit = site
        .send("GET /api/v1/audit?limit=1", &[&site.bearer()], "")
        .expect(200)
        .json();
    assert_eq!(audit["items"][0]["action"], "token.revoke");
    assert!(audit["next"].is_u64());
}

#[test]
fn readers_of_one_machine_see_only_that_machine() {
    let site = Site::of_two_machines(|configuration| configuration.open_reading = false);
    let bearer = |token: &str| format!("Authorization: Bearer {token}");
    let here = bearer(&site.token(&[Scope::Read], &["local"]));
    let elsewhere = bearer(&site.token(&[Scope::Read], &["other"]));
    let writer = bearer(&site.token(&[Scope::Submit], &[]));
    let cases = [
        ("/api/v1/tasks", [401, 403, 403, 403]),
        ("/api/v1/tasks?machine=local", [401, 200, 403, 403]),
        ("/api/v1/machines", [401, 200, 200, 403]),
        ("/api/v1/machines/local/tables", [401, 200, 403, 403]),
        ("/api/v1/events", [401, 403, 403, 403]),
        ("/metrics", [401, 403, 403, 403]),
        (
            "/api/v1/machines/local/libraries/a-1/channels/canary",
            [401, 404, 403, 403],
        ),
    ];
    for (path, statuses) in cases {
        let line = format!("GET {path}");
        site.get(path).expect(statuses[0]);
        for (token, status) in [&here, &elsewhere, &writer].into_iter().zip(&statuses[1..]) {
            site.send(&line, &[token], "").expect(*status);
        }
    }
    let machines = site.send("GET /api/v1/machines", &[&elsewhere], "").json();
    assert_eq!(machines.as_array().unwrap().len(), 1);
    assert_eq!(machines[0]["name"], "other");
    assert_eq!(site.get("/healthz").status, 200);
}

#[test]
fn answers_have_headers_that_browsers_obey() {
    let site = Site::new();
    for path in ["/", "/api/v1/machines", "/nothing", "/healthz"] {
        let answer = site.get(path);
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'"), "{policy}");
        assert!(
            policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"),
            "{policy}"
        );
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
        assert!(answer.header("referrer-policy").is_some());
    }
    let page = site.send("GET /nothing", &["Accept: text/html,*/*;q=0.8"], "");
    assert_eq!(page.status, 404);
    assert!(
        page.header("content-type")
            .unwrap()
            .starts_with("text/html"),
        "{page:?}"
    );
    let json = site.send("GET /api/v1/nothing", &["Accept: text/html"], "");
    json.expect(404);
}

#[test]
fn metrics_count_requests_by_route() {
    let site = Site::new();
    site.get("/api/v1/tasks/7").expect(404);
    site.get("/api/v1/tasks/8").expect(404);
    site.get("/some/where").expect(404);
    let text = site.get("/metrics").expect(200).body;
    for line in [
        "colltune_http_requests_total{method=\"GET\",route=\"/api/v1/tasks/{id}\",status=\"404\"} 2",
        "colltune_http_requests_total{method=\"GET\",route=\"none\",status=\"404\"} 1",
        "colltune_node_seconds_this_month{machine=\"local\"} 0",
        "colltune_http_request_seconds_count{route=\"/api/v1/tasks/{id}\"} 2",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
}
