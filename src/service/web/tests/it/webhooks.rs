//! Webhooks: over the interface, and on their page.

use serde_json::json;
use service::Scope;

use crate::fixture::Site;
use crate::pages_bed::{Busy, location};

#[test]
fn the_secret_of_a_webhook_is_shown_once() {
    let site = Site::new();
    let bearer = site.bearer();
    let new = json!({"url": "https://site.example/hook", "events": ["finding.opened"], "machines": ["local"]});
    let made = site.post("/api/v1/webhooks", &[], &new).expect(201);
    assert_eq!(made.header("location"), Some("/api/v1/webhooks/1"));
    let secret = made.json()["secret"].as_str().unwrap().to_owned();
    assert!(secret.starts_with("whsec_"), "{secret}");
    let listed = site
        .send("GET /api/v1/webhooks", &[&bearer], "")
        .expect(200);
    assert!(!listed.body.contains(&secret) && listed.json()[0]["secret"].is_null());
    assert_eq!(listed.json()[0]["events"], json!(["finding.opened"]));
    site.post("/api/v1/webhooks/1/test", &[], &json!({}))
        .expect(202);
    let listed_again = site
        .send("GET /api/v1/webhooks", &[&bearer], "")
        .expect(200);
    assert_eq!(listed_again.json()[0]["waiting"], 1);
    let audit = site.send("GET /api/v1/audit", &[&bearer], "").expect(200);
    assert!(!audit.body.contains(&secret));
    site.send("DELETE /api/v1/webhooks/1", &[&bearer], "")
        .expect(204);
    for line in ["DELETE /api/v1/webhooks/1", "POST /api/v1/webhooks/1/test"] {
        site.send(line, &[&bearer], "").expect(404);
    }
}

#[test]
fn webhooks_need_an_administrator_and_a_public_address() {
    let site = Site::new();
    let token = site.token(&[Scope::Read, Scope::Submit, Scope::Publish], &[]);
    let weak = format!("Authorization: Bearer {token}");
    for line in [
        "GET /api/v1/webhooks",
        "DELETE /api/v1/webhooks/1",
        "POST /api/v1/webhooks/1/test",
    ] {
        site.send(line, &[&weak], "").expect(403);
        site.send(line, &[], "").expect(401);
    }
    for wrong in [
        json!({"url": "http://site.example/"}),
        json!({"url": "https://user:word@site.example/"}),
        json!({"url": "https://site.example/", "events": ["gone"]}),
        json!({"url": "https://site.example/", "events": ["test"]}),
        json!({"url": "https://site.example/", "machines": ["none"]}),
        json!({"url": "https://site.example/", "secret": "mine"}),
    ] {
        site.post("/api/v1/webhooks", &[], &wrong).expect(422);
    }
}

#[test]
fn the_page_of_webhooks_makes_tests_and_removes_them() {
    let busy = Busy::new(true);
    let browser = busy.browser(&[Scope::Admin]);
    // The site has one already.
    browser.submit("/webhooks/1/remove", &[]);
    let refused = browser.submit("/webhooks", &[("url", "http://site.example/")]);
    assert_eq!(refused.status, 422);
    assert!(
        refused.body.contains("private_addresses"),
        "{}",
        refused.body
    );
    let fields = [
        ("url", "https://site.example/hook"),
        ("event", "task.failed"),
        ("event", "finding.opened"),
    ];
    let made = browser.submit("/webhooks", &fields);
    assert!(
        made.status == 200 && made.body.contains("whsec_"),
        "{made:?}"
    );
    let page = browser.page("/webhooks");
    assert!(
        !page.contains("whsec_") && page.contains("https://site.example/hook"),
        "{page}"
    );
    let tested = browser.submit("/webhooks/2/test", &[]);
    assert_eq!((tested.status, location(&tested)), (303, "/webhooks"));
    assert!(browser.page("/webhooks").contains("waiting: 1"));
    browser.submit("/webhooks/2/remove", &[]);
    assert!(!browser.page("/webhooks").contains("site.example"));
    let publisher = busy.browser(&[Scope::Read, Scope::Publish]);
    assert_eq!(publisher.get("/webhooks").status, 403);
}
