//! The command line of mpirun or mpiexec.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use libraries::Ranks;
use model::Placement;
use nix::unistd::Uid;

use super::{Binding, Installation, LaunchError};
use crate::hosts::read_hosts;
use crate::{HostFileError, Hosts};
use vocabulary::CommShape;
use wire::LAUNCHER_VARIABLE;

/// What command lines are made of, beside the library.
pub(super) struct Start<'a> {
    /// Further arguments, before the program.
    pub(super) options: &'a [String],
    /// Variables of launcher and ranks that the campaign asks for.
    pub(super) own: &'a BTreeMap<String, String>,
    /// What they get beyond these and the environment of this process.
    pub(super) environment: &'a [(OsString, OsString)],
    /// Variables that are set where the launcher runs, and meant for the ranks too.
    pub(super) inherited: &'a [&'a str],
    pub(super) nodes: Nodes<'a>,
}

/// Where a launcher learns its nodes.
#[derive(Clone, Copy)]
pub(super) enum Nodes<'a> {
    /// There is one, this machine.
    Here,
    /// The first hosts of a file.
    Hosts(&'a Hosts),
    /// Those of Slurm's job that the launcher runs in.
    Slurm(Placement),
    /// All hosts of a file that the job writes before the launcher runs.
    File(&'a Path, Placement),
}

/// The launcher with its own arguments; the program's are to follow.
///
/// # Errors
/// [`LaunchError::SeveralNodes`] without a host file that has as many hosts.
pub(super) fn command(
    installation: &Installation,
    start: &Start<'_>,
    shape: CommShape,
    binding: Binding,
) -> Result<Command, LaunchError> {
    if matches!(start.nodes, Nodes::Here) && shape.nodes > 1 {
        return Err(LaunchError::SeveralNodes {
            shape,
            problem: None,
        });
    }
    let library = installation.name;
    let mut command = Command::new(&installation.launcher);
    let missing = |problem| LaunchError::SeveralNodes {
        shape,
        problem: Some(problem),
    };
    let names = match start.nodes {
        Nodes::Hosts(hosts) if library.facts().names_hosts => {
            first_hosts(&hosts.file, shape).map_err(missing)?
        }
        _ => Vec::new(),
    };
    command.args(library.rank_arguments(&Ranks {
        shape,
        nodes: match start.nodes {
            Nodes::Here => libraries::Nodes::Here,
            Nodes::Hosts(hosts) if library.facts().names_hosts => {
                libraries::Nodes::Named(&names, hosts.placement)
            }
            Nodes::Hosts(hosts) => libraries::Nodes::File(&hosts.file, hosts.placement),
            Nodes::Slurm(placement) => libraries::Nodes::Slurm(placement),
            Nodes::File(file, placement) => libraries::Nodes::File(file, placement),
        },
        may_crowd: binding == Binding::Free,
        passed_on: &passed_on(start),
    }));
    if Uid::effective().is_root() {
        command.envs(
            library
                .facts()
                .superuser_variables
                .iter()
                .map(|name| (name, "1")),
        );
    }
    // Launchers refuse or ignore a second binding; the user's word counts.
    let is_binding = |option: &String| option.trim_start_matches('-') == "bind-to";
    if !start.options.iter().any(is_binding) {
        command.args([library.facts().binding_option, binding.name()]);
    }
    let environment = start.environment.iter();
    command
        .args(start.options)
        .envs(start.own)
        .envs(environment.map(|(name, value)| (name, value)))
        .stdin(Stdio::null());
    let line = line(&command);
    command.env(LAUNCHER_VARIABLE, line);
    Ok(command)
}

/// The variables that remote ranks must get from the launcher's environment.
fn passed_on(start: &Start<'_>) -> Vec<OsString> {
    let names = start.environment.iter().map(|(name, _)| name.clone());
    let names = names.chain(start.own.keys().map(OsString::from));
    let names = names.chain(start.inherited.iter().map(OsString::from));
    names.chain([LAUNCHER_VARIABLE.into()]).collect()
}

/// The launcher with its arguments, as ranks are told.
fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

/// The hosts of a file that a shape needs.
fn first_hosts(file: &Path, shape: CommShape) -> Result<Vec<String>, HostFileError> {
    let mut names = read_hosts(file)?;
    if names.len() < shape.nodes as usize {
        return Err(HostFileError::TooFew {
            path: file.to_owned(),
            hosts: u32::try_from(names.len()).unwrap_or(u32::MAX),
            shape,
        });
    }
    names.truncate(shape.nodes as usize);
    Ok(names)
}
