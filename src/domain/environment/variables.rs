//! Environment variables that configure MPI libraries.

use std::collections::BTreeMap;
use std::ffi::OsString;

use libraries::{Effect, Facts, KnownSettings, LibraryName};
use vocabulary::Library;

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
    let removed = names.filter(|name| configures_any_library(&name.to_string_lossy()));
    let libraries = LibraryName::ALL.iter();
    let set = libraries.filter_map(|library| library.facts().without_files);
    (removed.collect(), set.collect())
}

/// Whether an environment variable configures the communication of MPI libraries.
fn configures_any_library(name: &str) -> bool {
    let is_transport = TRANSPORTS.iter().any(|begin| name.starts_with(begin));
    is_transport || has_prefix_of_library(name, |facts| facts.steering_variables)
}

/// Whether an environment variable configures the communication of a library, by its name.
pub fn configures_library(library: LibraryName, variable: &str) -> bool {
    let mut beginnings = library.facts().steering_variables.iter();
    beginnings.any(|begin| variable.starts_with(begin))
}

/// Whether a name has one of a library's prefixes.
fn has_prefix_of_library(name: &str, with: fn(&Facts) -> &'static [&'static str]) -> bool {
    let libraries = LibraryName::ALL.iter();
    let mut beginnings = libraries.flat_map(|library| with(library.facts()));
    beginnings.any(|begin| name.starts_with(begin))
}

/// The given variables that configure MPI libraries, without those that launchers set.
pub fn only_configuring(
    variables: impl IntoIterator<Item = (String, String)>,
) -> BTreeMap<String, String> {
    let is_internal = |name: &str| has_prefix_of_library(name, |facts| facts.launcher_variables);
    let variables = variables.into_iter();
    variables
        .filter(|(name, _)| configures_any_library(name) && !is_internal(name))
        .collect()
}

/// The variables of this process that configure MPI libraries. Names and values that are not UTF-8 are left out.
pub fn of_this_process() -> BTreeMap<String, String> {
    let texts = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    only_configuring(texts)
}

/// The given variables that name files of rules, or belong to one.
pub fn rules_variables(variables: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for library in LibraryName::ALL {
        let mut files = variables
            .iter()
            .filter(|(name, _)| library.names_rules(name));
        let has_file = files.any(|(_, file)| !file.is_empty());
        let belongs = |name: &String| {
            library.names_rules(name) || (has_file && library.goes_with_rules(name))
        };
        let belonging = variables.iter().filter(|(name, _)| belongs(name));
        found.extend(belonging.map(|(name, value)| (name.clone(), value.clone())));
    }
    found
}

/// Whether the library may be set so that its algorithms can be forced. This must not activate settings of the user
/// that are otherwise inactive.
pub fn may_force(variables: &BTreeMap<String, String>) -> bool {
    let mut names = variables.keys();
    !names.any(|name| {
        let mut libraries = LibraryName::ALL.into_iter();
        libraries.any(|library| may_be_dormant(library, name))
    })
}

/// Whether a variable is the one that allows algorithms to be forced, or has an effect only with it.
fn may_be_dormant(library: LibraryName, variable: &str) -> bool {
    let Some(enabling) = library.facts().enabling_variable else {
        return false;
    };
    let control_variable = library.control_variable(variable);
    let listed = control_variable.and_then(|name| library.steering_setting(&name));
    let condition = listed.and_then(|listed| listed.condition);
    variable == enabling
        || condition.is_some_and(|needed| library.environment_variable(needed.setting) == enabling)
}

/// Settings, as `NAME=value`, that change the library's own choice of algorithms: environment variables, and control
/// variables that differ from their built-in values without an environment variable. `settings` are the control
/// variables that differ from their built-in values. If they are known, environment variables for other control
/// variables have no effect, such as those of components that the library does not have. Variables of libraries other
/// than `library` have none either; they count if it is unknown.
pub fn deciding_settings(
    variables: &BTreeMap<String, String>,
    settings: Option<&BTreeMap<String, String>>,
    library: Option<&Library>,
) -> Vec<String> {
    let known = library.and_then(|library| libraries::find_library(&library.name));
    let candidates: Vec<LibraryName> = LibraryName::ALL
        .into_iter()
        .filter(|candidate| known.is_none_or(|known| known == *candidate))
        .collect();
    let is_foreign = known.is_none() && library.is_some();
    let known_settings = KnownSettings {
        variables,
        all: None,
        // The settings of a library that is none of these have other names.
        changed: settings.filter(|_| !is_foreign),
    };
    let told = variables.iter().filter(|(name, value)| {
        let steers = |candidate: &LibraryName| {
            candidate.variable_effect(name, value, &known_settings) == Effect::Steers
        };
        candidates.iter().any(steers)
    });
    let silent = settings.into_iter().flatten().filter(|(name, value)| {
        let steers = |candidate: &LibraryName| {
            let is_told =
                |variable: &String| candidate.control_variable(variable).as_ref() == Some(*name);
            candidate.setting_effect(name, value, &known_settings) == Effect::Steers
                && !variables.keys().any(is_told)
        };
        candidates.iter().any(steers)
    });
    let deciding = told.chain(silent);
    deciding
        .map(|(name, value)| format!("{name}={value}"))
        .collect()
}

/// The library and the control variable that an environment variable sets, if the two variables have different names.
pub fn setting_of_variable(variable: &str) -> Option<(LibraryName, &str)> {
    LibraryName::ALL.into_iter().find_map(|library| {
        let prefix = library.facts().variable_prefix;
        let name = variable.strip_prefix(prefix)?;
        (!prefix.is_empty() && library.is_setting(name)).then_some((library, name))
    })
}

/// The environment variable that sets a control variable.
pub fn variable_of_setting(setting: &str) -> String {
    let mut libraries = LibraryName::ALL.iter();
    let library = libraries.find(|library| library.is_setting(setting));
    library.map_or_else(
        || setting.to_owned(),
        |library| format!("{}{setting}", library.facts().variable_prefix),
    )
}
