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

#[cfg(test)]
mod tests {
    use super::*;

    /// As colltune 0.1.0 called them.
    #[test]
    fn machines_keep_their_versions() {
        let all = "name: all\nranks_per_node: 2\n\
            network: {alpha: 1.5e-6, overhead: 0.3e-6, beta: 0.1e-9, eager_limit: 8192}\n\
            node: {alpha: 0.4e-6, beta: 0.05e-9}\n\
            injection_beta: 0.1e-9\ngamma: 0.15e-9\ncopy: 0.07e-9\n\
            noise: {jitter: 0.1, spike_probability: 0.01, spike_factor: 10, \
            slow_launch_probability: 0.1, slow_launch_factor: 2}\n";
        let few = "name: few\nranks_per_node: 4\nnode: {alpha: 1e-6, beta: 1e-9}\n";
        let rules = Rules::published().expect("rules");
        for (text, version) in [(all, "all-7084a54b"), (few, "few-79a71657")] {
            let machine = Machine::from_yaml(text).expect("a machine");
            assert_eq!(library(&machine, &rules).version, version);
        }
    }
}
