//! Reading a file that is being written, or was left by a writer that died.

use std::fs::{self, File};
use std::io::Write;

use proptest::prelude::*;
use store::{SpoolReader, StoreError};
use wire::{Finish, Record};

use crate::fixture::done;

fn line(record: &Record) -> String {
    serde_json::to_string(record).expect("serializable") + "\n"
}

#[test]
fn follows_a_growing_file_by_whole_lines() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("spool.jsonl");
    let mut reader = SpoolReader::new(&path);
    assert!(reader.next_record().expect("no file yet").is_none());

    let mut file = File::create(&path).expect("created");
    let mut append = |text: &str| file.write_all(text.as_bytes()).expect("written");
    assert!(reader.next_record().expect("empty").is_none());
    let (first, second) = (
        done(1, &[vec![0.5]]),
        Record::Finished {
            reason: Finish::Complete,
        },
    );
    let text = line(&first);
    let (head, tail) = text.split_at(text.len() / 2);
    append(head);
    assert!(reader.next_record().expect("torn").is_none());
    assert!(reader.next_record().expect("still torn").is_none());
    append(tail.trim_end());
    assert!(
        reader
            .next_record()
            .expect("all but the line's end")
            .is_none()
    );
    append("\n");
    append(&line(&second));
    assert_eq!(reader.next_record().expect("complete"), Some(first));
    assert_eq!(reader.next_record().expect("complete"), Some(second));
    assert!(reader.next_record().expect("end").is_none());
}

#[test]
fn names_the_line_that_is_no_record_and_continues() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("spool.jsonl");
    let good = done(1, &[vec![0.5]]);
    let endless = line(&good).replace("0.5", "1e308");
    assert_ne!(endless, line(&good));
    for bad in [
        endless.trim_end(),
        "{\"record\":\"novel\"}",
        "mpirun: warning",
        "",
        "\0\0",
        "{} {}",
        "\u{fffd}{",
    ] {
        fs::write(&path, line(&good) + bad + "\n" + &line(&good)).expect("written");
        let mut reader = SpoolReader::new(&path);
        assert_eq!(reader.next_record().expect("good"), Some(good.clone()));
        let error = reader.next_record().expect_err(bad);
        assert!(
            matches!(error, StoreError::Spool { line: 2, .. }),
            "{error:?}"
        );
        assert!(
            error
                .to_string()
                .starts_with(&format!("{}:2:", path.display())),
            "{error}"
        );
        assert_eq!(reader.next_record().expect("good"), Some(good.clone()));
        assert!(reader.next_record().expect("end").is_none());
    }
}

#[test]
fn names_the_file_that_cannot_be_read() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let error = SpoolReader::new(folder.path())
        .next_record()
        .expect_err("a folder");
    assert!(
        matches!(&error, StoreError::File { path, .. } if path == folder.path()),
        "{error:?}"
    );
}

proptest! {
    /// A spool that is cut anywhere gives the records before the cut, and the rest when it is written.
    #[test]
    fn survives_a_cut_anywhere(
        times in proptest::collection::vec((-15.0..9.0_f64).prop_map(|power| 10_f64.powf(power)), 0..20),
        cut in any::<proptest::sample::Index>(),
    ) {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("spool.jsonl");
        let records: Vec<_> =
            (0..).zip(&times).map(|(task, time)| done(task, &[vec![*time]])).collect();
        let text: String = records.iter().map(line).collect();
        let (before, after) = text.split_at(cut.index(text.len() + 1));
        fs::write(&path, before)?;
        let mut reader = SpoolReader::new(&path);
        let mut read = Vec::new();
        while let Some(record) = reader.next_record()? {
            read.push(record);
        }
        prop_assert_eq!(read.len(), before.matches('\n').count());
        File::options().append(true).open(&path)?.write_all(after.as_bytes())?;
        while let Some(record) = reader.next_record()? {
            read.push(record);
        }
        prop_assert_eq!(read, records);
    }
}
