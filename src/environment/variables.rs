//! Environment variables that configure MPI libraries.

use std::collections::BTreeMap;
use std::ffi::OsString;

use libraries::{Facts, LibraryName};

/// Prefixes of variables that configure the transports of all MPI libraries.
const TRANSPORTS: [&str; 3] = ["UCX_", "FI_", "PSM2_"];

/// Whether a control variable of a library configures collectives or transports.
pub fn is_setting(name: &str) -> bool {
    let mut libraries = LibraryName::ALL.iter();
    libraries.any(|library| library.is_setting(name))
}

/// Whether a control variable lists a library's configuration files.
pub fn lists_files(name: &str) -> bool {
    let mut libraries = LibraryName::ALL.iter();
    libraries.any(|library| library.facts().files_setting == Some(name))
}

/// The changes to this process's environment variables for a process in which libraries have their built-in settings:
/// variables to be removed, and variables to be set.
pub fn env_without_overrides() -> (Vec<OsString>, Vec<(&'static str, &'static str)>) {
    let names = std::env::vars_os().map(|(name, _)| name);
    let removed = names.filter(|name| steers(&name.to_string_lossy()));
    let libraries = LibraryName::ALL.iter();
    let set = libraries.filter_map(|library| library.facts().without_files);
    (removed.collect(), set.collect())
}

/// Whether an environment variable configures the communication of MPI libraries.
fn steers(name: &str) -> bool {
    let is_transport = TRANSPORTS.iter().any(|begin| name.starts_with(begin));
    is_transport || begins(name, |facts| facts.steering_variables)
}

/// Whether a name has one of a library's prefixes.
fn begins(name: &str, with: fn(&Facts) -> &'static [&'static str]) -> bool {
    let libraries = LibraryName::ALL.iter();
    let mut beginnings = libraries.flat_map(|library| with(library.facts()));
    beginnings.any(|begin| name.starts_with(begin))
}

/// The given variables that configure MPI libraries, without those that launchers set.
pub fn steering(variables: impl IntoIterator<Item = (String, String)>) -> BTreeMap<String, String> {
    let is_internal = |name: &str| begins(name, |facts| facts.launcher_variables);
    let variables = variables.into_iter();
    variables
        .filter(|(name, _)| steers(name) && !is_internal(name))
        .collect()
}

/// The variables of this process that configure MPI libraries. Names and values that are not UTF-8 are left out.
pub fn of_this_process() -> BTreeMap<String, String> {
    let texts = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    steering(texts)
}

/// The given variables that name a rules file, or belong to one.
pub fn rules(variables: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for library in LibraryName::ALL {
        let named = library.rules_variable();
        let Some(file) = variables.get(&named) else {
            continue;
        };
        let has_file = !file.is_empty();
        let belongs = |name: &String| *name == named || (has_file && library.goes_with_rules(name));
        let belonging = variables.iter().filter(|(name, _)| belongs(name));
        found.extend(belonging.map(|(name, value)| (name.clone(), value.clone())));
    }
    found
}

/// Whether the library may be set so that its algorithms can be forced. This must not activate settings of the user
/// that are otherwise inactive.
pub fn may_force(variables: &BTreeMap<String, String>) -> bool {
    let mut names = variables.keys();
    !names.any(|name| begins(name, |facts| facts.dormant_variables))
}

/// Settings, as `NAME=value`, that change the library's own choice of algorithms: environment variables, and control
/// variables that differ from their built-in values without an environment variable. `settings` are the control
/// variables that differ from their built-in values. If they are known, environment variables for other control
/// variables have no effect, such as those of components that the library does not have.
pub fn deciding(
    variables: &BTreeMap<String, String>,
    settings: Option<&BTreeMap<String, String>>,
) -> Vec<String> {
    let told = variables
        .iter()
        .map(|(name, value)| (name.clone(), name, value));
    let silent = settings
        .into_iter()
        .flatten()
        .map(|(name, value)| (variable(name), name, value))
        .filter(|(variable, ..)| !variables.contains_key(variable));
    let all: Vec<_> = told.chain(silent).collect();
    let value = |wanted: &str| {
        let mut all = all.iter();
        let (.., value) = all.find(|(variable, ..)| variable == wanted)?;
        Some((*value).clone())
    };
    let decides = |name: &str| {
        LibraryName::ALL
            .iter()
            .any(|library| library.decides(name, &value))
    };
    let has_effect = |variable: &str| match (settings, setting(variable)) {
        (Some(settings), Some((_, name))) => settings.contains_key(name),
        _ => true,
    };
    let deciding = all
        .iter()
        .filter(|(variable, ..)| has_effect(variable) && decides(variable));
    deciding
        .map(|(_, name, value)| format!("{name}={value}"))
        .collect()
}

/// The library and the control variable that an environment variable sets, if the two variables have different names.
pub fn setting(variable: &str) -> Option<(LibraryName, &str)> {
    LibraryName::ALL.into_iter().find_map(|library| {
        let prefix = library.facts().variable_prefix;
        let name = variable.strip_prefix(prefix)?;
        (!prefix.is_empty() && library.is_setting(name)).then_some((library, name))
    })
}

/// The environment variable that sets a control variable.
pub fn variable(setting: &str) -> String {
    let mut libraries = LibraryName::ALL.iter();
    let library = libraries.find(|library| library.is_setting(setting));
    library.map_or_else(
        || setting.to_owned(),
        |library| format!("{}{setting}", library.facts().variable_prefix),
    )
}
