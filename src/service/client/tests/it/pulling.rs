//! `pull` with services that work and that fail.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use client::{Folder, PullError, host_delay};
use testkit::web::{HttpRequest, Reply, Site, serve_at};
use vocabulary::ErrorKind;

use crate::place::{LIMIT, Place, only, pull, table};

#[test]
fn tables_are_fetched_once_and_those_of_running_jobs_stay() {
    let place = Place::new();
    let first = place.site.release_table(table("first"));
    let pulled = place.pull().unwrap();
    assert_eq!(
        (pulled.digest.as_str(), pulled.is_new),
        (first.as_str(), true)
    );
    assert_eq!(fs::read_to_string(&pulled.table).unwrap(), table("first"));
    let mode = fs::metadata(&pulled.table).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o444);

    // Nothing is fetched again.
    let again = place.pull().unwrap();
    assert!(!again.is_new);
    let asked = place.server.requests();
    assert_eq!(asked.len(), 3, "{asked:?}");
    assert_eq!(asked[2].headers["if-none-match"], "\"1\"");
    let (_, client) = asked[2].path.split_once("?client=").unwrap();
    assert!(!client.is_empty());

    let second = place.site.release_table(table("second"));
    assert!(place.pull().unwrap().is_new);
    place.has(&second);
    assert_eq!(place.names(), only(&[&first, &second]));

    // Back to the first one, which is still in the folder.
    place.site.release_table(table("first"));
    place.pull().unwrap();
    place.has(&first);
    assert_eq!(place.server.requests().len(), 6);

    place.site.keep_newest(1);
    place.pull().unwrap();
    assert_eq!(place.names(), only(&[&first]));
}

#[test]
fn a_new_node_gets_the_tables_of_running_jobs_too() {
    let place = Place::new();
    let first = place.site.release_table(table("first"));
    let second = place.site.release_table(table("second"));
    let pulled = place.pull().unwrap();
    assert!(pulled.missing.is_none());
    place.has(&second);
    assert_eq!(place.names(), only(&[&first, &second]));
}

#[test]
fn a_missing_older_table_delays_nothing_and_is_requested_again() {
    let is_back = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&is_back);
    let first = Place::new().site.release_table(table("first"));
    let lost = format!("/api/v1/blobs/{first}");
    let place = Place::with(move |request, reply| {
        if request.path == lost && !seen.load(Ordering::Relaxed) {
            Reply::problem(500, "it is damaged")
        } else {
            reply
        }
    });
    place.site.release_table(table("first"));
    let second = place.site.release_table(table("second"));
    let (count, error) = place.pull().unwrap().missing.unwrap();
    assert_eq!(count, 1);
    assert!(error.to_string().contains("it is damaged"), "{error}");
    place.has(&second);
    assert_eq!(place.names(), only(&[&second]));
    is_back.store(true, Ordering::Relaxed);
    assert!(place.pull().unwrap().missing.is_none());
    assert_eq!(place.names(), only(&[&first, &second]));
}

/// Checks that the last good table stays, and that the time limit holds, whatever a service does with this request.
#[track_caller]
fn keeps(
    what: &str,
    answer: impl Fn(&HttpRequest, Reply) -> Option<Reply> + Send + Sync + 'static,
) -> PullError {
    let is_wrong = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&is_wrong);
    let place = Place::with(move |request, reply| {
        let wrong = seen.load(Ordering::Relaxed);
        match answer(request, reply.clone()).filter(|_| wrong) {
            Some(wrong) => wrong,
            None => reply,
        }
    });
    let good = place.site.release_table(table("good"));
    place.pull().unwrap();
    let next = place.site.release_table(table("next"));
    is_wrong.store(true, Ordering::Relaxed);
    let limit = Duration::from_millis(400);
    let since = Instant::now();
    let error = place.pull_within(limit).expect_err(what);
    let took = since.elapsed();
    assert!(
        took < limit + Duration::from_secs(1),
        "{what} took {took:?}"
    );
    place.has(&good);
    assert_eq!(place.names(), only(&[&good]), "{what}: {error}");
    // The failure leaves no state that would make the next pull fail.
    is_wrong.store(false, Ordering::Relaxed);
    place.pull().unwrap();
    place.has(&next);
    error
}

fn is_blob(request: &HttpRequest) -> bool {
    request.path.contains("/blobs/")
}

#[test]
fn the_last_good_table_stays_after_any_answer() {
    type Answer = fn(&HttpRequest, Reply) -> Option<Reply>;
    let cases: &[(&str, Answer, &str)] = &[
        (
            "another table",
            |r, _| is_blob(r).then(|| Reply::new(200, &[], table("other"))),
            "their digest is",
        ),
        (
            "a truncated table",
            |r, reply| is_blob(r).then(|| reply.without_last(9)),
            "unavailable",
        ),
        (
            "a truncated table without its length",
            |r, _| {
                is_blob(r)
                    .then(|| Reply::raw(format!("HTTP/1.1 200 OK\r\n\r\n{}", &table("next")[..99])))
            },
            "their digest is",
        ),
        (
            "a table byte by byte",
            |r, reply| is_blob(r).then(|| reply.byte_by_byte(Duration::from_millis(20))),
            "no answer within 0.",
        ),
        (
            "a table that never comes",
            |r, reply| is_blob(r).then(|| reply.after_pause(Duration::from_secs(20))),
            "no answer within",
        ),
        (
            "a table that is not there",
            |r, _| is_blob(r).then(|| Reply::problem(404, "gone")),
            "gone (404)",
        ),
        (
            "a manifest that never comes",
            |_, reply| Some(reply.after_pause(Duration::from_secs(20))),
            "no answer within 0.",
        ),
        (
            "a manifest byte by byte",
            |_, reply| Some(reply.byte_by_byte(Duration::from_millis(20))),
            "no answer within 0.",
        ),
        (
            "a truncated manifest",
            |_, reply| Some(reply.without_last(1)),
            "unavailable",
        ),
        (
            "no manifest",
            |_, _| Some(Reply::json(200, "[]")),
            "invalid manifest",
        ),
        (
            "half a manifest",
            |_, _| Some(Reply::json(200, "{\"sequence\": 1")),
            "invalid manifest",
        ),
        (
            "a page",
            |_, _| Some(Reply::new(200, &[], "<html>")),
            "did not answer like a colltune service",
        ),
        (
            "500",
            |_, _| Some(Reply::problem(500, "a bug")),
            "a bug (500)",
        ),
        (
            "500 of a proxy",
            |_, _| Some(Reply::new(502, &[], "<html>")),
            "(502)",
        ),
        (
            "503",
            |_, _| Some(Reply::new(503, &[("retry-after", "7")], "{}")),
            "try again in 7 s",
        ),
        (
            "a redirect",
            |_, _| Some(Reply::new(302, &[("location", "http://127.0.0.1:1/")], "")),
            "redirects (302) to `http://127.0.0.1:1/`",
        ),
        (
            "a huge manifest",
            |_, _| Some(Reply::new(200, &[], vec![b' '; 2 << 20])),
            "more than 1M bytes",
        ),
        ("nothing", |_, _| Some(Reply::default()), "unavailable"),
        (
            "noise",
            |_, _| Some(Reply::raw(vec![7; 999])),
            "unavailable",
        ),
        (
            "headers without end",
            |_, _| {
                Some(Reply::raw(
                    [b"HTTP/1.1 200 OK\r\n".to_vec(), b"a: b\r\n".repeat(99_999)].concat(),
                ))
            },
            "unavailable",
        ),
    ];
    let tests = cases.iter().map(|(what, answer, part)| {
        let (answer, part) = (*answer, *part);
        thread::spawn(move || {
            let error = keeps(what, answer);
            let text = error.to_string();
            assert!(text.contains(part), "{what}: no `{part}` in {text}");
            assert!(!text.contains('\n'), "{text}");
            let expected = match *what {
                "a table that is not there" => ErrorKind::Input,
                _ => ErrorKind::Environment,
            };
            assert_eq!(error.kind(), expected, "{what}");
        })
    });
    for test in tests.collect::<Vec<_>>() {
        test.join().unwrap();
    }
}

#[test]
fn manifests_of_other_channels_are_refused() {
    let zeros = "0".repeat(64);
    let manifest = |machine: &str, digest: &str, keep: &str| {
        format!(
            "{{\"machine\": \"{machine}\", \"library\": \"openmpi-4.1.4\", \"channel\": \"production\", \
             \"sequence\": 9, \"digest\": \"{digest}\", \"keep\": [\"{keep}\"]}}"
        )
    };
    for (body, part) in [
        (manifest("there", &zeros, &zeros), "another channel"),
        (
            manifest("here", "../../../../etc/passwd", &zeros),
            "a digest has 64",
        ),
        (
            manifest("here", &zeros.to_uppercase().replace('0', "A"), &zeros),
            "a digest has 64",
        ),
        (manifest("here", &zeros, "../x"), "a digest has 64"),
        (manifest("here", &zeros[1..], &zeros), "a digest has 64"),
        (
            manifest("here", &zeros, &format!("{zeros}\\n")),
            "a digest has 64",
        ),
    ] {
        let error = keeps(part, move |_, _| Some(Reply::json(200, &body)));
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn an_invalid_table_with_the_right_digest_is_refused() {
    let place = Place::new();
    let good = place.site.release_table(table("good"));
    place.pull().unwrap();
    for text in [
        "format: colltune-table 999\n",
        "name: x\nname: y\n",
        "\u{0}",
        "",
    ] {
        place.site.release_table(text);
        let error = place.pull().unwrap_err();
        assert!(matches!(error, PullError::Table { .. }), "{error}");
        assert_eq!(error.kind(), ErrorKind::Environment);
        place.has(&good);
    }
    place.site.release_table(b"\xff\xfe");
    assert!(place.pull().unwrap_err().to_string().contains("UTF-8"));
    place.has(&good);
    assert_eq!(place.names(), only(&[&good]));
}

#[test]
fn an_unreachable_service_is_distinguished_from_one_that_refuses() {
    let place = Place::new();
    // The channel has no release.
    let error = place.pull().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Input, "{error}");
    assert!(Folder::last_good(&place.folder()).is_none());
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let unavailable = pull(&format!("http://{port}"), &place.folder(), LIMIT).unwrap_err();
    assert_eq!(unavailable.kind(), ErrorKind::Environment);
    assert!(
        unavailable.to_string().contains("is unavailable"),
        "{unavailable}"
    );
    let unresolved = pull("http://no-such-host.invalid", &place.folder(), LIMIT).unwrap_err();
    assert_eq!(unresolved.kind(), ErrorKind::Environment, "{unresolved}");
}

#[test]
fn the_answer_not_modified_needs_a_known_table() {
    let place = Place::with(|_, _| Reply::new(304, &[], ""));
    place.site.release_table(table("first"));
    let error = place.pull().unwrap_err();
    assert!(
        error
            .to_string()
            .contains("did not answer like a colltune service"),
        "{error}"
    );
}

#[test]
fn two_services_do_not_share_their_state() {
    let (one, other) = (Place::new(), Place::new());
    let first = one.site.release_table(table("first"));
    let second = other.site.release_table(table("second"));
    one.pull().unwrap();
    one.has(&first);
    // The sequence, and so the ETag, is the same.
    pull(&other.server.url(), &one.folder(), LIMIT).unwrap();
    one.has(&second);
}

#[test]
fn unix_sockets_work_too() {
    let place = Place::new();
    let digest = place.site.release_table(table("first"));
    let socket = place.folder().with_file_name("socket");
    let site = place.site.clone();
    serve_at(&socket, move |request| match site.answer_request(request) {
        reply if is_blob(request) => reply.byte_by_byte(Duration::from_micros(10)),
        reply => reply,
    });
    let url = format!("unix:{}:", socket.display());
    assert!(pull(&url, &place.folder(), LIMIT).unwrap().is_new);
    place.has(&digest);
    assert!(!pull(&url, &place.folder(), LIMIT).unwrap().is_new);
    let error = pull("unix:/none:", &place.folder(), LIMIT).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Environment);
    assert!(error.to_string().contains("unix:/none"), "{error}");
}

#[test]
fn a_socket_without_an_answer_is_closed_in_time() {
    let place = Place::new();
    let socket = place.folder().with_file_name("socket");
    serve_at(&socket, |_| {
        Reply::new(200, &[], "{}").after_pause(Duration::from_secs(9))
    });
    let since = Instant::now();
    let url = format!("unix:{}:", socket.display());
    let error = pull(&url, &place.folder(), Duration::from_millis(300)).unwrap_err();
    assert!(
        error.to_string().contains("no answer within 0.3 s"),
        "{error}"
    );
    assert!(since.elapsed() < Duration::from_secs(2));
}

#[test]
fn hosts_wait_for_different_times() {
    let most = Duration::from_secs(60);
    assert!(host_delay(most) <= most);
    assert_eq!(host_delay(most), host_delay(most));
    assert_eq!(host_delay(Duration::ZERO), Duration::ZERO);
    assert!(Site::CHANNEL.starts_with("/api/v1/"));
}
