//! How much memory a process may share with others of its node.

use std::ffi::OsStr;

use vocabulary::units::parse_bytes;

/// The variable that says so.
pub const VARIABLE: &str = "COLLTUNE_SHARED_MEMORY";

/// What its values are.
pub const EXPECTED: &str = "a size, as in 64M, or 0";

/// The limit where the variable is not set, in bytes: for all communicators of a process together.
pub const DEFAULT_BYTES: u64 = 64 << 20;

/// The limit in bytes that a value of the variable means; `None` if it is no size. With 0 nothing is shared.
pub fn limit(value: Option<&OsStr>) -> Option<u64> {
    match value {
        None => Some(DEFAULT_BYTES),
        Some(value) => parse_bytes(value.to_str()?).ok(),
    }
}
