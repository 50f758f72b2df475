//! Tables by digest.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use service::{Digest, ServiceError};

use crate::bed::{Bed, choosing};

fn place(bed: &Bed, digest: &Digest) -> PathBuf {
    let folder = bed.state().join("blobs/sha256").join(&digest.as_str()[..2]);
    folder.join(format!("{digest}.yaml"))
}

#[test]
fn a_blob_is_a_read_only_file() {
    let bed = Bed::new();
    let text = choosing("chain");
    let digest = bed.added(&text);
    assert_eq!(digest, Digest::of_bytes(text.as_bytes()));
    let path = place(&bed, &digest);
    let mode = fs::metadata(&path).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o444);
    assert_eq!(
        bed.service().read_blob(&digest).expect("a blob"),
        text.as_bytes()
    );
    assert_eq!(
        bed.service().read_table(&digest).expect("a table").name,
        "night"
    );
    let folder = path.parent().expect("a folder");
    assert_eq!(fs::read_dir(folder).expect("a folder").count(), 1);
}

#[test]
fn damaged_blobs_are_never_returned() {
    let bed = Bed::new();
    let text = choosing("chain");
    let digest = bed.added(&text);
    let path = place(&bed, &digest);
    let is_damaged = || {
        let error = bed.service().read_blob(&digest).expect_err("damaged");
        assert!(matches!(error, ServiceError::Damaged { .. }), "{error}");
    };
    fs::remove_file(&path).expect("removed");
    is_damaged();
    fs::write(&path, text.replace("chain", "pipeline")).expect("written");
    is_damaged();
    // Adding its text again repairs it.
    bed.added(&text);
    assert_eq!(
        bed.service().read_blob(&digest).expect("a blob"),
        text.as_bytes()
    );

    let unknown = Digest::of_bytes(b"unknown");
    let error = bed.service().read_blob(&unknown).expect_err("unknown");
    assert!(
        matches!(error, ServiceError::NotFound { kind: "table", .. }),
        "{error}"
    );
}

/// As if the service had been killed between the file and its row.
#[test]
fn a_file_without_a_row_is_ignored() {
    let bed = Bed::new();
    let text = choosing("chain");
    let digest = Digest::of_bytes(text.as_bytes());
    let path = place(&bed, &digest);
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(&path, &text).expect("written");
    fs::write(path.with_file_name(".new-x"), "form").expect("written");
    let bed = bed.restarted();
    assert!(
        bed.service()
            .versions_with_digest(&digest)
            .expect("versions")
            .is_empty()
    );
    assert_eq!(bed.added(&text), digest);
    assert_eq!(
        bed.service()
            .versions_with_digest(&digest)
            .expect("versions")
            .len(),
        1
    );
}

/// A text that is no digest cannot name a file.
#[test]
fn paths_are_refused_as_digests() {
    for text in [
        "..",
        "",
        "../../../etc/passwd",
        &"A".repeat(64),
        &"a/".repeat(32),
        &"a".repeat(63),
    ] {
        assert!(text.parse::<Digest>().is_err(), "{text}");
    }
}
