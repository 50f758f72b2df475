//! What users set.

use std::ffi::OsString;
use std::path::PathBuf;

use capi::{given, is_set};

/// Where the summary goes at the end.
#[derive(Clone, Debug)]
pub(crate) enum Log {
    /// To standard error.
    Standard,
    /// To a file.
    File(PathBuf),
}

/// The environment of a program that this library is preloaded into; the same on all ranks.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    /// `COLLTUNE_TABLE`.
    pub(crate) table: PathBuf,
    /// `COLLTUNE_LOG`: a file, or `1` or `stderr` for standard error.
    pub(crate) log: Option<Log>,
}

impl Environment {
    /// Reads it; `None` if nothing is to be done.
    pub(crate) fn read() -> Option<Self> {
        if is_set("COLLTUNE_DISABLE") {
            return None;
        }
        Some(Self {
            table: given("COLLTUNE_TABLE")?.into(),
            log: given("COLLTUNE_LOG").and_then(log),
        })
    }
}

fn log(value: OsString) -> Option<Log> {
    match value.to_str() {
        Some("0") => None,
        Some("1" | "stderr") => Some(Log::Standard),
        _ => Some(Log::File(value.into())),
    }
}
