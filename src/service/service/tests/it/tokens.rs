//! Tokens and sessions.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use service::{Actor, NewToken, Scope, SecretToken, Service, ServiceError, SessionHolder};

use crate::fixture::{Place, actor, admin};

fn new(name: &str) -> NewToken {
    NewToken {
        name: name.to_owned(),
        scopes: vec![Scope::Submit, Scope::Read, Scope::Read],
        machines: vec!["local".to_owned()],
        days: Some(1),
    }
}

fn make(service: &Service, name: &str) -> (SecretToken, u64) {
    let (secret, row) = service.make_token(&admin(), &new(name)).expect("made");
    (secret, row.id)
}

fn who(service: &Service, secret: &SecretToken) -> Option<String> {
    let actor = service.authenticate_token(secret.expose()).expect("asked");
    actor.map(|actor| actor.name)
}

/// The holder of the sessions of these tests, unless they are about holders.
const HOLDER: SessionHolder = SessionHolder::User(1000);

fn is_session(service: &Service, secret: &SecretToken) -> bool {
    is_session_of(service, secret, HOLDER)
}

fn is_session_of(service: &Service, secret: &SecretToken, holder: SessionHolder) -> bool {
    let actor = service
        .authenticate_session(secret.expose(), holder)
        .expect("asked");
    actor.is_some()
}

fn begin(service: &Service, secret: &SecretToken) -> (SecretToken, Duration) {
    service
        .begin_session(secret.expose(), HOLDER)
        .expect("asked")
        .expect("the token holds")
}

#[test]
fn only_tokens_are_recognised() {
    let place = Place::new();
    let service = place.open();
    let (secret, _) = make(&service, "ci");
    let expected = Actor {
        name: "ci".to_owned(),
        scopes: vec![Scope::Read, Scope::Submit],
        machines: vec!["local".to_owned()],
    };
    assert_eq!(
        service.authenticate_token(secret.expose()).expect("asked"),
        Some(expected.clone())
    );
    let (session, holds) = begin(&service, &secret);
    assert_eq!(
        service
            .authenticate_session(session.expose(), HOLDER)
            .expect("asked"),
        Some(expected)
    );
    assert_eq!(holds, Duration::from_secs(12 * 3600));

    let text = secret.expose();
    assert_eq!((text.len(), &text[..9]), (73, "colltune_"));
    let changed = (9..73).map(|position| {
        let mut text = text.to_owned();
        let digit = if &text[position..=position] == "0" {
            "1"
        } else {
            "0"
        };
        text.replace_range(position..=position, digit);
        text
    });
    let others = [
        String::new(),
        "colltune_".to_owned(),
        text[9..].to_owned(),
        text[..72].to_owned(),
        format!("{text}0"),
        format!("{text}\n"),
        text.to_uppercase(),
        format!("colltune_{}", "ä".repeat(32)),
        "0".repeat(1 << 20),
        // A session is no token.
        session.expose().to_owned(),
    ];
    for wrong in changed.chain(others) {
        assert_eq!(
            service.authenticate_token(&wrong).expect("asked"),
            None,
            "{wrong}"
        );
        assert!(
            service
                .begin_session(&wrong, HOLDER)
                .expect("asked")
                .is_none(),
            "{wrong}"
        );
    }
    assert!(!is_session(&service, &secret), "a token is no session");
}

#[test]
fn secrets_are_not_kept_nor_shown() {
    let place = Place::new();
    let service = place.open();
    let (secret, _) = make(&service, "ci");
    let (session, _) = begin(&service, &secret);
    let mut bytes = Vec::new();
    for name in ["service.db", "service.db-wal"] {
        bytes.extend(fs::read(place.state().join(name)).expect("read"));
    }
    for hidden in [&secret, &session] {
        let digits = &hidden.expose().as_bytes()[9..];
        assert!(!bytes.windows(digits.len()).any(|window| window == digits));
        assert_eq!(format!("{hidden:?}"), "SecretToken(...)");
        assert!(!format!("{service:?}").contains(hidden.expose()));
    }
    let listed = format!("{:?}", service.list_tokens(&admin()).expect("listed"));
    assert!(listed.contains("ci") && !listed.contains(&secret.expose()[9..]));
    assert_ne!(make(&service, "other").0, secret);
}

#[test]
fn an_unknown_scope_permits_nothing_and_affects_no_other() {
    let place = Place::new();
    let service = place.open();
    let (secret, id) = make(&service, "old");
    drop(service);
    let update = r#"UPDATE token SET scopes = '["operate", "read"]' WHERE id = ?1"#;
    place.database().execute(update, [id]).expect("set");
    let reopened = place.open();
    let actor = reopened.authenticate_token(secret.expose()).expect("asked");
    assert_eq!(actor.expect("it holds").scopes, [Scope::Read]);
    let listed = reopened.list_tokens(&admin()).expect("listed");
    assert!(listed.iter().any(|row| row.id == id));
    reopened.revoke_token(&admin(), id).expect("revoked");
    assert_eq!(who(&reopened, &secret), None);
}

#[test]
fn revoking_ends_a_token_and_its_sessions() {
    let place = Place::new();
    let service = place.open();
    let (secret, id) = make(&service, "ci");
    let (other, _) = make(&service, "other");
    let (session, _) = begin(&service, &secret);
    for _ in 0..2 {
        service.revoke_token(&admin(), id).expect("revoked");
        assert_eq!(who(&service, &secret), None);
        assert!(!is_session(&service, &session));
        assert!(
            service
                .begin_session(secret.expose(), HOLDER)
                .expect("asked")
                .is_none()
        );
    }
    assert_eq!(who(&service, &other).as_deref(), Some("other"));
    let listed = service.list_tokens(&admin()).expect("listed");
    let listed: Vec<_> = listed
        .iter()
        .map(|row| (&*row.name, row.revoked_at.is_some()))
        .collect();
    assert_eq!(listed, [("other", false), ("ci", true)]);
    for unknown in [0, 99, u64::MAX] {
        let refused = service
            .revoke_token(&admin(), unknown)
            .expect_err("refused")
            .to_string();
        assert_eq!(refused, format!("there is no token `{unknown}`"));
    }
    // The name is free again, and the audit has one line for each change.
    make(&service, "ci");
    let audit = service
        .read_audit(&admin(), service::Slice::default())
        .expect("read")
        .items;
    let actions: Vec<String> = audit
        .iter()
        .map(|row| format!("{} {}", row.action, row.subject))
        .collect();
    assert_eq!(
        actions,
        [
            "token.create ci",
            "token.revoke ci",
            "token.create other",
            "token.create ci"
        ]
    );
}

#[test]
fn a_revoked_token_is_refused_during_concurrent_requests() {
    let place = Place::new();
    let service = place.open();
    let (steady, _) = make(&service, "steady");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    assert_eq!(who(&service, &steady).as_deref(), Some("steady"));
                }
            });
        }
        // Checked after the other threads have stopped.
        let rounds: Vec<_> = (0..20)
            .map(|_| {
                let (secret, id) = make(&service, "brief");
                let before = who(&service, &secret);
                let revoked = service.revoke_token(&admin(), id);
                (before, revoked.is_ok(), who(&service, &secret))
            })
            .collect();
        stop.store(true, Ordering::Relaxed);
        for round in rounds {
            assert_eq!(round, (Some("brief".to_owned()), true, None));
        }
    });
}

#[test]
fn expired_tokens_and_sessions_are_refused() {
    let place = Place::new();
    let service = place.open();
    let (secret, _) = make(&service, "ci");
    let (session, _) = begin(&service, &secret);
    drop(service);
    // By the database's clock.
    let expire = |what: &str, milliseconds: i64| {
        let at = jiff::Timestamp::now().as_millisecond() + milliseconds;
        place
            .database()
            .execute(&format!("UPDATE {what} SET expires_at = ?1"), [at])
            .expect("set");
    };
    expire("token", 60_000);
    let restarted = place.open();
    assert_eq!(who(&restarted, &secret).as_deref(), Some("ci"));
    assert!(
        is_session(&restarted, &session),
        "sessions outlast the service"
    );
    let (_, holds) = begin(&restarted, &secret);
    assert!(
        holds <= Duration::from_secs(60),
        "no longer than the token: {holds:?}"
    );
    drop(restarted);
    expire("session", -1);
    let without_session = place.open();
    assert!(!is_session(&without_session, &session));
    assert_eq!(who(&without_session, &secret).as_deref(), Some("ci"));
    drop(without_session);

    // They expire while they are cached: first the session, then the token.
    expire("token", 60_000);
    expire("session", 1500);
    let session_expiring = place.open();
    assert!(is_session(&session_expiring, &session));
    std::thread::sleep(Duration::from_millis(1600));
    assert!(!is_session(&session_expiring, &session));
    drop(session_expiring);
    expire("token", 1500);
    expire("session", 60_000);
    let token_expiring = place.open();
    assert_eq!(who(&token_expiring, &secret).as_deref(), Some("ci"));
    assert!(is_session(&token_expiring, &session));
    std::thread::sleep(Duration::from_millis(1600));
    assert_eq!(who(&token_expiring, &secret), None);
    assert!(!is_session(&token_expiring, &session));
    assert!(
        token_expiring
            .begin_session(secret.expose(), HOLDER)
            .expect("asked")
            .is_none()
    );
    // Its name is free again.
    make(&token_expiring, "ci");
}

#[test]
fn sessions_end_and_are_bounded() {
    let place = Place::new();
    let service = place.open();
    let (secret, _) = make(&service, "ci");
    let sessions: Vec<SecretToken> = (0..18).map(|_| begin(&service, &secret).0).collect();
    let hold = |counted: &[SecretToken]| counted.iter().filter(|s| is_session(&service, s)).count();
    assert_eq!(hold(&sessions), 16);
    let last = &sessions[17];
    assert!(is_session(&service, last));
    for _ in 0..2 {
        service.end_session(last.expose(), HOLDER).expect("ended");
        assert!(!is_session(&service, last));
    }
    assert_eq!(hold(&sessions), 15);
    service.end_session("nothing", HOLDER).expect("no error");
}

#[test]
fn a_session_is_of_no_use_to_another_user_of_the_host() {
    let place = Place::new();
    let service = place.open();
    let (secret, _) = make(&service, "ci");
    let holders = [
        SessionHolder::User(0),
        SessionHolder::User(1000),
        SessionHolder::Anyone,
    ];
    for holder in holders {
        let begun = service.begin_session(secret.expose(), holder);
        let (session, _) = begun.expect("asked").expect("the token holds");
        let others = holders.into_iter().filter(|other| *other != holder);
        for other in others {
            assert!(!is_session_of(&service, &session, other), "{other:?}");
            // Nor can another user end it.
            service
                .end_session(session.expose(), other)
                .expect("no error");
        }
        assert!(is_session_of(&service, &session, holder), "{holder:?}");
    }
}

#[test]
fn memory_knows_the_tokens_of_the_database_or_says_that_it_does_not() {
    let place = Place::new();
    let service = place.open();
    let (secret, id) = make(&service, "ci");
    let (session, _) = begin(&service, &secret);
    let names = || {
        let name = |actor: Option<Actor>| actor.map(|actor| actor.name);
        let token = service.authenticate_token_from_memory(secret.expose());
        let of_session = service.authenticate_session_from_memory(session.expose(), HOLDER);
        (token.map(name), of_session.map(name))
    };
    // A change of tokens or sessions empties the memory, and the next question to the database fills it.
    assert_eq!(names(), (None, None));
    assert_eq!(who(&service, &secret).as_deref(), Some("ci"));
    let known = || Some(Some("ci".to_owned()));
    assert_eq!(names(), (known(), known()));
    service.revoke_token(&admin(), id).expect("revoked");
    assert_eq!(names(), (None, None));
    assert_eq!(who(&service, &secret), None);
    assert_eq!(names(), (Some(None), Some(None)));
    // What has not the form of a secret needs no database.
    service.revoke_token(&admin(), id).expect("no error");
    assert_eq!(
        service.authenticate_token_from_memory("colltune_0"),
        Some(None)
    );
    let none = service.authenticate_session_from_memory("", SessionHolder::Anyone);
    assert_eq!(none, Some(None));
}

#[test]
fn checking_a_token_writes_nothing_and_waits_for_no_writer() {
    let place = Place::new();
    let service = place.open();
    let (secret, _) = make(&service, "ci");
    let other = place.database();
    other
        .execute_batch("BEGIN IMMEDIATE; INSERT INTO machine (name) VALUES ('x')")
        .expect("writing");
    let log = || {
        fs::metadata(place.state().join("service.db-wal"))
            .expect("a log")
            .len()
    };
    let before = log();
    let begun = Instant::now();
    for _ in 0..10_000 {
        assert_eq!(who(&service, &secret).as_deref(), Some("ci"));
    }
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(log(), before);
}

#[test]
fn tokens_are_refused_with_a_remedy() {
    let place = Place::new();
    let service = place.open();
    make(&service, "taken");
    let with = |change: &dyn Fn(&mut NewToken)| {
        let mut token = new("fine");
        change(&mut token);
        let refused = service.make_token(&admin(), &token);
        refused.map(|_| ()).expect_err("refused").to_string()
    };
    let named = |name: &str| with(&|token| token.name = name.to_owned());
    for name in [
        "",
        " a",
        "a\n",
        "a\u{1b}[2Jb",
        "a\u{202e}b",
        &"ä".repeat(65),
    ] {
        assert_eq!(
            named(name),
            "name: write 1 to 64 printable characters, without spaces around them"
        );
    }
    for name in ["owner", "anonymous", "service", "uid 0"] {
        let expected = format!("name: `{name}` is reserved; choose another name");
        assert_eq!(named(name), expected);
    }
    assert_eq!(
        named("taken"),
        "there is a token `taken` already; choose another name, or revoke that one first"
    );
    assert_eq!(
        with(&|token| token.scopes.clear()),
        "scopes: name at least one of read, submit, publish, agent, usage and admin"
    );
    assert_eq!(
        with(&|token| token.machines.push("hydra".to_owned())),
        "machines: there is no machine `hydra`; these are known: local"
    );
    for days in [0, 3661, u32::MAX] {
        assert_eq!(
            with(&|token| token.days = Some(days)),
            "days: write 1 to 3660, or leave it out for a token that does not expire"
        );
    }
    service
        .make_token(&admin(), &new(&"ä".repeat(64)))
        .expect("64 characters");
    assert_eq!(service.list_tokens(&admin()).expect("listed").len(), 2);
}

#[test]
fn only_administrators_of_all_machines_manage_tokens() {
    let place = Place::new();
    let service = place.open();
    let (_, id) = make(&service, "ci");
    let of_one = Actor {
        machines: vec!["local".to_owned()],
        ..admin()
    };
    for actor in [
        actor(&[Scope::Read, Scope::Submit, Scope::Publish]),
        actor(&[]),
        of_one,
    ] {
        let refused = [
            service.make_token(&actor, &new("more")).map(drop),
            service.list_tokens(&actor).map(drop),
            service.revoke_token(&actor, id),
        ];
        for answer in refused {
            assert!(
                matches!(answer, Err(ServiceError::Forbidden { .. })),
                "{answer:?}"
            );
        }
    }
}

#[test]
fn the_number_of_tokens_is_bounded() {
    let place = Place::new();
    drop(place.open());
    let fill = "INSERT INTO token (name, hash, scopes, machines, created_at, created_by) \
                WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 499) \
                SELECT 't' || i, randomblob(32), '[\"read\"]', '[]', 0, 'x' FROM n";
    place.database().execute(fill, []).expect("filled");
    let service = place.open();
    let (secret, id) = make(&service, "last");
    let refused = service
        .make_token(&admin(), &new("more"))
        .expect_err("refused")
        .to_string();
    assert_eq!(
        refused,
        "there are 500 tokens; revoke those that are not used"
    );
    assert_eq!(who(&service, &secret).as_deref(), Some("last"));
    service.revoke_token(&admin(), id).expect("revoked");
    make(&service, "more");
}

#[test]
fn the_owners_token_is_kept_while_it_is_valid() {
    let place = Place::new();
    let path = place.state().join("token");
    let first = place.open().owner_token().expect("made");
    let owner = place
        .open()
        .authenticate_token(first.expose())
        .expect("asked")
        .expect("it holds");
    assert!(owner.has_scope(Scope::Publish, None) && owner.has_scope(Scope::Admin, None));
    assert_eq!(
        fs::read_to_string(&path).expect("read"),
        format!("{}\n", first.expose())
    );
    assert_eq!(
        place.open().owner_token().expect("read"),
        first,
        "the same at the next start"
    );

    type Spoiling<'a> = (&'a str, &'a dyn Fn(&Service));
    let spoilings: [Spoiling<'_>; 5] = [
        ("removed", &|_| fs::remove_file(&path).expect("removed")),
        ("others can read it", &|_| {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("changed");
        }),
        ("something else", &|_| {
            fs::write(&path, "something else").expect("written")
        }),
        ("another token", &|service| {
            let (other, _) = make(service, "other");
            fs::write(&path, other.expose()).expect("written");
        }),
        ("revoked", &|service| {
            for row in service.list_tokens(&admin()).expect("listed") {
                service.revoke_token(&admin(), row.id).expect("revoked");
            }
        }),
    ];
    let mut before = first;
    for (how, spoil) in spoilings {
        let service = place.open();
        spoil(&service);
        let token = service.owner_token().expect("made");
        assert_ne!(token, before, "{how}");
        assert_eq!(who(&service, &token).as_deref(), Some("owner"), "{how}");
        assert_eq!(who(&service, &before), None, "{how}");
        let mode = fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{how}");
        before = token;
    }
}
