//! The identity of a simulated machine, in place of a library's.

use model::Machine;
use schedule::Collective;
use sha2::{Digest, Sha256};
use vocabulary::Library;

use crate::rules::Rules;

/// The version of the simulator. It must be raised whenever the simulator, or the simulation of a task, gives other
/// times for the same machine and rules.
///
/// It need not be raised when other candidates are left out because their cell cannot afford them: they have no samples
/// then, and those of others are unchanged, since each candidate has its own random numbers. So stores from before the
/// elimination by the first call can be resumed as well.
const SIMULATOR_VERSION: u32 = 1;

/// Collectives whose rules are not part of the digest, since they came later: machines keep their identity. A change of
/// these rules must raise the version of the simulator.
const LATER: [Collective; 9] = [
    Collective::Alltoall,
    Collective::Barrier,
    Collective::Scan,
    Collective::Exscan,
    Collective::Alltoallv,
    Collective::Alltoallw,
    Collective::Allgatherv,
    Collective::Gatherv,
    Collective::Scatterv,
];

/// The library that represents a machine: `simulated`, with a version that consists of the machine's name and the
/// beginning of a digest of everything that its times depend on. So measurements with an edited machine file are never
/// mixed with earlier ones.
///
/// The digest is of JSON with the names and the order of the fields of [`Machine`] and [`Rules`]. Stores and tables
/// identify machines by it, so names and order must not change, and a new field must be omitted if it has no value.
pub(crate) fn library_for_machine(machine: &Machine, rules: &Rules) -> Library {
    let mut first = rules.clone();
    first
        .0
        .retain(|name, _| !LATER.iter().any(|later| later.name() == name));
    let all = (SIMULATOR_VERSION, machine, first);
    // Values of numbers and texts can always be serialised.
    let text = serde_json::to_string(&all).unwrap_or_default();
    let mark = files::hexadecimal(&Sha256::digest(text)[..4]);
    Library {
        name: Library::SIMULATED.to_owned(),
        version: format!("{}-{mark}", machine.name),
    }
}
