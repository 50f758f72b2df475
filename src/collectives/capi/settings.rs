//! Settings of tables from the environment, and the output of warnings.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

use environment::force::{self, Force};
use environment::shared_memory;
use files::{MOST_QUOTED, Plain, quoted};
use runtime::{ATTACH_AFTER_BYTES, Loaded, RuntimeError, Settings};
use table::{Confidence, Numerics, Policy};
use vocabulary::units::parse_bytes;

/// The value of a variable that is set and not empty. `None` in a setuid or similar program, because its caller must
/// not choose the files that it reads and writes.
pub fn variable_value(name: &str) -> Option<OsString> {
    // SAFETY: reads a number that the kernel passed to the process at its start.
    let is_secure = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    std::env::var_os(name).filter(|value| !is_secure && !value.is_empty())
}

/// Whether a switch is on.
pub fn is_set(name: &str) -> bool {
    variable_value(name).is_some_and(|value| value != "0")
}

/// Reads a table, and its settings from `COLLTUNE_FORCE`, `COLLTUNE_RELOAD`, `COLLTUNE_ATTACH_AFTER` and the policy's
/// variables, which must be the same on all ranks, and from `COLLTUNE_SHARED_MEMORY`. An invalid value of a variable is
/// returned as the table's error.
pub fn read_with_settings(table: &Path) -> (Result<Loaded, RuntimeError>, Settings) {
    let settings = |force, policy, shared_bytes, attach_after| Settings {
        force,
        reload: is_set("COLLTUNE_RELOAD"),
        policy,
        timed: false,
        warn: Some(print_warning),
        shared_memory_bytes: Some(shared_bytes),
        attach_after_bytes: Some(attach_after),
    };
    let read = || {
        Ok((
            forced_differences()?,
            policy_from_variables()?,
            shared_memory_limit()?,
            attach_after()?,
        ))
    };
    match read() {
        Ok((force, policy, shared_bytes, attach_after)) => {
            let table = Loaded::read(table).map_err(Into::into);
            (table, settings(force, policy, shared_bytes, attach_after))
        }
        Err(error) => (Err(error), settings(Force::NONE, Policy::default(), 0, 0)),
    }
}

/// `COLLTUNE_FORCE`: the differences despite which the table is used.
fn forced_differences() -> Result<Force, RuntimeError> {
    let value = variable_value(force::VARIABLE);
    Force::from_value(value.as_deref()).ok_or_else(|| RuntimeError::Variable {
        name: force::VARIABLE,
        value: quoted(&value.unwrap_or_default().to_string_lossy(), MOST_QUOTED),
        expected: force::EXPECTED,
    })
}

/// `COLLTUNE_ATTACH_AFTER`: the sizes of the calls after which a communicator other than `MPI_COMM_WORLD` is attached,
/// in bytes.
fn attach_after() -> Result<u64, RuntimeError> {
    let name = "COLLTUNE_ATTACH_AFTER";
    let Some(value) = variable_value(name) else {
        return Ok(ATTACH_AFTER_BYTES);
    };
    let bytes = value.to_str().and_then(|text| parse_bytes(text).ok());
    bytes.ok_or_else(|| RuntimeError::Variable {
        name,
        value: quoted(&value.to_string_lossy(), MOST_QUOTED),
        expected: "a size, as in 1M, or 0",
    })
}

/// `COLLTUNE_SHARED_MEMORY`: the memory that a process may share with others of its node, in bytes.
fn shared_memory_limit() -> Result<u64, RuntimeError> {
    let value = variable_value(shared_memory::VARIABLE);
    shared_memory::limit_from_value(value.as_deref()).ok_or_else(|| RuntimeError::Variable {
        name: shared_memory::VARIABLE,
        value: quoted(&value.unwrap_or_default().to_string_lossy(), MOST_QUOTED),
        expected: shared_memory::EXPECTED,
    })
}

/// `COLLTUNE_MIN_CONFIDENCE`, `COLLTUNE_UNCONFIRMED`, `COLLTUNE_EXTRAPOLATE` and `COLLTUNE_NUMERICS`.
fn policy_from_variables() -> Result<Policy, RuntimeError> {
    let name = "COLLTUNE_MIN_CONFIDENCE";
    let least = |value: OsString| {
        let known = value.to_str().and_then(Confidence::from_name);
        known.ok_or_else(|| RuntimeError::Variable {
            name,
            value: quoted(&value.to_string_lossy(), MOST_QUOTED),
            expected: "low, medium or high",
        })
    };
    Ok(Policy {
        min_confidence: variable_value(name).map(least).transpose()?,
        unconfirmed: read_switch("COLLTUNE_UNCONFIRMED")?,
        extrapolate: read_switch("COLLTUNE_EXTRAPOLATE")?,
        numerics: required_numerics()?,
    })
}

/// `COLLTUNE_NUMERICS`: what the bits of reductions must not depend on.
fn required_numerics() -> Result<Option<Numerics>, RuntimeError> {
    let name = "COLLTUNE_NUMERICS";
    let parse = |value: OsString| {
        let known = value.to_str().and_then(|text| text.parse().ok());
        known.ok_or_else(|| RuntimeError::Variable {
            name,
            value: quoted(&value.to_string_lossy(), MOST_QUOTED),
            expected: Numerics::EXPECTED,
        })
    };
    variable_value(name).map(parse).transpose()
}

/// A variable that is 0, 1 or not set; other values are refused, so that a typing error has no silent effect.
fn read_switch(name: &'static str) -> Result<bool, RuntimeError> {
    match variable_value(name) {
        None => Ok(false),
        Some(value) if value == "0" => Ok(false),
        Some(value) if value == "1" => Ok(true),
        Some(value) => Err(RuntimeError::Variable {
            name,
            value: quoted(&value.to_string_lossy(), MOST_QUOTED),
            expected: "0 or 1",
        }),
    }
}

/// Prints a warning to standard error, with unprintable characters escaped. Ignores a closed standard error.
pub fn print_warning(text: &str) {
    let _ = writeln!(std::io::stderr(), "colltune: warning: {}", Plain(text));
}
