//! Webhooks: what they are told, and how messages are repeated. The clock and the receivers are the test's own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use service::{
    ExpectedRevision, FindingState, NewWebhook, OutgoingMessage, ReleaseAction, Scope,
    ServiceError, Triage, Webhook, WebhookEvent,
};
use sha2::Sha256;

use crate::bed::{Bed, MACHINE, actor, choosing};
use crate::fixture::admin;

const START: &str = "2026-11-27T12:00:00Z";

/// Receivers that keep what arrives, and answer as they are told.
#[derive(Clone, Default)]
struct Receivers {
    received: Arc<Mutex<Vec<OutgoingMessage>>>,
    answer: Arc<Mutex<Option<Result<u16, String>>>>,
}

impl Receivers {
    fn answering(answer: Result<u16, String>) -> Self {
        let receivers = Self::default();
        *receivers.answer.lock().unwrap() = Some(answer);
        receivers
    }

    fn receive(&self, message: &OutgoingMessage) -> Result<u16, String> {
        self.received.lock().unwrap().push(message.clone());
        self.answer.lock().unwrap().clone().unwrap_or(Ok(204))
    }

    fn received(&self) -> Vec<OutgoingMessage> {
        self.received.lock().unwrap().clone()
    }
}

impl Bed {
    fn webhook(&self, url: &str, events: &[WebhookEvent], machines: &[&str]) -> (String, Webhook) {
        let new = NewWebhook {
            url: url.to_owned(),
            events: events.to_vec(),
            machines: machines.iter().map(|&name| name.to_owned()).collect(),
        };
        self.service().make_webhook(&admin(), &new).unwrap()
    }

    /// Delivers messages until a condition holds.
    fn deliver_until(&self, receivers: &Receivers, is_so: impl Fn() -> bool) {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let receivers = receivers.clone();
            let send = move |message: &OutgoingMessage| receivers.receive(message);
            scope.spawn(|| self.service().deliver_messages(&stop, send));
            wait_for("the messages", is_so);
            stop.store(true, Ordering::Relaxed);
        });
    }

    /// The bodies of all messages, in their order.
    fn messages(&self) -> Vec<Value> {
        let database = self.database();
        let mut query = database
            .prepare("SELECT body FROM message ORDER BY id")
            .unwrap();
        let rows = query.query_map([], |row| row.get::<_, String>(0)).unwrap();
        rows.map(|row| serde_json::from_str(&row.unwrap()).unwrap())
            .collect()
    }

    fn shown(&self, id: u64) -> Webhook {
        let all = self.service().list_webhooks(&admin()).unwrap();
        all.into_iter().find(|webhook| webhook.id == id).unwrap()
    }
}

#[track_caller]
fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < end, "{what} do not come");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Adds a finding of the machine.
fn add_finding(bed: &Bed) {
    bed.database()
        .execute_batch(
            "INSERT INTO epoch VALUES (1, 1, 'openmpi-4.1.4', 'f', '{}', 0);
             INSERT INTO finding VALUES (1, 1, 'algorithm', 1, 0, 'open');",
        )
        .unwrap();
}

fn decide(bed: &Bed, state: FindingState) {
    let triage = Triage {
        state,
        reason: "the switch".to_owned(),
    };
    bed.service().decide_finding(&admin(), 1, &triage).unwrap();
}

#[test]
fn webhooks_are_told_of_the_events_and_machines_that_they_have_chosen() {
    let bed = Bed::new();
    add_finding(&bed);
    bed.webhook("https://site.example/all", &[], &[]);
    bed.webhook(
        "https://site.example/some",
        &[WebhookEvent::RolledBack],
        &[MACHINE],
    );
    let [first, second] = ["chain", "binomial"].map(|name| bed.validated(&choosing(name)));
    bed.release(&first).unwrap();
    bed.release(&second).unwrap();
    bed.act(ReleaseAction::Rollback, None, None).unwrap();
    bed.act(ReleaseAction::Withdraw, None, None).unwrap();
    // What is refused is no event.
    bed.act(ReleaseAction::Withdraw, None, None).unwrap_err();
    decide(&bed, FindingState::Acknowledged);
    decide(&bed, FindingState::Accepted);
    decide(&bed, FindingState::Open);
    let messages = bed.messages();
    let types: Vec<&str> = messages
        .iter()
        .map(|message| message["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        types,
        [
            "release.release",
            "release.release",
            "release.rollback",
            "release.rollback",
            "release.withdraw",
            "finding.closed",
            "finding.opened"
        ]
    );
    let rollback = &messages[2]["data"];
    assert_eq!(rollback["machine"], MACHINE);
    assert_eq!(rollback["digest"], first.as_str());
    assert_eq!(
        (&rollback["sequence"], &rollback["channel"]),
        (&json!(3), &json!("production"))
    );
    let closed = &messages[5]["data"];
    assert_eq!(
        (&closed["finding"], &closed["state"]),
        (&json!(1), &json!("accepted"))
    );
    assert_eq!(closed["reason"], "the switch");
    assert!(messages[0]["timestamp"].is_string());
}

#[test]
fn a_schedule_that_pauses_itself_tells_webhooks() {
    let bed = Bed::new();
    bed.webhook(
        "https://site.example/",
        &[WebhookEvent::SchedulePaused],
        &[],
    );
    let definition = json!({
        "task": {"kind": "check"}, "times": "0 2 * * *",
        "channel": {"library": "openmpi-4.1.4", "channel": "production"},
    });
    let definition = serde_json::from_value(definition).unwrap();
    let service = bed.service();
    service.stop_clock_at(START.parse().unwrap());
    let expected = ExpectedRevision::Missing;
    let put = service.put_schedule(&admin(), "nightly", &definition, expected);
    put.unwrap();
    for day in 28..=30 {
        service.stop_clock_at(format!("2026-11-{day}T02:00:00Z").parse().unwrap());
        service.submit_due_tasks().unwrap();
    }
    let messages = bed.messages();
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0]["data"]["schedule"], "nightly");
    let reason = messages[0]["data"]["reason"].as_str().unwrap();
    assert!(reason.contains("has no table"), "{reason}");
}

#[test]
fn messages_are_signed_with_the_secret_that_was_shown() {
    let bed = Bed::new();
    let (secret, webhook) = bed.webhook("https://site.example/hook", &[], &[]);
    bed.service().test_webhook(&admin(), webhook.id).unwrap();
    let receivers = Receivers::default();
    bed.deliver_until(&receivers, || bed.shown(webhook.id).delivered_at.is_some());
    let received = receivers.received();
    let [message] = &received[..] else {
        panic!("{received:?}");
    };
    assert_eq!(message.url, "https://site.example/hook");
    let key = STANDARD
        .decode(secret.strip_prefix("whsec_").unwrap())
        .unwrap();
    let mut code = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    code.update(format!("{}.{}.{}", message.id, message.timestamp, message.body).as_bytes());
    let signature = message.signature.strip_prefix("v1,").unwrap();
    code.verify_slice(&STANDARD.decode(signature).unwrap())
        .unwrap();
    let body: Value = serde_json::from_str(&message.body).unwrap();
    assert_eq!(body["type"], "test");
    assert!(message.id.starts_with("msg_"));
    let shown = bed.shown(webhook.id);
    assert_eq!((shown.waiting, shown.failed, shown.problem), (0, 0, None));
}

#[test]
fn messages_that_do_not_arrive_are_repeated_with_growing_pauses_and_then_given_up() {
    let bed = Bed::new();
    let service = bed.service();
    let mut now: jiff::Timestamp = START.parse().unwrap();
    service.stop_clock_at(now);
    let (_, webhook) = bed.webhook("https://site.example/", &[], &[]);
    service.test_webhook(&admin(), webhook.id).unwrap();
    let receivers = Receivers::answering(Ok(500));
    let attempts = || {
        let attempts = "SELECT attempts FROM message";
        let attempts: usize = bed
            .database()
            .query_row(attempts, [], |row| row.get(0))
            .unwrap();
        attempts
    };
    let mut pauses = Vec::new();
    for attempt in 1..=8 {
        bed.deliver_until(&receivers, || attempts() == attempt);
        let due = "SELECT due_at FROM message";
        let due: i64 = bed.database().query_row(due, [], |row| row.get(0)).unwrap();
        let due = jiff::Timestamp::from_millisecond(due).unwrap();
        pauses.push(due.duration_since(now).as_secs());
        now = due;
        service.stop_clock_at(now);
    }
    assert_eq!(pauses, [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 0]);
    let received = receivers.received();
    assert_eq!(received.len(), 8);
    assert!(received.iter().all(|message| message.id == received[0].id));
    assert!(received[1].timestamp > received[0].timestamp);
    assert_ne!(received[1].signature, received[0].signature);
    let shown = bed.shown(webhook.id);
    assert_eq!((shown.waiting, shown.failed), (0, 1));
    assert_eq!(
        shown.problem.as_deref(),
        Some("the receiver answered with status 500")
    );
    let told = || {
        service
            .list_problems()
            .iter()
            .any(|problem| problem.contains("webhook 1"))
    };
    assert!(told());
    // The next one arrives.
    service.test_webhook(&admin(), webhook.id).unwrap();
    bed.deliver_until(&Receivers::default(), || {
        bed.shown(webhook.id).delivered_at.is_some()
    });
    assert!(!told());
}

#[test]
fn redirects_are_failures() {
    let bed = Bed::new();
    let (_, webhook) = bed.webhook("https://site.example/", &[], &[]);
    bed.service().test_webhook(&admin(), webhook.id).unwrap();
    let receivers = Receivers::answering(Ok(302));
    bed.deliver_until(&receivers, || bed.shown(webhook.id).problem.is_some());
    let problem = bed.shown(webhook.id).problem.unwrap();
    assert_eq!(
        problem,
        "the receiver redirects (302), which is not followed"
    );
    assert_eq!(bed.shown(webhook.id).waiting, 1);
}

#[test]
fn a_receiver_that_hangs_delays_neither_others_nor_the_end() {
    let bed = Bed::new();
    let hanging = bed.webhook("https://hangs.example/", &[], &[]).1.id;
    let other = bed.webhook("https://site.example/", &[], &[]).1.id;
    for id in [hanging, hanging, other] {
        bed.service().test_webhook(&admin(), id).unwrap();
    }
    let (hold, held) = mpsc::channel::<()>();
    let held = Arc::new(Mutex::new(held));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let send = move |message: &OutgoingMessage| {
            if message.url.contains("hangs") {
                // Until the test ends.
                let _ = held.lock().unwrap().recv();
            }
            Ok(204)
        };
        scope.spawn(|| bed.service().deliver_messages(&stop, send));
        wait_for("the other message", || {
            bed.shown(other).delivered_at.is_some()
        });
        stop.store(true, Ordering::Relaxed);
    });
    // It has ended although a receiver hangs, whose messages wait for the next start.
    assert_eq!(bed.shown(hanging).waiting, 2);
    drop(hold);
    let receivers = Receivers::default();
    bed.deliver_until(&receivers, || bed.shown(hanging).waiting == 0);
    assert_eq!(receivers.received().len(), 2);
}

/// The trigger stands for a full disk.
#[test]
fn a_message_whose_delivery_cannot_be_recorded_is_not_sent_again() {
    let bed = Bed::new();
    bed.service().divide_waiting_times(50);
    let (_, webhook) = bed.webhook("https://site.example/", &[], &[]);
    bed.service().test_webhook(&admin(), webhook.id).unwrap();
    let full =
        "CREATE TRIGGER full BEFORE UPDATE ON message BEGIN SELECT raise(ABORT, 'full'); END";
    bed.database().execute(full, []).unwrap();
    let receivers = Receivers::default();
    let refused = || {
        let problems = bed.service().list_problems();
        problems.iter().any(|problem| problem.contains("outbox"))
    };
    let began = Instant::now();
    bed.deliver_until(&receivers, || {
        // Long enough for another two rounds.
        let is_later = began.elapsed() > Duration::from_secs(4);
        if is_later && refused() {
            bed.database()
                .execute("DROP TRIGGER IF EXISTS full", [])
                .unwrap();
        }
        bed.shown(webhook.id).delivered_at.is_some()
    });
    assert_eq!(receivers.received().len(), 1);
}

#[test]
fn receivers_that_fail_and_hang_leave_deliveries_for_others() {
    let bed = Bed::new();
    let service = bed.service();
    let start: jiff::Timestamp = START.parse().unwrap();
    service.stop_clock_at(start);
    let hanging = (0..8).map(|number| {
        let url = format!("https://hangs.example/{number}");
        bed.webhook(&url, &[], &[]).1.id
    });
    let hanging: Vec<u64> = hanging.collect();
    for id in hanging.iter().flat_map(|&id| [id, id]) {
        service.test_webhook(&admin(), id).unwrap();
    }
    // Each has failed once.
    let failing = Receivers::answering(Ok(500));
    bed.deliver_until(&failing, || failing.received().len() >= 16);
    let other = bed.webhook("https://site.example/", &[], &[]).1.id;
    service.stop_clock_at(start + jiff::SignedDuration::from_secs(5));
    let (hold, held) = mpsc::channel::<()>();
    let held = Arc::new(Mutex::new(held));
    let begun = Arc::new(Mutex::new(0));
    let begun_by_sender = Arc::clone(&begun);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let send = move |message: &OutgoingMessage| {
            if message.url.contains("hangs") {
                *begun_by_sender.lock().unwrap() += 1;
                // Until the test ends.
                let _ = held.lock().unwrap().recv();
            }
            Ok(204)
        };
        scope.spawn(|| bed.service().deliver_messages(&stop, send));
        wait_for("the hanging deliveries", || *begun.lock().unwrap() == 4);
        service.test_webhook(&admin(), other).unwrap();
        wait_for("the other message", || {
            bed.shown(other).delivered_at.is_some()
        });
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(*begun.lock().unwrap(), 4);
    drop(hold);
}

#[test]
fn a_clock_that_was_ahead_does_not_hold_messages_up() {
    let bed = Bed::new();
    let (_, webhook) = bed.webhook("https://site.example/", &[], &[]);
    bed.service()
        .stop_clock_at("2036-11-27T12:00:00Z".parse().unwrap());
    bed.service().test_webhook(&admin(), webhook.id).unwrap();
    let failing = Receivers::answering(Ok(500));
    bed.deliver_until(&failing, || bed.shown(webhook.id).problem.is_some());
    bed.service().stop_clock_at(START.parse().unwrap());
    bed.deliver_until(&Receivers::default(), || {
        bed.shown(webhook.id).delivered_at.is_some()
    });
}

#[test]
fn a_webhook_that_is_removed_during_a_delivery_leaves_no_problem() {
    let bed = Bed::new();
    let service = bed.service();
    let (_, webhook) = bed.webhook("https://site.example/", &[], &[]);
    service.test_webhook(&admin(), webhook.id).unwrap();
    // The next failure is worth a warning.
    bed.database()
        .execute("UPDATE message SET attempts = 3", [])
        .unwrap();
    let (other, removed) = (bed.webhook("https://site.example/", &[], &[]).1, webhook.id);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let of_receiver = Arc::clone(service);
        let send = move |message: &OutgoingMessage| {
            let body: Value = serde_json::from_str(&message.body).unwrap();
            if body["data"]["actor"] == "second" {
                return Ok(204);
            }
            of_receiver.remove_webhook(&admin(), removed).unwrap();
            Ok(500)
        };
        scope.spawn(|| service.deliver_messages(&stop, send));
        wait_for("the removal", || {
            service.list_webhooks(&admin()).unwrap().len() == 1
        });
        // What is delivered after it is recorded after it.
        let second = service::Actor {
            name: "second".to_owned(),
            ..admin()
        };
        service.test_webhook(&second, other.id).unwrap();
        wait_for("the second message", || {
            bed.shown(other.id).delivered_at.is_some()
        });
        stop.store(true, Ordering::Relaxed);
    });
    let problems = service.list_problems();
    assert!(
        !problems.iter().any(|problem| problem.contains("webhook 1")),
        "{problems:?}"
    );
}

#[test]
fn webhooks_that_are_made_at_the_same_time_have_secrets_of_one_key() {
    let bed = Bed::new();
    let barrier = std::sync::Barrier::new(8);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                barrier.wait();
                bed.webhook("https://site.example/", &[], &[]);
            });
        }
    });
    for id in 1..=8 {
        bed.service().test_webhook(&admin(), id).unwrap();
    }
    let receivers = Receivers::default();
    let ended = |webhook: &Webhook| webhook.delivered_at.is_some() || webhook.problem.is_some();
    bed.deliver_until(&receivers, || {
        let all = bed.service().list_webhooks(&admin()).unwrap();
        all.iter().all(ended)
    });
    assert_eq!(receivers.received().len(), 8);
}

#[test]
fn messages_outlive_the_service_and_secrets_are_in_no_database() {
    let mut bed = Bed::new();
    let (secret, webhook) = bed.webhook("https://site.example/", &[], &[]);
    bed.service().test_webhook(&admin(), webhook.id).unwrap();
    bed = bed.restarted();
    let receivers = Receivers::default();
    bed.deliver_until(&receivers, || bed.shown(webhook.id).delivered_at.is_some());
    assert_eq!(receivers.received().len(), 1);
    let raw = STANDARD
        .decode(secret.strip_prefix("whsec_").unwrap())
        .unwrap();
    for name in ["service.db", "service.db-wal"] {
        let bytes = std::fs::read(bed.state().join(name)).unwrap();
        assert!(!bytes.windows(32).any(|part| part == raw), "{name}");
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(&secret["whsec_".len()..]), "{name}");
    }
    // A restored state has another key.
    std::fs::remove_file(bed.state().join("webhook-key")).unwrap();
    bed.service().test_webhook(&admin(), webhook.id).unwrap();
    bed.deliver_until(&receivers, || bed.shown(webhook.id).problem.is_some());
    let problem = bed.shown(webhook.id).problem.unwrap();
    assert!(problem.contains("its secret is lost"), "{problem}");
    assert_eq!(receivers.received().len(), 1);
}

#[test]
fn only_administrators_have_webhooks() {
    let bed = Bed::new();
    let service = bed.service();
    let others = actor("other", &[Scope::Read, Scope::Submit, Scope::Publish]);
    let new = |url: &str| NewWebhook {
        url: url.to_owned(),
        events: Vec::new(),
        machines: Vec::new(),
    };
    let id = bed.webhook("https://site.example/secret", &[], &[]).1.id;
    let refused = [
        service
            .make_webhook(&others, &new("https://site.example/"))
            .map(drop),
        service.list_webhooks(&others).map(drop),
        service.test_webhook(&others, id).map(drop),
        service.remove_webhook(&others, id),
    ];
    for result in refused {
        assert!(
            matches!(result, Err(ServiceError::Forbidden { .. })),
            "{result:?}"
        );
    }
    let unencrypted = service.make_webhook(&admin(), &new("http://site.example/"));
    assert!(matches!(
        unencrypted,
        Err(ServiceError::Invalid { field: "url", .. })
    ));
    let unknown = NewWebhook {
        machines: vec!["none".to_owned()],
        ..new("https://site.example/")
    };
    let unknown = service.make_webhook(&admin(), &unknown);
    assert!(matches!(
        unknown,
        Err(ServiceError::Invalid {
            field: "machines",
            ..
        })
    ));
    service.test_webhook(&admin(), id).unwrap();
    service.remove_webhook(&admin(), id).unwrap();
    assert_eq!(bed.messages(), Vec::<Value>::new());
    let removed = service.remove_webhook(&admin(), id);
    assert!(matches!(removed, Err(ServiceError::NotFound { .. })));
    let page = service
        .read_audit(&admin(), service::Slice::default())
        .unwrap();
    let actions: Vec<String> = page.items.into_iter().map(|row| row.action).collect();
    assert_eq!(actions, ["webhook.remove", "webhook.create"]);
    // An address may be a credential.
    let database = bed.database();
    let count = "SELECT count(*) FROM audit WHERE details LIKE '%/secret%'";
    let count: u32 = database.query_row(count, [], |row| row.get(0)).unwrap();
    assert_eq!(count, 0);
}
