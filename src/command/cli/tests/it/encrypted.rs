//! `colltune serve` with a certificate of its own, and what `remote` says about wrong ones.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{ChildStderr, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use testkit::certificates::{Authority, Certified};

use crate::run::{Place, Ran};
use crate::serve::Serving;

/// Every year to come.
const YEARS: [i32; 2] = [2020, 4000];

const CONFIGURATION: &str = "tls: {certificate: chain.pem, key: key.pem}\nlisten: 127.0.0.1:0\n";

fn put(place: &Place, certified: &Certified) {
    place.write("chain.pem", &certified.certificate);
    put_key(place, &certified.key, 0o600);
}

fn put_key(place: &Place, key: &str, mode: u32) {
    place.write("key.pem", key);
    fs::set_permissions(place.path("key.pem"), fs::Permissions::from_mode(mode)).unwrap();
}

/// A service, what it prints to standard error, and its port.
struct Encrypted {
    place: Place,
    serving: Serving,
    told: Receiver<String>,
    port: String,
}

impl Encrypted {
    fn start(certified: &Certified) -> Self {
        let place = Place::new();
        place.write("service.yaml", CONFIGURATION);
        put(&place, certified);
        let mut command = place.command(&["serve", "--config", "service.yaml"]);
        let mut serving = Serving::start(command.stderr(Stdio::piped()));
        let told = lines(serving.stderr());
        let greeting = serving.line();
        let (_, port) = greeting.trim_end_matches('/').rsplit_once(':').unwrap();
        Self {
            port: port.to_owned(),
            place,
            serving,
            told,
        }
    }

    /// Replaces the certificate, and waits for what the service says about it.
    fn renew(&self, certified: &Certified) -> String {
        put(&self.place, certified);
        self.serving.signal(Signal::SIGHUP);
        self.told()
    }

    fn told(&self) -> String {
        self.told.recv_timeout(Duration::from_secs(20)).unwrap()
    }

    fn ask(&self, url: &str, ca: Option<&Authority>) -> Ran {
        let url = format!("{url}:{}", self.port);
        let mut args = vec!["remote", "--url", &url, "tasks"];
        if let Some(authority) = ca {
            self.place.write("ca.pem", authority.pem());
            args.extend(["--ca", "ca.pem"]);
        }
        self.place.run(&args)
    }
}

fn lines(stderr: ChildStderr) -> Receiver<String> {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines() {
            let Ok(line) = line else { return };
            if tell.send(line).is_err() {
                return;
            }
        }
    });
    told
}

#[test]
fn remote_says_what_is_wrong_with_a_certificate() {
    let (authority, other) = (Authority::new("site"), Authority::new("other"));
    let own = |names: &[&str]| authority.certify(names, YEARS);
    let site = Encrypted::start(&own(&["127.0.0.1"]));
    let here = "https://127.0.0.1";
    site.ask(here, Some(&authority)).good();
    for ca in [None, Some(&other)] {
        site.ask(here, ca).bad(3, &["trusted authority", "--ca"]);
    }
    site.ask("https://localhost", Some(&authority))
        .bad(3, &["not for the host localhost", "127.0.0.1"]);
    site.ask("http://127.0.0.1", None)
        .bad(2, &["write https:// in place of http://"]);
    for (certified, expected) in [
        (
            authority.certify(&["127.0.0.1"], [2020, 2024]),
            "has expired on 2024-01-01",
        ),
        (
            authority.certify(&["127.0.0.1"], [3000, 4000]),
            "not valid before 3000-01-01",
        ),
        (authority.own_certificate(), "CA:FALSE"),
    ] {
        let told = site.renew(&certified);
        assert!(told.contains("uses the new certificate"), "{told}");
        site.ask(here, Some(&authority)).bad(3, &[expected]);
    }
}

#[test]
fn remote_says_that_an_answer_is_not_encrypted() {
    let place = Place::new();
    let mut command = place.command(&["serve", "--listen", "127.0.0.1:0"]);
    let mut serving = Serving::start(&mut command);
    let url = format!("https://{}", serving.address());
    place
        .run(&["remote", "--url", &url, "tasks"])
        .bad(3, &["not encrypted; write http://"]);
}

#[test]
fn a_certificate_is_renewed_without_a_restart() {
    let (former, later) = (Authority::new("former"), Authority::new("later"));
    let certified = |authority: &Authority| authority.certify(&["127.0.0.1"], YEARS);
    let site = Encrypted::start(&certified(&former));
    let here = "https://127.0.0.1";
    // At the signal: a new one is used, and one that cannot be used is refused.
    let told = site.renew(&certified(&later));
    assert!(
        told.starts_with("uses the new certificate in /") && told.ends_with("/chain.pem"),
        "{told}"
    );
    site.ask(here, Some(&later)).good();
    site.ask(here, Some(&former)).bad(3, &["trusted authority"]);
    let unmatched = Certified {
        key: certified(&former).key,
        ..certified(&former)
    };
    let refused = site.renew(&unmatched);
    assert!(
        refused.contains("former certificate remains in use"),
        "{refused}"
    );
    assert!(refused.contains("is not the key of"), "{refused}");
    site.ask(here, Some(&later)).good();
    // Without a signal.
    put(&site.place, &certified(&former));
    let begun = Instant::now();
    let reloaded = site.told();
    assert!(reloaded.contains("uses the new certificate"), "{reloaded}");
    assert!(begun.elapsed() < Duration::from_secs(15));
    site.ask(here, Some(&former)).good();
}

#[test]
fn serve_says_why_a_certificate_cannot_be_used() {
    let authority = Authority::new("site");
    let own = authority.certify(&["127.0.0.1"], YEARS);
    let other = authority.certify(&["127.0.0.1"], YEARS);
    let garbage = "-----BEGIN CERTIFICATE-----\nMAAA\n-----END CERTIFICATE-----\n";
    let damaged = "-----BEGIN CERTIFICATE-----\n%%%\n-----END CERTIFICATE-----\n";
    let no_key = "-----BEGIN PRIVATE KEY-----\nMAAA\n-----END PRIVATE KEY-----\n";
    let locked =
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    let cases: [(&str, &str, u32, &[&str]); 9] = [
        (
            &own.key,
            &own.key,
            0o600,
            &["chain.pem", "no certificate in PEM"],
        ),
        ("", &own.key, 0o600, &["chain.pem", "no certificate in PEM"]),
        (garbage, &own.key, 0o600, &["cannot use", "chain.pem"]),
        (damaged, &own.key, 0o600, &["chain.pem", "is damaged"]),
        (&own.certificate, no_key, 0o600, &["cannot use", "key.pem"]),
        (&own.certificate, locked, 0o600, &["key.pem", "passphrase"]),
        (
            &own.certificate,
            &other.key,
            0o600,
            &["key.pem is not the key of", "chain.pem"],
        ),
        (&own.certificate, &own.key, 0o644, &["chmod o= ", "key.pem"]),
        (&own.certificate, &own.key, 0o602, &["chmod o= ", "key.pem"]),
    ];
    let place = Place::new();
    place.write("service.yaml", CONFIGURATION);
    let serve = ["serve", "--config", "service.yaml"];
    for (certificate, key, mode, expected) in cases {
        place.write("chain.pem", certificate);
        put_key(&place, key, mode);
        place.run(&serve).bad(2, expected);
    }
    put(&place, &own);
    for name in ["key.pem", "chain.pem"] {
        fs::remove_file(place.path(name)).unwrap();
        place
            .run(&serve)
            .bad(2, &["service.yaml", name, "cannot be read: No such file"]);
    }
}
