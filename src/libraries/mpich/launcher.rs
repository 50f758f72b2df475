//! MPICH's launcher Hydra.

use std::ffi::OsString;

use model::Placement;

use crate::launching::{Nodes, Ranks};

/// `HYDRA build details:` and a line `Version:  4.0.2`.
pub(super) fn version(output: &str) -> Option<String> {
    let is_it = output.contains("HYDRA") || output.to_lowercase().contains("mpich");
    let (_, rest) = output.split_once("Version:").filter(|_| is_it)?;
    crate::launching::version(rest)
}

/// Hydra puts a number of ranks on each node in turn and begins again at the first: dealt one by one,
/// they would go to hosts of a file beyond those of the shape, so these are named.
pub(super) fn arguments(ranks: &Ranks<'_>) -> Vec<OsString> {
    let (mut arguments, placement): (Vec<OsString>, _) = match ranks.nodes {
        // Without `fork` it would go through ssh or a batch system.
        Nodes::Here => (vec!["-launcher".into(), "fork".into()], None),
        Nodes::Named(names, placement) => {
            let names = names.join(",").into();
            (vec!["-hosts".into(), names], Some(placement))
        }
        Nodes::File(file, placement) => (vec!["-f".into(), file.into()], Some(placement)),
        Nodes::Slurm(placement) => (vec!["-launcher".into(), "slurm".into()], Some(placement)),
    };
    if let Some(placement) = placement {
        let at_a_time = match placement {
            Placement::Block => ranks.shape.ppn,
            Placement::Cyclic => 1,
        };
        arguments.extend(["-ppn".into(), at_a_time.to_string().into()]);
    }
    arguments.extend(["-n".into(), ranks.shape.ranks().to_string().into()]);
    arguments
}

pub(super) fn lost_nodes(printed: &[&str]) -> Option<Vec<String>> {
    let is_lost = |line: &&str| line.contains("control_cb") && line.contains("assert (!closed)");
    printed.iter().any(|line| is_lost(line)).then(Vec::new)
}
