//! Schedules: over the interface, and on the pages.

use serde_json::{Value, json};
use service::Scope;

use crate::fixture::{Answer, Site};
use crate::pages_bed::{Busy, location};

fn nightly(machine: &str) -> Value {
    json!({
        "task": {"kind": "tune", "machine": machine, "campaign": "tuning/small.yaml"},
        "times": "30 2 * * *", "windows": ["22:00-06:00"],
    })
}

/// A site of two machines with a campaign, and the header of a token that reads and submits for the first machine.
fn divided() -> (Site, String) {
    let site = Site::of_two_machines(|configuration| {
        configuration.open_reading = false;
        let tuning = configuration.folder.join("tuning");
        std::fs::create_dir(&tuning).unwrap();
        let campaign = "name: small\nlauncher: simulated\nshapes: [2x2]\ncollectives: [bcast]\nsizes: 64\nbudget: 1m\n";
        std::fs::write(tuning.join("small.yaml"), campaign).unwrap();
    });
    let token = site.token(&[Scope::Read, Scope::Submit], &["local"]);
    (site, format!("Authorization: Bearer {token}"))
}

fn send(site: &Site, line: &str, headers: &[&str], body: &Value) -> Answer {
    let all = [&["Content-Type: application/json"], headers].concat();
    let (method, path) = line.split_once(' ').unwrap();
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    site.send(&format!("{method} /api/v1/schedules{path}"), &all, &body)
}

#[test]
fn changes_of_schedules_name_the_revision_that_they_follow() {
    let (site, bearer) = divided();
    let put = |condition: &str| {
        let headers = [bearer.as_str(), condition];
        send(&site, "PUT /nightly", &headers, &nightly("local"))
    };
    put("X-None: 1").expect(428);
    put("If-Match: *").expect(412);
    put("If-Match: nightly").expect(400);
    let made = put("If-None-Match: *").expect(201);
    assert_eq!(made.header("location"), Some("/api/v1/schedules/nightly"));
    put("If-None-Match: *").expect(412);
    let tag = made.header("etag").unwrap().to_owned();
    let replaced = put(&format!("If-Match: {tag}")).expect(200);
    assert_ne!(replaced.header("etag"), Some(tag.as_str()));
    put(&format!("If-Match: {tag}")).expect(412);
    put("If-Match: \"1-digest\"").expect(400);
    let shown = send(&site, "GET /nightly", &[&bearer], &Value::Null).expect(200);
    assert_eq!(shown.header("etag"), replaced.header("etag"));
    assert_eq!(
        shown.json()["definition"]["windows"],
        json!(["22:00-06:00"])
    );
    let remove = |condition: &str| {
        send(
            &site,
            "DELETE /nightly",
            &[&bearer, condition],
            &Value::Null,
        )
    };
    remove("X-None: 1").expect(428);
    remove(&format!("If-Match: {tag}")).expect(412);
    // After a restore, the same revision may be another definition's; by hand, the revision alone will do.
    let revision = shown.json()["revision"].to_string();
    remove(&format!("If-Match: \"{revision}-0123456789abcdef\"")).expect(412);
    remove(&format!("If-Match: \"{revision}\"")).expect(204);
    remove("If-Match: *").expect(404);
}

#[test]
fn schedules_are_paused_and_resumed_with_reasons() {
    let (site, bearer) = divided();
    let headers = [bearer.as_str(), "If-None-Match: *"];
    send(&site, "PUT /nightly", &headers, &nightly("local")).expect(201);
    let change =
        |verb: &str, body: &Value| send(&site, &format!("POST /nightly/{verb}"), &[&bearer], body);
    change("resume", &json!({"reason": "x"})).expect(409);
    change("pause", &json!({"reason": ""})).expect(422);
    change("pause", &json!({})).expect(422);
    let paused = change("pause", &json!({"reason": "maintenance"}))
        .expect(200)
        .json();
    assert_eq!(paused["paused"]["reason"], "maintenance");
    assert_eq!(paused["next_at"], Value::Null);
    change("pause", &json!({"reason": "maintenance"})).expect(409);
    let resumed = change("resume", &json!({"reason": "over"}))
        .expect(200)
        .json();
    assert_eq!(resumed["paused"], Value::Null);
    assert!(resumed["next_at"].is_string(), "{resumed}");
}

#[test]
fn schedules_of_other_machines_do_not_exist() {
    let (site, bearer) = divided();
    let owner = site.bearer();
    let headers = [owner.as_str(), "If-None-Match: *"];
    send(&site, "PUT /hidden", &headers, &nightly("other")).expect(201);
    let listed = send(&site, "GET ", &[&bearer], &Value::Null).expect(200);
    assert_eq!(listed.json(), json!([]));
    for line in [
        "GET /hidden",
        "DELETE /hidden",
        "POST /hidden/pause",
        "POST /hidden/resume",
    ] {
        let body = if line.starts_with("POST") {
            json!({"reason": "x"})
        } else {
            Value::Null
        };
        let hidden = send(&site, line, &[&bearer, "If-Match: *"], &body).expect(404);
        let none = line.replace("hidden", "nothing");
        let missing = send(&site, &none, &[&bearer, "If-Match: *"], &body).expect(404);
        assert_eq!(missing.body.replace("nothing", "hidden"), hidden.body);
    }
    send(
        &site,
        "PUT /hidden",
        &[&bearer, "If-Match: *"],
        &nightly("local"),
    )
    .expect(403);
    send(
        &site,
        "PUT /mine",
        &[&bearer, "If-None-Match: *"],
        &nightly("other"),
    )
    .expect(403);
    let whole = send(&site, "GET ?machine=other", &[&owner], &Value::Null).expect(200);
    assert_eq!(whole.json()[0]["name"], "hidden");
    send(&site, "GET ", &["X-None: 1"], &Value::Null).expect(401);
}

#[test]
fn pages_show_schedules_and_pause_them() {
    let busy = Busy::new(true);
    let reader = busy.browser(&[Scope::Read]);
    assert!(!reader.page("/schedules/nightly").contains("<textarea"));
    let browser = busy.browser(&[Scope::Read, Scope::Submit]);
    let list = browser.page("/schedules");
    assert!(
        list.contains("/schedules/nightly") && list.contains("30 2 * * *"),
        "{list}"
    );
    let refused = browser.submit("/schedules/nightly/pause", &[("reason", "")]);
    assert_eq!(refused.status, 422);
    assert!(refused.body.contains("say why"), "{}", refused.body);
    let answer = browser.submit("/schedules/nightly/pause", &[("reason", "maintenance")]);
    assert_eq!(
        (answer.status, location(&answer)),
        (303, "/schedules/nightly")
    );
    let page = browser.page("/schedules/nightly");
    assert!(
        page.contains("maintenance") && page.contains("/schedules/nightly/resume"),
        "{page}"
    );
    browser.submit("/schedules/nightly/resume", &[("reason", "over")]);
    assert!(
        browser
            .page("/schedules/nightly")
            .contains("/schedules/nightly/pause")
    );
    assert_eq!(browser.get("/schedules/none").status, 404);
}
