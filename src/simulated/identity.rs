//! What a simulated machine is called where a library would be named.

use model::Machine;
use sha2::{Digest, Sha256};
use vocabulary::Library;

use crate::rules::Rules;

/// What the times depend on besides machine and rules: to be raised whenever the simulator, or what is
/// simulated for a task, comes to other times.
///
/// It need not be raised where other candidates are left out because their cell cannot afford them: they
/// have no samples then, and those of all others stay the same, since chance is drawn for each candidate.
/// So stores from before the first call was judged, too, can be resumed.
const SIMULATOR_VERSION: u32 = 1;

/// The library that stands for a machine: `simulated`, with the machine's name and the beginning of a
/// digest of everything that its times depend on as version. So measurements on a machine file that
/// was edited are never mixed with those from before.
///
/// The digest is of JSON, whose names and order are those of the fields of [`Machine`] and [`Rules`]: stores and
/// tables know machines by it, so both must stay, and a new field must leave no trace where it is not given.
pub(crate) fn library(machine: &Machine, rules: &Rules) -> Library {
    let all = (SIMULATOR_VERSION, machine, rules);
    // What consists of numbers and texts alone can always be written.
    let text = serde_json::to_string(&all).unwrap_or_default();
    let digest = Sha256::digest(text);
    let mark = digest.iter().take(4).map(|byte| format!("{byte:02x}"));
    Library {
        name: Library::SIMULATED.to_owned(),
        version: format!("{}-{}", machine.name, mark.collect::<String>()),
    }
}
