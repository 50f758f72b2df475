//! Sets aside the tuning rules that a site has deployed, so that they do not affect measurements.
//!
//! Rules may be named by variables or by settings files; which settings name rules is in the crate `libraries`.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

use ::environment::variables;
use libraries::LibraryName;
use nix::sys::memfd::{MFdFlags, memfd_create};
use wire::{REMOVED_VARIABLE, RULES_VARIABLE};

use crate::error::DriverError;

/// Disables a preloaded `libcolltune.so`.
const DISABLING: &str = "COLLTUNE_DISABLE";
/// The variable that preloads, the library's name in it, and the variable that names its table.
const PRELOADED: (&str, &str, &str) = ("LD_PRELOAD", "libcolltune", "COLLTUNE_TABLE");

/// The configuration of MPI when this process was started.
#[derive(Clone, Debug, Default)]
pub(crate) struct MpiConfiguration {
    /// The environment variables that configure it, without those that were set aside.
    pub(crate) variables: BTreeMap<String, String>,
    /// The deployed rules that were set aside: [`wire::Environment::set_aside`].
    pub(crate) set_aside: Vec<String>,
    /// Whether variables or files contain settings that have no effect unless algorithms can be forced.
    pub(crate) is_forced_in_vain: bool,
    /// The components of the library, which lists them only before MPI is started.
    pub(crate) components: exec::Components,
}

/// Removes the rules that a site has deployed from this process, except those that the launch requests. Must be
/// called first, as it changes the environment.
pub(crate) fn set_rules_aside() -> Result<MpiConfiguration, DriverError> {
    let mut given = MpiConfiguration {
        variables: variables::of_this_process(),
        set_aside: preloaded_table()
            .into_iter()
            .chain(removed_by_launcher())
            .collect(),
        is_forced_in_vain: false,
        components: exec::Components::default(),
    };
    exec::change_environment(DISABLING, Some("1"));
    ask_for_component_choices(&given.variables)?;
    let kept = std::env::var(RULES_VARIABLE).unwrap_or_default();
    let is_kept = |name: &str| kept.split(',').any(|kept| kept == name);
    // A variable that the launch sets may have another of the names that set a control variable.
    let is_kept_setting = |library: LibraryName, setting: &str| {
        let sets = |name: &str| library.control_variable(name).as_deref() == Some(setting);
        kept.split(',').any(sets)
    };
    let is_kept_by_any = |setting: &str| {
        let mut libraries = LibraryName::ALL.into_iter();
        libraries.any(|library| is_kept_setting(library, setting))
    };
    let mut by_variables = variables::rules_variables(&given.variables);
    by_variables.retain(|name, _| !is_kept(name));
    for (name, value) in &by_variables {
        given.variables.remove(name);
        exec::change_environment(name, None);
        if !value.is_empty() {
            let note = format!("{name}={value} is set in the environment");
            given.set_aside.push(note);
        }
    }
    let before = exec::StartSettings::query_library()?;
    // A variable overrides settings files, also on other nodes.
    // Without settings files the variable was just removed; an empty value may mean something else.
    let have_files = |library: &LibraryName| library.facts().files_setting.is_some();
    for library in LibraryName::ALL.into_iter().filter(have_files) {
        for setting in library.rules_settings() {
            if !is_kept_setting(library, setting) {
                exec::change_environment(&library.environment_variable(setting), Some(""));
            }
        }
    }
    // Nothing overrides some files: their rules stay in force, and are no more set aside than what is kept.
    let has_others = before
        .rules
        .iter()
        .any(|rules| !is_kept_by_any(rules.setting));
    let after = if has_others {
        &exec::StartSettings::query_library()?
    } else {
        &before
    };
    given.is_forced_in_vain = after.is_forced_in_vain();
    given.components = exec::Components::query_library()?;
    for rules in &before.rules {
        if !after.names_rules(rules.setting) {
            let place = describe_settings_file(rules);
            let note = format!("{}={} is set in {place}", rules.setting, rules.file);
            given.set_aside.push(note);
        }
    }
    Ok(given)
}

/// Lets the library report which components it uses if the launch forces one. It then writes no messages of its own into the
/// log of the launch.
fn ask_for_component_choices(variables: &BTreeMap<String, String>) -> Result<(), DriverError> {
    // Copies of this process that inherit the variables inherit the file, too.
    let report = memfd_create(c"components", MFdFlags::empty());
    let report = File::from(report.map_err(DriverError::ComponentReport)?);
    let reporting: Vec<(String, String)> = LibraryName::ALL
        .into_iter()
        .flat_map(|library| library.reporting_variables(variables, report.as_raw_fd()))
        .collect();
    for (name, value) in &reporting {
        exec::change_environment(name, Some(value));
    }
    if !reporting.is_empty() {
        exec::read_component_choices(report);
    }
    Ok(())
}

/// What the launcher has removed before this process was started.
fn removed_by_launcher() -> Vec<String> {
    let removed = std::env::var_os(REMOVED_VARIABLE).unwrap_or_default();
    let removed = removed.to_string_lossy();
    let settings = removed.lines().filter(|line| !line.is_empty());
    settings
        .map(|setting| format!("{setting} is set in the environment"))
        .collect()
}

/// The table that a preloaded `libcolltune.so` would use in this process.
fn preloaded_table() -> Option<String> {
    let (list, library, table) = PRELOADED;
    let is_there = std::env::var(list).is_ok_and(|list| list.contains(library));
    let is_off = std::env::var(DISABLING).is_ok_and(|value| !["", "0"].contains(&value.as_str()));
    let table_is = std::env::var(table).ok().filter(|_| is_there && !is_off)?;
    Some(format!("{table}={table_is} is set in the environment"))
}

/// The settings file that names a file of rules, with its other lines about rules, which stay in force.
fn describe_settings_file(rules: &exec::RulesInFiles) -> String {
    let files = rules.settings.split([':', ',']).map(str::trim);
    let mut places = files.filter_map(|path| {
        // Comments need not be UTF-8.
        let bytes = files::read(Path::new(path)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let settings = text.lines().filter_map(|line| line.split_once('='));
        let settings: Vec<_> = settings
            .map(|(name, value)| (name.trim(), value.trim()))
            .collect();
        if !settings.iter().any(|(name, _)| *name == rules.setting) {
            return None;
        }
        let goes_with_them = |name: &str| {
            let name = variables::variable_of_setting(name);
            let mut libraries = LibraryName::ALL.iter();
            libraries.any(|library| library.goes_with_rules(&name))
        };
        let beside = settings.iter().filter(|(name, _)| goes_with_them(name));
        let beside =
            beside.map(|(name, value)| format!(" (its line `{name} = {value}` stays in force)"));
        Some(path.to_owned() + &beside.collect::<String>())
    });
    let found = places.next();
    found.unwrap_or_else(|| "a settings file".to_owned())
}

#[cfg(test)]
#[path = "tests/unit/rules.rs"]
mod tests;
