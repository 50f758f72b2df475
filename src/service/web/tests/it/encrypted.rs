//! A service that speaks TLS itself.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use service::{Configuration, Tls};
use testkit::certificates::{Authority, Certified};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion, version,
};

use crate::fixture::{Answer, Site, exchange};

fn put(folder: &Path, certified: &Certified) -> Tls {
    let tls = Tls {
        certificate: folder.join("chain.pem"),
        key: folder.join("key.pem"),
    };
    fs::write(&tls.certificate, &certified.certificate).unwrap();
    fs::write(&tls.key, &certified.key).unwrap();
    fs::set_permissions(&tls.key, fs::Permissions::from_mode(0o640)).unwrap();
    tls
}

fn encrypt(authority: &Authority) -> impl FnOnce(&mut Configuration, &Path) {
    |configuration, folder| {
        let certified = authority.certify(&["127.0.0.1"], [2020, 4000]);
        configuration.tls = Some(put(folder, &certified));
    }
}

fn site(authority: &Authority) -> Site {
    Site::with(encrypt(authority))
}

/// Sends a request in this version of TLS; fails unless the authority has signed the service's certificate.
fn ask(
    site: &Site,
    authority: &Authority,
    version: &'static SupportedProtocolVersion,
    request: &str,
) -> Answer {
    let mut roots = RootCertStore::empty();
    let own = CertificateDer::from_pem_slice(authority.pem().as_bytes());
    roots.add(own.unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[version])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let client = ClientConnection::new(Arc::new(config), name).unwrap();
    exchange(StreamOwned::new(client, site.connect()), request.as_bytes())
}

const READY: &str = "GET /readyz HTTP/1.1\r\nHost: any\r\nConnection: close\r\n\r\n";

#[test]
fn browsers_are_told_to_come_back_encrypted_and_to_send_cookies_only_so() {
    let authority = Authority::new("site");
    let site = site(&authority);
    for version in [&version::TLS12, &version::TLS13] {
        let answer = ask(&site, &authority, version, READY);
        assert_eq!(answer.status, 200, "{answer:?}");
        let told = answer.header("strict-transport-security");
        assert_eq!(told, Some("max-age=31536000"));
    }
    let body = json!({"token": site.owner}).to_string();
    let request = format!(
        "POST /api/v1/session HTTP/1.1\r\nHost: any\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let begun = ask(&site, &authority, &version::TLS13, &request).expect(201);
    let cookie = begun.header("set-cookie").unwrap();
    assert!(
        cookie.starts_with("__Host-colltune=") && cookie.ends_with("; Secure"),
        "{cookie}"
    );
}

/// The first message of a client that knows nothing newer than this version: 3.3 is TLS 1.2, 3.1 is TLS 1.0.
fn greeting(version: [u8; 2]) -> Vec<u8> {
    // ECDHE_ECDSA with AES, of TLS 1.2 and of older versions.
    let suites = [0xc0, 0x2b, 0xc0, 0x09];
    let groups = [0, 10, 0, 4, 0, 2, 0, 0x1d];
    let points = [0, 11, 0, 2, 1, 0];
    let signatures = [0, 13, 0, 4, 0, 2, 4, 3];
    let extensions = [&groups[..], &points, &signatures].concat();
    let hello = [
        &version[..],
        &[7; 32],
        &[0],
        &[0, suites.len() as u8],
        &suites,
        &[1, 0],
        &[0, extensions.len() as u8],
        &extensions,
    ]
    .concat();
    let length = hello.len() as u8;
    [&[22, 3, 1, 0, length + 4][..], &[1, 0, 0, length], &hello].concat()
}

#[test]
fn versions_of_tls_before_1_2_are_refused() {
    let authority = Authority::new("site");
    let site = site(&authority);
    let answer = |version| {
        let mut stream = site.connect();
        stream.write_all(&greeting(version)).unwrap();
        let mut start = [0; 7];
        stream.read_exact(&mut start).unwrap();
        start
    };
    // The type and length of the first record: an alert, 21, has two bytes; the first one is 2 if it is fatal.
    for version in [[3, 0], [3, 1], [3, 2]] {
        let found = answer(version);
        assert_eq!((found[0], &found[3..6]), (21, &[0, 2, 2][..]), "{found:?}");
    }
    assert_eq!(answer([3, 3])[0], 22);
}

#[test]
fn requests_without_encryption_are_told_to_use_https() {
    let authority = Authority::new("site");
    let site = site(&authority);
    for request in [
        READY.to_owned(),
        format!(
            "POST /login HTTP/1.1\r\nHost: any\r\nContent-Length: 50000\r\n\r\n{:50000}",
            ""
        ),
    ] {
        let answer = exchange(site.connect(), request.as_bytes()).expect(400);
        assert!(answer.head.starts_with("HTTP/1.1 400 "), "{answer:?}");
        assert!(answer.body.contains("https://"), "{answer:?}");
    }
    let other = exchange(site.connect(), b"\x00\x01\x02\r\n\r\n");
    assert_ne!(other.status, 200, "{other:?}");
}

#[test]
fn half_a_handshake_slows_nobody_and_is_ended_after_ten_seconds() {
    let authority = Authority::new("site");
    let site = site(&authority);
    let begun = Instant::now();
    let half: Vec<TcpStream> = (0..200)
        .map(|index| {
            let mut stream = site.connect();
            let hello = greeting([3, 3]);
            stream.write_all(&hello[..index % hello.len()]).unwrap();
            stream
        })
        .collect();
    let mut times: Vec<Duration> = (0..20)
        .map(|_| {
            let start = Instant::now();
            let answer = ask(&site, &authority, &version::TLS13, READY);
            assert_eq!(answer.status, 200, "{answer:?}");
            start.elapsed()
        })
        .collect();
    times.sort();
    assert!(times[10] < Duration::from_millis(500), "{times:?}");
    for mut stream in half {
        let mut answer = Vec::new();
        // Closed or reset.
        let _ = stream.read_to_end(&mut answer);
        assert!(answer.is_empty(), "{answer:?}");
    }
    let took = begun.elapsed();
    assert!(
        (Duration::from_secs(8)..Duration::from_secs(18)).contains(&took),
        "{took:?}"
    );
}
