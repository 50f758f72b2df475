//! Open MPI's mpirun.

use std::ffi::OsString;

use model::Placement;

use crate::launching::{Nodes, Ranks};

/// What lets the superuser start ranks, for the launchers of 4 and of 5.
pub(super) const SUPERUSER: [&str; 4] = [
    "OMPI_ALLOW_RUN_AS_ROOT",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
    "PRTE_ALLOW_RUN_AS_ROOT",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM",
];

/// 4: `mpirun.openmpi (OpenRTE) 4.1.4`; 5: `mpirun (Open MPI) 5.0.6`.
pub(super) fn version(output: &str) -> Option<String> {
    let products = ["(OpenRTE)", "(Open MPI)"];
    let (_, rest) = products.iter().find_map(|name| output.split_once(name))?;
    crate::launching::version(rest)
}

pub(super) fn arguments(ranks: &Ranks<'_>) -> Vec<OsString> {
    let number = ranks.shape.ranks().to_string();
    let mut arguments: Vec<OsString> = vec!["-np".into(), number.into()];
    let placement = match ranks.nodes {
        Nodes::Here => None,
        Nodes::Named(names, placement) => {
            arguments.extend(["--host".into(), names.join(",").into()]);
            Some(placement)
        }
        Nodes::File(file, placement) => {
            arguments.extend(["--hostfile".into(), file.into()]);
            Some(placement)
        }
        Nodes::Slurm(placement) => Some(placement),
    };
    if let Some(placement) = placement {
        // Nodes are filled in their order; the placement decides only in which order their ranks are
        // numbered.
        let order = match placement {
            Placement::Block => "slot",
            Placement::Cyclic => "node",
        };
        let map = format!("ppr:{}:node", ranks.shape.ppn);
        arguments.extend(["--map-by".into(), map.into()]);
        arguments.extend(["--rank-by".into(), order.into()]);
        // Remote ranks see of mpirun's environment only what it is told to pass on.
        for name in ranks.passed_on {
            arguments.extend(["-x".into(), name.clone()]);
        }
    }
    if ranks.may_crowd {
        arguments.push("--oversubscribe".into());
    }
    arguments
}

pub(super) fn lost_nodes(printed: &[&str]) -> Option<Vec<String>> {
    let mut lines = printed.iter();
    lines.find(|line| line.contains("lost communication with a remote daemon"))?;
    let remote = printed
        .iter()
        .filter(|line| line.trim_start().starts_with("Remote daemon:"));
    let names = remote.filter_map(|line| line.split_once(" on node "));
    Some(names.map(|(_, name)| name.trim().to_owned()).collect())
}
