//! Reading and checking machine files.

use std::io;
use std::path::{Path, PathBuf};

use campaign::Campaign;
use model::Machine;
use strict_yaml::Diagnostic;
use thiserror::Error;
use vocabulary::{CommShape, Through};

/// The documented reference machine.
const REFERENCE: &str = "tuning/machines/reference.yaml";

/// A machine that cannot be simulated.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum MachineError {
    /// The file cannot be read.
    #[error("cannot read the machine {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// The file has a mistake.
    #[error(transparent)]
    File(#[from] Box<Diagnostic>),
    /// A campaign needs a parameter that the machine does not have.
    #[error("the machine `{machine}` has no `{key}`, which {needed_by} needs")]
    Lacks {
        machine: String,
        /// The key that is absent.
        key: &'static str,
        needed_by: String,
    },
    /// A campaign puts more ranks on a node than it holds.
    #[error("a node of the machine `{machine}` holds {ranks_per_node} ranks, not those of {shape}")]
    NodeTooSmall {
        machine: String,
        ranks_per_node: u32,
        shape: CommShape,
    },
}

impl MachineError {
    /// A remedy, if the message does not say it already.
    pub fn help(&self) -> Option<String> {
        let help = match self {
            Self::File(_) => return None,
            Self::Read { .. } => format!("name a machine file, such as {REFERENCE}"),
            Self::Lacks { .. } => format!("add it; {REFERENCE} explains every key"),
            Self::NodeTooSmall { .. } => {
                "change `shapes` in the campaign, or `ranks_per_node` in the machine file"
                    .to_owned()
            }
        };
        Some(help)
    }
}

/// Reads a machine file, or the reference machine if there is no path.
///
/// # Errors
/// [`MachineError::Read`], [`MachineError::File`].
pub fn load_machine(path: Option<&Path>) -> Result<Machine, MachineError> {
    let text = match path {
        None => Ok(Machine::REFERENCE.to_owned()),
        Some(path) => files::read_text(path),
    };
    let path = path.unwrap_or(Path::new(REFERENCE));
    let text = text.map_err(|source| MachineError::Read {
        path: path.to_owned(),
        source,
    })?;
    Ok(Machine::parse(&text, path)?)
}

/// Checks that a machine has all parameters that a campaign needs.
pub(crate) fn check_machine_suffices(
    machine: &Machine,
    campaign: &Campaign,
) -> Result<(), MachineError> {
    let lacks = |key, needed_by: String| MachineError::Lacks {
        machine: machine.name.clone(),
        key,
        needed_by,
    };
    for &shape in &campaign.shapes {
        if shape.ppn > machine.ranks_per_node {
            return Err(MachineError::NodeTooSmall {
                machine: machine.name.clone(),
                ranks_per_node: machine.ranks_per_node,
                shape,
            });
        }
        if shape.nodes > 1 && machine.network.is_none() {
            return Err(lacks("network", format!("the shape {shape}")));
        }
        if shape.ppn > 1 && machine.node.is_none() {
            return Err(lacks("node", format!("the shape {shape}")));
        }
    }
    let is_shared = campaign.transports().contains(&Through::Shared);
    if is_shared && campaign.shapes.iter().any(|shape| shape.ppn > 1) && machine.shared.is_none() {
        return Err(lacks("shared", "`through: shared`".to_owned()));
    }
    let reduction = campaign.sizes.keys().find(|c| c.is_reduction());
    match reduction {
        Some(collective) if machine.gamma.is_none() => {
            Err(lacks("gamma", collective.name().to_owned()))
        }
        _ => Ok(()),
    }
}
