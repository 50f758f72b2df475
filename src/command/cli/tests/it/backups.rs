//! `colltune backup` and `colltune restore`.

use service::{Configuration, Service};

use crate::run::Place;

#[test]
fn backup_copies_a_state_and_restore_brings_it_back() {
    let place = Place::new();
    let configuration = Configuration::for_folder(&place.path("")).unwrap();
    let service = Service::open(configuration, "colltune".into()).unwrap();
    let secret = service.owner_token().unwrap();
    // A backup may be made while a service uses the state.
    let ran = place.run(&["backup", "service", "copy/monday"]).good();
    assert!(ran.out.contains("copy/monday is complete"), "{}", ran.out);
    for (path, bytes) in place.files() {
        let is_copy = path.starts_with(place.path("copy"));
        let secret = secret.expose().as_bytes();
        let has_secret = bytes.windows(secret.len()).any(|part| part == secret);
        assert!(!(is_copy && has_secret), "{path:?} holds a secret");
    }
    place
        .run(&["backup", "service", "copy/monday"])
        .bad(2, &["copy/monday", "already exists"]);
    place
        .run(&["restore", "copy/monday", "service"])
        .bad(2, &["service", "already exists"]);
    place
        .run(&["restore", "copy/monday", "other/service"])
        .good();
    assert!(place.path("other/service/service.db").exists());
    place
        .run(&["backup", "none", "copy/none"])
        .bad(2, &["none"]);
    assert!(!place.path("copy/none").exists());
    let database = place.path("copy/monday/service.db");
    let mut bytes = std::fs::read(&database).unwrap();
    bytes[5000] ^= 1;
    std::fs::write(&database, bytes).unwrap();
    place
        .run(&["restore", "copy/monday", "third"])
        .bad(2, &["digest"]);
    assert!(!place.path("third").exists());
}
