//! Tables, releases and channels, as clients see them.

use serde_json::{Value, json};
use service::Scope;

use crate::events::Events;
use crate::fixture::{Answer, Site};

const CHANNEL: &str = "/api/v1/machines/local/libraries/openmpi-4.1.4/channels/canary";

/// The text of a table that chooses this block size.
fn table(block_bytes: &str) -> String {
    let rules = format!(
        "  allreduce:\n    message_size: bytes of one rank's vector\n    shapes:\n      - nodes: 1\n        ppn: 2\n        \
         rules:\n          - {{from: 0, candidate: default, confidence: high}}\n          - {{from: 1500, candidate: \
         allreduce/dual_root, block_bytes: {block_bytes}, speedup: 1.3, confidence: high, confirmed: true}}\n"
    );
    testkit::tables::table_yaml("night", "openmpi", "4.1.4", &rules)
}

/// Adds a table and returns its digest.
fn taken_in(site: &Site, text: &str) -> String {
    let headers = [site.bearer(), "Content-Type: application/yaml".to_owned()];
    let headers = [headers[0].as_str(), headers[1].as_str()];
    let version = site
        .send("POST /api/v1/machines/local/tables", &headers, text)
        .expect(201);
    let digest = version.json()["digest"].as_str().unwrap().to_owned();
    assert_eq!(
        version.header("location"),
        Some(format!("/api/v1/tables/{digest}").as_str())
    );
    digest
}

fn release(site: &Site, condition: &str, request: &Value) -> Answer {
    let headers: Vec<&str> = Some(condition)
        .filter(|text| !text.is_empty())
        .into_iter()
        .collect();
    site.post(&format!("{CHANNEL}/releases"), &headers, request)
}

fn overridden(digest: &str) -> Value {
    json!({"action": "release", "digest": digest, "reason": "try it", "override_gates": true})
}

#[test]
fn the_page_of_a_table_says_what_its_bits_do_not_depend_on() {
    let site = Site::new();
    // Each element of a ring is summed up from another rank on.
    let free = table("32K")
        .replace("allreduce/dual_root, block_bytes: 32K", "allreduce/ring")
        .replace(
            "        rules:",
            "        operators: commutative\n        rules:",
        );
    let bound = free
        .replace("format: colltune-table 3", "format: colltune-table 7")
        .replace(
            "  warnings: []",
            "  numerics: independent_of_size\n  warnings: []",
        );
    let [free, bound] = [free, bound].map(|text| taken_in(&site, &text));
    let page = site.get(&format!("/tables/{bound}")).expect(200);
    assert!(page.body.contains("Bits of sums"), "{}", page.body);
    assert!(
        page.body
            .contains("independent_of_size, among calls that colltune carries out"),
        "{}",
        page.body
    );
    assert!(
        page.body.contains("leaves 1 rule to the library"),
        "{}",
        page.body
    );
    let view = site.get(&format!("/api/v1/tables/{bound}")).expect(200);
    assert_eq!(view.json()["numerics"], "independent_of_size");
    let without = site.get(&format!("/tables/{free}")).expect(200);
    assert!(!without.body.contains("Bits of sums"), "{}", without.body);
    let plain = site.get(&format!("/api/v1/tables/{free}")).expect(200);
    assert_eq!(plain.json()["numerics"], "none");
}

#[test]
fn a_table_is_kept_shown_and_exported_by_its_digest() {
    let site = Site::new();
    let (first, second) = (
        taken_in(&site, &table("64K")),
        taken_in(&site, &table("32K")),
    );
    let blob = site.get(&format!("/api/v1/blobs/{first}")).expect(200);
    assert_eq!(blob.body, table("64K"));
    assert!(blob.header("cache-control").unwrap().contains("immutable"));
    let tag = format!("If-None-Match: {}", blob.header("etag").unwrap());
    for known in [&tag, "If-None-Match: W/\"a\", *"] {
        let same = site
            .send(&format!("GET /api/v1/blobs/{first}"), &[known], "")
            .expect(304);
        assert!(same.body.is_empty());
    }
    site.send(&format!("GET /api/v1/blobs/{second}"), &[&tag], "")
        .expect(200);

    let view = site
        .get(&format!("/api/v1/tables/{first}"))
        .expect(200)
        .json();
    assert_eq!(
        (&view["name"], &view["rules"], &view["library"]),
        (&json!("night"), &json!(2), &json!("openmpi-4.1.4"))
    );
    assert_eq!(view["versions"][0]["machine"], "local");
    let diff = site
        .get(&format!("/api/v1/tables/{second}/diff/{first}"))
        .expect(200)
        .json();
    assert_eq!(
        diff["changes"][0]["after"]["candidate"],
        "allreduce/dual_root[block_bytes=32K]"
    );
    let report = site
        .get(&format!("/api/v1/tables/{first}/report"))
        .expect(200);
    let policy = report.header("content-security-policy").unwrap();
    assert!(
        policy.contains("sandbox") && !policy.contains("script"),
        "{policy}"
    );
    let header = site
        .get(&format!("/api/v1/tables/{first}/export/c-header"))
        .expect(200);
    assert!(
        header
            .header("content-disposition")
            .unwrap()
            .contains(&first[..12])
    );
    assert!(header.body.contains("64"), "{header:?}");
    site.get(&format!("/api/v1/tables/{first}/export/word"))
        .expect(404);
    let all = site
        .get("/api/v1/machines/local/tables?limit=1")
        .expect(200)
        .json();
    assert_eq!(all["items"][0]["digest"].as_str(), Some(second.as_str()));

    let wrong = table("64K").replace("dual_root", "no_root");
    let refused = site
        .send(
            "POST /api/v1/machines/local/tables",
            &[&site.bearer()],
            &wrong,
        )
        .expect(422);
    assert!(refused.json()["line"].is_u64(), "{refused:?}");
    site.send(
        "POST /api/v1/machines/other/tables",
        &[&site.bearer()],
        &wrong,
    )
    .expect(404);
    site.send("POST /api/v1/machines/local/tables", &[], &table("64K"))
        .expect(401);
}

#[test]
fn a_release_is_refused_if_the_channel_has_changed() {
    let site = Site::of_two_machines(|_| {});
    let (first, second) = (
        taken_in(&site, &table("64K")),
        taken_in(&site, &table("32K")),
    );
    site.get(CHANNEL).expect(404);
    release(&site, "", &overridden(&first)).expect(428);
    release(&site, "If-Match: 1", &overridden(&first)).expect(400);
    release(&site, "If-Match: \"7\"", &overridden(&first)).expect(412);
    let plain = json!({"action": "release", "digest": first});
    let refused = release(&site, "If-None-Match: *", &plain)
        .expect(409)
        .json();
    let closed = refused["gates"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|gate| gate["state"] == "closed");
    assert_eq!(
        closed.map(|gate| &gate["name"]).collect::<Vec<_>>(),
        ["validated"]
    );
    let gates = site
        .get(&format!("{CHANNEL}/gates/{first}"))
        .expect(200)
        .json();
    assert_eq!(gates, refused["gates"]);

    let made = release(&site, "If-None-Match: *", &overridden(&first)).expect(201);
    let tag = made.header("etag").unwrap().to_owned();
    release(&site, "If-None-Match: *", &overridden(&second)).expect(412);
    release(&site, &format!("If-Match: {tag}"), &overridden(&second)).expect(201);
    release(&site, &format!("If-Match: {tag}"), &overridden(&first)).expect(412);
    let back = json!({"action": "rollback", "reason": "slower"});
    let back = release(&site, "If-Match: *", &back).expect(201).json();
    assert_eq!(back["digest"].as_str(), Some(first.as_str()));
    let all = site.get(&format!("{CHANNEL}/releases")).expect(200).json();
    assert_eq!(all["items"].as_array().unwrap().len(), 3);
    assert_eq!(
        site.get("/api/v1/channels").expect(200).json()[0]["action"],
        "rollback"
    );
    let metrics = site.get("/metrics").expect(200).body;
    let labels = "machine=\"local\",library=\"openmpi-4.1.4\",channel=\"canary\"";
    let sorted = |text: &str| {
        let inner = text.split(['{', '}']).nth(1).unwrap_or_default();
        let mut parts: Vec<_> = inner.split(',').map(str::to_owned).collect();
        parts.sort();
        parts
    };
    let line = metrics
        .lines()
        .find(|line| line.starts_with("colltune_release_sequence{"))
        .unwrap();
    assert_eq!(sorted(line), sorted(&format!("{{{labels}}}")));

    let publisher = site.token(&[Scope::Publish], &["other"]);
    let headers = [
        &format!("Authorization: Bearer {publisher}"),
        "Content-Type: application/json",
        "If-Match: *",
    ];
    site.send(
        &format!("POST {CHANNEL}/releases"),
        &headers,
        &plain.to_string(),
    )
    .expect(403);
}

#[test]
fn nodes_get_only_changes_and_are_recorded() {
    let site = Site::new();
    let digest = taken_in(&site, &table("64K"));
    release(&site, "If-None-Match: *", &overridden(&digest)).expect(201);
    let manifest = site.get(&format!("{CHANNEL}?client=n1")).expect(200);
    assert_eq!(manifest.json()["digest"].as_str(), Some(digest.as_str()));
    assert_eq!(manifest.json()["keep"], json!([digest]));
    let tag = format!("If-None-Match: {}", manifest.header("etag").unwrap());
    site.send(&format!("GET {CHANNEL}"), &[&tag], "")
        .expect(304);
    for client in ["", "a%20b", "..%2F", &"a".repeat(254)] {
        site.get(&format!("{CHANNEL}?client={client}")).expect(400);
    }
    let noted = (0..200).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        site.get("/metrics")
            .body
            .contains("colltune_pull_batch_age_seconds")
    });
    assert!(noted);
}

/// As after a restore, since then numbers of releases are used again.
#[test]
fn the_same_number_with_another_table_is_another_state() {
    let [first, second] = ["64K", "32K"].map(|block_bytes| {
        let site = Site::new();
        let digest = taken_in(&site, &table(block_bytes));
        release(&site, "If-None-Match: *", &overridden(&digest)).expect(201);
        site
    });
    let [before, after] = [&first, &second].map(|site| site.get(CHANNEL).expect(200));
    assert_eq!(before.json()["sequence"], after.json()["sequence"]);
    let tag = before.header("etag").unwrap();
    let known = format!("If-None-Match: {tag}");
    let asked = second.send(&format!("GET {CHANNEL}"), &[&known], "");
    assert_eq!(asked.expect(200).json(), after.json());
    let withdraw = json!({"action": "withdraw", "reason": "slower"});
    let refused = release(&second, &format!("If-Match: {tag}"), &withdraw).expect(412);
    assert!(
        refused.body.contains("has another table"),
        "{}",
        refused.body
    );
    let current_tag = after.header("etag").unwrap();
    release(&second, &format!("If-Match: {current_tag}"), &withdraw).expect(201);
    // Users give the number alone.
    release(&first, "If-Match: \"1\"", &withdraw).expect(201);
}

#[test]
fn the_released_table_answers_queries() {
    let site = Site::new();
    let digest = taken_in(&site, &table("64K"));
    let lookup = format!("{CHANNEL}/lookup");
    let question = "collective=allreduce&nodes=1&ppn=2&bytes=64K";
    site.get(&format!("{lookup}?{question}")).expect(404);
    release(&site, "If-None-Match: *", &overridden(&digest)).expect(201);
    let answer = site.get(&format!("{lookup}?{question}")).expect(200).json();
    assert_eq!(answer["candidate"], "allreduce/dual_root[block_bytes=64K]");
    for wrong in [
        "collective=sum&nodes=1&ppn=2&bytes=1",
        "collective=bcast&nodes=0&ppn=2&bytes=1",
        "collective=bcast&nodes=1&ppn=2",
        "collective=allgatherv&nodes=1&ppn=2",
        "collective=exscan&nodes=1&ppn=2",
        "collective=bcast&nodes=1&ppn=2&bytes=-1",
    ] {
        site.get(&format!("{lookup}?{wrong}")).expect(422);
    }
    for right in [
        "collective=barrier&nodes=1&ppn=2",
        "collective=barrier&nodes=1&ppn=2&bytes=64K",
        "collective=alltoallv&nodes=1&ppn=2",
        "collective=gatherv&nodes=1&ppn=2&bytes=1",
        "collective=alltoall&nodes=1&ppn=2&bytes=1",
        "collective=exscan&nodes=1&ppn=2&bytes=8",
    ] {
        let unmeasured = site.get(&format!("{lookup}?{right}")).expect(200).json();
        assert_eq!(unmeasured["candidate"], "default", "{right}");
    }
    site.get(&format!("{lookup}?{question}&colour=red"))
        .expect(400);
    site.get(&format!("{lookup}?collective=bcast")).expect(400);
    let one =
        |bytes: &str| json!({"collective": "allreduce", "nodes": 1, "ppn": 2, "bytes": bytes});
    let answers = site
        .post(&lookup, &[], &json!([one("64K"), one("8")]))
        .expect(200)
        .json();
    let chosen: Vec<_> = answers["answers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| &entry["algorithm"])
        .collect();
    assert_eq!(chosen, ["dual_root", "default"]);
    site.post(&lookup, &[], &Value::Array(vec![one("8"); 1000]))
        .expect(200);
    site.post(&lookup, &[], &Value::Array(vec![one("8"); 1001]))
        .expect(422);
    let wrong = site
        .post(&lookup, &[], &json!([one("8"), one("eight")]))
        .expect(422);
    assert!(
        wrong.json()["detail"]
            .as_str()
            .unwrap()
            .starts_with("question 1: bytes"),
        "{wrong:?}"
    );
}

#[test]
fn missed_events_are_sent_first() {
    let site = Site::new();
    let (first, second) = (
        taken_in(&site, &table("64K")),
        taken_in(&site, &table("32K")),
    );
    let mut events = Events::open(&site, "/api/v1/events", "");
    release(&site, "If-None-Match: *", &overridden(&first)).expect(201);
    assert_eq!(events.field("event"), "release");
    let seen = events.field("id");
    drop(events);
    release(&site, "If-Match: *", &overridden(&second)).expect(201);
    release(&site, "If-Match: *", &overridden(&first)).expect(201);
    let mut resumed = Events::open(
        &site,
        "/api/v1/events",
        &format!("Last-Event-ID: {seen}\r\n"),
    );
    for digest in [&second, &first] {
        let data: Value = serde_json::from_str(&resumed.field("data")).unwrap();
        assert_eq!(data["release"]["digest"].as_str(), Some(digest.as_str()));
    }
}
