//! Selection files as MPICH reads them: after an error it ends the program.

use super::selection::{Layer, examine_selection, is_selection_file};
use super::selection_rules::read_selection_rules;
use crate::RulesFileEffect::{self, EndsPrograms, Read};
use crate::findings::{ExaminedRelease, FindingKind, SteeringFindings, SteeringFormat};

/// The part of the names of settings for files that decide inside nodes.
const INSIDE_NODES: &str = "_POSIX_";

/// The file that decides about the library's own algorithms.
const COMPLETE: &str = "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE";

/// The formats, each tried before those below it.
pub(super) const FORMATS: [SteeringFormat; 4] = [
    SteeringFormat {
        name: "mpich-ch4",
        title: "selection file of compositions",
        settings: &[
            "MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE",
            "MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE_GPU",
        ],
        recognises: |text| is_selection_file(text, Layer::Compositions),
        examine: |release, text| examine_selection(release, text, Layer::Compositions),
        read_rules: None,
        choices_in_lines: None,
    },
    SteeringFormat {
        name: "mpich-posix",
        title: "selection file of algorithms within nodes",
        settings: &[
            "MPIR_CVAR_CH4_POSIX_COLL_SELECTION_TUNING_JSON_FILE",
            "MPIR_CVAR_CH4_POSIX_COLL_SELECTION_TUNING_JSON_FILE_GPU",
        ],
        recognises: |text| is_selection_file(text, Layer::WithinNodes),
        examine: |release, text| examine_selection(release, text, Layer::WithinNodes),
        read_rules: None,
        choices_in_lines: None,
    },
    SteeringFormat {
        name: "mpich-trees",
        title: "selection file of named trees",
        settings: &["MPIR_CVAR_COLL_SELECTION_JSON_FILE"],
        recognises: is_file_of_trees,
        examine: |_, _| {
            let mut found = SteeringFindings::default();
            found.note(
                None,
                FindingKind::NotSupported,
                "no release reads files of named trees (`name=...`, `call=...`), which are proposed for a later \
                 one; colltune cannot examine them",
            );
            found
        },
        read_rules: None,
        choices_in_lines: None,
    },
    SteeringFormat {
        name: "mpich",
        title: "selection file of algorithms",
        settings: &[COMPLETE],
        recognises: |text| is_selection_file(text, Layer::Algorithms),
        examine: |release, text| examine_selection(release, text, Layer::Algorithms),
        read_rules: Some(read_selection_rules),
        choices_in_lines: None,
    },
];

/// Whether a text has trees with names, or calls them.
fn is_file_of_trees(text: &str) -> bool {
    let blank_free: String = text.split_whitespace().collect();
    let has = |key: &str| blank_free.contains(key);
    blank_free.starts_with('{') && (has("\"name=") || has("\"call="))
}

/// What the library does with a file, given its text or the reason why it cannot be read.
pub(super) fn effect_of_file(
    setting: &str,
    version: &str,
    text: Result<&str, &str>,
) -> RulesFileEffect {
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
    let release = ExaminedRelease {
        version,
        variables: None,
        assume_commutative: true,
    };
    let layer = if setting == COMPLETE {
        Layer::Algorithms
    } else {
        Layer::Compositions
    };
    let found = examine_selection(&release, text, layer);
    found.dropping().map_or(Read(None), |finding| {
        let place = finding
            .line
            .map_or_else(String::new, |line| format!("line {line}: "));
        EndsPrograms(format!("{place}{}", finding.message))
    })
}
