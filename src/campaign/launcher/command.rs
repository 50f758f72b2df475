//! The command line of mpirun or mpiexec.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use model::Placement;
use nix::unistd::Uid;

use super::{Binding, Installation, LaunchError};
use crate::hosts::read_hosts;
use crate::{HostFileError, Hosts, LibraryName, LocalOptions};
use wire::{CommShape, LAUNCHER_VARIABLE};

/// The launcher with its own arguments; the program's are to follow. `environment` is what the ranks
/// get beyond the environment of this process and that of the options.
///
/// # Errors
/// [`LaunchError::SeveralNodes`] without a host file that has as many hosts.
pub(super) fn command(
    installation: &Installation,
    options: &LocalOptions,
    shape: CommShape,
    binding: Binding,
    environment: &[(OsString, OsString)],
) -> Result<Command, LaunchError> {
    let LocalOptions {
        options,
        environment: own,
        hosts,
        oversubscribe: _,
    } = options;
    if hosts.is_none() && shape.nodes > 1 {
        return Err(LaunchError::SeveralNodes {
            shape,
            problem: None,
        });
    }
    let mut command = Command::new(&installation.launcher);
    match installation.name {
        LibraryName::OpenMpi => {
            command.args(["-np", &shape.ranks().to_string()]);
            if let Some(hosts) = hosts {
                open_mpi_hosts(&mut command, hosts, shape);
                // Remote ranks see of mpirun's environment only what it is told to pass on.
                let names = environment.iter().map(|(name, _)| name.clone());
                let names = names.chain(own.keys().map(OsString::from));
                for name in names.chain([LAUNCHER_VARIABLE.into()]) {
                    command.arg("-x").arg(name);
                }
            }
            if binding == Binding::Free {
                command.arg("--oversubscribe");
            }
            allow_root(&mut command);
        }
        LibraryName::Mpich => {
            match hosts {
                // Without `fork` hydra would go through ssh or a batch system.
                None => command.args(["-launcher", "fork"]),
                Some(hosts) => {
                    let missing = |problem| LaunchError::SeveralNodes {
                        shape,
                        problem: Some(problem),
                    };
                    command.args(mpich_hosts(hosts, shape).map_err(missing)?)
                }
            };
            command.args(["-n", &shape.ranks().to_string()]);
        }
    }
    bind(&mut command, installation.name, binding, options);
    command
        .args(options)
        .envs(own)
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null());
    let line = line(&command);
    command.env(LAUNCHER_VARIABLE, line);
    Ok(command)
}

/// The launcher with its arguments, as ranks are told.
fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

/// Launchers refuse or ignore a second binding; the user's word counts.
fn bind(command: &mut Command, library: LibraryName, binding: Binding, options: &[String]) {
    let is_binding = |option: &String| option.trim_start_matches('-') == "bind-to";
    if !options.iter().any(is_binding) {
        let option = match library {
            LibraryName::OpenMpi => "--bind-to",
            LibraryName::Mpich => "-bind-to",
        };
        command.args([option, binding.name()]);
    }
}

fn allow_root(command: &mut Command) {
    if Uid::effective().is_root() {
        for runtime in ["OMPI", "PRTE"] {
            command.env(format!("{runtime}_ALLOW_RUN_AS_ROOT"), "1");
            command.env(format!("{runtime}_ALLOW_RUN_AS_ROOT_CONFIRM"), "1");
        }
    }
}

/// Nodes are filled in the file's order; the placement decides only in which order their ranks are
/// numbered.
fn open_mpi_hosts(command: &mut Command, hosts: &Hosts, shape: CommShape) {
    let order = match hosts.placement {
        Placement::Block => "slot",
        Placement::Cyclic => "node",
    };
    command.arg("--hostfile").arg(&hosts.file);
    command.args(["--map-by", &format!("ppr:{}:node", shape.ppn)]);
    command.args(["--rank-by", order]);
}

/// Hydra puts a number of ranks on each host in turn and begins again at the first: dealt one by one,
/// they would go to hosts beyond those of the shape, so these are named.
fn mpich_hosts(hosts: &Hosts, shape: CommShape) -> Result<[String; 4], HostFileError> {
    let names = read_hosts(&hosts.file)?;
    let too_few = || HostFileError::TooFew {
        path: hosts.file.clone(),
        hosts: u32::try_from(names.len()).unwrap_or(u32::MAX),
        shape,
    };
    let used = names.get(..shape.nodes as usize).ok_or_else(too_few)?;
    let at_a_time = match hosts.placement {
        Placement::Block => shape.ppn,
        Placement::Cyclic => 1,
    };
    Ok([
        "-hosts".to_owned(),
        used.join(","),
        "-ppn".to_owned(),
        at_a_time.to_string(),
    ])
}
