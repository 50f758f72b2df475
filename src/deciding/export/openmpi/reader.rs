//! A reader of classic rules files that is stricter than the library.

use libraries::openmpi::COLLECTIVES;
use schedule::Collective;

use super::algorithms::{self, LARGEST, Measure, message_measure};
use crate::ExportError;

/// A classic rules file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Collectives by their number, each with its communicator sizes.
    collectives: Vec<(u32, Vec<CommunicatorSize>)>,
}

/// A number of ranks with its rows.
type CommunicatorSize = (u32, Vec<ReadRule>);

/// The rule from a message size on; by default the library decides for all sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadRule {
    /// The smallest message, in the library's measure.
    pub bytes: u64,
    /// The number of the algorithm; 0 leaves the decision to the library.
    pub algorithm: u32,
    /// Its fanout.
    pub fanout: u32,
    /// Its segment size in bytes.
    pub segment_bytes: u32,
    /// The most requests under way; 0 for no limit, and in files that do not say it.
    pub max_requests: u32,
}

impl File {
    /// The row that the library applies to a call: of the last communicator size and the last message size that are not
    /// larger. `None` if there are no rules for the collective.
    pub fn find_row(&self, collective: Collective, ranks: u32, bytes: u64) -> Option<ReadRule> {
        let number = algorithms::collective_number(collective)?;
        let (_, sizes) = self.collectives.iter().find(|(n, _)| *n == number)?;
        let of_ranks = sizes.iter().rfind(|(size, _)| *size <= ranks);
        let (_, rows) = of_ranks.or(sizes.first())?;
        rows.iter().rfind(|row| row.bytes <= bytes).copied()
    }
}

/// The first line of a file whose rows have a fifth number, that of requests. Before it there may be no comment.
pub(super) const HEADER: &str = "rule-file-version-2";

/// Reads a classic rules file.
///
/// It also refuses text that the library and people read differently, or that breaks programs: numbers with a leading
/// zero, which are octal; sizes that do not ascend; a first communicator size above 2, which would also hold for
/// smaller ones; a first message size above 0, for which the library ignores the whole file; several rows where ranks
/// would choose differently.
///
/// # Errors
/// [`ExportError::Invalid`] with the line.
pub fn read_rules(text: &str) -> Result<File, ExportError> {
    let mut numbers = Numbers::from_text(text);
    let count = numbers.next_number("the number of collectives")?;
    let mut collectives: Vec<(u32, Vec<CommunicatorSize>)> = Vec::new();
    for _ in 0..count {
        let number = numbers.next_number("the number of a collective")?;
        let Some((collective, _)) = COLLECTIVES.iter().find(|(_, known)| *known == number) else {
            return Err(numbers.fault(format!("{number} is not a collective's number")));
        };
        if collectives.iter().any(|(earlier, _)| *earlier == number) {
            return Err(numbers.fault(format!("{collective} is given twice")));
        }
        let sizes = numbers.next_number("a number of communicator sizes")?;
        let mut entries: Vec<CommunicatorSize> = Vec::new();
        for _ in 0..sizes {
            let size = numbers.next_number("a communicator size")?;
            let previous = entries.last().map(|(last, _)| *last);
            if previous.is_none() && !(1..=2).contains(&size) {
                let message = format!("the first communicator size is {size}, not 1 or 2");
                return Err(numbers.fault(message));
            }
            if previous.is_some_and(|previous| previous >= size) {
                return Err(numbers.fault(format!("communicator size {size} does not ascend")));
            }
            entries.push((size, read_rows(&mut numbers, *collective)?));
        }
        if entries.is_empty() {
            return Err(numbers.fault(format!("{collective} has no rules")));
        }
        collectives.push((number, entries));
    }
    match numbers.words.next() {
        None if count == 0 => Err(numbers.fault("there are no rules".to_owned())),
        None => Ok(File { collectives }),
        Some((line, word)) => {
            let message = format!("`{word}` follows the last rule");
            Err(ExportError::invalid(line, message))
        }
    }
}

fn read_rows(
    numbers: &mut Numbers<'_>,
    collective: Collective,
) -> Result<Vec<ReadRule>, ExportError> {
    let count = numbers.next_number("a number of rows")?;
    if count == 0 {
        return Err(numbers.fault("there are no rows".to_owned()));
    }
    if count > 1 && message_measure(collective) == Measure::Nothing {
        return Err(numbers.fault(format!("{collective} may have one row only")));
    }
    let algorithms = algorithms::algorithm_ids(collective).len();
    let mut rows: Vec<ReadRule> = Vec::new();
    for _ in 0..count {
        let bytes = numbers.next_number_up_to("a message size", LARGEST)?;
        match rows.last() {
            None if bytes > 0 => {
                return Err(numbers.fault(format!("the first message size is {bytes}, not 0")));
            }
            Some(row) if row.bytes >= bytes => {
                return Err(numbers.fault(format!("message size {bytes} does not ascend")));
            }
            _ => {}
        }
        let algorithm = numbers.next_number("an algorithm")?;
        if algorithm as usize > algorithms {
            return Err(numbers.fault(format!("{collective} has no algorithm {algorithm}")));
        }
        rows.push(ReadRule {
            bytes,
            algorithm,
            fanout: numbers.next_number("a fanout")?,
            segment_bytes: numbers.next_number("a segment size")?,
            max_requests: if numbers.has_requests {
                numbers.next_number("a number of requests")?
            } else {
                0
            },
        });
    }
    Ok(rows)
}

/// The words of a text that are not comments, with their lines.
struct Numbers<'a> {
    words: std::vec::IntoIter<(usize, &'a str)>,
    /// The line of the last word.
    line: usize,
    /// Whether rows have a number of requests.
    has_requests: bool,
}

impl<'a> Numbers<'a> {
    fn from_text(text: &'a str) -> Self {
        let has_requests = text.lines().next() == Some(HEADER);
        let lines = text.lines().zip(1..).skip(has_requests.into());
        let words = lines.flat_map(|(line, number)| {
            let code = line.split('#').next().unwrap_or_default();
            code.split_whitespace().map(move |word| (number, word))
        });
        Self {
            words: words.collect::<Vec<_>>().into_iter(),
            line: 1,
            has_requests,
        }
    }

    /// The next number, which the library keeps as a C `int`.
    fn next_number(&mut self, what: &str) -> Result<u32, ExportError> {
        let largest = i32::MAX.unsigned_abs();
        // The bound of `up_to` makes it fit.
        let number = self.next_number_up_to(what, u64::from(largest))?;
        Ok(u32::try_from(number).unwrap_or(largest))
    }

    /// The next number, in a form that the library and people read alike.
    fn next_number_up_to(&mut self, what: &str, largest: u64) -> Result<u64, ExportError> {
        let Some((line, word)) = self.words.next() else {
            return Err(self.fault(format!("the file ends where {what} is expected")));
        };
        self.line = line;
        let is_decimal = word.bytes().all(|byte| byte.is_ascii_digit());
        if !is_decimal || (word.starts_with('0') && word != "0") {
            return Err(self.fault(format!("`{word}` is not {what} as a plain decimal")));
        }
        match word.parse().ok().filter(|number| *number <= largest) {
            Some(number) => Ok(number),
            None => Err(self.fault(format!("`{word}` is too large for {what}"))),
        }
    }

    fn fault(&self, message: String) -> ExportError {
        ExportError::invalid(self.line, message)
    }
}
