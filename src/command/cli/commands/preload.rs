//! What ranks of a program are given so that libcolltune.so uses a table.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use environment::force::{self, Force};
use launcher::{CommandLine, PRELOADING, driver_directories};
use table::Policy;
use tuner::TunerError;
use vocabulary::Library;

use super::CliError;
use super::campaign::search_paths;

/// The file name of the library that is preloaded.
const PRELOADED_NAME: &str = "libcolltune.so";

/// What ranks of a program are told.
pub(super) struct RankSettings<'a> {
    /// The path of `libcolltune.so`.
    pub(super) preloaded: &'a Path,
    /// The table.
    pub(super) table: &'a Path,
    /// The file to which the first rank writes its summary.
    pub(super) log: &'a Path,
    /// The differences despite which the table is used.
    pub(super) force: Force,
    /// Whether the table is checked for changes.
    pub(super) reload: bool,
    /// The rules that are used. If it requires nothing of the bits of reductions, the environment may.
    pub(super) policy: Policy,
}

impl RankSettings<'_> {
    /// The variables for the ranks of a command line, or of any program.
    pub(super) fn variables(&self, line: Option<&CommandLine>) -> Vec<(&'static str, OsString)> {
        let mut variables = vec![
            (PRELOADING, preload_list(self.preloaded, line)),
            ("COLLTUNE_TABLE", absolute_path(self.table).into()),
            ("COLLTUNE_LOG", self.log.into()),
            (force::VARIABLE, self.force.to_string().into()),
            ("COLLTUNE_RELOAD", switch_value(self.reload)),
            (
                "COLLTUNE_UNCONFIRMED",
                switch_value(self.policy.unconfirmed),
            ),
            (
                "COLLTUNE_EXTRAPOLATE",
                switch_value(self.policy.extrapolate),
            ),
        ];
        if let Some(least) = self.policy.min_confidence {
            variables.push(("COLLTUNE_MIN_CONFIDENCE", least.to_string().into()));
        }
        // Launchers may not pass the user's own variables on to other hosts.
        let mut inherited = vec!["COLLTUNE_SHARED_MEMORY", "COLLTUNE_ATTACH_AFTER"];
        match self.policy.numerics {
            Some(numerics) => variables.push(("COLLTUNE_NUMERICS", numerics.to_string().into())),
            None => inherited.push("COLLTUNE_NUMERICS"),
        }
        for name in inherited {
            variables.extend(std::env::var_os(name).map(|value| (name, value)));
        }
        variables
    }
}

/// The library of a command's program, if it can be known: the one that the launcher shows, or else the one that `named`
/// says. A library that colltune does not know has the launcher of the library that it derives from, so its name counts
/// more than what the launcher shows. Tables of simulated machines are for experiments with any library.
pub(super) fn choose_library(named: Option<&Library>, shown: Option<Library>) -> Option<Library> {
    let is_unknown = |library: &&Library| {
        libraries::find_library(&library.name).is_none() && !library.is_simulated()
    };
    let unknown = named.filter(is_unknown).cloned();
    unknown.or(shown).or_else(|| named.cloned())
}

/// The path of `libcolltune.so` for programs of a library.
pub(super) fn find_preload_library(library: &Library) -> Result<PathBuf, CliError> {
    let places = search_paths();
    launcher::check_libdir(places.libdir.as_deref()).map_err(TunerError::from)?;
    let folders = driver_directories(places.libdir.as_deref(), &places.executable);
    launcher::find_preloaded(library, &folders).map_err(|searched| CliError::NoPreload {
        library: library.clone(),
        searched,
    })
}

/// A value of [`PRELOADING`] without `libcolltune.so`; `None` if nothing else is preloaded.
pub(super) fn without_own_library(list: &OsStr) -> Option<OsString> {
    let text = list.to_string_lossy();
    // Both characters separate names in such a list (ld.so(8)).
    let others: Vec<&str> = text
        .split([':', ' '])
        .filter(|name| !name.is_empty() && !name.ends_with(PRELOADED_NAME))
        .collect();
    (!others.is_empty()).then(|| others.join(":").into())
}

/// The absolute path, since ranks may have another working directory.
pub(super) fn absolute_path(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn switch_value(on: bool) -> OsString {
    if on { "1" } else { "0" }.into()
}

/// The value of [`PRELOADING`]: our library, then those that are preloaded already.
pub(super) fn preload_list(ours: &Path, line: Option<&CommandLine>) -> OsString {
    let mut list = ours.as_os_str().to_owned();
    let others = line.and_then(|line| line.variable(PRELOADING));
    // Another `libcolltune.so`, as of a deployed version, would be second to this one.
    if let Some(others) = others.and_then(|others| without_own_library(&others)) {
        list.push(":");
        list.push(others);
    }
    list
}
