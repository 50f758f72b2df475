//! What a simulated machine is called where a library would be named.

use model::Machine;
use sha2::{Digest, Sha256};
use vocabulary::Library;

use crate::rules::Rules;

/// What the times depend on besides machine and rules: there is another one whenever the simulator, or what is
/// simulated for a task, comes to other times.
///
/// There need not be another one where other candidates are left out because their cell cannot afford them: they
/// have no samples then, and those of all others stay the same, since chance is drawn for each candidate.
/// So stores from before the first call was judged, too, can be resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// That of colltune 0.1.0, which posted no receives ahead.
    WithoutAhead,
    /// The present one.
    Present,
}

/// What the versions of libraries end with since there are several versions of the simulator, which no digest does.
const MARK: &str = "+2";

impl Version {
    /// The one that made the measurements of a store with these libraries.
    pub(crate) fn of(libraries: &[Library]) -> Self {
        let mut simulated = libraries.iter().filter(|library| library.is_simulated());
        match simulated.any(|library| !library.version.ends_with(MARK)) {
            true => Self::WithoutAhead,
            false => Self::Present,
        }
    }
}

/// The library that stands for a machine: `simulated`, with the machine's name and the beginning of a
/// digest of everything that its times depend on as version. So measurements on a machine file that
/// was edited are never mixed with those from before.
///
/// The digest is of JSON, whose names and order are those of the fields of [`Machine`] and [`Rules`]: stores and
/// tables know machines by it, so both must stay, and a new field must leave no trace where it is not given.
pub(crate) fn library(version: Version, machine: &Machine, rules: &Rules) -> Library {
    let (number, mark) = match version {
        Version::WithoutAhead => (1, ""),
        Version::Present => (2, MARK),
    };
    let all = (number, machine, rules);
    // What consists of numbers and texts alone can always be written.
    let text = serde_json::to_string(&all).unwrap_or_default();
    let digest = Sha256::digest(text);
    let digest = digest.iter().take(4).map(|byte| format!("{byte:02x}"));
    Library {
        name: Library::SIMULATED.to_owned(),
        version: format!("{}-{}{mark}", machine.name, digest.collect::<String>()),
    }
}
