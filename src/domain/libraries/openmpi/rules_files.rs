//! The files of rules as Open MPI reads them: after an error a file is ignored without a word.

use std::collections::BTreeSet;

use super::decisions::read_tuned_rules;
use super::{classic, han_rules, parameters, rules_json};
use crate::RulesFileEffect::{self, Ignored, Read};
use crate::findings::{ExaminedRelease, SteeringFindings, SteeringFormat};
use crate::handing_back::Replacement;
use crate::json::begins_like_object;
use crate::openmpi::numbers::Numbers;

/// The formats, each tried before those below it.
pub(super) const FORMATS: [SteeringFormat; 4] = [
    SteeringFormat {
        name: "openmpi-json",
        title: "rules of the component tuned in JSON",
        settings: &[TUNED_FILE],
        recognises: rules_json::is_rules_json,
        examine: examine_tuned_file,
        read_rules: Some(read_tuned_rules),
        choices_in_lines: Some(algorithms_of_tuned_file),
    },
    SteeringFormat {
        name: "openmpi-parameters",
        title: "parameter file",
        settings: &["mca_base_param_files"],
        recognises: parameters::is_parameter_file,
        examine: parameters::examine_parameters,
        read_rules: None,
        choices_in_lines: None,
    },
    SteeringFormat {
        name: "openmpi-han",
        title: "rules of the component han",
        settings: &["coll_han_dynamic_rules_filename"],
        recognises: han_rules::is_han_file,
        examine: han_rules::examine_han,
        read_rules: None,
        choices_in_lines: None,
    },
    SteeringFormat {
        name: "openmpi",
        title: "rules of the component tuned",
        settings: &[TUNED_FILE],
        recognises: is_classic_file,
        examine: examine_tuned_file,
        read_rules: Some(read_tuned_rules),
        choices_in_lines: Some(algorithms_of_tuned_file),
    },
];

const TUNED_FILE: &str = "coll_tuned_dynamic_rules_filename";

/// Whether a text looks like a rules file in the format before 6.0: it has numbers, and little else outside comments.
fn is_classic_file(text: &str) -> bool {
    let mut numbers = Numbers::starting_at(text, 0);
    let lines = text.lines().map(str::trim);
    let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    numbers.next_number().is_some() && !lines.any(|line| line.contains('=') && !line.contains('#'))
}

/// What is wrong with a file for `tuned`, which 6 reads as JSON if it can.
pub(super) fn examine_tuned_file(release: &ExaminedRelease<'_>, text: &str) -> SteeringFindings {
    if begins_like_object(text) {
        rules_json::examine_json(release, text)
    } else {
        classic::examine_classic(release, text)
    }
}

/// The algorithms in some lines of a file for `tuned`, and what stands for the library's own choice there.
fn algorithms_of_tuned_file(text: &str, lines: &BTreeSet<usize>) -> Vec<Replacement> {
    let (algorithms, own_choice) = if begins_like_object(text) {
        (rules_json::algorithms_in_lines(text, lines), "\"ignore\"")
    } else {
        (classic::algorithms_in_lines(text, lines), "0")
    };
    let replacements = algorithms.into_iter().map(|bytes| Replacement {
        bytes,
        text: own_choice,
    });
    replacements.collect()
}

/// What a release does with the text of a file for `tuned` or `han`.
pub(super) fn effect_of_file(setting: &str, version: &str, text: &str) -> RulesFileEffect {
    let release = ExaminedRelease {
        version,
        variables: None,
        assume_commutative: true,
    };
    let found = if setting == TUNED_FILE {
        examine_tuned_file(&release, text)
    } else {
        han_rules::examine_han(&release, text)
    };
    match found.dropping() {
        None => Read(None),
        Some(finding) => {
            let place = finding
                .line
                .map_or_else(String::new, |line| format!("line {line}: "));
            Ignored(format!("{place}{}", finding.message))
        }
    }
}
