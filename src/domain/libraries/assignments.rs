//! Settings as files and the environment give them to a library, and what is wrong with them.

use std::collections::BTreeMap;

use crate::findings::{Assignment, ExaminedRelease, FindingKind, SteeringFindings};
use crate::{Effect, KnownSettings, LibraryName, NoEffect, SettingRole};

/// Where settings stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssignmentSource {
    /// In a parameter file of the library, under the names of control variables.
    Parameters,
    /// In the environment, or in a file that sets variables of it.
    Environment,
}

/// Settings that count besides those that are examined, by the environment variables that would set them.
#[derive(Clone, Debug, Default)]
pub struct OtherSettings {
    /// Those that take precedence.
    pub stronger: BTreeMap<String, StrongerSetting>,
    /// The values of those over which the examined settings take precedence.
    pub weaker: BTreeMap<String, String>,
}

/// A setting that takes precedence over another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrongerSetting {
    /// The value that counts.
    pub value: String,
    /// Where it stands, as the subject of a sentence, such as `the environment`.
    pub place: String,
}

/// Values with which a setting leaves the decision to the library.
const NEUTRAL: [&str; 7] = ["", "0", "ignore", "auto", "false", "no", "none"];

/// The environment variables that a script, a module file or a command line of a launcher sets, with their lines.
///
/// Known are `NAME=value` and `export NAME=value` of shells, `setenv NAME value` of csh and of modules in Tcl,
/// `setenv("NAME", "value")` of modules in Lua, and `--mca NAME VALUE`, `-x NAME=value` and `-genv NAME VALUE` of launchers.
/// `prefix_of_option` is the prefix that turns a name after `--mca` into an environment variable's.
pub fn environment_assignments(text: &str, prefix_of_option: &str) -> Vec<Assignment> {
    let mut found = Vec::new();
    for (content, line) in text.lines().zip(1..) {
        let content = content.trim();
        if content.starts_with('#') || content.starts_with("--[") || content.starts_with("-- ") {
            continue;
        }
        let mut add = |name: &str, value: &str| {
            let name = unquoted(name);
            let is_name = !name.is_empty()
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                && !name.starts_with(|c: char| c.is_ascii_digit());
            if is_name {
                found.push(Assignment {
                    line: Some(line),
                    name: name.to_owned(),
                    value: unquoted(value).to_owned(),
                });
            }
        };
        // Modules in Lua.
        if let Some((function, arguments)) = content.split_once('(')
            && ["setenv", "pushenv"].contains(&function.trim())
        {
            if let Some((name, value)) = arguments.split_once(',') {
                let value = value.trim_end().trim_end_matches(')');
                add(name, value);
            }
            continue;
        }
        let words = shell_words(content);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut place = 0;
        while let Some(word) = words.get(place) {
            let after = |distance: usize| words.get(place + distance).copied();
            match (*word, after(1), after(2)) {
                ("setenv" | "pushenv" | "-genv" | "-env", Some(name), Some(value)) => {
                    add(name, value);
                    place += 2;
                }
                ("--mca" | "-mca", Some(name), Some(value)) => {
                    add(&format!("{prefix_of_option}{name}"), value);
                    place += 2;
                }
                _ => {
                    if let Some((name, value)) = word.split_once('=') {
                        add(name, value);
                    } else if word.starts_with('#') {
                        break;
                    }
                }
            }
            place += 1;
        }
    }
    found
}

/// The words of a shell's line; quotes join words and disappear.
fn shell_words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                word.get_or_insert_with(String::new);
            }
            // These separate commands.
            None if c.is_whitespace() || [';', '&', '|'].contains(&c) => words.extend(word.take()),
            _ => word.get_or_insert_with(String::new).push(c),
        }
    }
    words.extend(word);
    words
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['"', '\''])
}

/// What is wrong with settings for a library, given those that count besides them. The settings that are returned are those
/// that count: without those that others override.
pub fn examine_assignments(
    library: LibraryName,
    release: &ExaminedRelease<'_>,
    source: AssignmentSource,
    assignments: &[Assignment],
    besides: &OtherSettings,
) -> SteeringFindings {
    let mut found = SteeringFindings::default();
    let variable_of = |assignment: &Assignment| match source {
        AssignmentSource::Parameters => library.environment_variable(&assignment.name),
        AssignmentSource::Environment => assignment.name.clone(),
    };
    let mut variables = besides.weaker.clone();
    let mut last = BTreeMap::new();
    for (assignment, place) in assignments.iter().zip(0..) {
        variables.insert(variable_of(assignment), assignment.value.clone());
        last.insert(variable_of(assignment), place);
    }
    let of_others = besides.stronger.iter();
    variables.extend(of_others.map(|(name, setting)| (name.clone(), setting.value.clone())));
    let mut all = values_in_force(library, release, &variables);
    let is_listed = !all.is_empty();
    // Of components whose settings are not listed.
    for (variable, value) in &variables {
        let unlisted = library
            .control_variable(variable)
            .filter(|setting| library.may_have_setting(setting))
            .filter(|_| release.variables.is_none());
        if let Some(setting) = unlisted {
            all.entry(setting).or_insert_with(|| value.clone());
        }
    }
    let known = KnownSettings {
        variables: &variables,
        all: is_listed.then_some(&all),
        changed: None,
    };
    for (assignment, place) in assignments.iter().zip(0..) {
        let variable = variable_of(assignment);
        // A script may set a variable for each of several commands, or in the branches of a condition.
        if source == AssignmentSource::Parameters
            && let Some(later) = last.get(&variable).filter(|later| **later > place)
        {
            let by = assignments[*later]
                .line
                .map_or_else(String::new, |line| format!(" in line {line}"));
            found.report(
                assignment.line,
                FindingKind::NoEffect,
                format!(
                    "{} is set again{by}, and the last value counts",
                    assignment.name
                ),
                "remove one of the two",
            );
            continue;
        }
        if let Some(stronger) = besides.stronger.get(&variable) {
            let setting = library.control_variable(&variable);
            let steers =
                setting.is_some_and(|setting| library.steering_setting(&setting).is_some());
            if steers {
                found.note(
                    assignment.line,
                    FindingKind::Remark,
                    format!(
                        "{} is overridden: {} sets it, too, and takes precedence",
                        assignment.name, stronger.place
                    ),
                );
            }
            continue;
        }
        if let Some(stronger) = stronger_variable(library, &variable, &variables) {
            found.report(
                assignment.line,
                FindingKind::NoEffect,
                format!(
                    "{stronger}, which is also set, takes precedence over {}",
                    assignment.name
                ),
                "remove one of the two",
            );
            continue;
        }
        found.assignments.push(assignment.clone());
        if let Some(meant) = library
            .misnamed_setting(&variable, &all)
            .filter(|_| source == AssignmentSource::Environment)
        {
            let title = library.facts().title;
            let correct = library.environment_variable(meant);
            found.report(
                assignment.line,
                FindingKind::UnknownName,
                format!("{} has no effect: {title} reads {correct}", assignment.name),
                format!("write {correct}"),
            );
            continue;
        }
        let effect = library.variable_effect(&variable, &assignment.value, &known);
        report_effect(
            library, release, source, assignment, &variable, &effect, &mut found,
        );
    }
    let in_force = std::mem::take(&mut found.assignments);
    library.examine_values(release, source, &in_force, &all, &mut found);
    found.assignments = in_force;
    found.sorted()
}

/// The variable among those that are set which takes precedence over another one for the same control variable.
pub(crate) fn stronger_variable(
    library: LibraryName,
    variable: &str,
    set: &BTreeMap<String, String>,
) -> Option<String> {
    let mut stronger = library.stronger_variables(variable).into_iter();
    stronger.find(|stronger| set.contains_key(stronger))
}

/// The values of all known control variables with these environment variables.
pub fn values_in_force(
    library: LibraryName,
    release: &ExaminedRelease<'_>,
    variables: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut all = release
        .variables
        .cloned()
        .unwrap_or_else(|| library.known_settings(release.version));
    for (name, value) in variables {
        if stronger_variable(library, name, variables).is_some() {
            continue;
        }
        let setting = library.control_variable(name);
        if let Some(current) = setting.and_then(|setting| all.get_mut(&setting)) {
            current.clone_from(value);
        }
    }
    all
}

fn report_effect(
    library: LibraryName,
    release: &ExaminedRelease<'_>,
    source: AssignmentSource,
    assignment: &Assignment,
    variable: &str,
    effect: &Effect,
    found: &mut SteeringFindings,
) {
    let Assignment { line, name, value } = assignment;
    let title = format!("{} {}", library.facts().title, release.version);
    // As users would have to write a setting in this place.
    let written = |setting: &str| match source {
        AssignmentSource::Parameters => setting.to_owned(),
        AssignmentSource::Environment => library.environment_variable(setting),
    };
    let setting = library
        .control_variable(variable)
        .unwrap_or_else(|| variable.to_owned());
    let role = library.steering_setting(&setting).map(|listed| listed.role);
    let decides = role.is_some_and(|role| {
        [
            SettingRole::Rules,
            SettingRole::Switch,
            SettingRole::Algorithm,
        ]
        .contains(&role)
    });
    let prefix = library.facts().variable_prefix;
    if source == AssignmentSource::Parameters
        && !prefix.is_empty()
        && let Some(own) = name.strip_prefix(prefix)
    {
        found.report(
            *line,
            FindingKind::UnknownName,
            format!("names in parameter files have no prefix, so {title} has no setting `{name}`"),
            format!("write `{own}`"),
        );
        return;
    }
    // A component is chosen, or switched off, by any value.
    let is_neutral = role != Some(SettingRole::Component) && NEUTRAL.contains(&value.as_str());
    match effect {
        Effect::Nothing(NoEffect::NoSuchSetting { similar }) if decides || !similar.is_empty() => {
            let similar: Vec<String> = similar.iter().map(|known| written(known)).collect();
            let remedy = if similar.is_empty() {
                "remove it".to_owned()
            } else {
                format!("did you mean {}?", similar.join(" or "))
            };
            found.report(
                *line,
                FindingKind::UnknownName,
                format!("{title} has no setting `{name}`"),
                remedy,
            );
        }
        Effect::Nothing(NoEffect::Unmet(needed)) if !is_neutral => {
            found.report(
                *line,
                FindingKind::NoEffect,
                format!(
                    "{name} has no effect: {title} reads it only with {}={}",
                    written(needed.setting),
                    needed.remedy
                ),
                format!(
                    "set {}={}, or remove it",
                    written(needed.setting),
                    needed.remedy
                ),
            );
        }
        Effect::Nothing(NoEffect::Idle(component)) if !is_neutral => {
            found.report(
                *line,
                FindingKind::NoEffect,
                format!("{name} has no effect: the component {component} carries out no collective"),
                format!("let {component} come first (its priority, and the setting `coll`), or remove it"),
            );
        }
        Effect::Nothing(NoEffect::NothingToEnable) => {
            found.note(
                *line,
                FindingKind::Remark,
                format!("no setting that needs {name} is set"),
            );
        }
        _ => {}
    }
}
