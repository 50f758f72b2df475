//! A reader of rules files of `han` that is stricter than the library.

use std::collections::BTreeMap;

use schedule::Collective;

use super::{HAN, SERVED, TUNED};
use crate::ExportError;
use crate::openmpi::algorithms::LARGEST;

/// The level of rules for whole communicators. Releases before 5.0 know levels by their numbers alone.
pub(super) const LEVEL: u64 = 2;

/// A rules file of `han` with rules for whole communicators.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HanFile {
    collectives: BTreeMap<Collective, Vec<CommunicatorRows>>,
}

/// A number of ranks with its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CommunicatorRows {
    ranks: u32,
    rows: Vec<ComponentRow>,
}

/// The component from a message size on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComponentRow {
    /// The smallest message, in bytes of one rank.
    pub from_bytes: u64,
    /// `han` or `tuned`.
    pub component: &'static str,
}

impl HanFile {
    /// The component that carries out a call: that of the last communicator size and the last message size that are not
    /// larger. `None` if there are no rules for the collective.
    pub fn component_at(
        &self,
        collective: Collective,
        ranks: u32,
        bytes: u64,
    ) -> Option<&'static str> {
        let sizes = self.collectives.get(&collective)?;
        let of_ranks = sizes.iter().rfind(|of| of.ranks <= ranks)?;
        let row = of_ranks.rows.iter().rfind(|row| row.from_bytes <= bytes)?;
        Some(row.component)
    }
}

/// Reads a rules file of `han`.
///
/// It also refuses text that the component ignores or that people read differently: numbers with a leading zero, which are
/// octal; collectives or sizes that are given twice or do not ascend; levels other than that of whole communicators; other
/// components than `han` and `tuned`; anything behind the last rule.
///
/// # Errors
/// [`ExportError::Invalid`] with the line.
pub fn read_han_rules(text: &str) -> Result<HanFile, ExportError> {
    let mut words = Words::from_text(text);
    let count = words.next_number("the number of collectives", LARGEST)?;
    let mut file = HanFile::default();
    for _ in 0..count {
        let word = words.next_word("a collective")?;
        let Some(collective) = SERVED.into_iter().find(|of| of.name() == word) else {
            return Err(words.fault(format!("`{word}` is not a collective of han")));
        };
        let levels = words.next_number("the number of levels", LARGEST)?;
        let level = words.next_number("a level", LARGEST)?;
        if (levels, level) != (1, LEVEL) {
            let message = format!("{collective} has rules of other levels than {LEVEL}");
            return Err(words.fault(message));
        }
        let sizes = read_sizes(&mut words)?;
        if file.collectives.insert(collective, sizes).is_some() {
            return Err(words.fault(format!("{collective} is given twice")));
        }
    }
    if file.collectives.is_empty() {
        return Err(words.fault("there are no rules".to_owned()));
    }
    match words.words.next() {
        None => Ok(file),
        Some((line, word)) => {
            let message = format!("`{word}` follows the last rule");
            Err(ExportError::invalid(line, message))
        }
    }
}

fn read_sizes(words: &mut Words<'_>) -> Result<Vec<CommunicatorRows>, ExportError> {
    let count = words.next_number("the number of communicator sizes", LARGEST)?;
    let mut sizes: Vec<CommunicatorRows> = Vec::new();
    for _ in 0..count {
        let size = words.next_number("a communicator size", i32::MAX.unsigned_abs().into())?;
        let ranks = u32::try_from(size).unwrap_or(u32::MAX);
        match sizes.last() {
            None if ranks != 1 => {
                return Err(words.fault(format!("the first communicator size is {ranks}, not 1")));
            }
            Some(last) if last.ranks >= ranks => {
                return Err(words.fault(format!("communicator size {ranks} does not ascend")));
            }
            _ => {}
        }
        let rows = read_rows(words)?;
        sizes.push(CommunicatorRows { ranks, rows });
    }
    if sizes.is_empty() {
        return Err(words.fault("there are no communicator sizes".to_owned()));
    }
    Ok(sizes)
}

fn read_rows(words: &mut Words<'_>) -> Result<Vec<ComponentRow>, ExportError> {
    let count = words.next_number("the number of rows", LARGEST)?;
    let mut rows: Vec<ComponentRow> = Vec::new();
    for _ in 0..count {
        let from_bytes = words.next_number("a message size", LARGEST)?;
        match rows.last() {
            None if from_bytes > 0 => {
                let message = format!("the first message size is {from_bytes}, not 0");
                return Err(words.fault(message));
            }
            Some(last) if last.from_bytes >= from_bytes => {
                return Err(words.fault(format!("message size {from_bytes} does not ascend")));
            }
            _ => {}
        }
        let word = words.next_word("a component")?;
        let Some(component) = [HAN, TUNED].into_iter().find(|known| *known == word) else {
            return Err(words.fault(format!("`{word}` is not the component {HAN} or {TUNED}")));
        };
        rows.push(ComponentRow {
            from_bytes,
            component,
        });
    }
    if rows.is_empty() {
        return Err(words.fault("there are no rows".to_owned()));
    }
    Ok(rows)
}

/// The words of a text that are not comments, with their lines.
struct Words<'a> {
    words: std::vec::IntoIter<(usize, &'a str)>,
    /// The line of the last word.
    line: usize,
}

impl<'a> Words<'a> {
    fn from_text(text: &'a str) -> Self {
        let words = text.lines().zip(1..).flat_map(|(line, number)| {
            let code = line.split('#').next().unwrap_or_default();
            code.split_whitespace().map(move |word| (number, word))
        });
        Self {
            words: words.collect::<Vec<_>>().into_iter(),
            line: 1,
        }
    }

    fn next_word(&mut self, what: &str) -> Result<&'a str, ExportError> {
        let Some((line, word)) = self.words.next() else {
            return Err(self.fault(format!("the file ends where {what} is expected")));
        };
        self.line = line;
        Ok(word)
    }

    /// The next number, in a form that the component and people read alike.
    fn next_number(&mut self, what: &str, largest: u64) -> Result<u64, ExportError> {
        let word = self.next_word(what)?;
        let parsed: Option<u64> = word.parse().ok();
        let plain = parsed.filter(|value| value.to_string() == word);
        let Some(number) = plain else {
            return Err(self.fault(format!("`{word}` is not {what} as a plain decimal")));
        };
        if number > largest {
            return Err(self.fault(format!("`{word}` is too large for {what}")));
        }
        Ok(number)
    }

    fn fault(&self, message: String) -> ExportError {
        ExportError::invalid(self.line, message)
    }
}
