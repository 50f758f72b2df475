//! One line of JSON about one job.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use strum_macros::IntoStaticStr;
use thiserror::Error;

use super::{CarriedOutBy, collective_number};
use crate::Time;

/// The version of the format.
pub const USAGE_VERSION: u64 = 1;

/// The most bytes of a line, with its end.
pub const MOST_LINE_BYTES: usize = 64 << 10;

/// The most characters of names, and of the reason in words.
const MOST_NAME: usize = 256;
const MOST_WHY: usize = 1000;

/// What the key `format` of a line says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum UsageFormat {
    /// It is a line about a job.
    #[default]
    #[serde(rename = "colltune-usage")]
    ColltuneUsage,
}

/// What became of the table that a job was given.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum JobOutcome {
    /// It decided about the job's calls.
    Used,
    /// It could not be read.
    Unreadable,
    /// The ranks had different tables or settings.
    Differs,
    /// A setting of `libcolltune.so` was wrong.
    Setting,
    /// It was made for another library, version or type of CPU.
    OtherSystem,
    /// `libcolltune.so` was built for another library than the program's.
    OtherLibrary,
    /// Another program had spawned this one.
    Spawned,
    /// Processes were started together, and each was a world of one rank.
    SeparateWorlds,
    /// The program started MPI by sessions alone.
    Sessions,
    /// The program called MPI past `libcolltune.so`.
    Bypassed,
    /// A call of MPI failed while the table was prepared.
    MpiError,
    /// The program ended without `MPI_Finalize`, so its calls are not known.
    NoFinalize,
}

impl JobOutcome {
    /// Every outcome, in the order of their numbers.
    pub const ALL: [Self; 12] = [
        Self::Used,
        Self::Unreadable,
        Self::Differs,
        Self::Setting,
        Self::OtherSystem,
        Self::OtherLibrary,
        Self::Spawned,
        Self::SeparateWorlds,
        Self::Sessions,
        Self::Bypassed,
        Self::MpiError,
        Self::NoFinalize,
    ];

    /// The name used in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The one with a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|known| known.name() == name)
    }

    /// The outcome in words, of jobs.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Used => "used the table",
            Self::Unreadable => "could not read the table",
            Self::Differs => "had different tables or settings on their ranks",
            Self::Setting => "had a wrong setting",
            Self::OtherSystem => "ran on another system than the table is for",
            Self::OtherLibrary => "ran with another library than libcolltune.so is for",
            Self::Spawned => "were spawned by other programs",
            Self::SeparateWorlds => "were processes that did not find each other",
            Self::Sessions => "started MPI by sessions",
            Self::Bypassed => "called MPI past libcolltune.so",
            Self::MpiError => "failed to prepare the table",
            Self::NoFinalize => "ended without MPI_Finalize",
        }
    }
}

/// The table of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TableOfJob {
    /// Its name.
    pub name: String,
    /// The SHA-256 of the file's bytes in hexadecimal digits; of the content read last, if the file was read again.
    pub sha256: String,
    /// The number of times that it was replaced while the job ran.
    pub replacements: u64,
}

/// The calls of one collective that one thing carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UsageCalls {
    /// MPI's name in lower case, such as `allreduce`, `iallreduce` or `allreduce_init`.
    pub collective: String,
    /// What carried them out.
    pub by: CarriedOutBy,
    /// The number of calls, of all ranks together; of persistent collectives, the number of times that they were started.
    pub calls: u64,
    /// The time in them, of all ranks together; absent unless all ranks measured it.
    #[serde(default, rename = "seconds", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub time: Option<Time>,
}

/// A job that was given a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobUsage {
    /// That this is a line about a job.
    pub format: UsageFormat,
    /// The version of the format.
    pub version: u64,
    /// What no other line has, in 16 hexadecimal digits.
    pub id: String,
    /// The batch system's identifier of the job; null outside of one.
    pub job: Option<String>,
    /// The name of the program's file.
    pub program: String,
    /// The MPI library that the program ran with, such as `openmpi-4.1.4`; null if it is not known.
    pub library: Option<String>,
    /// The time at which the program started MPI, in seconds since 1970.
    pub started: u64,
    /// The time from then until the line was written.
    #[serde(rename = "seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub time: Time,
    /// The number of ranks; null if it is not known.
    pub ranks: Option<u64>,
    /// What became of the table.
    pub outcome: JobOutcome,
    /// The reason in words; null if the table was used.
    pub why: Option<String>,
    /// The table; null if it could not be read or was not looked at.
    pub table: Option<TableOfJob>,
    /// The calls of all ranks; empty if they are not known.
    pub calls: Vec<UsageCalls>,
}

/// The reason why a text is no such line.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum UsageError {
    /// It is no JSON, or has a key or a value that such lines have not.
    #[error("column {column}: {message}")]
    Invalid { column: usize, message: String },
    /// The line ends early.
    #[error("column {column}: the line ends in the middle")]
    Truncated { column: usize },
    /// A later colltune wrote it.
    #[error("version {found} of the format, of which this colltune knows {USAGE_VERSION}")]
    Version { found: u64 },
    /// It is longer than any that colltune writes.
    #[error("longer than {MOST_LINE_BYTES} bytes")]
    TooLong,
    /// A field has a value that colltune does not write.
    #[error("{field}: {message}")]
    Value {
        field: &'static str,
        message: &'static str,
    },
}

/// The key that says whether the others can be read.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    version: u64,
}

impl JobUsage {
    /// The text of the line with its end. The reason in words is shortened as necessary; everything else has a place.
    #[must_use]
    pub fn to_line(&self) -> String {
        let shortened = |text: &str, most| text.chars().take(most).collect::<String>();
        let mut written = self.clone();
        written.program = shortened(&self.program, MOST_NAME);
        written.why = self.why.as_deref().map(|why| shortened(why, MOST_WHY));
        for name in [&mut written.job, &mut written.library] {
            *name = name.as_deref().map(|name| shortened(name, MOST_NAME));
        }
        if let Some(table) = &mut written.table {
            table.name = shortened(&table.name, MOST_NAME);
        }
        // These types have keys that are texts and numbers that are finite, so they can always be written.
        let mut line = serde_json::to_string(&written).unwrap_or_default();
        line.push('\n');
        line
    }

    /// Reads a line, without its end.
    ///
    /// # Errors
    ///
    /// [`UsageError`], with the column or the field.
    pub fn from_line(line: &[u8]) -> Result<Self, UsageError> {
        if line.len() >= MOST_LINE_BYTES {
            return Err(UsageError::TooLong);
        }
        let head: Head =
            serde_json::from_slice(line).map_err(|error| read_error(line.len(), &error))?;
        if head.version > USAGE_VERSION {
            return Err(UsageError::Version {
                found: head.version,
            });
        }
        let read: Self =
            serde_json::from_slice(line).map_err(|error| read_error(line.len(), &error))?;
        read.check_values()?;
        Ok(read)
    }

    /// Checks what types do not.
    fn check_values(&self) -> Result<(), UsageError> {
        let names = [
            Some(&self.program),
            self.job.as_ref(),
            self.library.as_ref(),
        ];
        let table = self.table.as_ref();
        let are_short = names
            .into_iter()
            .chain([table.map(|table| &table.name)])
            .flatten()
            .all(|name| name.chars().count() <= MOST_NAME);
        let why = self.why.as_deref().unwrap_or_default();
        let mut seen = BTreeSet::new();
        let is_known = |row: &UsageCalls| collective_number(&row.collective).is_some();
        let checks = [
            (
                self.version == USAGE_VERSION,
                "version",
                "the first version is 1",
            ),
            (
                is_hexadecimal(&self.id, 16),
                "id",
                "16 lower-case hexadecimal digits are expected",
            ),
            (
                table.is_none_or(|table| is_hexadecimal(&table.sha256, 64)),
                "table.sha256",
                "64 lower-case hexadecimal digits are expected",
            ),
            (
                self.outcome != JobOutcome::Used || table.is_some(),
                "table",
                "a table that was used is missing",
            ),
            (
                are_short,
                "program, job, library or table.name",
                "longer than 256 characters",
            ),
            (
                why.chars().count() <= MOST_WHY,
                "why",
                "longer than 1000 characters",
            ),
            (
                self.calls.iter().all(is_known),
                "calls.collective",
                "MPI has no such collective",
            ),
            (
                self.calls
                    .iter()
                    .all(|row| seen.insert((&row.collective, row.by))),
                "calls",
                "the same collective and the same `by` twice",
            ),
        ];
        match checks.into_iter().find(|(holds, ..)| !holds) {
            None => Ok(()),
            Some((_, field, message)) => Err(UsageError::Value { field, message }),
        }
    }
}

fn is_hexadecimal(text: &str, digits: usize) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.len() == digits && text.bytes().all(is_digit)
}

fn read_error(length: usize, error: &serde_json::Error) -> UsageError {
    let column = error.column();
    // What ends within a number is no number.
    if error.is_eof() || error.is_syntax() && column >= length {
        return UsageError::Truncated { column };
    }
    let text = error.to_string();
    let place = format!(" at line {} column {column}", error.line());
    UsageError::Invalid {
        column,
        message: text.strip_suffix(&place).unwrap_or(&text).to_owned(),
    }
}
