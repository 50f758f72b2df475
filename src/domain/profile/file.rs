//! Profiles as files.

use std::fmt::Write;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{CallCost, CallShape, MOST_SHAPES, Profile, RecordedJob};

/// What the key `format` of a profile says.
pub const FORMAT: &str = "colltune-profile";
/// The version of the format.
pub const VERSION: u64 = 1;

/// The most jobs in one file; a job's own profile has one.
const MOST_JOBS: usize = 1 << 20;

/// The reason why a text is no profile.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum ProfileError {
    /// The text ends before the profile does.
    #[error("line {line}, column {column}: the file ends in the middle of the profile")]
    Truncated { line: usize, column: usize },
    /// It is no JSON, or has a key or a value that profiles have not.
    #[error("line {line}, column {column}: {message}")]
    Invalid {
        line: usize,
        column: usize,
        message: String,
    },
    /// It is JSON of another kind.
    #[error("the key `format` is not `{FORMAT}`")]
    Format,
    /// A later colltune wrote it.
    #[error("version {found} of the format, of which this colltune knows {VERSION}")]
    Version { found: u64 },
    /// Numbers contradict each other.
    #[error("calls[{place}].cost.{field}: {message}")]
    Numbers {
        place: usize,
        field: &'static str,
        message: &'static str,
    },
    /// The profile is larger than any that colltune writes.
    #[error("{field}: {found} entries, of which a profile has at most {most}")]
    TooMany {
        field: &'static str,
        found: usize,
        most: usize,
    },
    /// A shape has two tallies.
    #[error("calls[{place}].call: the same shape as of an entry before it")]
    Twice { place: usize },
}

/// The keys that come first, which say whether the others can be read.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    format: String,
    #[serde(default)]
    version: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(rename = "format")]
    _format: String,
    #[serde(rename = "version")]
    _version: u64,
    jobs: Vec<JobEntry>,
    calls: Vec<CallEntry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct JobEntry {
    id: String,
    job: RecordedJob,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CallEntry {
    call: CallShape,
    cost: CallCost,
}

impl Profile {
    /// The text of the file, with a line for each job and each shape.
    #[must_use]
    pub fn to_json(&self) -> String {
        let jobs = self.jobs.iter().map(|(id, job)| {
            to_line(&JobEntry {
                id: id.clone(),
                job: job.clone(),
            })
        });
        let calls = self.calls.iter().map(|(call, cost)| {
            to_line(&CallEntry {
                call: call.clone(),
                cost: cost.clone(),
            })
        });
        let mut text = format!("{{\n\"format\": \"{FORMAT}\",\n\"version\": {VERSION},\n");
        // Writing to a string does not fail.
        let _ = write!(text, "\"jobs\": [{}\n],\n", join_lines(jobs));
        let _ = write!(text, "\"calls\": [{}\n]\n}}\n", join_lines(calls));
        text
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    ///
    /// [`ProfileError`], with the place.
    pub fn from_json(text: &str) -> Result<Self, ProfileError> {
        let head: Head = serde_json::from_str(text).map_err(|error| read_error(text, &error))?;
        if head.format != FORMAT {
            return Err(ProfileError::Format);
        }
        if head.version != VERSION {
            return Err(ProfileError::Version {
                found: head.version,
            });
        }
        let document: Document =
            serde_json::from_str(text).map_err(|error| read_error(text, &error))?;
        check_count("jobs", document.jobs.len(), MOST_JOBS)?;
        check_count("calls", document.calls.len(), MOST_SHAPES)?;
        let mut profile = Self::default();
        for JobEntry { id, job } in document.jobs {
            match profile.jobs.get_mut(&id) {
                Some(known) => known.add_ranks(&job),
                None => {
                    profile.jobs.insert(id, job);
                }
            }
        }
        for (place, CallEntry { call, cost }) in document.calls.into_iter().enumerate() {
            check_numbers(place, &cost)?;
            if profile.calls.insert(call, cost).is_some() {
                return Err(ProfileError::Twice { place });
            }
        }
        Ok(profile)
    }
}

/// A value as one line of JSON.
fn to_line(value: &impl Serialize) -> String {
    // These types have keys that are texts and numbers that are finite, so they can always be written.
    serde_json::to_string(value).unwrap_or_default()
}

fn join_lines(lines: impl Iterator<Item = String>) -> String {
    let lines: Vec<String> = lines.map(|line| format!("\n{line}")).collect();
    lines.join(",")
}

fn read_error(document: &str, error: &serde_json::Error) -> ProfileError {
    let (line, column) = (error.line(), error.column());
    // What ends within a number is no number.
    let is_last = document.lines().count() <= line;
    let is_at_end = is_last
        && document
            .lines()
            .last()
            .is_none_or(|last| last.len() <= column);
    if error.is_eof() || error.is_syntax() && is_at_end {
        return ProfileError::Truncated { line, column };
    }
    let text = error.to_string();
    let place = format!(" at line {line} column {column}");
    ProfileError::Invalid {
        line,
        column,
        message: text.strip_suffix(&place).unwrap_or(&text).to_owned(),
    }
}

fn check_count(field: &'static str, found: usize, most: usize) -> Result<(), ProfileError> {
    if found > most {
        return Err(ProfileError::TooMany { field, found, most });
    }
    Ok(())
}

/// Checks that parts are not larger than what they are of.
fn check_numbers(place: usize, cost: &CallCost) -> Result<(), ProfileError> {
    let checks = [
        (
            cost.sampled_calls <= cost.calls,
            "sampled_calls",
            "more than all calls",
        ),
        (
            cost.waiting <= cost.sampled,
            "waiting_seconds",
            "more than the time in the sampled calls",
        ),
        (
            cost.sampled <= cost.time,
            "sampled_seconds",
            "more than the time in all calls",
        ),
        (
            cost.longest <= cost.time,
            "longest_seconds",
            "more than the time in all calls",
        ),
    ];
    match checks.into_iter().find(|(holds, ..)| !holds) {
        None => Ok(()),
        Some((_, field, message)) => Err(ProfileError::Numbers {
            place,
            field,
            message,
        }),
    }
}
