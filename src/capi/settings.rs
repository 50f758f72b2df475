//! How tables are used, as the environment says, and where warnings go.

use std::ffi::OsString;
use std::io::Write;

use runtime::Settings;

/// What is set and not empty.
pub fn given(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Whether something is switched on.
pub fn is_set(name: &str) -> bool {
    given(name).is_some_and(|value| value != "0")
}

/// `COLLTUNE_FORCE` and `COLLTUNE_RELOAD`; the same on all ranks.
pub fn settings() -> Settings {
    Settings {
        force: is_set("COLLTUNE_FORCE"),
        reload: is_set("COLLTUNE_RELOAD"),
        timed: false,
        warn: Some(warn),
    }
}

/// One line on standard error. A program whose standard error is gone goes on.
pub fn warn(text: &str) {
    let _ = writeln!(std::io::stderr(), "colltune: warning: {text}");
}
