//! Tables on disk.

use std::fs;
use std::path::Path;

use table::{Table, TableError};

use crate::sample;

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("readable directory");
    let name = |entry: std::io::Result<fs::DirEntry>| {
        entry
            .expect("entry")
            .file_name()
            .to_string_lossy()
            .into_owned()
    };
    entries.map(name).collect()
}

#[test]
fn saving_replaces_the_whole_file() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let path = directory.path().join("tables/quickstart.yaml");
    let mut table = sample::table();
    table.save(&path).expect("saved in a new directory");
    table.collectives.clear();
    table.save(&path).expect("saved over the old file");
    assert_eq!(Table::load(&path).expect("loaded"), table);
    let parent = path.parent().expect("parent");
    assert_eq!(
        names(parent),
        ["quickstart.yaml"],
        "nothing else is left behind"
    );
}

#[cfg(unix)]
#[test]
fn a_saved_table_is_readable_by_others_and_keeps_links() {
    use std::os::unix::fs::{MetadataExt, symlink};
    let directory = tempfile::tempdir().expect("temporary directory");
    let (target, link) = (
        directory.path().join("real.yaml"),
        directory.path().join("link.yaml"),
    );
    let plain = directory.path().join("plain");
    fs::write(&plain, "").expect("written");
    sample::table().save(&target).expect("saved");
    symlink(&target, &link).expect("linked");
    let mut table = sample::table();
    table.name = "other".to_owned();
    table.save(&link).expect("saved through the link");
    assert!(link.is_symlink());
    assert_eq!(Table::load(&target).expect("loaded"), table);
    let mode = |path: &Path| fs::metadata(path).expect("metadata").mode();
    assert_eq!(mode(&target), mode(&plain), "as any new file");
}

#[test]
fn an_invalid_table_is_not_written() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let path = directory.path().join("t.yaml");
    fs::write(&path, "precious").expect("written");
    let check = |spoil: fn(&mut Table), message: &str| {
        let mut table = sample::table();
        spoil(&mut table);
        match table.save(&path) {
            Err(TableError::Unsound(invalid)) => {
                assert!(invalid.message.contains(message), "{invalid}")
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(fs::read_to_string(&path).expect("read"), "precious");
        assert_eq!(names(directory.path()), ["t.yaml"]);
    };
    fn entries(table: &mut Table) -> &mut Vec<table::ShapeRules> {
        table
            .collectives
            .get_mut(&schedule::Collective::Allreduce)
            .expect("allreduce")
    }
    check(|t| entries(t).clear(), "`shapes` is empty");
    check(|t| entries(t)[0].rules.clear(), "`rules` is empty");
    check(
        |t| entries(t)[0].rules.reverse(),
        "smaller messages have no rule",
    );
    check(|t| entries(t)[0].rules.swap(1, 2), "does not come after");
    check(|t| entries(t)[0].measured.reverse(), "does not come after");
    check(
        |t| entries(t)[0].measured[0].seconds = f64::NAN,
        "a time from 1e-15 s to 1e9 s",
    );
    check(
        |t| entries(t)[0].rules[1].speedup = Some(f64::INFINITY),
        "expected a number",
    );
    check(|t| entries(t)[0].shape.ppn = 0, "`ppn` must not be zero");
}

#[test]
fn a_directory_in_which_no_file_can_be_created() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let occupied = directory.path().join("occupied");
    fs::write(&occupied, "a file").expect("written");
    let error = sample::table()
        .save(&occupied.join("t.yaml"))
        .expect_err("not a directory");
    assert!(matches!(error, TableError::Write { .. }), "{error:?}");
    assert!(
        error.to_string().contains("no file can be created in"),
        "{error}"
    );
    assert!(error.to_string().contains("occupied"), "{error}");
}

/// Not even root can create a file in `/proc`: a read-only directory for every user.
#[cfg(target_os = "linux")]
#[test]
fn a_directory_that_is_read_only() {
    let error = sample::table()
        .save(Path::new("/proc/t.yaml"))
        .expect_err("read-only");
    assert!(matches!(error, TableError::Write { .. }), "{error:?}");
    let start = "cannot write the table /proc/t.yaml: no file can be created in /proc: ";
    assert!(error.to_string().starts_with(start), "{error}");
}

#[test]
fn a_file_that_cannot_be_read() {
    let error = Table::load(Path::new("tables/absent.yaml")).expect_err("absent");
    assert!(matches!(error, TableError::Read { .. }), "{error:?}");
    assert!(
        error
            .to_string()
            .starts_with("cannot read the table tables/absent.yaml: "),
        "{error}"
    );
}
