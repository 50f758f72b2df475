//! Settings from the environment.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;

use capi::{is_set, variable_value};

#[cfg(sessions)]
use crate::sessions;
use crate::{creators, ends, hooks, nonblocking, requests, unserved};

/// The working directory at the program's start, which relative paths are relative to. The program may change it
/// before it starts MPI.
static STARTED_IN: OnceLock<PathBuf> = OnceLock::new();

/// Runs when the library is loaded.
#[used]
// SAFETY: the section has addresses of C functions, which may take no arguments.
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = at_load;

unsafe extern "C" {
    /// Makes the linker use `shim.c`.
    static colltune_calls_by_profiling_names: std::ffi::c_int;
}

extern "C" fn at_load() {
    // SAFETY: a constant.
    debug_assert!(unsafe { colltune_calls_by_profiling_names } == 1);
    let groups = [
        hooks::LINKS,
        hooks::IRREGULAR_LINKS,
        ends::LINKS,
        creators::LINKS,
        requests::LINKS,
        nonblocking::LINKS,
    ];
    let unserved = [
        unserved::LINKS,
        unserved::nonblocking::LINKS,
        #[cfg(persistent)]
        unserved::persistent::LINKS,
    ];
    let unserved = unserved.into_iter().flatten().map(|links| **links);
    for links in groups.into_iter().chain(unserved) {
        links.iter().for_each(|link| link.find_functions());
    }
    #[cfg(sessions)]
    sessions::LINKS
        .iter()
        .for_each(|link| link.find_functions());
    #[cfg(large_counts)]
    {
        creators::newer::find_newer_creators();
        hooks::large::find_large_functions();
        hooks::large::redirect_large_functions();
    }
    hooks::redirect_forwarding();
    creators::redirect_exec();
    requests::redirect_exec();
    let names_file = |variable| variable_value(variable).is_some();
    if (names_file("COLLTUNE_TABLE") || names_file("COLLTUNE_RECORD"))
        && let Ok(folder) = std::env::current_dir()
    {
        // The library is loaded once.
        let _ = STARTED_IN.set(folder);
    }
}

/// The destination of the summary.
#[derive(Clone, Debug)]
pub(crate) enum Log {
    /// Standard error.
    Standard,
    /// A file.
    File(PathBuf),
}

/// The settings of a program that this library is preloaded into; the same on all ranks.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    /// `COLLTUNE_TABLE`; a relative path is relative to the program's initial working directory.
    pub(crate) table: PathBuf,
    /// `COLLTUNE_LOG`: a file, relative as `table`, or `1` or `stderr` for standard error.
    pub(crate) log: Option<Log>,
    /// `COLLTUNE_USAGE`: a file or a folder, relative as `table`, to which the first rank adds a line about the job.
    pub(crate) usage: Option<PathBuf>,
}

impl Environment {
    /// Reads the settings; `None` if there is no table. Done once, when MPI starts, as the program may change the
    /// environment.
    pub(crate) fn from_process() -> Option<Self> {
        if is_set("COLLTUNE_DISABLE") {
            return None;
        }
        Some(Self {
            table: path_from_start(variable_value("COLLTUNE_TABLE")?),
            log: variable_value("COLLTUNE_LOG").and_then(log_from_value),
            usage: variable_value("COLLTUNE_USAGE").map(path_from_start),
        })
    }
}

/// What a recording is written to.
#[derive(Clone, Debug)]
pub(crate) struct Recording {
    /// `COLLTUNE_RECORD`: a file or a folder, relative as `COLLTUNE_TABLE`.
    pub(crate) file: PathBuf,
    /// `COLLTUNE_TABLE`, which must not be replaced.
    pub(crate) table: Option<PathBuf>,
}

impl Recording {
    /// Reads the settings; `None` if nothing is to be recorded.
    pub(crate) fn from_process() -> Option<Self> {
        if is_set("COLLTUNE_DISABLE") {
            return None;
        }
        Some(Self {
            file: path_from_start(variable_value("COLLTUNE_RECORD")?),
            table: variable_value("COLLTUNE_TABLE").map(path_from_start),
        })
    }
}

fn log_from_value(value: OsString) -> Option<Log> {
    match value.to_str() {
        Some("0") => None,
        Some("1" | "stderr") => Some(Log::Standard),
        _ => Some(Log::File(path_from_start(value))),
    }
}

fn path_from_start(value: OsString) -> PathBuf {
    match STARTED_IN.get() {
        Some(folder) => folder.join(value),
        None => value.into(),
    }
}
