//! Keys and forms of a file, with the place of what is wrong with them.

use serde::de::DeserializeOwned;

use crate::source::Source;
use crate::{CampaignError, Field, Problem};

/// Reads keys and forms; the marked text only serves to find the place of an error.
pub(crate) fn read<T: DeserializeOwned>(
    source: &Source<'_>,
    text: &str,
) -> Result<T, CampaignError> {
    let value: serde_yaml::Value = serde_yaml::from_str(text).map_err(|error| {
        let (line, column) = error
            .location()
            .map_or((1, 1), |at| (at.line(), at.column()));
        source.at(
            line,
            column,
            Problem::Syntax {
                message: error.to_string(),
            },
        )
    })?;
    serde_path_to_error::deserialize(value).map_err(|error| {
        let field = Field::from(error.path());
        form_error(source, &field, &error.inner().to_string())
    })
}

/// Turns serde's message, whose wording is part of serde's stable trait methods, into a problem.
fn form_error(source: &Source<'_>, field: &Field, message: &str) -> CampaignError {
    let quoted: Vec<String> = message
        .split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect();
    match (message.split_once(": "), quoted.split_first()) {
        (_, Some((key, known))) if message.starts_with("unknown field") => source.at_key(
            field,
            Problem::UnknownKey {
                key: key.clone(),
                known: known.to_vec(),
            },
        ),
        (_, Some((key, _))) if message.starts_with("missing field") => {
            source.at_value(field, Problem::MissingKey { key: key.clone() })
        }
        (Some((_, detail)), _) => {
            let (found, expected) = detail
                .rsplit_once(", expected ")
                .unwrap_or((detail, "another"));
            let problem = unquoted(source, field, found).unwrap_or_else(|| Problem::Form {
                expected: expected.into(),
                found: found.into(),
            });
            source.at_value(field, problem)
        }
        _ => source.at_value(
            field,
            Problem::Syntax {
                message: message.to_owned(),
            },
        ),
    }
}

/// The problem of a number or truth value where any text is meant: YAML would turn `4.10` into
/// 4.1, so that the text cannot be taken from the value.
fn unquoted(source: &Source<'_>, field: &Field, found: &str) -> Option<Problem> {
    let kinds = ["floating point", "integer", "boolean"];
    let path = field.to_string();
    let of_launcher = path
        .strip_prefix("launcher.")
        .and_then(|path| path.split_once('.'));
    let is_free = ["name", "library.version"].contains(&path.as_str())
        || of_launcher.is_some_and(|(_, key)| {
            key == "options" || key.starts_with("options[") || key.starts_with("environment.")
        });
    if !is_free || !kinds.iter().any(|kind| found.starts_with(kind)) {
        return None;
    }
    Some(Problem::Unquoted {
        key: field.last_key().map(str::to_owned),
        text: source.text(field)?,
    })
}
