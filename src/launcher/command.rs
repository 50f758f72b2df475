//! The command line of mpirun or mpiexec.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use model::Placement;
use nix::unistd::Uid;

use super::{Binding, Installation, LaunchError};
use crate::hosts::read_hosts;
use crate::{HostFileError, Hosts, LibraryName};
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
    /// Those of the job that the launcher runs in, of a batch system that Hydra calls so.
    Job(&'static str, Placement),
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
    let mut command = Command::new(&installation.launcher);
    match installation.name {
        LibraryName::OpenMpi => open_mpi(&mut command, start, shape, binding),
        LibraryName::Mpich => {
            let nodes = mpich_nodes(start.nodes, shape);
            let missing = |problem| LaunchError::SeveralNodes {
                shape,
                problem: Some(problem),
            };
            command.args(nodes.map_err(missing)?);
            command.args(["-n", &shape.ranks().to_string()]);
        }
    }
    bind(&mut command, installation.name, binding, start.options);
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

fn open_mpi(command: &mut Command, start: &Start<'_>, shape: CommShape, binding: Binding) {
    command.args(["-np", &shape.ranks().to_string()]);
    let placement = match start.nodes {
        Nodes::Here => None,
        Nodes::Hosts(hosts) => {
            command.arg("--hostfile").arg(&hosts.file);
            Some(hosts.placement)
        }
        Nodes::Job(_, placement) => Some(placement),
        Nodes::File(file, placement) => {
            command.arg("--hostfile").arg(file);
            Some(placement)
        }
    };
    if let Some(placement) = placement {
        // Nodes are filled in their order; the placement decides only in which order their ranks are
        // numbered.
        let order = match placement {
            Placement::Block => "slot",
            Placement::Cyclic => "node",
        };
        command.args(["--map-by", &format!("ppr:{}:node", shape.ppn)]);
        command.args(["--rank-by", order]);
        // Remote ranks see of mpirun's environment only what it is told to pass on.
        let names = start.environment.iter().map(|(name, _)| name.clone());
        let names = names.chain(start.own.keys().map(OsString::from));
        let names = names.chain(start.inherited.iter().map(OsString::from));
        for name in names.chain([LAUNCHER_VARIABLE.into()]) {
            command.arg("-x").arg(name);
        }
    }
    if binding == Binding::Free {
        command.arg("--oversubscribe");
    }
    allow_root(command);
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

/// Hydra puts a number of ranks on each node in turn and begins again at the first: dealt one by one,
/// they would go to hosts of a file beyond those of the shape, so these are named.
fn mpich_nodes(nodes: Nodes<'_>, shape: CommShape) -> Result<Vec<OsString>, HostFileError> {
    let (mut arguments, placement): (Vec<OsString>, _) = match nodes {
        // Without `fork` hydra would go through ssh or a batch system.
        Nodes::Here => return Ok(vec!["-launcher".into(), "fork".into()]),
        Nodes::Hosts(hosts) => {
            let names = read_hosts(&hosts.file)?;
            let too_few = || HostFileError::TooFew {
                path: hosts.file.clone(),
                hosts: u32::try_from(names.len()).unwrap_or(u32::MAX),
                shape,
            };
            let used = names.get(..shape.nodes as usize).ok_or_else(too_few)?;
            (
                vec!["-hosts".into(), used.join(",").into()],
                hosts.placement,
            )
        }
        Nodes::Job(bootstrap, placement) => (vec!["-launcher".into(), bootstrap.into()], placement),
        Nodes::File(file, placement) => (vec!["-f".into(), file.into()], placement),
    };
    let at_a_time = match placement {
        Placement::Block => shape.ppn,
        Placement::Cyclic => 1,
    };
    arguments.extend(["-ppn".into(), at_a_time.to_string().into()]);
    Ok(arguments)
}
