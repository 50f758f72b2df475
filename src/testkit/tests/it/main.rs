//! Tests of what tests rely on.

#![expect(clippy::unwrap_used, reason = "tests panic")]

use std::fs;
use std::panic::catch_unwind;
use std::process::Command;
use std::time::Duration;

use testkit::fakes::{process_exists, wait_for};
use testkit::{process, require};

#[test]
#[ignore = "a child process of the test below"]
fn lacks() {
    let name = std::env::var("LACKING").unwrap();
    assert_eq!(require::<()>(&name, None), None);
}

#[test]
fn missing_requirements_fail_in_continuous_integration_unless_optional() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("skipped");
    let check = |name: &str, ci: &str, passes: bool| {
        let mut test = Command::new(std::env::current_exe().unwrap());
        test.args(["--exact", "lacks", "--ignored"])
            .envs([("LACKING", name), ("CI", ci)])
            .env("COLLTUNE_SKIPPED", &list);
        let ended = process::run_to_end(&mut test, Duration::from_secs(20));
        assert_eq!(ended.status.success(), passes, "{name}, CI={ci}: {ended:?}");
    };
    for ci in ["", "0", "false"] {
        check("valgrind", ci, true);
    }
    for ci in ["1", "true"] {
        check("valgrind", ci, false);
        check("newer MPI library", ci, true);
    }
    check("something else", "", false);
    let skipped = fs::read_to_string(list).unwrap();
    assert_eq!(skipped.lines().count(), 5, "{skipped}");
    assert!(skipped.starts_with("lacks: there is no valgrind: "));
}

#[test]
fn commands_that_take_too_long_are_killed_with_their_children() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let script = "trap '' TERM\nsleep 60 &\necho $! > \"$0\"\nsleep 60";
    let late = catch_unwind(|| {
        let mut command = Command::new("sh");
        command.args(["-c", script]).arg(&pid);
        process::run_to_end(&mut command, Duration::from_millis(500))
    });
    let late = late.unwrap_err();
    let message = late.downcast_ref::<String>().unwrap();
    assert!(message.contains("takes longer than 500ms"), "{message}");
    let pid = fs::read_to_string(pid).unwrap().trim().parse().unwrap();
    wait_for("the end of the child", || {
        (!process_exists(pid)).then_some(())
    });
}
