//! How ranks were started, and where they stood.

use wire::Environment;

use crate::text::{code, one_line};

/// Ranks that are listed one by one.
const SHOWN: usize = 16;

/// The launcher's command line; nothing if unknown.
pub(crate) fn launcher(environment: &Environment) -> String {
    match environment.launcher.as_str() {
        "" => String::new(),
        line => code(line),
    }
}

/// The CPUs that each rank of the first node might use; nothing if unknown.
pub(crate) fn binding(environment: &Environment) -> String {
    let Some(node) = environment.nodes.first() else {
        return String::new();
    };
    let ranks = node.cpus.iter().take(SHOWN);
    let mut cpus: Vec<String> = ranks.map(|cpus| one_line(cpus)).collect();
    if node.cpus.len() > SHOWN {
        cpus.push("and so on".to_owned());
    }
    format!(
        "{} of {} ranks on {} bound, to CPUs {}",
        node.bound,
        node.ranks(),
        one_line(&node.host),
        cpus.join(" | ")
    )
}
