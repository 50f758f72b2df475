//! Parameter files (`openmpi-mca-params.conf`), and values of settings.
//!
//! From the sources of 4.1 and 5.0 (`keyval_lex.l`), and seen in 4.1.4: a line is `name = value` or `--mca name value`, the last
//! value of a name counts. Lines that begin with `#` or `//` are comments; within a line, both belong to the value, as
//! quotes do.

use std::collections::BTreeMap;

use super::tuned::NUMBERED;
use super::{components, is_true};
use crate::findings::{Assignment, ExaminedRelease, FindingKind::*, SteeringFindings};

/// The lines of a parameter file.
struct ParameterLines {
    assignments: Vec<Assignment>,
    /// Lines that are neither settings nor comments.
    others: Vec<usize>,
}

fn read_lines(text: &str) -> ParameterLines {
    let mut read = ParameterLines {
        assignments: Vec::new(),
        others: Vec::new(),
    };
    let mut is_in_comment = false;
    for (content, line) in text.lines().zip(1..) {
        let content = content.trim();
        if content.starts_with("/*") || is_in_comment {
            is_in_comment = !content.contains("*/");
            continue;
        }
        if content.is_empty() || content.starts_with('#') || content.starts_with("//") {
            continue;
        }
        let words: Vec<&str> = content.split_whitespace().collect();
        let (name, value) = match words[..] {
            ["-mca" | "--mca", name, value] => (name, value),
            ["-x" | "--x", ..] => continue,
            _ => match content.split_once('=') {
                Some((name, value)) if name.split_whitespace().count() == 1 => (name, value),
                _ => {
                    read.others.push(line);
                    continue;
                }
            },
        };
        read.assignments.push(Assignment {
            line: Some(line),
            name: name.trim().to_owned(),
            value: value.trim().to_owned(),
        });
    }
    read
}

/// Whether a text looks like a parameter file: its settings have the names of control variables.
pub(super) fn is_parameter_file(text: &str) -> bool {
    let read = read_lines(text);
    let is_name = |assignment: &&Assignment| {
        let name = assignment.name.as_str();
        let own = name.strip_prefix(super::PREFIX).unwrap_or(name);
        !own.is_empty()
            && own
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
            && own.starts_with(|c: char| c.is_ascii_lowercase())
    };
    let count = read.assignments.iter().filter(is_name).count();
    count > 0 && 2 * count > read.assignments.len() + read.others.len()
}

/// What is wrong with the form of a parameter file, and its settings.
pub(super) fn examine_parameters(_: &ExaminedRelease<'_>, text: &str) -> SteeringFindings {
    let read = read_lines(text);
    let mut found = SteeringFindings {
        assignments: read.assignments,
        ..SteeringFindings::default()
    };
    for assignment in found.assignments.clone() {
        let Assignment { line, name, value } = assignment;
        if let Some((before, _)) = value.split_once(" #").or_else(|| value.split_once("\t#")) {
            found.report(
                line,
                Misread,
                format!("the comment behind the value belongs to it: {name} is `{value}`"),
                format!(
                    "write `{name} = {}`, and the comment into a line of its own",
                    before.trim()
                ),
            );
        } else if value.len() > 1
            && ['"', '\'']
                .iter()
                .any(|quote| value.starts_with(*quote) && value.ends_with(*quote))
        {
            found.report(
                line,
                Misread,
                format!("the quotes belong to the value: {name} is `{value}`"),
                format!("write `{name} = {}`", value.trim_matches(['"', '\''])),
            );
        }
    }
    for line in read.others {
        found.report(
            line,
            NoEffect,
            "this line is not `name = value`, so the library prints an error and passes over it",
            "write `name = value`, or begin the line with `#`",
        );
    }
    found
}

/// What is wrong with the values of settings, given the values of all settings.
pub(super) fn examine_values(
    release: &ExaminedRelease<'_>,
    assignments: &[Assignment],
    all: &BTreeMap<String, String>,
    name_of: impl Fn(&Assignment) -> Option<String>,
    found: &mut SteeringFindings,
) {
    let numbers = release.version_numbers();
    let has_rules = all
        .get("coll_tuned_dynamic_rules_filename")
        .is_some_and(|file| !file.is_empty());
    let uses_rules = all
        .get("coll_tuned_use_dynamic_rules")
        .is_some_and(|value| is_true(value));
    for assignment in assignments {
        let Some(name) = name_of(assignment) else {
            continue;
        };
        let line = assignment.line;
        let value = assignment.value.trim();
        let forced = name
            .strip_prefix("coll_tuned_")
            .and_then(|rest| rest.strip_suffix("_algorithm"));
        let collective =
            forced.and_then(|forced| NUMBERED.iter().find(|known| known.name == forced));
        if let Some(collective) = collective.filter(|known| known.is_served()) {
            let by_number = value.parse::<i64>().ok();
            let is_free = ["", "0", "ignore"].contains(&value);
            let number = by_number
                .filter(|number| collective.algorithm(numbers, *number).is_some())
                .or_else(|| collective.number_of(numbers, value));
            if let Some(algorithm) = number.and_then(|number| collective.algorithm(numbers, number))
            {
                if uses_rules && collective.is_unordered(algorithm) && !release.assume_commutative {
                    found.report(
                        line,
                        Unsafe,
                        format!("{} {algorithm} gives wrong results for operators that do not commute", collective.name),
                        "choose an algorithm that combines in order, or examine with --assume-commutative if no \
                         program has such operators",
                    );
                }
                if uses_rules && has_rules {
                    let wins = if numbers[0] >= 5 {
                        "takes precedence over the rules file"
                    } else {
                        "counts only where the rules file leaves the choice to the library"
                    };
                    found.note(line, Remark, format!("{} {wins}", assignment.name));
                }
            } else if !is_free {
                let known: Vec<&str> = collective.algorithms_of(numbers).collect();
                found.report(
                    line,
                    NoEffect,
                    format!("{} has no algorithm `{value}` in this release, which then uses the built-in value", collective.name),
                    format!("write a number from 0 to {}, or one of {}", known.len(), known.join(", ")),
                );
            }
        }
        if name == "coll_tuned_dynamic_rules_filename" && !value.is_empty() && uses_rules {
            examine_precedence(line, all, found);
        }
        if name == "coll" {
            examine_list(line, value, found);
        }
    }
}

/// Reports components that stand before `tuned`, so that its rules are not consulted.
fn examine_precedence(
    line: Option<usize>,
    all: &BTreeMap<String, String>,
    found: &mut SteeringFindings,
) {
    for serving in components::serving_components(all) {
        let Some(remedy) = &serving.remedy else {
            continue;
        };
        let place = if serving.over_nodes {
            "over several nodes "
        } else {
            ""
        };
        found.report(
            line,
            NoEffect,
            format!(
                "{place}the component {} comes before tuned for {}, so the rules of these are not consulted",
                serving.component,
                serving.collective_names().join(", ")
            ),
            format!("set {}", remedy.strip_prefix(super::PREFIX).unwrap_or(remedy)),
        );
    }
}

/// Components without which MPI does not start (seen in 4.1.4).
const NEEDED: [&str; 2] = ["basic", "libnbc"];

fn examine_list(line: Option<usize>, value: &str, found: &mut SteeringFindings) {
    if value.is_empty() || value.starts_with('^') {
        if value.get(1..).is_some_and(|rest| rest.contains('^')) {
            found.report(
                line,
                EndsPrograms,
                "`^` may only stand at the beginning of the list, and excludes all components in it",
                "write one `^` at the beginning",
            );
        }
        return;
    }
    let listed: Vec<&str> = value.split(',').map(str::trim).collect();
    if listed.iter().any(|name| name.starts_with('^')) {
        found.report(
            line,
            EndsPrograms,
            "a list cannot both include and exclude components",
            "begin the list with `^`, or remove `^`",
        );
        return;
    }
    let missing: Vec<&str> = NEEDED
        .into_iter()
        .filter(|name| !listed.contains(name))
        .collect();
    if !missing.is_empty() {
        found.report(
            line,
            EndsPrograms,
            format!(
                "a list of components to use must also have {}, or MPI does not start",
                missing.join(" and ")
            ),
            "exclude components instead, as in `^han`",
        );
    }
}
