//! Agents over HTTP, and on the pages.

use serde_json::{Value, json};
use service::Scope;

use crate::fixture::{Answer, Site};

const CAMPAIGN: &str =
    "name: far\nlauncher: simulated\nshapes: [2x2]\ncollectives: [bcast]\nsizes: 64\n";

/// A service whose machine `local` has an agent, and the agent's token.
fn site_with_agent() -> (Site, String) {
    let site = Site::of_two_machines(|configuration| configuration.machines[0].has_agent = true);
    let token = site.token(&[Scope::Agent], &["local"]);
    (site, token)
}

fn send(site: &Site, token: &str, line: &str, body: &Value) -> Answer {
    let bearer = format!("Authorization: Bearer {token}");
    let headers = [bearer.as_str(), "Content-Type: application/json"];
    site.send(line, &headers, &body.to_string())
}

#[test]
fn an_agent_claims_a_task_over_http_and_is_shown() {
    let (site, token) = site_with_agent();
    let path = "/api/v1/machines/local/agent";
    let overview = site.get("/").expect(200).body;
    assert!(overview.contains("never heard"), "{overview}");
    let campaigns = json!({"campaigns": [{"path": "tuning/far.yaml", "text": CAMPAIGN}]});
    send(&site, &token, &format!("PUT {path}/campaigns"), &campaigns).expect(204);
    let request = json!({"kind": "tune", "machine": "local", "campaign": "tuning/far.yaml"});
    site.post("/api/v1/tasks", &[], &request).expect(202);
    let claim = json!({"agent": "a1", "host": "login<1>", "held": []});
    let claimed = send(&site, &token, &format!("POST {path}/claim"), &claim).expect(200);
    let claimed = claimed.json();
    assert_eq!(claimed["request"]["campaign"], "tuning/far.yaml");
    let markup = site.get("/").expect(200).body;
    assert!(
        markup.contains("on login&lt;1&gt;, last heard") && !markup.contains("login<1>"),
        "{markup}"
    );
    let held = json!({"agent": "a1", "host": "login1", "held": [claimed["claim"]["fence"]]});
    let none = send(&site, &token, &format!("POST {path}/claim"), &held).expect(204);
    assert_eq!(none.body, "");
    let heartbeat = json!({"claim": claimed["claim"], "reason": "measures", "node_seconds": 1.5, "progress": null,
        "log": {"from": 0, "text": "a line\n", "next": 7}});
    let line = format!("POST {path}/heartbeat");
    let answer = send(&site, &token, &line, &heartbeat).expect(200).json();
    assert_eq!(answer, json!({"cancel": false, "log_next": 7}));
    let failed = json!({"claim": claimed["claim"], "state": "failed", "reason": "no MPI", "exit_code": 2,
        "outcome": null, "node_seconds": 2.0, "table": null});
    let completing = format!("POST {path}/complete");
    for _ in 0..2 {
        let completed = send(&site, &token, &completing, &failed).expect(200).json();
        assert_eq!(completed, json!({"counts": true}));
    }
    let task = site.get("/api/v1/tasks/1").expect(200).json();
    assert_eq!(
        (&task["state"], &task["reason"]),
        (&json!("failed"), &json!("no MPI"))
    );
    let log = site.get("/api/v1/tasks/1/log").expect(200).json();
    assert_eq!(log["text"], "a line\n");
    let shown = site.get("/").expect(200).body;
    assert!(shown.contains("on login1, last heard"), "{shown}");
    let machines = site.get("/api/v1/machines").expect(200).json();
    assert_eq!(machines[0]["has_agent"], true);
    assert_eq!(machines[0]["agent"]["host"], "login1");
    assert_eq!(
        (&machines[1]["has_agent"], &machines[1]["agent"]),
        (&json!(false), &Value::Null)
    );
    // The campaign's page has the agent's text.
    let page = site.get("/campaigns/tuning/far.yaml").expect(200).body;
    assert!(page.contains("name: far"), "{page}");
}

#[test]
fn a_token_of_an_agent_does_what_agents_do_and_nothing_else() {
    let (site, token) = site_with_agent();
    let claim = json!({"agent": "a1", "host": "h", "held": []});
    for (line, status) in [
        ("POST /api/v1/machines/local/agent/claim", 204),
        ("POST /api/v1/machines/other/agent/claim", 403),
        ("POST /api/v1/machines/unknown/agent/claim", 403),
        ("GET /api/v1/tokens", 403),
        ("GET /api/v1/audit", 403),
    ] {
        let answer = send(&site, &token, line, &claim);
        assert_eq!(answer.status, status, "{line}: {answer:?}");
    }
    let owner = site.owner.clone();
    send(
        &site,
        &owner,
        "POST /api/v1/machines/other/agent/claim",
        &claim,
    )
    .expect(409);
    send(
        &site,
        &owner,
        "POST /api/v1/machines/unknown/agent/claim",
        &claim,
    )
    .expect(404);
    let request = json!({"kind": "tune", "machine": "local", "campaign": "tuning/far.yaml"});
    send(&site, &token, "POST /api/v1/tasks", &request).expect(403);
}

/// Results and campaigns may be long; they are read only from agents.
#[test]
fn long_bodies_are_taken_from_agents_up_to_a_limit() {
    let (site, token) = site_with_agent();
    let line = "PUT /api/v1/machines/local/agent/campaigns";
    let campaigns = |bytes| {
        let text = format!("{CAMPAIGN}# {}\n", "x".repeat(bytes));
        json!({"campaigns": [{"path": "tuning/far.yaml", "text": text}]})
    };
    send(&site, &token, line, &campaigns(500_000)).expect(204);
    send(&site, &token, line, &campaigns(1_100_000)).expect(413);
    let reader = site.token(&[Scope::Read], &[]);
    send(&site, &reader, line, &campaigns(500_000)).expect(403);
}
