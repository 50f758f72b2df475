//! Reading a machine file: strictly, and with the place of every mistake.

use std::fmt;

use saphyr::{LoadableYamlNode, MarkedYaml, YamlData};
use thiserror::Error;

use crate::{InvalidMachine, Machine};

/// A mistake in a machine file, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineFileError {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The text of the line.
    pub source_line: String,
    /// What is wrong there.
    pub problem: MachineProblem,
}

/// What is wrong in a machine file.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum MachineProblem {
    /// Not YAML, an unknown, missing or doubled key, or a value of another form.
    #[error("{message}")]
    Form {
        /// What the reader says.
        message: String,
        /// The key that is most like an unknown one.
        similar: Option<String>,
    },
    /// A value that makes no sense.
    #[error(transparent)]
    Value(#[from] InvalidMachine),
}

impl Machine {
    /// The file of the reference machine, which explains every key.
    pub const REFERENCE: &str = include_str!("../../tuning/machines/reference.yaml");

    /// Reads a machine file, which is YAML with the machine's own keys.
    ///
    /// # Errors
    /// The first mistake: bad syntax, unknown or missing keys, values of the wrong kind or out of
    /// range.
    pub fn from_yaml(text: &str) -> Result<Self, MachineFileError> {
        let machine: Self = serde_yaml::from_str(text).map_err(|error| form_error(text, &error))?;
        match machine.validate() {
            Ok(()) => Ok(machine),
            Err(invalid) => {
                let (line, column) = place(text, invalid.key()).unwrap_or((1, 1));
                Err(at(text, line, column, invalid.into()))
            }
        }
    }
}

impl MachineFileError {
    /// What the user can do about it.
    pub fn help(&self) -> String {
        match &self.problem {
            MachineProblem::Form {
                similar: Some(key), ..
            } => format!("did you mean `{key}`?"),
            _ => "tuning/machines/reference.yaml explains every key".to_owned(),
        }
    }
}

impl fmt::Display for MachineFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            line,
            column,
            problem,
            ..
        } = self;
        write!(f, "line {line}, column {column}: {problem}")
    }
}

impl std::error::Error for MachineFileError {}

fn at(text: &str, line: usize, column: usize, problem: MachineProblem) -> MachineFileError {
    let source_line = text.lines().nth(line.max(1) - 1).unwrap_or_default();
    MachineFileError {
        line: line.max(1),
        column: column.max(1),
        source_line: source_line.to_owned(),
        problem,
    }
}

fn form_error(text: &str, error: &serde_yaml::Error) -> MachineFileError {
    let (line, column) = match error.location() {
        Some(place) => (place.line(), place.column()),
        None => (1, 1),
    };
    // The place is told apart from the message.
    let message = error.to_string();
    let message = match message.split_once(" at line ") {
        Some((message, _)) => message.to_owned(),
        None => message,
    };
    // `unknown field `x`, expected one of `a`, `b``: the wording is part of serde's traits.
    let mut quoted = message.split('`').skip(1).step_by(2);
    let unknown = quoted.next().filter(|_| message.contains("unknown field"));
    let similar = unknown.and_then(|unknown| {
        let likeness = |known: &str| strsim::jaro_winkler(unknown, known);
        let similar = quoted.map(|known| (likeness(known), known));
        let similar = similar.filter(|(likeness, _)| *likeness > 0.8);
        similar
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, known)| known.to_owned())
    });
    at(
        text,
        line,
        column,
        MachineProblem::Form { message, similar },
    )
}

/// Where the value of a key such as `network.alpha` stands.
fn place(text: &str, key: &str) -> Option<(usize, usize)> {
    let documents = MarkedYaml::load_from_str(text).ok()?;
    let mut node = documents.first()?;
    for step in key.split('.').filter(|step| !step.is_empty()) {
        let YamlData::Mapping(entries) = &node.data else {
            return None;
        };
        let found = entries
            .iter()
            .find(|(name, _)| name.data.as_str() == Some(step));
        node = found?.1;
    }
    Some((node.span.start.line(), node.span.start.col() + 1))
}
