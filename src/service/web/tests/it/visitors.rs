//! Authorization: tokens, sessions, users of sockets, names of hosts, pages of other sites.

use serde_json::json;
use service::Listen;

use crate::fixture::{Site, exchange_at_socket};

#[test]
fn a_session_needs_its_form_token_for_changes() {
    let site = Site::new();
    let begun = site
        .post("/api/v1/session", &[], &json!({"token": site.owner}))
        .expect(201);
    let cookie = begun.header("set-cookie").unwrap().to_owned();
    for part in [
        "colltune=",
        "; HttpOnly",
        "; SameSite=Strict",
        "; Path=/",
        "; Max-Age=43200",
    ] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(
        !cookie.contains("Secure") && !cookie.contains("Domain"),
        "{cookie}"
    );
    let pair = cookie.split(';').next().unwrap();
    let cookie_header = format!("Cookie: other=1; {pair}; more=2");
    site.send("GET /api/v1/tokens", &[&cookie_header], "")
        .expect(200);
    assert!(
        !begun.json()["form_token"]
            .as_str()
            .unwrap()
            .contains(&pair[9..20])
    );

    let form_token = format!(
        "X-Form-Token: {}",
        begun.json()["form_token"].as_str().unwrap()
    );
    let media = "Content-Type: application/json";
    let mut names = 0..;
    let mut make = |headers: &[&str]| {
        let name = format!("token {}", names.next().unwrap());
        let new = json!({"name": name, "scopes": ["read"]}).to_string();
        let mut all = vec![cookie_header.as_str(), media];
        all.extend(headers);
        site.send("POST /api/v1/tokens", &all, &new)
    };
    make(&[]).expect(403);
    make(&["X-Form-Token: 00"]).expect(403);
    make(&[&form_token]).expect(201);
    let own = format!("Origin: http://{}", site.address.unwrap());
    make(&[&form_token, &own]).expect(201);
    make(&[&form_token, "Sec-Fetch-Site: same-origin"]).expect(201);
    // A browser's header about the origin counts more than a valid form token.
    make(&[&form_token, "Origin: http://evil.example"]).expect(403);
    make(&[&form_token, "Origin: null"]).expect(403);
    make(&[&form_token, "Sec-Fetch-Site: cross-site"]).expect(403);
    make(&[&form_token, "Sec-Fetch-Site: same-site"]).expect(403);

    site.send("DELETE /api/v1/session", &[&cookie_header], "")
        .expect(403);
    let ended = site
        .send("DELETE /api/v1/session", &[&cookie_header, &form_token], "")
        .expect(204);
    assert!(ended.header("set-cookie").unwrap().contains("Max-Age=0"));
    site.send("GET /api/v1/tokens", &[&cookie_header], "")
        .expect(401);
}

#[test]
fn other_sites_cannot_log_a_browser_in() {
    let site = Site::new();
    let body = json!({"token": site.owner}).to_string();
    let media = "Content-Type: application/json";
    let foreign = ["Origin: http://evil.example", media];
    site.send("POST /api/v1/session", &foreign, &body)
        .expect(403);
    site.send("POST /login", &["Origin: http://evil.example"], "token=a")
        .expect(403);
}

#[test]
fn unknown_host_names_are_refused() {
    let site = Site::with(|configuration, _| configuration.names = vec!["tables.site".to_owned()]);
    let port = site.address.unwrap().port();
    for (host, status) in [
        (format!("127.0.0.1:{port}"), 200),
        (format!("localhost:{port}"), 200),
        (format!("[::1]:{port}"), 200),
        ("tables.site".to_owned(), 200),
        ("TABLES.site:443".to_owned(), 200),
        ("evil.example".to_owned(), 421),
        (format!("evil.example:{port}"), 421),
        ("127.0.0.1.evil.example".to_owned(), 421),
        ("localhost.".to_owned(), 421),
        ("user@localhost".to_owned(), 400),
        ("a b".to_owned(), 400),
        (String::new(), 400),
    ] {
        let answer = site.send("GET /api/v1/machines", &[&format!("Host: {host}")], "");
        assert_eq!(answer.status, status, "{host}: {answer:?}");
    }
    let twice = ["Host: localhost", "Host: localhost"];
    assert_eq!(site.send("GET /api/v1/machines", &twice, "").status, 400);
}

#[test]
fn wrong_tokens_are_counted_and_do_not_keep_right_ones_out() {
    let site = Site::new();
    let line = "GET /api/v1/machines";
    let wrong = ["Authorization: Bearer colltune_00"];
    for _ in 0..10 {
        let answer = site.send(line, &wrong, "").expect(401);
        assert!(
            answer
                .header("www-authenticate")
                .unwrap()
                .starts_with("Bearer")
        );
    }
    let answer = site.send(line, &wrong, "").expect(429);
    let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=6).contains(&wait), "{wait}");
    site.post("/api/v1/session", &[], &json!({"token": "colltune_00"}))
        .expect(429);
    // Open reading needs no token.
    site.get("/api/v1/machines").expect(200);
    // Right tokens from the same client are accepted, for requests and sessions.
    site.send("GET /api/v1/tokens", &[&site.bearer()], "")
        .expect(200);
    site.post("/api/v1/session", &[], &json!({"token": site.owner}))
        .expect(201);
    site.send(line, &wrong, "").expect(429);
}

/// Browsers send the cookies of a host to each of its ports, so other users of the host see them.
#[test]
fn a_session_is_of_no_use_to_another_user_of_the_host() {
    let root = nix::unistd::geteuid().is_root().then_some(());
    let Some(()) = testkit::require("namespaces and other users", root) else {
        return;
    };
    let site = Site::new();
    let body = json!({"token": site.owner}).to_string();
    let media = "Content-Type: application/json";
    let cookie = |begun: &crate::fixture::Answer| {
        let cookie = begun.header("set-cookie").unwrap();
        cookie.split(';').next().unwrap().to_owned()
    };
    let log_in = "POST /api/v1/session";
    let own = site.send(log_in, &[media], &body).expect(201);
    let form_token = own.json()["form_token"].as_str().unwrap().to_owned();
    let form_token = format!("X-Form-Token: {form_token}");
    let own = cookie(&own);
    let foreign = cookie(&site.send_as_nobody(log_in, &[media], &body).expect(201));

    let read = "GET /api/v1/tokens";
    let header = |cookies: &[&str]| format!("Cookie: {}", cookies.join("; "));
    site.send(read, &[&header(&[&own])], "").expect(200);
    site.send_as_nobody(read, &[&header(&[&own])], "")
        .expect(401);
    let new = json!({"name": "thief", "scopes": ["admin"]}).to_string();
    let all = [media, &form_token, &header(&[&own])];
    site.send_as_nobody("POST /api/v1/tokens", &all, &new)
        .expect(401);
    site.send_as_nobody("DELETE /api/v1/session", &all, "")
        .expect(204);
    // Nor can others put their own session into a browser: it is ignored, wherever it stands.
    site.send_as_nobody(read, &[&header(&[&foreign])], "")
        .expect(200);
    site.send(read, &[&header(&[&foreign])], "").expect(401);
    for both in [[&*foreign, &*own], [&*own, &*foreign]] {
        site.send(read, &[&header(&both)], "").expect(200);
    }
    // Browsers send cookies with longer paths first.
    let many = [vec![&*foreign; 40], vec![&*own]].concat();
    site.send(read, &[&header(&many)], "").expect(200);
    site.send("POST /api/v1/tokens", &all, &new).expect(201);
}

#[test]
fn other_kinds_of_authorization_are_refused() {
    let site = Site::new();
    for header in [
        "Basic YTpi",
        "Bearer",
        "Bearer ",
        "Bearer \u{7f}",
        "bearer colltune_",
    ] {
        let header = format!("Authorization: {header}");
        let status = site.send("GET /api/v1/machines", &[&header], "").status;
        assert!([400, 401].contains(&status), "{header}: {status}");
    }
    let bearer = site.bearer().replace("Bearer", "bEARER");
    site.send("GET /api/v1/tokens", &[&bearer], "").expect(200);
}

#[test]
fn the_services_own_user_needs_no_token_at_a_socket() {
    let request = "GET /api/v1/tokens HTTP/1.1\r\nHost: any\r\nConnection: close\r\n\r\n";
    let at_socket = |behind_proxy| {
        let site = Site::with(|configuration, folder| {
            configuration.listen = Listen::Socket(folder.join("socket"));
            configuration.behind_proxy = behind_proxy;
            configuration.names = vec!["any".to_owned()];
        });
        exchange_at_socket(&site.folder().join("socket"), request).status
    };
    assert_eq!(at_socket(false), 200);
    // Behind a proxy, the user at the other end is always the proxy's.
    assert_eq!(at_socket(true), 401);
}

#[test]
fn cookies_are_only_for_tls_if_it_is_used() {
    let site = Site::with(|configuration, _| configuration.behind_proxy = true);
    let begun = site
        .post("/api/v1/session", &[], &json!({"token": site.owner}))
        .expect(201);
    let cookie = begun.header("set-cookie").unwrap();
    assert!(
        cookie.starts_with("__Host-colltune=") && cookie.ends_with("; Secure"),
        "{cookie}"
    );
    assert!(begun.header("strict-transport-security").is_some());
    // Requests that a proxy forwards are counted by the clients' addresses.
    let wrong = "Authorization: Bearer colltune_00";
    for _ in 0..10 {
        let of = ["X-Forwarded-For: 10.0.0.9, 10.0.0.1", wrong];
        site.send("GET /api/v1/machines", &of, "").expect(401);
    }
    let of = |address: &str| {
        let of = format!("X-Forwarded-For: {address}");
        site.send("GET /api/v1/machines", &[&of, wrong], "").status
    };
    assert_eq!(
        (of("10.0.0.1"), of("10.0.0.9"), of("10.0.0.9, 10.0.0.1")),
        (429, 401, 429)
    );
}

#[test]
fn addresses_that_other_hosts_can_reach_need_tls_or_a_proxy() {
    let folder = tempfile::tempdir().unwrap();
    let mut configuration = service::Configuration::for_folder(folder.path()).unwrap();
    configuration.listen = Listen::Address("0.0.0.0:0".parse().unwrap());
    let refused = web::Socket::open(&configuration).unwrap_err();
    assert!(refused.to_string().contains("behind_proxy"), "{refused}");
    configuration.behind_proxy = true;
    web::Socket::open(&configuration).unwrap();
}
