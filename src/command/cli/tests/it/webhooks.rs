//! Webhooks of a service that is started as users start it, with a receiver on loopback.

use std::time::{Duration, Instant, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use testkit::web::{HttpRequest, Reply, Server};

use crate::run::{Place, Ran};
use crate::serve::Serving;

const CONFIGURATION: &str = "\
listen: 127.0.0.1:0
webhooks: {private_addresses: true}
";

/// Verifies a message as the specification of Standard Webhooks demands it of receivers: the signature is one of the
/// identifier, the time and the body, and the time is that of now.
fn verify_message(message: &HttpRequest, secret: &str) -> Result<(), String> {
    let header = |name: &str| {
        let value = message.headers.get(name);
        value.ok_or_else(|| format!("{name} is missing"))
    };
    let [id, timestamp] = ["webhook-id", "webhook-timestamp"].map(header);
    let (id, timestamp) = (id?, timestamp?);
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let sent: u64 = timestamp.parse().map_err(|_| "the time is no number")?;
    if since_1970.unwrap().as_secs().abs_diff(sent) > 300 {
        return Err(format!("the time is {sent}"));
    }
    let key = secret.strip_prefix("whsec_").ok_or("no secret")?;
    let mut code = Hmac::<Sha256>::new_from_slice(&STANDARD.decode(key).unwrap()).unwrap();
    code.update(format!("{id}.{timestamp}.{}", message.body).as_bytes());
    let expected = format!("v1,{}", STANDARD.encode(code.finalize().into_bytes()));
    let mut signatures = header("webhook-signature")?.split(' ');
    if signatures.any(|signature| signature == expected) {
        Ok(())
    } else {
        Err("the signature is wrong".to_owned())
    }
}

#[test]
fn a_receiver_on_loopback_gets_signed_messages() {
    let receiver = Server::start(|_| Reply::new(204, &[], ""));
    let place = Place::new();
    place.write("service.yaml", CONFIGURATION);
    let mut serving = Serving::start(&mut place.command(&["serve", "--config", "service.yaml"]));
    let url = format!("http://{}", serving.address());
    let remote = |args: &[&str]| -> Ran {
        let session = ["remote", "--url", &url, "--token-file", "service/token"];
        place.run(&[&session[..], args].concat())
    };
    let hook = format!("{}/hook", receiver.url());
    let made = remote(&["webhooks", "--make", &hook, "--event", "finding.opened"]);
    let secret = made.good().out.trim().to_owned();
    assert_eq!(receiver.requests(), []);

    let told = remote(&["webhooks", "--test", "1"]).good();
    assert!(told.out.contains("is on its way"), "{}", told.out);
    let end = Instant::now() + Duration::from_secs(30);
    while receiver.requests().is_empty() {
        assert!(Instant::now() < end, "no message arrives");
        std::thread::sleep(Duration::from_millis(20));
    }
    let messages = receiver.requests();
    let [message] = &messages[..] else {
        panic!("{messages:?}");
    };
    assert_eq!((&*message.method, &*message.path), ("POST", "/hook"));
    let body: Value = serde_json::from_str(&message.body).unwrap();
    assert_eq!(body["type"], "test");
    assert_eq!(verify_message(message, &secret), Ok(()));
    // The receiver notices what is changed on the way, and another sender.
    let mut changed = message.clone();
    changed.body = message.body.replace("test", "best");
    let wrong = Err("the signature is wrong".to_owned());
    assert_eq!(verify_message(&changed, &secret), wrong);
    let other = format!("whsec_{}", STANDARD.encode([7; 32]));
    assert_eq!(verify_message(message, &other), wrong);

    // The service notes the delivery after the answer.
    let listed = || remote(&["webhooks", "--json"]).good().json();
    while listed()[0]["delivered_at"].is_null() {
        assert!(Instant::now() < end, "{}", listed());
        std::thread::sleep(Duration::from_millis(50));
    }
    let shown = listed();
    let counts = [&shown[0]["waiting"], &shown[0]["failed"]];
    assert_eq!(counts, [&json!(0), &json!(0)], "{shown}");
}
