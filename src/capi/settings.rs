//! How tables are used, as the environment says, and where warnings go.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

use runtime::{Loaded, RuntimeError, Settings};
use table::{Confidence, Policy};

/// What is set and not empty; nothing in a program that runs with other rights than its caller's, as by a setuid
/// bit, since the caller must not choose which files it reads and writes.
pub fn given(name: &str) -> Option<OsString> {
    // SAFETY: reads a number that the kernel gave the process when it began.
    let is_secure = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    std::env::var_os(name).filter(|value| !is_secure && !value.is_empty())
}

/// Whether something is switched on.
pub fn is_set(name: &str) -> bool {
    given(name).is_some_and(|value| value != "0")
}

/// A table, and how it is used: `COLLTUNE_FORCE`, `COLLTUNE_RELOAD` and the policy's variables, the same on all
/// ranks. One with a value that it cannot have takes the table's place.
pub fn read(table: &Path) -> (Result<Loaded, RuntimeError>, Settings) {
    let settings = |policy| Settings {
        force: is_set("COLLTUNE_FORCE"),
        reload: is_set("COLLTUNE_RELOAD"),
        policy,
        timed: false,
        warn: Some(warn),
    };
    match policy() {
        Ok(policy) => (Loaded::read(table).map_err(Into::into), settings(policy)),
        Err(error) => (Err(error), settings(Policy::default())),
    }
}

/// `COLLTUNE_MIN_CONFIDENCE`, `COLLTUNE_UNCONFIRMED` and `COLLTUNE_EXTRAPOLATE`.
fn policy() -> Result<Policy, RuntimeError> {
    let name = "COLLTUNE_MIN_CONFIDENCE";
    let min_confidence = match given(name) {
        None => None,
        Some(value) => match value.to_str() {
            Some("low") => Some(Confidence::Low),
            Some("medium") => Some(Confidence::Medium),
            Some("high") => Some(Confidence::High),
            _ => {
                return Err(RuntimeError::Variable {
                    name,
                    value: value.to_string_lossy().into_owned(),
                    expected: "low, medium or high",
                });
            }
        },
    };
    Ok(Policy {
        min_confidence,
        unconfirmed: switch("COLLTUNE_UNCONFIRMED")?,
        extrapolate: switch("COLLTUNE_EXTRAPOLATE")?,
    })
}

/// Whether something is switched on that must not be by mistake.
fn switch(name: &'static str) -> Result<bool, RuntimeError> {
    match given(name) {
        None => Ok(false),
        Some(value) if value == "0" => Ok(false),
        Some(value) if value == "1" => Ok(true),
        Some(value) => Err(RuntimeError::Variable {
            name,
            value: value.to_string_lossy().into_owned(),
            expected: "0 or 1",
        }),
    }
}

/// One line on standard error. A program whose standard error is gone goes on.
pub fn warn(text: &str) {
    let _ = writeln!(std::io::stderr(), "colltune: warning: {text}");
}
