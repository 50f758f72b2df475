//! The command line of mpirun or mpiexec.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::{Command, Stdio};

use libraries::{LaunchRanks, NodeSource};
use nix::unistd::Uid;

use super::{Binding, Installation, LaunchError};
use vocabulary::CommShape;
use wire::{LAUNCHER_VARIABLE, REMOVED_VARIABLE, RULES_VARIABLE};

/// The variable parts of a command line, besides the library.
pub(super) struct CommandParts<'a> {
    /// Further arguments, before the program.
    pub(super) options: &'a [String],
    /// Variables from the campaign, for the launcher and the ranks.
    pub(super) own: &'a BTreeMap<String, String>,
    /// Variables beyond these and the environment of this process.
    pub(super) environment: &'a [(OsString, OsString)],
    /// Variables of the launcher's environment that the ranks need too.
    pub(super) inherited: &'a [&'a str],
    pub(super) nodes: NodeSource<'a>,
}

/// The launcher with its own arguments; those of the program are still missing.
///
/// # Errors
/// [`LaunchError::SeveralNodes`] without a host file that has as many hosts.
pub(super) fn launcher_command(
    installation: &Installation,
    start: &CommandParts<'_>,
    shape: CommShape,
    binding: Binding,
) -> Result<Command, LaunchError> {
    if matches!(start.nodes, NodeSource::Here) && shape.nodes > 1 {
        return Err(LaunchError::SeveralNodes {
            shape,
            problem: None,
        });
    }
    let library = installation.name;
    let mut command = Command::new(&installation.launcher);
    command.args(library.rank_arguments(&LaunchRanks {
        shape,
        nodes: start.nodes,
        may_crowd: binding == Binding::Free,
        passed_on: &passed_on(installation, start),
    }));
    if Uid::effective().is_root() {
        let variables = library.facts().superuser_variables.iter();
        command.envs(variables.map(|name| (name, "1")));
    }
    // Launchers refuse or ignore a second binding, so the user's takes precedence.
    let binding_arguments = library.binding_arguments(binding == Binding::Bound);
    // The option, or the name of the variable that an option sets.
    let place = binding_arguments.len().saturating_sub(2);
    let bare = |word: &str| word.trim_start_matches('-').to_owned();
    let own_word = binding_arguments
        .get(place)
        .map(|word| bare(&word.to_string_lossy()));
    let given = start.options.iter().chain(start.own.keys());
    let is_given = given
        .map(|word| bare(word))
        .any(|word| Some(word) == own_word);
    if !is_given {
        command.args(&binding_arguments);
    }
    let removed = early_choices_of_site(installation, start.options);
    for (name, _) in &removed {
        command.env_remove(name);
    }
    if !removed.is_empty() {
        command.env(REMOVED_VARIABLE, settings_text(&removed));
    }
    let environment = start.environment.iter();
    command
        .args(start.options)
        .envs(start.own)
        .envs(environment.map(|(name, value)| (name, value)))
        .stdin(Stdio::null());
    let rules = rules_asked_for(installation, start);
    if !rules.is_empty() {
        command.env(RULES_VARIABLE, rules.join(","));
    }
    let line = command_text(&command);
    command.env(LAUNCHER_VARIABLE, line);
    Ok(command)
}

/// The variables of this process's environment that choose algorithms before a program can set them aside, without those
/// that options name.
fn early_choices_of_site(
    installation: &Installation,
    options: &[String],
) -> Vec<(OsString, OsString)> {
    let Some(prefix) = installation.name.facts().early_choices else {
        return Vec::new();
    };
    let named = early_choices_in_options(installation, options);
    let all = std::env::vars_os();
    all.filter(|(name, _)| {
        let text = name.to_string_lossy();
        text.starts_with(prefix) && !named.iter().any(|named| *named == text)
    })
    .collect()
}

/// The variables in a launcher's options that choose algorithms before a program can set them aside: set there, or passed
/// on from the environment.
pub(super) fn early_choices_in_options<'a>(
    installation: &Installation,
    options: &'a [String],
) -> Vec<&'a str> {
    let Some(prefix) = installation.name.facts().early_choices else {
        return Vec::new();
    };
    let words = options.iter();
    let words = words.flat_map(|option| option.split([' ', '=', ',']));
    words.filter(|word| word.starts_with(prefix)).collect()
}

/// Settings as `NAME=value`, a line each.
fn settings_text(settings: &[(OsString, OsString)]) -> String {
    let lines = settings.iter().map(|(name, value)| {
        format!(
            "{}={}\n",
            name.to_string_lossy(),
            value.to_string_lossy().replace('\n', " ")
        )
    });
    lines.collect()
}

/// The variables about files of rules that the launch itself sets, which are therefore not the site's.
fn rules_asked_for(installation: &Installation, start: &CommandParts<'_>) -> Vec<String> {
    let library = installation.name;
    let names = start.environment.iter();
    let names = names.filter_map(|(name, _)| name.to_str());
    let names = names.chain(start.own.keys().map(String::as_str));
    let words = start.options.iter();
    let words = words.flat_map(|option| option.split([' ', '=']));
    let about = |word: &str| {
        let belongs = |name: &String| library.names_rules(name) || library.goes_with_rules(name);
        // A variable, or a control variable, which is the spelling of a launcher's options.
        let spellings = [word.to_owned(), library.environment_variable(word)];
        spellings.into_iter().find(belongs)
    };
    names.chain(words).filter_map(about).collect()
}

/// The variables of the launcher's environment that remote ranks must get.
fn passed_on(installation: &Installation, start: &CommandParts<'_>) -> Vec<OsString> {
    let names = start.environment.iter().map(|(name, _)| name.clone());
    let names = names.chain(start.own.keys().map(OsString::from));
    let names = names.chain(start.inherited.iter().map(OsString::from));
    let rules = !rules_asked_for(installation, start).is_empty();
    let rules = rules.then(|| RULES_VARIABLE.into());
    let removed = !early_choices_of_site(installation, start.options).is_empty();
    let removed = removed.then(|| REMOVED_VARIABLE.into());
    let names = names.chain(rules).chain(removed);
    names.chain([LAUNCHER_VARIABLE.into()]).collect()
}

/// The launcher with its arguments, as text for the ranks.
fn command_text(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}
