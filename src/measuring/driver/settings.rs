//! The settings that users have changed in the library.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};

use ::environment::variables::{env_without_overrides, is_setting, lists_files};

use crate::error::DriverError;

/// The argument that makes this program print its library's control variables.
pub(crate) const PRINT: &str = "--control-variables";

/// The control variables that steer collectives, and the one that lists settings files, with their values.
pub(crate) fn read_control_variables() -> Result<BTreeMap<String, String>, DriverError> {
    let values = exec::control_variables(|name| is_setting(name) || lists_files(name));
    Ok(values?)
}

/// The settings that differ from the library's built-in values; `None` if they cannot be found. As MPI's tool interface
/// does not report defaults, two processes that have not started MPI are compared: one with this process's environment
/// except `our_own` variables, and one with no settings.
pub(crate) fn find_changed_settings<'a>(
    our_own: impl IntoIterator<Item = &'a str>,
) -> Option<BTreeMap<String, String>> {
    let mut here = own_settings_command()?;
    for name in our_own {
        here.env_remove(name);
    }
    let mut plain = own_settings_command()?;
    let (removed, set) = env_without_overrides();
    for name in removed {
        plain.env_remove(name);
    }
    plain.envs(set);
    // Both processes are started at once, as loading a library may take a fraction of a second.
    let (here, plain) = (here.spawn().ok()?, plain.spawn().ok()?);
    let (here, plain) = (wait_for_settings(here)?, wait_for_settings(plain)?);
    let differs = |(name, value): &(String, String)| {
        !lists_files(name) && plain.get(name).is_some_and(|built| built != value)
    };
    Some(here.into_iter().filter(differs).collect())
}

fn own_settings_command() -> Option<Command> {
    let mut command = Command::new(std::env::current_exe().ok()?);
    command
        .arg(PRINT)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    Some(command)
}

fn wait_for_settings(process: Child) -> Option<BTreeMap<String, String>> {
    let output = process.wait_with_output().ok()?;
    serde_json::from_slice(&output.stdout).ok()
}
