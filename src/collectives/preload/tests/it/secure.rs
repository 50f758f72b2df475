//! Programs that run with other rights than their caller's.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use testkit::require;

const TEST: &str = "secure::variables_do_nothing_in_setuid_programs";
/// The variable that is set in the program that this test starts, which is a copy of itself.
const INNER: &str = "COLLTUNE_TEST_INNER";
/// Another user than root.
const OTHER: u32 = 65534;
const NAMES: [&str; 3] = ["COLLTUNE_TABLE", "COLLTUNE_LOG", "COLLTUNE_FORCE"];

/// The variables as read by a copy of this test with this file mode.
fn told(program: &Path, mode: u32) -> String {
    fs::set_permissions(program, fs::Permissions::from_mode(mode)).expect("a mode");
    let output = Command::new(program)
        .args(["--exact", TEST, "--nocapture"])
        .env(INNER, "1")
        .envs(NAMES.map(|name| (name, "1")))
        .output()
        .expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}");
    text
}

#[test]
fn variables_do_nothing_in_setuid_programs() {
    if std::env::var_os(INNER).is_some() {
        let given = NAMES.map(|name| capi::variable_value(name).is_some());
        // SAFETY: returns a number.
        let user = unsafe { libc::geteuid() };
        println!("user {user}, given {given:?}");
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let program = folder.path().join("program");
    let own = std::env::current_exe().expect("this program");
    fs::copy(own, &program).expect("copied");
    let plain = told(&program, 0o755);
    assert!(plain.contains("given [true, true, true]"), "{plain}");
    let given = chown(&program, Some(OTHER), None).ok();
    let setuid = given.map(|()| told(&program, 0o4755));
    let setuid = setuid.filter(|text| text.contains(&format!("user {OTHER}")));
    if let Some(text) = require("setuid programs", setuid) {
        assert!(text.contains("given [false, false, false]"), "{text}");
    }
}
