//! Users' command lines that start ranks, and variables for the ranks alone.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use libraries::is_launcher;
use vocabulary::Library;

use super::batch_system::{BATCH_SYSTEMS, BatchSystem};
use super::{Discovery, Installation, LaunchError, LibraryChoice, Refusal, select_installation};

/// The variable that loads a library into every program. It must not be set for the launcher itself.
pub const PRELOADING: &str = "LD_PRELOAD";

/// A command that starts ranks.
#[derive(Debug)]
pub struct CommandLine {
    /// Variables that `env` sets for it.
    assignments: Vec<(OsString, OsString)>,
    starter: Starter,
    /// The arguments after the launcher.
    arguments: Vec<OsString>,
}

/// The program that starts the ranks.
#[derive(Debug)]
enum Starter {
    /// A library's launcher.
    Library(Installation),
    /// A batch system's launcher, at this path; it serves programs of every library.
    Batch(&'static dyn BatchSystem, PathBuf),
}

impl CommandLine {
    /// Parses a command: a launcher with its arguments, optionally after `env NAME=VALUE ...`. Programs are searched on
    /// `path`, the value of `$PATH`, or on an assigned one.
    ///
    /// # Errors
    /// [`LaunchError::Unusable`] if its first word is no known launcher; a program with another name is not started to
    /// ask it. [`LaunchError::Step`] if `env` has options.
    pub fn from_words(words: &[OsString], path: &OsStr) -> Result<Self, LaunchError> {
        let (mut words, mut assignments) = (words, Vec::new());
        let mut path = path.to_owned();
        if let [first, rest @ ..] = words
            && name_of(first) == "env"
        {
            words = match rest {
                [word, rest @ ..] if word == "--" => rest,
                [word, ..] if word.as_encoded_bytes().starts_with(b"-") => {
                    return Err(LaunchError::Step {
                        program: "env",
                        message: format!("the option {} of `env` is not supported", word.display()),
                    });
                }
                _ => rest,
            };
            while let [word, following @ ..] = words
                && let Some(assignment) = parse_assignment(word)
            {
                if assignment.0 == "PATH" {
                    path.clone_from(&assignment.1);
                }
                assignments.push(assignment);
                words = following;
            }
        }
        let (first, arguments) = match words {
            [first, arguments @ ..] => (first.as_os_str(), arguments),
            [] => (OsStr::new(""), words),
        };
        let found = find_program(first, &path);
        let mut systems = BATCH_SYSTEMS.into_iter();
        let is_named = |step: &str| name_of(first) == step;
        let starter = match systems.find(|system| system.words().step.is_some_and(is_named)) {
            Some(system) if found.is_file() => Starter::Batch(system, found),
            Some(_) => {
                let reason = Refusal::Run(std::io::ErrorKind::NotFound.into());
                let launcher = found;
                return Err(LaunchError::Unusable { launcher, reason });
            }
            // Another program, such as the user's own, may start its work whatever its arguments are.
            None if !name_of(first).to_str().is_some_and(is_launcher) => {
                return Err(LaunchError::Unusable {
                    launcher: found,
                    reason: Refusal::Name,
                });
            }
            None => {
                let choice = LibraryChoice {
                    launcher: Some(found),
                    ..LibraryChoice::default()
                };
                Starter::Library(select_installation(&choice, &Discovery::default())?)
            }
        };
        Ok(Self {
            assignments,
            starter,
            arguments: arguments.to_vec(),
        })
    }

    /// The library of its programs, if the launcher belongs to a library.
    pub fn library(&self) -> Option<Library> {
        match &self.starter {
            Starter::Library(installation) => Some(installation.library()),
            Starter::Batch(..) => None,
        }
    }

    /// The value of a variable for the launcher: as assigned, or else as in this process.
    pub fn variable(&self, name: &str) -> Option<OsString> {
        let mut assigned = self.assignments.iter().rev();
        match assigned.find(|(assigned, _)| assigned == name) {
            Some((_, value)) => Some(value.clone()),
            None => std::env::var_os(name),
        }
    }

    /// The launcher's path.
    pub fn launcher(&self) -> &Path {
        match &self.starter {
            Starter::Library(installation) => &installation.launcher,
            Starter::Batch(_, launcher) => launcher,
        }
    }

    /// The command with these variables in the environment of its ranks, [`PRELOADING`] only there.
    ///
    /// # Errors
    /// [`LaunchError::Step`] if the launcher's own options or the characters of a value prevent it.
    pub fn with_variables(&self, variables: &[(&str, OsString)]) -> Result<Command, LaunchError> {
        let mut command = Command::new(self.launcher());
        command.envs(self.assignments.iter().map(|(name, value)| (name, value)));
        match &self.starter {
            Starter::Library(installation) => {
                let library = installation.name;
                let options = variables
                    .iter()
                    .flat_map(|(name, value)| library.variable_arguments(name, value));
                let options: Vec<OsString> = options.collect();
                command.args(&options);
                for word in &self.arguments {
                    command.arg(word);
                    if library.facts().sets_variables_by_program && word == ":" {
                        command.args(&options);
                    }
                }
            }
            Starter::Batch(system, _) => {
                let value_of = |name: &str| self.variable(name);
                command.args(system.step_arguments(&self.arguments, variables, &value_of)?);
                let others = variables.iter().filter(|(name, _)| *name != PRELOADING);
                command.envs(others.map(|(name, value)| (name, value)));
            }
        }
        Ok(command)
    }
}

/// A word of the form `NAME=VALUE`.
fn parse_assignment(word: &OsStr) -> Option<(OsString, OsString)> {
    let (name, value) = word.to_str()?.split_once('=')?;
    super::is_shell_variable(name).then(|| (name.into(), value.into()))
}

/// A program's name without its folder.
fn name_of(word: &OsStr) -> &OsStr {
    Path::new(word).file_name().unwrap_or(word)
}

fn find_program(word: &OsStr, path: &OsStr) -> PathBuf {
    let is_path = Path::new(word).components().count() > 1;
    let folders = std::env::split_paths(path).filter(|_| !is_path && !word.is_empty());
    let mut places = folders.map(|folder| folder.join(word));
    places
        .find(|place| place.is_file())
        .unwrap_or_else(|| word.into())
}
