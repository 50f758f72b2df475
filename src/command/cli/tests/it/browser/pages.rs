//! Properties of all pages: they fit the window, cause no warnings in the browser's console, and load nothing from
//! other hosts.

use std::fs;
use std::path::PathBuf;

use testkit::web::{Reply, Server};

use super::site::{CAMPAIGN, Site};
use crate::chromium::Browser;

/// The width of a page that must be scrolled horizontally; `None` if it need not be.
pub(crate) fn overflow(browser: &Browser, width: u32) -> Option<u64> {
    let found = browser.evaluate("return document.documentElement.scrollWidth");
    found.as_u64().filter(|found| *found > u64::from(width))
}

pub(crate) const WIDTHS: [u32; 2] = [1280, 390];

/// No page is wider than the window, on a desk and on a phone, in light and dark; also with long words.
///
/// `COLLTUNE_SCREENSHOTS` names a folder for pictures of them: `scripts/screenshots` makes those of the documentation.
pub(super) fn assert_pages_fit(
    browser: &Browser,
    site: &Site,
    first: &str,
    second: &str,
    channel: &str,
) {
    let address = |path: &str| format!("{}{path}", site.address);
    let folder = std::env::var_os("COLLTUNE_SCREENSHOTS").map(PathBuf::from);
    let check = |name: &str, url: &str| {
        browser.open(url);
        for width in WIDTHS {
            let grounds = ["light", "dark"].map(|scheme| {
                browser.show_as(width, scheme);
                assert_eq!(
                    overflow(browser, width),
                    None,
                    "{url}, {width} wide, {scheme}"
                );
                browser.evaluate("return getComputedStyle(document.body).backgroundColor")
            });
            assert_ne!(grounds[0], grounds[1], "{url} looks alike");
            if let Some(folder) = folder.as_ref().filter(|_| !name.is_empty()) {
                browser.show_as(width, "light");
                let picture = browser.picture(width, most_high(name, width));
                fs::write(folder.join(format!("{name}-{width}.png")), picture).unwrap();
            }
        }
    };
    check("overview", &address("/"));
    check("queue", &address("/queue"));
    check("task", &address("/tasks/1"));
    check("campaign", &address(&format!("/campaigns/{CAMPAIGN}")));
    check("table", &address(&format!("/tables/{first}")));
    check("channel", channel);
    check("tokens", &address("/tokens"));
    check("audit", &address("/audit"));
    let trend = format!("/trends/{}", site.add_history(channel));
    check("schedules", &address("/schedules"));
    check("", &address("/schedules/nightly"));
    check("", &address("/trends"));
    check("trend", &address(&trend));
    check("findings", &address("/findings"));
    check("", &address("/findings/2"));
    check("fleet", &address("/fleet"));
    check("usage", &address("/usage"));
    check("webhooks", &address("/webhooks"));
    check("", &address("/campaigns"));
    check("", &address("/tables"));
    check("", &address("/channels"));
    check("", &address("/login"));
    check("", &address(&format!("/tables/{second}/diff?to={first}")));

    browser.open(&address("/tokens"));
    browser.fill("#name", &"W".repeat(64));
    browser.click("input[value=read]");
    browser.click("//button[.='Make the token']");
    browser.wait("made", || browser.has(".shown-once"));
    assert_eq!(overflow(browser, 390), None, "a new token");
    browser.open(channel);
    browser.fill("#rollback-reason", &"W".repeat(1000));
    browser.click("//button[.='Roll back']");
    browser.wait("rolled back", || {
        browser.text(".headline").contains(&second[..12])
    });
    site.add_long_words();
    let with_long_words = [
        "/",
        "/tokens",
        "/audit",
        "/channels",
        "/schedules",
        "/schedules/monthly",
        &trend,
        "/findings/2",
        "/fleet",
        "/webhooks",
    ];
    for path in with_long_words {
        check("", &address(path));
    }
    check("", channel);
}

/// The height at which a page's picture is cut off. The picture of a table's page shows its decisions.
fn most_high(name: &str, width: u32) -> u32 {
    match (name, width) {
        ("table", 1280) => 2200,
        _ => 1100,
    }
}

/// Without this, the other tests here would prove nothing.
#[test]
fn pages_that_warn_load_or_are_too_wide_are_detected() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let show = |body: &'static str| {
        let policy = (
            "content-security-policy",
            "script-src 'self' 'sha256-x'; style-src 'self'",
        );
        let server = Server::start(move |request| match request.path.as_str() {
            "/loose" => Reply::new(200, &[("content-type", "text/html")], body),
            _ => Reply::new(200, &[("content-type", "text/html"), policy], body),
        });
        server.url()
    };
    let complains = |body, loose: bool, word: &str| {
        let path = if loose { "/loose" } else { "/" };
        browser.open(&(show(body) + path));
        let complaints = browser.complaints();
        assert!(
            complaints.iter().any(|text| text.contains(word)),
            "{body}: {complaints:?}"
        );
    };
    complains("<script>console.error('oops')</script>", true, "oops");
    complains("<script>console.warn('hm')</script>", true, "hm");
    complains("<script>nothing()</script>", true, "nothing");
    complains("<script>1</script>", false, "Content Security Policy");
    complains("<p style='color: red'>x", false, "Content Security Policy");
    complains("<p onclick='x()'>x", false, "Content Security Policy");
    browser.requests();
    browser.open(&(show("<img src='http://127.0.0.1:9/x.png'>") + "/"));
    let requests = browser.requests();
    assert!(
        requests.contains(&"http://127.0.0.1:9/x.png".to_owned()),
        "{requests:?}"
    );
    browser.show_as(390, "light");
    browser.open(&(show("<meta name=viewport content='width=device-width'><p>narrow") + "/loose"));
    assert_eq!(overflow(&browser, 390), None);
    let wide = "<meta name=viewport content='width=device-width'><hr style='width: 450px'>";
    browser.open(&(show(wide) + "/loose"));
    assert!(overflow(&browser, 390).is_some());
}
