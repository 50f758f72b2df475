//! Pages, as a browser without script sees them.

use serde_json::{Value, json};
use service::Scope;

use crate::events::Events;
use crate::pages_bed::{
    Busy, CAMPAIGN, CHANNEL, HOSTILE, MARKUP, admin, check, field, has_no_unprintable, location,
    percent, submit,
};

/// Every form, with fields that it might have.
const FORMS: [&str; 12] = [
    "/logout",
    "/queue",
    "/tasks/1/cancel",
    "/findings/1",
    "/schedules/nightly/pause",
    "/schedules/nightly/resume",
    "/webhooks",
    "/webhooks/1/test",
    "/webhooks/1/remove",
    "/channels/local/openmpi-4.1.4/canary/rollback",
    "/channels/local/openmpi-4.1.4/canary/withdraw",
    "/tokens",
];

/// The pages that only administrators may open.
const ADMIN_PAGES: [&str; 3] = ["/tokens", "/audit", "/webhooks"];

#[test]
fn names_that_are_markup_are_text_on_every_page() {
    let busy = Busy::new(true);
    let browser = busy.browser(&[Scope::Admin]);
    for path in busy.pages().iter().map(String::as_str).chain(ADMIN_PAGES) {
        let page = browser.page(path);
        // Neither the name's tag nor a quote that would end an attribute.
        assert!(
            !page.contains("<i>") && !page.contains("<script>"),
            "{path}"
        );
    }
    for path in [
        "/tasks/1",
        "/queue",
        CHANNEL,
        "/audit",
        "/trends",
        "/trends/1",
        "/findings/1",
        "/webhooks",
        &format!("/tables/{}", busy.new),
    ] {
        assert!(
            browser.page(path).contains("&lt;script&gt;alert(1)"),
            "{path} lacks the name"
        );
    }
}

/// Terminals obey characters in what `curl` prints, browsers in what a page shows.
#[test]
fn unprintable_characters_are_escaped_in_answers_events_and_pages() {
    let busy = Busy::new(true);
    // `check` looks for them on every page.
    let pages = busy.pages();
    let of_admin = ADMIN_PAGES.map(str::to_owned);
    for path in pages.iter().chain(&of_admin) {
        busy.browser(&[Scope::Admin]).page(path);
    }
    let bearer = busy.site.bearer();
    let get = |path: &str| busy.site.send(&format!("GET {path}"), &[&bearer], "");
    let found = |value: &Value, sought: &str| {
        let text = serde_json::to_string(value).unwrap();
        text.contains(serde_json::to_string(sought).unwrap().trim_matches('"'))
    };
    for (path, sought) in [
        ("/api/v1/tasks", HOSTILE),
        ("/api/v1/tasks/1", CAMPAIGN),
        ("/api/v1/campaigns", CAMPAIGN),
        (
            "/api/v1/machines/local/libraries/openmpi-4.1.4/channels/canary/releases",
            HOSTILE,
        ),
        ("/api/v1/audit", HOSTILE),
        ("/api/v1/webhooks", HOSTILE),
        (&format!("/api/v1/tables/{}", busy.new), HOSTILE),
    ] {
        let answer = get(path).expect(200);
        assert!(
            has_no_unprintable(&answer.body),
            "{path}: {:?}",
            answer.body
        );
        assert!(found(&answer.json(), sought), "{path}: {}", answer.body);
    }
    let unknown = json!({"kind": "tune", HOSTILE: 1});
    let refusal = busy.site.post("/api/v1/tasks", &[], &unknown).expect(422);
    assert!(has_no_unprintable(&refusal.body), "{:?}", refusal.body);
    assert!(found(&refusal.json(), HOSTILE), "{}", refusal.body);
    let mut events = Events::open(&busy.site, "/api/v1/events", &format!("{bearer}\r\n"));
    submit(&busy.site);
    let event = events.field("data");
    assert!(has_no_unprintable(&event), "{event:?}");
    assert!(found(&event.parse().unwrap(), CAMPAIGN), "{event}");
}

#[test]
fn missing_pages_have_a_page() {
    let busy = Busy::new(true);
    let stranger = busy.stranger();
    let nothing = "0".repeat(64);
    for path in [
        "/nothing",
        "/tasks/99",
        "/tasks/first",
        "/tasks/-1",
        "/campaigns/tuning/none.yaml",
        "/campaigns/..%2F..%2Fetc%2Fpasswd",
        "/tables/abc",
        &format!("/tables/{nothing}"),
        &format!("/tables/{}/diff?to={nothing}", busy.new),
        "/channels/local/openmpi-4.1.4/none",
        "/channels/local/openmpi-4.1.4/production",
        "/assets/0/style.css",
        &format!("/{}", percent(HOSTILE)),
    ] {
        let answer = stranger.get(path);
        assert_eq!(answer.status, 404, "{path}");
        check(&answer);
        assert!(!answer.body.contains("<script>"), "{path}");
    }
    for path in ["/queue?before=now", &format!("/tables/{}/diff", busy.new)] {
        let answer = stranger.get(path);
        assert_eq!(answer.status, 400, "{path}");
        check(&answer);
    }
}

#[test]
fn the_address_by_which_jobs_know_a_channel_leads_to_its_page() {
    let busy = Busy::new(true);
    let address = "/machines/local/libraries/openmpi-4.1.4/channels/canary";
    assert_eq!(location(&busy.stranger().get(address)), CHANNEL);
    let wrong = address.replace("canary", "nonsense");
    assert_eq!(busy.stranger().get(&wrong).status, 404);
}

#[test]
fn forms_without_their_token_change_nothing() {
    let busy = Busy::new(true);
    let release = format!("/tables/{}/release", busy.new);
    let browser = busy.browser(&[Scope::Admin]);
    let before = browser.page("/audit");
    let other = field(&busy.browser(&[Scope::Admin]).page("/"), "form_token");
    for path in FORMS
        .into_iter()
        .chain([release.as_str(), "/tokens/1/revoke"])
    {
        for fields in [&[][..], &[("form_token", "")], &[("form_token", &other)]] {
            let answer = browser.send(path, fields);
            assert_eq!(answer.status, 403, "{path}");
            check(&answer);
        }
        let answer = busy.stranger().send(path, &[]);
        assert_eq!(
            (answer.status, location(&answer)),
            (303, "/login"),
            "{path}"
        );
    }
    let after = browser.page("/audit");
    // Another token was made in between.
    let rows = |page: &str| page.matches("<tr>").count();
    assert_eq!(rows(&after), rows(&before) + 1);
}

#[test]
fn if_reading_is_closed_visitors_are_redirected_to_log_in() {
    let busy = Busy::new(false);
    let stranger = busy.stranger();
    for path in busy.pages() {
        let answer = stranger.get(&path);
        assert_eq!(answer.status, 303, "{path}");
        let to = location(&answer);
        assert!(
            to.starts_with("/login?next=%2F") || path == "/",
            "{path} to {to}"
        );
    }
    let (asked, to) = ("/queue?state=done", "/login?next=%2Fqueue%3Fstate%3Ddone");
    assert_eq!(location(&stranger.get(asked)), to);
    let login = stranger.page("/login?next=%2Fqueue");
    assert_eq!(field(&login, "next"), "/queue");
    for style in testkit::html::attribute_values(&login, "href") {
        if style.starts_with("/assets/") {
            let answer = stranger.get(style);
            assert_eq!(answer.status, 200, "{style}");
            assert!(
                answer
                    .header("cache-control")
                    .unwrap()
                    .contains("immutable")
            );
        }
    }
    for path in busy.pages() {
        busy.browser(&[Scope::Read]).page(&path);
    }
}

#[test]
fn after_logging_in_with_a_token_the_page_is_shown_again() {
    let busy = Busy::new(false);
    let token = busy.token(&[Scope::Read]);
    let stranger = busy.stranger();
    let wrong = stranger.send("/login", &[("token", HOSTILE), ("next", "/queue")]);
    assert_eq!(wrong.status, 401);
    check(&wrong);
    assert_eq!(field(&wrong.body, "next"), "/queue");
    assert_eq!(wrong.header("set-cookie"), None);
    for (next, to) in [
        ("/queue?state=done", "/queue?state=done"),
        ("", "/"),
        ("//elsewhere.example/", "/"),
        ("/\\elsewhere.example/", "/"),
        ("https://elsewhere.example/", "/"),
        ("/\t/elsewhere.example/", "/"),
    ] {
        let answer = stranger.send("/login", &[("token", &token), ("next", next)]);
        assert_eq!((answer.status, location(&answer)), (303, to), "{next}");
    }
    let browser = busy.browser(&[Scope::Read]);
    browser.page("/");
    assert_eq!(browser.submit("/logout", &[]).status, 303);
    assert_eq!(location(&browser.get("/")), "/login?next=%2F");
}

#[test]
fn a_task_is_submitted_and_cancelled() {
    let busy = Busy::new(true);
    let browser = busy.browser(&[Scope::Submit, Scope::Read]);
    let page = browser.page(&format!("/queue?campaign={}", percent(CAMPAIGN)));
    let key = field(&page, "key");
    let mut fields = vec![
        ("key", key.as_str()),
        ("kind", "tune"),
        ("campaign", CAMPAIGN),
        ("machine", "local"),
        ("budget", "soon"),
        ("collectives", "bcast, allreduce"),
    ];
    let refused = browser.submit("/queue", &fields);
    assert_eq!(refused.status, 422, "{}", refused.body);
    check(&refused);
    assert!(refused.body.contains("role=\"alert\""));
    assert_eq!(
        field(&refused.body, "budget"),
        "soon",
        "what was entered stays"
    );
    assert_eq!(field(&refused.body, "collectives"), "bcast, allreduce");
    fields[4] = ("budget", "10m");
    // A second click adds no task.
    for _ in 0..2 {
        let answer = browser.submit("/queue", &fields);
        assert_eq!(
            (answer.status, location(&answer)),
            (303, "/tasks/2"),
            "{}",
            answer.body
        );
    }
    let task = browser.page("/tasks/2");
    assert!(task.contains("10m") && task.contains("bcast, allreduce"));
    let answer = browser.submit("/tasks/2/cancel", &[]);
    assert_eq!((answer.status, location(&answer)), (303, "/tasks/2"));
    assert!(browser.page("/tasks/2").contains("cancelled"));
    assert!(
        !browser.page("/tasks/2").contains("/cancel"),
        "it has ended"
    );
    let reader = busy.browser(&[Scope::Read]);
    assert!(!reader.page("/tasks/1").contains("/cancel"), "they may not");
    assert_eq!(reader.submit("/tasks/1/cancel", &[]).status, 403);
}

#[test]
fn long_lists_are_split_into_pages() {
    let busy = Busy::new(true);
    for _ in 0..60 {
        submit(&busy.site);
    }
    let stranger = busy.stranger();
    let first = stranger.page("/queue?machine=local");
    assert!(first.contains("/tasks/61\"") && !first.contains("/tasks/11\""));
    assert!(first.contains("machine=local&amp;before=12\""));
    let second = stranger.page("/queue?machine=local&before=12");
    assert!(
        second.contains("/tasks/11\"")
            && second.contains("/tasks/1\"")
            && second.contains("Newest")
    );
    assert!(!second.contains("rel=\"next\""));
}

#[test]
fn a_table_is_released_rolled_back_and_withdrawn() {
    let busy = Busy::new(true);
    let table = format!("/tables/{}?machine=local&channel=candidate", busy.new);
    let release = format!("/tables/{}/release", busy.new);
    let publisher = busy.browser(&[Scope::Publish, Scope::Read]);
    let page = publisher.page(&table);
    assert!(
        page.contains("validated") && page.contains("closed"),
        "gates have names and states"
    );
    assert!(
        !page.contains(&release),
        "gates are closed for those who may not pass over them"
    );
    let release_fields = [
        ("machine", "local"),
        ("library", "openmpi-4.1.4"),
        ("channel", "candidate"),
        ("expected", "0"),
        ("reason", "a try"),
    ];
    let refused = publisher.submit(&release, &release_fields);
    assert_eq!(refused.status, 409, "{}", refused.body);
    check(&refused);

    let browser = busy.browser(&[Scope::Admin]);
    assert_eq!(field(&browser.page(&table), "expected"), "0");
    let overriding = [&release_fields[..], &[("override", "yes")]].concat();
    let answer = browser.submit(&release, &overriding);
    let channel = "/channels/local/openmpi-4.1.4/candidate";
    assert_eq!(
        (answer.status, location(&answer)),
        (303, channel),
        "{}",
        answer.body
    );
    let stale = browser.submit(&release, &overriding);
    assert_eq!(stale.status, 412);
    check(&stale);
    assert!(stale.body.contains("a try"), "what was entered stays");

    let channel_page = browser.page(CHANNEL);
    let expected = field(&channel_page, "expected");
    assert!(
        channel_page.contains(busy.old.as_str()),
        "there is a way back"
    );
    let back = format!("{CHANNEL}/rollback");
    let fields = [
        ("expected", expected.as_str()),
        ("digest", busy.old.as_str()),
    ];
    let refused_rollback = browser.submit(&back, &fields);
    assert_eq!(refused_rollback.status, 422, "a reason is needed");
    check(&refused_rollback);
    let fields = [&fields[..], &[("reason", HOSTILE)]].concat();
    let rolled_back = browser.submit(&back, &fields);
    assert_eq!(
        (rolled_back.status, location(&rolled_back)),
        (303, CHANNEL),
        "{}",
        rolled_back.body
    );
    assert_eq!(browser.submit(&back, &fields).status, 412);
    let expected_next = field(&browser.page(CHANNEL), "expected");
    let withdraw_fields = [("expected", expected_next.as_str()), ("reason", "it hangs")];
    let withdrawn = browser.submit(&format!("{CHANNEL}/withdraw"), &withdraw_fields);
    assert_eq!(withdrawn.status, 303, "{}", withdrawn.body);
    let withdrawn_page = browser.page(CHANNEL);
    assert!(withdrawn_page.contains("it hangs") && withdrawn_page.contains("an empty table"));
    assert!(!withdrawn_page.contains("/withdraw\""), "it is withdrawn");
    browser.page("/");
}

#[test]
fn a_token_is_shown_once_and_revoked() {
    let busy = Busy::new(true);
    let browser = busy.browser(&[Scope::Admin]);
    let unnamed = browser.submit("/tokens", &[("scope", "read"), ("name", "")]);
    assert_eq!(unnamed.status, 422);
    check(&unnamed);
    let unprintable = browser.submit("/tokens", &[("scope", "read"), ("name", HOSTILE)]);
    assert_eq!(unprintable.status, 422);
    check(&unprintable);
    let fields = [
        ("name", MARKUP),
        ("scope", "read"),
        ("scope", "submit"),
        ("days", "7"),
    ];
    let made = browser.submit("/tokens", &fields);
    assert_eq!(made.status, 200, "{}", made.body);
    check(&made);
    let (_, rest) = made.body.split_once("<code class=\"secret\">").unwrap();
    let (secret, _) = rest.split_once('<').unwrap();
    let answer = busy.stranger().send("/login", &[("token", secret)]);
    assert_eq!(answer.status, 303);
    let page = browser.page("/tokens");
    assert!(!page.contains(secret) && page.contains("read, submit"));
    let all = busy.site.service.list_tokens(&admin()).unwrap();
    let listed = all.iter().find(|row| row.name == MARKUP).unwrap();
    let revoked = browser.submit(&format!("/tokens/{}/revoke", listed.id), &[]);
    assert_eq!((revoked.status, location(&revoked)), (303, "/tokens"));
    let refused = busy.stranger().send("/login", &[("token", secret)]);
    assert_eq!(refused.status, 401);
    assert_eq!(busy.browser(&[Scope::Read]).get("/tokens").status, 403);
    assert_eq!(busy.stranger().get("/tokens").status, 401);
    check(&busy.stranger().get("/audit"));
}
