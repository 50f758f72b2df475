//! Selection files as MPICH reads them: after an error it ends the program.
//!
//! Seen in 4.0.2, and from the sources of 4.0 to 5.0: `csel.c`, `csel_container.c`.

use schedule::Collective;
use serde_json::Value;

use crate::RulesFileEffect::{self, EndsPrograms, Read};

/// The part of the names of settings for files that decide inside nodes.
const INSIDE_NODES: &str = "_POSIX_";

/// The file that decides about the library's own algorithms, which must have an entry for every collective.
const COMPLETE: &str = "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE";

/// What the library does with a file, given its text or the reason why it cannot be read.
pub(super) fn effect_of_file(setting: &str, text: Result<&str, &str>) -> RulesFileEffect {
    // Most builds leave messages inside nodes to their network's library.
    if setting.contains(INSIDE_NODES) {
        return Read(Some(
            "if the library was built with shared memory of its own (posix), which it does not say",
        ));
    }
    let text = match text {
        Ok(text) => text,
        Err(why) => return EndsPrograms(format!("the file cannot be read: {why}")),
    };
    let root: Value = match serde_json::from_str(text) {
        Ok(root) => root,
        Err(error) => return EndsPrograms(format!("the file is not JSON: {error}")),
    };
    if !root.is_object() {
        return EndsPrograms("the file has no object of JSON".to_owned());
    }
    if setting == COMPLETE {
        let mut found = Vec::new();
        add_collectives(&root, &mut found);
        let is_missing =
            |collective: &&Collective| !found.iter().any(|name| name == collective.name());
        let missing = Collective::SERVED;
        let missing: Vec<_> = missing
            .iter()
            .filter(is_missing)
            .map(|of| of.name())
            .collect();
        if !missing.is_empty() {
            return EndsPrograms(format!("the file has no entry for {}", missing.join(", ")));
        }
    }
    Read(None)
}

/// Collects the collectives that the keys of a file and of its parts name.
fn add_collectives(value: &Value, found: &mut Vec<String>) {
    for (key, inner) in value.as_object().into_iter().flatten() {
        let key: String = key.split_whitespace().collect();
        if let Some(name) = key.strip_prefix("collective=") {
            found.push(name.to_owned());
        }
        add_collectives(inner, found);
    }
}
