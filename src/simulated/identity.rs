//! What a simulated machine is called where a library would be named.

use model::Machine;
use sha2::{Digest, Sha256};
use wire::Library;

use crate::rules;

/// The library that stands for a machine: `simulated`, with the machine's name and the beginning of a
/// digest of its parameters and of the default's rules as version. So measurements on a machine file
/// that was edited are never mixed with those from before.
pub fn library(machine: &Machine) -> Library {
    let digest = Sha256::new()
        .chain_update(format!("{machine:?}"))
        .chain_update(rules::TEXT)
        .finalize();
    let mark: String = digest
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Library {
        name: "simulated".to_owned(),
        version: format!("{}-{mark}", machine.name),
    }
}
