//! Trends and findings: over the interface, and on the pages.

use rusqlite::Connection;
use serde_json::{Value, json};
use service::Scope;

use crate::fixture::{Answer, Site};
use crate::pages_bed::{Busy, add_trend, location};

/// A finding of each of two machines, and a token that reads and publishes for the first.
fn divided() -> (Site, String) {
    let site = Site::of_two_machines(|configuration| configuration.open_reading = false);
    let database = Connection::open(site.folder().join("service/service.db")).unwrap();
    database
        .execute(
            "INSERT INTO task (kind, machine, request, state, reason, actor, submitted_at) \
             VALUES ('check', 1, '{}', 'done', '', 'me', 0)",
            [],
        )
        .unwrap();
    add_trend(&database, "local", "bcast/chain");
    add_trend(&database, "other", "bcast/binary");
    let token = site.token(&[Scope::Read, Scope::Publish], &["local"]);
    (site, format!("Authorization: Bearer {token}"))
}

fn get(site: &Site, bearer: &str, path: &str) -> Answer {
    site.send(&format!("GET {path}"), &[bearer], "")
}

fn decide(site: &Site, bearer: &str, id: u64, body: &Value) -> Answer {
    let headers = [bearer, "Content-Type: application/json"];
    site.send(
        &format!("PATCH /api/v1/findings/{id}"),
        &headers,
        &body.to_string(),
    )
}

#[test]
fn findings_are_decided_with_a_reason_that_stays() {
    let (site, bearer) = divided();
    let open = get(&site, &bearer, "/api/v1/findings/1").expect(200).json();
    assert_eq!(
        (&open["state"], &open["slower"]),
        (&json!("open"), &json!(true))
    );
    let change = &open["changes"][0];
    assert_eq!(change["name"], "bcast 1x2 64: bcast/chain");
    assert_eq!(
        (&change["before"], &change["after"]),
        (&json!(0.5), &json!(0.6))
    );
    for (body, status) in [
        (json!({"state": "accepted"}), 422),
        (json!({"state": "accepted", "reason": " "}), 422),
        (
            json!({"state": "accepted", "reason": "a".repeat(2001)}),
            422,
        ),
        (json!({"state": "gone", "reason": "why"}), 422),
        (json!({"state": "open", "reason": "why"}), 409),
    ] {
        decide(&site, &bearer, 1, &body).expect(status);
    }
    let accepted = json!({"state": "accepted", "reason": "the new switch"});
    let decided = decide(&site, &bearer, 1, &accepted).expect(200).json();
    assert_eq!(decided["state"], "accepted");
    assert_eq!(decided["notes"][0]["reason"], "the new switch");
    assert!(
        decided["notes"][0]["actor"]
            .as_str()
            .unwrap()
            .starts_with("test")
    );
    decide(&site, &bearer, 1, &accepted).expect(409);
    let reopened = json!({"state": "open", "reason": "was not the switch"});
    let notes = decide(&site, &bearer, 1, &reopened).expect(200).json();
    assert_eq!(notes["notes"].as_array().unwrap().len(), 2);
    let audit = get(&site, &site.bearer(), "/api/v1/audit")
        .expect(200)
        .json();
    assert_eq!(audit["items"][0]["action"], "finding.decide");
    assert_eq!(audit["items"][0]["subject"], "finding 1");
    let database = Connection::open(site.folder().join("service/service.db")).unwrap();
    for statement in [
        "DELETE FROM change",
        "UPDATE change SET after = 1",
        "DELETE FROM finding_note",
        "UPDATE finding_note SET reason = ''",
    ] {
        let refused = database.execute(statement, []).unwrap_err().to_string();
        assert!(
            refused.ends_with("are only added"),
            "{statement}: {refused}"
        );
    }
}

#[test]
fn findings_and_trends_of_other_machines_do_not_exist() {
    let (site, bearer) = divided();
    for (path, ids) in [
        ("/api/v1/findings", json!([1])),
        ("/api/v1/findings?state=open", json!([1])),
        ("/api/v1/findings?state=fixed", json!([])),
        ("/api/v1/findings?machine=other", json!([])),
        ("/api/v1/trends", json!([1])),
        ("/api/v1/trends?machine=other", json!([])),
    ] {
        let page = get(&site, &bearer, path).expect(200).json();
        let found = page["items"].as_array().unwrap().iter();
        let found: Vec<&Value> = found.map(|item| &item["id"]).collect();
        assert_eq!(json!(found), ids, "{path}");
    }
    // A list has the number of changes, which the finding itself has.
    let page = get(&site, &bearer, "/api/v1/findings").expect(200).json();
    assert_eq!(page["items"][0]["changes"], 1);
    assert!(page["items"][0]["notes"].is_null());
    let missing = get(&site, &bearer, "/api/v1/findings/7").expect(404).body;
    let hidden = get(&site, &bearer, "/api/v1/findings/2").expect(404).body;
    assert_eq!(missing.replace('7', "2"), hidden);
    get(&site, &bearer, "/api/v1/trends/2").expect(404);
    for listed in ["findings", "trends"] {
        let beyond = format!("/api/v1/{listed}/{}", u64::MAX);
        get(&site, &bearer, &beyond).expect(404);
    }
    let fixed = json!({"state": "fixed", "reason": "why"});
    decide(&site, &bearer, 2, &fixed).expect(404);
    let reader = site.token(&[Scope::Read], &[]);
    decide(&site, &format!("Authorization: Bearer {reader}"), 1, &fixed).expect(403);
}

#[test]
fn a_trend_has_its_points_and_epochs() {
    let (site, bearer) = divided();
    let trend = get(&site, &bearer, "/api/v1/trends/1").expect(200).json();
    assert_eq!(trend["series"]["chosen"], "bcast/chain");
    let points = trend["points"].as_array().unwrap();
    assert_eq!(points.len(), 2);
    assert_eq!(
        (&points[0]["busy"], &points[1]["busy"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(trend["epochs"][0]["measured"]["kernel"], "bcast/chain");
    assert_eq!(trend["epochs"][1]["library"], "openmpi-4.1.5");
    assert_eq!(
        (&trend["findings"], &trend["suspected_since"]),
        (&json!([1]), &Value::Null)
    );
}

#[test]
fn pages_decide_findings_and_show_who_is_behind() {
    let busy = Busy::new(true);
    let browser = busy.browser(&[Scope::Read, Scope::Publish]);
    let refused = browser.submit("/findings/1", &[("state", "accepted"), ("reason", "")]);
    assert_eq!(refused.status, 422);
    assert!(refused.body.contains("say why"), "{}", refused.body);
    let fields = [("state", "accepted"), ("reason", "the new switch")];
    let answer = browser.submit("/findings/1", &fields);
    assert_eq!((answer.status, location(&answer)), (303, "/findings/1"));
    let page = browser.page("/findings/1");
    assert!(
        page.contains("the new switch") && page.contains("+20.0 %"),
        "{page}"
    );
    assert!(!browser.page("/findings?state=open").contains("/findings/1"));
    assert_eq!(browser.get("/findings?state=other").status, 422);
    let reader = busy.browser(&[Scope::Read]);
    assert!(!reader.page("/findings/1").contains("<textarea"));
    let fleet = browser.page("/fleet");
    assert!(
        fleet.contains("Hosts: 1") && fleet.contains(">behind<"),
        "{fleet}"
    );
}

#[test]
fn the_page_of_a_trend_shows_epochs_changes_decisions_and_releases() {
    let busy = Busy::new(true);
    let browser = busy.browser(&[Scope::Read, Scope::Publish]);
    // Between the two points, and before both of them.
    let database = Connection::open(busy.site.folder().join("service/service.db")).unwrap();
    for (at, reason) in [(1_764_450_000_000_i64, "the second night"), (0, "long ago")] {
        let added = database.execute(
            "INSERT INTO release (machine, library, channel, action, digest, actor, reason, gates, at) \
             VALUES (1, 'openmpi-4.1.5', 'production', 'rollback', ?1, 'an operator', ?2, '[]', ?3)",
            rusqlite::params![busy.old.as_str(), reason, at],
        );
        added.unwrap();
    }
    let trend = browser.page("/trends/1");
    for part in [
        "<svg",
        "new epochs: 1",
        "new levels: 1",
        "points after a release: 1",
        "other work was running",
        "finding 1</a>, <strong>open</strong></li>",
        "production of openmpi-4.1.5</a>: rollback to",
        "by an operator: the second night",
        // The releases after the last point.
        "canary of openmpi-4.1.4</a>: release of",
    ] {
        assert!(trend.contains(part), "{part}: {trend}");
    }
    assert!(!trend.contains("long ago"), "{trend}");
    let triangles = trend.matches("<path ").count();
    assert_eq!(triangles, 1, "{trend}");
    let decide = |state, reason| {
        let fields = [("state", state), ("reason", reason)];
        assert_eq!(browser.submit("/findings/1", &fields).status, 303);
    };
    decide("acknowledged", "the first word");
    decide("accepted", "the last word");
    let decided = browser.page("/trends/1");
    let (_, of_change) = decided
        .split_once("finding 1</a>, <strong>accepted</strong> by token ")
        .unwrap();
    let (decision, _) = of_change.split_once("</li>").unwrap();
    assert!(decision.ends_with(": the last word"), "{decision}");
    assert!(!decided.contains("the first word"), "{decided}");
}

#[test]
fn the_overview_counts_the_open_findings_of_each_machine() {
    let (site, bearer) = divided();
    let of_machine = |page: &str, machine: &str, count: u32| {
        let link =
            format!("<a href=\"/findings?state=open&amp;machine={machine}\">{count} open</a>");
        page.contains(&link)
    };
    let owner = site.bearer();
    let all = get(&site, &owner, "/").expect(200).body;
    assert!(of_machine(&all, "local", 1) && of_machine(&all, "other", 1));
    let own = get(&site, &bearer, "/").expect(200).body;
    assert!(of_machine(&own, "local", 1) && !own.contains("machine=other"));
    let listed = |machine: &str| {
        let path = format!("/findings?state=open&machine={machine}");
        get(&site, &owner, &path).expect(200).body
    };
    assert!(
        listed("local").contains("/findings/1\"") && !listed("local").contains("/findings/2\"")
    );
    assert!(
        listed("other").contains("/findings/2\"") && !listed("other").contains("/findings/1\"")
    );
    let fixed = json!({"state": "fixed", "reason": "another cable"});
    decide(&site, &bearer, 1, &fixed).expect(200);
    let after = get(&site, &owner, "/").expect(200).body;
    assert!(of_machine(&after, "local", 0) && of_machine(&after, "other", 1));
}
