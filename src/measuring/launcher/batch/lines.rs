//! The command lines with which a script starts ranks.

use std::ffi::OsString;
use std::path::absolute;
use std::process::Command;

use libraries::NodeSource;
use wire::{LAUNCHER_VARIABLE, UNTIL_VARIABLE};

use super::order::Folder;
use super::place;
use super::script::{Launch, Variable};
use crate::BatchOptions;
use crate::command::{Start, command};
use crate::{Binding, Installation, Job, LaunchError};

/// The launch of a script: mpirun's command lines and their environment.
pub(super) fn launch(
    installation: &Installation,
    options: &BatchOptions,
    job: &Job,
    folder: &Folder,
) -> Result<Launch, LaunchError> {
    let hosts = folder.hosts();
    let start = Start {
        options: &options.options,
        own: &options.environment,
        environment: &job.environment,
        inherited: &[UNTIL_VARIABLE],
        nodes: match options.system.words().bootstrap {
            Some(name) => NodeSource::Job(name, options.placement),
            None => NodeSource::File(&hosts, options.placement),
        },
    };
    let line = |binding| command(installation, &start, job.shape(), binding);
    let (bound, unbound) = (line(Binding::Bound)?, line(Binding::Free)?);
    let words = |command: &Command| {
        let program = absolute(command.get_program());
        let program = program.map_or_else(|_| command.get_program().into(), OsString::from);
        let words = std::iter::once(program).chain(command.get_args().map(Into::into));
        words.map(place::text).collect::<Result<Vec<_>, _>>()
    };
    let variables = bound
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)));
    let environment = variables
        .filter(|(name, _)| *name != LAUNCHER_VARIABLE)
        .map(|(name, value)| {
            Ok(Variable {
                name: place::variable(name)?,
                value: place::text(value.into())?,
            })
        })
        .collect::<Result<_, LaunchError>>()?;
    let (bound, unbound) = (words(&bound)?, words(&unbound)?);
    Ok(Launch {
        unbound: (unbound != bound).then_some(unbound),
        bound,
        environment,
        slots: format!("{}{}", installation.name.facts().slots, job.ppn),
    })
}
