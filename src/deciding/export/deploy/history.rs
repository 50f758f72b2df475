//! The history of a folder: the user who made each version current.
//!
//! A line is written before the link to the current version is replaced. If the link was not replaced, it or the next
//! line names another version, and the line does not count.

use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::Path;

use jiff::Timestamp;
use strum_macros::{Display, EnumString};

use super::DeployError;

/// The action that made a version current.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum HistoryAction {
    /// The version was deployed.
    Deploy,
    /// The version deployed after it was rolled back.
    Rollback,
    /// The version before was withdrawn: this one leaves everything to the library.
    Withdraw,
}

/// A line of the history, displayed as in the file: words separated by single spaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HistoryLine {
    pub(super) date: String,
    pub(super) who: String,
    pub(super) action: HistoryAction,
    /// The version that becomes current.
    pub(super) version: String,
    /// The one that was current before.
    pub(super) before: Option<String>,
}

const NONE: &str = "-";

impl fmt::Display for HistoryLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            date,
            who,
            action,
            version,
            before,
        } = self;
        let before = before.as_deref().unwrap_or(NONE);
        write!(f, "{date} {who} {action} {version} after {before}")
    }
}

impl HistoryLine {
    fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split(' ').collect();
        let [date, who, action, version, "after", before] = words[..] else {
            return None;
        };
        Some(Self {
            date: date.to_owned(),
            who: who.to_owned(),
            action: action.parse().ok()?,
            version: version.to_owned(),
            before: (before != NONE).then(|| before.to_owned()),
        })
    }
}

/// The history of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct History {
    pub(super) lines: Vec<HistoryLine>,
}

impl History {
    /// Reads a history; incomplete lines are not part of it.
    pub(super) fn read(path: &Path) -> Result<Self, DeployError> {
        let text = match ::files::read_text(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            read => read.map_err(DeployError::for_file("read", path))?,
        };
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        Ok(Self {
            lines: whole.lines().filter_map(HistoryLine::parse).collect(),
        })
    }

    /// Appends a line and syncs it to disk.
    pub(super) fn append_line(path: &Path, line: &HistoryLine) -> Result<(), DeployError> {
        let append = || {
            let mut options = File::options();
            options.read(true).append(true).create(true);
            let mut file = ::files::open_in_place(&mut options, path)?;
            // An earlier process may have been killed in the middle of a line.
            let mut last = [b'\n'];
            if file.metadata()?.len() > 0 {
                file.seek(std::io::SeekFrom::End(-1))?;
                file.read_exact(&mut last)?;
            }
            if file.metadata()?.len() == 0 {
                // All users may read it, whatever the umask.
                ::files::set_mode(&file, 0o644)?;
            }
            let torn = if last == [b'\n'] { "" } else { "\n" };
            file.write_all(format!("{torn}{line}\n").as_bytes())?;
            file.sync_all()
        };
        append().map_err(DeployError::for_file("write", path))
    }

    /// The lines, and whether each counts. A line is written before the link is replaced. If the link was never
    /// replaced, the next line, or the link itself, names another version than the line, which then does not count.
    fn mark_counting_lines<'h>(
        &'h self,
        current: Option<&'h str>,
    ) -> impl Iterator<Item = (&'h HistoryLine, bool)> {
        let later = self.lines.iter().skip(1);
        let found = later.map(|next| next.before.as_deref()).chain([current]);
        let lines = self.lines.iter().zip(found);
        lines.map(|(line, before)| (line, before == Some(&line.version)))
    }

    /// The versions that were current one after the other and not rolled back, the current one last.
    pub(super) fn versions_in_effect(&self, current: Option<&str>) -> Vec<String> {
        let mut stack: Vec<String> = Vec::new();
        for (line, counts) in self.mark_counting_lines(current) {
            if let Some(before) = line.before.as_ref().filter(|b| stack.last() != Some(b)) {
                // The link was changed by hand.
                stack.push(before.clone());
            }
            if !counts {
                continue;
            }
            match line.action {
                HistoryAction::Deploy | HistoryAction::Withdraw => {
                    stack.push(line.version.clone());
                }
                HistoryAction::Rollback => _ = stack.pop(),
            }
        }
        if let Some(current) = current.filter(|current| stack.last().is_none_or(|l| l != current)) {
            stack.push(current.to_owned());
        }
        stack
    }

    /// The versions that were current at the time `since` or later.
    pub(super) fn current_since(&self, since: Timestamp, current: Option<&str>) -> Vec<String> {
        let counted = self
            .mark_counting_lines(current)
            .filter(|(_, counts)| *counts);
        let lines: Vec<&HistoryLine> = counted.map(|(line, _)| line).collect();
        let ends = lines.iter().skip(1).map(|next| next.date.parse().ok());
        let lines = lines.iter().zip(ends.chain([None]));
        // A version whose end is missing or unreadable may still be in use. Dates are rounded down to seconds.
        lines
            .filter(|(_, end)| {
                end.is_none_or(|end: Timestamp| end.as_second() >= since.as_second())
            })
            .map(|(line, _)| line.version.clone())
            .collect()
    }

    /// The last counting line that made a version current, and its index.
    pub(super) fn last_activation(
        &self,
        version: &str,
        current: Option<&str>,
    ) -> Option<(usize, &HistoryLine)> {
        let counts = self.mark_counting_lines(current).map(|(_, counts)| counts);
        let lines = self.lines.iter().zip(counts).enumerate();
        let counted = lines.filter(|(_, (line, counting))| *counting && line.version == version);
        counted.last().map(|(place, (line, _))| (place, line))
    }
}
