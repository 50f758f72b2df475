//! The command lines with which a script starts ranks.

use std::ffi::OsString;
use std::path::absolute;
use std::process::Command;

use libraries::NodeSource;
use wire::{LAUNCHER_VARIABLE, REMOVED_VARIABLE, UNTIL_VARIABLE};

use super::order::JobFolder;
use super::place;
use super::script::{LaunchCommands, Variable};
use crate::BatchOptions;
use crate::command::{CommandParts, early_choices_in_options, launcher_command};
use crate::{Binding, Installation, Job, LaunchError};

/// The launch of a script: mpirun's command lines and their environment.
pub(super) fn launch_commands(
    installation: &Installation,
    options: &BatchOptions,
    job: &Job,
    folder: &JobFolder,
) -> Result<LaunchCommands, LaunchError> {
    let hosts = folder.hosts_path();
    let start = CommandParts {
        options: &options.options,
        own: &options.environment,
        environment: &job.environment,
        inherited: &[UNTIL_VARIABLE],
        nodes: match options.system.words().bootstrap {
            Some(name) => NodeSource::Job(name, options.placement),
            None => NodeSource::File(&hosts, options.placement),
        },
    };
    let line = |binding| launcher_command(installation, &start, job.shape(), binding);
    let (bound, unbound) = (line(Binding::Bound)?, line(Binding::Free)?);
    let words = |command: &Command| {
        let program = absolute(command.get_program());
        let program = program.map_or_else(|_| command.get_program().into(), OsString::from);
        let words = std::iter::once(program).chain(command.get_args().map(Into::into));
        words.map(place::utf8_text).collect::<Result<Vec<_>, _>>()
    };
    let variables = bound
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)));
    let environment = variables
        .filter(|(name, _)| *name != LAUNCHER_VARIABLE && *name != REMOVED_VARIABLE)
        .map(|(name, value)| {
            let name = place::variable_name(name)?;
            Ok(Variable {
                is_list: name.ends_with("PATH"),
                name,
                value: place::utf8_text(value.into())?,
            })
        })
        .collect::<Result<_, LaunchError>>()?;
    let (bound, unbound) = (words(&bound)?, words(&unbound)?);
    Ok(LaunchCommands {
        unbound: (unbound != bound).then_some(unbound),
        bound,
        environment,
        early_choices: installation.name.facts().early_choices,
        early_choices_in_options: early_choices_in_options(installation, &options.options)
            .into_iter()
            .map(str::to_owned)
            .collect(),
        slots: format!("{}{}", installation.name.facts().slots, job.ppn),
    })
}
