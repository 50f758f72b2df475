//! The limit on the memory that a process shares with others on its node.

use std::ffi::OsStr;

use vocabulary::units::parse_bytes;

/// The variable that sets the limit.
pub const VARIABLE: &str = "COLLTUNE_SHARED_MEMORY";

/// A description of its valid values.
pub const EXPECTED: &str = "a size, as in 64M, or 0";

/// The default limit in bytes, for all communicators of a process together.
pub const DEFAULT_BYTES: u64 = 64 << 20;

/// The limit in bytes for a value of the variable; `None` if it is not a size. With 0 nothing is shared.
pub fn limit_from_value(value: Option<&OsStr>) -> Option<u64> {
    match value {
        None => Some(DEFAULT_BYTES),
        Some(value) => parse_bytes(value.to_str()?).ok(),
    }
}
