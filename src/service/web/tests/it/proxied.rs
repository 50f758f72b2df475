//! A service behind a proxy that speaks TLS: what it believes of the proxy's headers, and what it tells the proxy.

use serde_json::json;

use crate::events::Events;
use crate::fixture::{Answer, Site};

const WRONG: &str = "Authorization: Bearer colltune_00";

fn site() -> Site {
    Site::with(|configuration, _| {
        configuration.behind_proxy = true;
        configuration.names = vec!["tables.site".to_owned()];
    })
}

fn log_in(site: &Site, headers: &[&str]) -> Answer {
    let mut all = vec!["Content-Type: application/json"];
    all.extend(headers);
    let body = json!({"token": site.owner}).to_string();
    site.send("POST /api/v1/session", &all, &body)
}

#[test]
fn only_the_last_forwarded_address_is_believed() {
    let site = site();
    let ask = |headers: &[&str]| {
        let all = [&[WRONG], headers].concat();
        site.send("GET /api/v1/machines", &all, "").status
    };
    // The client writes what it likes, and the proxy's own line or word comes last.
    for number in 0..10 {
        let invented = format!("X-Forwarded-For: 10.0.0.{number}");
        assert_eq!(ask(&[&invented, "X-Forwarded-For: 192.0.2.1"]), 401);
    }
    for headers in [
        &["X-Forwarded-For: 10.0.0.77, 192.0.2.1"][..],
        &["X-Forwarded-For: 10.0.0.77", "X-Forwarded-For: 192.0.2.1"],
        &["X-Forwarded-For: 192.0.2.1", "Forwarded: for=10.0.0.78"],
        &["X-Forwarded-For: ,,  192.0.2.1 ", "X-Real-IP: 10.0.0.79"],
    ] {
        assert_eq!(ask(headers), 429, "{headers:?}");
    }
    assert_eq!(ask(&["X-Forwarded-For: 192.0.2.2"]), 401);
}

#[test]
fn clients_without_a_forwarded_address_are_counted_together() {
    let site = site();
    let ask = |header: &str| {
        site.send("GET /api/v1/machines", &[WRONG, header], "")
            .status
    };
    for number in 0..10 {
        assert_eq!(ask(&format!("X-Forwarded-For: nonsense {number}")), 401);
    }
    for header in [
        "X-Forwarded-For: 10.0.0.1,",
        "X-Other: 1",
        "Forwarded: for=10.0.0.1",
    ] {
        assert_eq!(ask(header), 429, "{header}");
    }
}

/// A client counts as one, however the proxy writes its address; of IPv6, 64 bits count.
#[test]
fn forwarded_addresses_may_have_ports_and_brackets() {
    let site = site();
    let ask = |address: &str| {
        let header = format!("X-Forwarded-For: 10.0.0.1, {address}");
        site.send("GET /api/v1/machines", &[WRONG, &header], "")
            .status
    };
    let of_clients = [
        &[
            "192.0.2.1",
            "192.0.2.1:4711",
            "::ffff:192.0.2.1",
            "[::ffff:192.0.2.1]:80",
        ][..],
        &[
            "2001:db8::1",
            "[2001:db8::2]",
            "[2001:db8::3]:4711",
            "2001:db8:0:0:ffff::4",
        ],
    ];
    for written in of_clients {
        for _ in 0..10 {
            assert_eq!(ask(written[0]), 401);
        }
        for address in written {
            assert_eq!(ask(address), 429, "{address}");
        }
    }
    for other in [
        "192.0.2.2:4711",
        "[2001:db8:0:1::1]:4711",
        "[192.0.2.1]",
        "unknown",
    ] {
        assert_eq!(ask(other), 401, "{other}");
    }
}

#[test]
fn a_proxy_cannot_be_talked_into_another_host_or_no_encryption() {
    let site = site();
    for (headers, status) in [
        (&["Host: tables.site"][..], 200),
        (&["Host: tables.site:8443"], 200),
        (
            &["Host: evil.example", "X-Forwarded-Host: tables.site"],
            421,
        ),
        (&["Host: evil.example", "Forwarded: host=tables.site"], 421),
        (
            &["Host: tables.site", "X-Forwarded-Host: evil.example"],
            200,
        ),
    ] {
        assert_eq!(
            site.send("GET /login", headers, "").status,
            status,
            "{headers:?}"
        );
    }
    // Cookies go back over TLS only, whatever the proxy says about its client.
    for header in [
        "X-Forwarded-Proto: http",
        "X-Forwarded-Proto: https",
        "X-Forwarded-Ssl: off",
    ] {
        let cookie = log_in(&site, &["Host: tables.site", header]).expect(201);
        let cookie = cookie.header("set-cookie").unwrap().to_owned();
        assert!(cookie.ends_with("; Secure"), "{header}: {cookie}");
    }
}

#[test]
fn pages_without_encryption_are_other_sites() {
    let site = site();
    for (origin, status) in [
        ("https://tables.site", 201),
        ("https://TABLES.site", 201),
        ("http://tables.site", 403),
        ("https://tables.site:8443", 403),
        ("https://tables.site.evil.example", 403),
        ("null", 403),
    ] {
        let origin = format!("Origin: {origin}");
        let found = log_in(&site, &["Host: tables.site", &origin]);
        assert_eq!(found.status, status, "{origin}");
    }
}

#[test]
fn proxies_are_told_to_pass_on_events_at_once_and_to_keep_nothing() {
    let site = site();
    let headers = format!("{}\r\n", site.bearer());
    let (head, _) = Events::with_head(&site, "/api/v1/events", &headers);
    for line in ["x-accel-buffering: no", "cache-control: no-store"] {
        assert!(head.iter().any(|found| found == line), "{line}: {head:?}");
    }
    let other = site.send("GET /api/v1/machines", &[&site.bearer()], "");
    assert_eq!(other.header("x-accel-buffering"), None);
    // Addresses in answers are relative to the proxy's.
    let form = [
        "Host: tables.site",
        "Content-Type: application/x-www-form-urlencoded",
    ];
    let answer = site.send("POST /login", &form, &format!("token={}", site.owner));
    assert_eq!((answer.status, answer.header("location")), (303, Some("/")));
}
