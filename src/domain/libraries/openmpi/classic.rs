//! Rules files of `tuned` in the format of 4.0 to 5.0, which 6 still reads, in its own way.
//!
//! From the sources of 4.0.7, 4.1.4, 4.1.8, 5.0.10, 6.0 and 6.1 (`coll_tuned_dynamic_file.c`, `coll_tuned_dynamic_rules.c`):
//! after an error the whole file is ignored without a word.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use vocabulary::units::format_counted;

use super::numbers::{Numbers, PlacedNumber, in_message, misreading_of, numbers_in_message};
use super::rows::{self, Row};
use super::tuned::{NUMBERED, TunedCollective, collective_by_number};
use crate::findings::{ExaminedRelease, FindingKind::*, SteeringFindings};

/// The first line of files of the second version.
pub(super) const HEADER: &str = "rule-file-version-";

/// The largest number that the component keeps; it cuts off the upper bits of larger ones.
const LARGEST: i64 = i32::MAX as i64;

/// Whether a release knows files with a first line about their version, and with numbers of requests.
pub(super) fn knows_header(release: [u32; 3]) -> bool {
    let is_old_5 = release[..2] == [5, 0] && release[2] < 7;
    release >= [4, 1, 8] && !is_old_5
}

/// The rules of a collective.
pub(super) struct CollectiveRules {
    pub(super) line: usize,
    pub(super) number: i64,
    pub(super) sizes: Vec<CommunicatorRules>,
}

/// The rules for communicators of a size.
pub(super) struct CommunicatorRules {
    pub(super) line: usize,
    pub(super) ranks: i64,
    pub(super) rows: Vec<Row>,
    /// The bytes of the file that name the algorithm of each row.
    pub(super) algorithms: Vec<Range<usize>>,
}

/// The rules of a file that a release reads.
pub(super) fn collectives_of(text: &str) -> Vec<CollectiveRules> {
    let mut reader = ClassicReader::new(text, text.starts_with(HEADER));
    // Callers have found that the file is not dropped.
    let _ = reader.read_file();
    reader.collectives
}

/// The bytes that name the algorithms of rows in some lines.
pub(super) fn algorithms_in_lines(text: &str, lines: &BTreeSet<usize>) -> Vec<Range<usize>> {
    let all = collectives_of(text).into_iter();
    let sizes = all.flat_map(|collective| collective.sizes);
    let rows = sizes.flat_map(|size| size.rows.into_iter().zip(size.algorithms));
    rows.filter(|(row, _)| row.algorithm != 0 && lines.contains(&row.line))
        .map(|(_, algorithm)| algorithm)
        .collect()
}

/// What is wrong with the text of a file.
pub(super) fn examine_classic(release: &ExaminedRelease<'_>, text: &str) -> SteeringFindings {
    let mut found = SteeringFindings::default();
    if text.trim().is_empty() {
        found.report(
            None,
            IgnoredFile,
            "it is empty",
            "write rules, or remove the setting that names the file",
        );
        return found;
    }
    let knows_header = knows_header(release.version_numbers());
    let has_header = text.starts_with(HEADER);
    if has_header && !knows_header {
        found.report(
            1,
            IgnoredFile,
            format!(
                "this release does not know its first line, `{HEADER}...`, which 4.1.8 and 5.0.7 introduced"
            ),
            "remove the first line and the fifth column, or use a release that knows them",
        );
        return found;
    }
    let mut reader = ClassicReader::new(text, has_header);
    let read = reader.read_file();
    if read.is_ok() {
        reader.find_rest();
    }
    let ClassicReader {
        collectives,
        found: problems,
        ..
    } = reader;
    found.all.extend(problems.all);
    if read.is_ok() {
        if has_header {
            found.note(
                1,
                Remark,
                "releases before 4.1.8 and 5.0.7 ignore a file with this line",
            );
        }
        examine_rules(release, &collectives, &mut found);
    }
    found.sorted()
}

/// A row, and the bytes of the file that name its algorithm.
struct ReadRow {
    row: Row,
    algorithm: Range<usize>,
}

/// The end of reading after an error; the reader has a finding about it.
struct Dropped;

/// Reads a file as the component does, and collects what people read differently.
struct ClassicReader<'a> {
    numbers: Numbers<'a>,
    /// The words with numbers in each line.
    in_line: BTreeMap<usize, usize>,
    has_requests: bool,
    collectives: Vec<CollectiveRules>,
    found: SteeringFindings,
    /// The number of collectives with its line.
    count: Option<(i64, usize)>,
    /// Whether a wrong count was already reported, after which all others follow from it.
    has_wrong_count: bool,
}

impl<'a> ClassicReader<'a> {
    fn new(text: &'a str, has_header: bool) -> Self {
        let mut numbers = Numbers::starting_at(text, 0);
        let mut in_line = BTreeMap::new();
        while let Some(number) = numbers.next_number() {
            *in_line.entry(number.line).or_insert(0) += usize::from(number.begins_word);
        }
        let mut reader = Self {
            numbers: Numbers::starting_at(text, if has_header { HEADER.len() } else { 0 }),
            in_line,
            has_requests: false,
            collectives: Vec::new(),
            found: SteeringFindings::default(),
            count: None,
            has_wrong_count: false,
        };
        if has_header {
            let version = reader.numbers.next_number();
            reader.has_requests = version.is_some_and(|version| version.value > 1);
        }
        reader
    }

    fn drop_file(&mut self, line: usize, message: String, remedy: &str) -> Dropped {
        self.found.report(line, IgnoredFile, message, remedy);
        Dropped
    }

    /// The next number, which must not be negative.
    fn read_number(&mut self, what: &str) -> Result<PlacedNumber<'a>, Dropped> {
        let Some(number) = self.numbers.next_number() else {
            let line = self.numbers.line();
            return Err(self.drop_file(
                line,
                format!("it ends where {what} is expected"),
                "correct the counts above, or add what is missing",
            ));
        };
        let line = number.line;
        let is_header = number.word.starts_with(HEADER);
        if number.begins_word
            && !is_header
            && let Some(read) = misreading_of(number.word)
        {
            let (word, read) = (in_message(number.word), numbers_in_message(&read));
            self.found.report(
                line,
                Misread,
                format!("`{word}` is read as {read}"),
                "write plain decimal numbers without leading zeros, suffixes or exponents",
            );
        }
        if number.value < 0 {
            let message = format!("{what} is {}", number.value);
            return Err(if is_header {
                let message = format!(
                    "{message}: `{HEADER}...` counts only as the very first text of a file"
                );
                self.drop_file(
                    line,
                    message,
                    "move this line to the beginning of the file, before comments and blanks",
                )
            } else {
                self.drop_file(line, message, "write a number from 0 on")
            });
        }
        if number.value > LARGEST && what != "a message size" {
            self.found.report(
                line,
                Misread,
                format!("{what} is {}, of which only 32 bits are kept", number.value),
                format!("write at most {LARGEST}"),
            );
        }
        Ok(number)
    }

    /// A number that begins a group of rules, not a row.
    fn read_group(
        &mut self,
        what: &str,
        counted: (&str, usize),
    ) -> Result<PlacedNumber<'a>, Dropped> {
        let number = self.read_number(what)?;
        let is_row = self
            .in_line
            .get(&number.line)
            .is_some_and(|count| *count >= 4)
            && number.begins_word;
        // Rules may also stand in one line; what is no collective is no such line.
        let is_wrong = what == "a collective" && collective_by_number(number.value).is_none();
        if is_row && is_wrong && counted.1 < number.line {
            let (name, line) = counted;
            self.report_wrong_count(
                number.line,
                format!("what looks like a row is read as {what}, since {name} in line {line} is too small"),
                line,
            );
        }
        Ok(number)
    }

    fn report_wrong_count(&mut self, line: usize, message: String, counted: usize) {
        if !self.has_wrong_count {
            self.has_wrong_count = true;
            let remedy = format!("correct the number in line {counted}");
            self.found.report(line, Misread, message, remedy);
        }
    }

    fn read_file(&mut self) -> Result<(), Dropped> {
        let most = NUMBERED.len();
        let count = self.read_number("the number of collectives")?;
        self.count = Some((count.value, count.line));
        if usize::try_from(count.value).is_ok_and(|count| count > most) {
            let message = format!("{} collectives are more than {most}", count.value);
            return Err(self.drop_file(
                count.line,
                message,
                "begin the file with the number of collectives",
            ));
        }
        if count.value == 0 {
            self.found.report(
                count.line,
                NoEffect,
                "the file has rules for 0 collectives",
                "begin the file with the number of collectives",
            );
        }
        let mut counted = ("the number of collectives", count.line);
        for _ in 0..count.value {
            let collective = self.read_group("a collective", counted)?;
            let Some(known) = collective_by_number(collective.value) else {
                let message = format!("there is no collective {}", collective.value);
                return Err(self.drop_file(
                    collective.line,
                    message,
                    "collectives are numbered from 0 (allgather) to 21; check the counts above",
                ));
            };
            let sizes = self.read_number("a number of communicator sizes")?;
            self.collectives.push(CollectiveRules {
                line: collective.line,
                number: collective.value,
                sizes: Vec::new(),
            });
            if sizes.value == 0 {
                let message = format!("{} has no communicator sizes, so no rules", known.name);
                self.found.report(
                    sizes.line,
                    NoEffect,
                    message,
                    "write its rules, or remove it",
                );
            }
            counted = ("the number of communicator sizes", sizes.line);
            for _ in 0..sizes.value {
                let lines = self.read_communicator(known, counted)?;
                counted = ("the number of rows", lines);
            }
        }
        Ok(())
    }

    /// Reads the rules for one communicator size; returns the line of the number of its rows.
    fn read_communicator(
        &mut self,
        collective: &TunedCollective,
        counted: (&str, usize),
    ) -> Result<usize, Dropped> {
        let ranks = self.read_group("a communicator size", counted)?;
        let count = self.read_number("a number of rows")?;
        let mut communicator = CommunicatorRules {
            line: ranks.line,
            ranks: ranks.value,
            rows: Vec::new(),
            algorithms: Vec::new(),
        };
        if count.value == 0 {
            let message = format!(
                "{} has no rows for communicators of {}",
                collective.name, ranks.value
            );
            self.found.report(
                count.line,
                NoEffect,
                message,
                "write rows, or remove the size",
            );
        }
        let mut result = Ok(count.line);
        for place in 0..count.value {
            match self.read_row(place == 0, count.line) {
                Ok(ReadRow { row, algorithm }) => {
                    communicator.rows.push(row);
                    communicator.algorithms.push(algorithm);
                }
                Err(dropped) => {
                    result = Err(dropped);
                    break;
                }
            }
        }
        if let Some(rules) = self.collectives.last_mut() {
            rules.sizes.push(communicator);
        }
        result
    }

    fn read_row(&mut self, is_first: bool, counted: usize) -> Result<ReadRow, Dropped> {
        let bytes = self.read_number("a message size")?;
        let line = bytes.line;
        let algorithm = self.read_number("an algorithm")?;
        let fanout = self.read_number("a fanout")?;
        let segment = self.read_number("a segment size")?;
        let requests = if self.has_requests && self.numbers.has_more_in_line() {
            Some(self.read_number("a number of requests")?.value)
        } else {
            None
        };
        let in_line = self.in_line.get(&line).copied().unwrap_or(0);
        if segment.line == line && in_line == 5 && !self.has_requests {
            self.report_wrong_count(
                line,
                "the fifth number of this row is read as the beginning of the next one".to_owned(),
                line,
            );
        } else if segment.line != line && in_line <= 2 && counted < line {
            self.report_wrong_count(
                line,
                format!("this line is read as the beginning of a row, since the number of rows in line {counted} \
                         is too large"),
                counted,
            );
        }
        if is_first && bytes.value != 0 {
            return Err(self.drop_file(
                line,
                format!("the first message size is {}, not 0", bytes.value),
                "begin with a row for size 0; algorithm 0 leaves it to the library",
            ));
        }
        Ok(ReadRow {
            row: Row {
                line,
                bytes: bytes.value,
                algorithm: algorithm.value,
                fanout: fanout.value,
                segment: segment.value,
                requests,
            },
            algorithm: algorithm.start..algorithm.start + algorithm.length,
        })
    }

    /// Reports numbers after the last one that is counted.
    fn find_rest(&mut self) {
        if let Some(number) = self.numbers.next_number() {
            let (count, line) = self.count.unwrap_or((0, 1));
            let message = format!(
                "everything from `{}` on is ignored, since line {line} counts {}",
                in_message(number.word),
                format_counted(count, "collective")
            );
            self.found.report(
                number.line,
                NoEffect,
                message,
                format!(
                    "correct the number in line {line}, or the counts of rows before this line"
                ),
            );
        }
    }
}

/// What is wrong with rules that the component has read.
fn examine_rules(
    release: &ExaminedRelease<'_>,
    collectives: &[CollectiveRules],
    found: &mut SteeringFindings,
) {
    for (rules, place) in collectives.iter().zip(1..) {
        let Some(collective) = collective_by_number(rules.number) else {
            continue;
        };
        let name = collective.name;
        let mut later = collectives[place..].iter();
        if let Some(later) = later.find(|later| later.number == rules.number) {
            found.report(
                rules.line,
                NoEffect,
                format!(
                    "{name} ({}) is given again in line {}, which replaces these rules",
                    rules.number, later.line
                ),
                "remove one of the two",
            );
            continue;
        }
        if !collective.is_served() {
            found.report(
                rules.line,
                NoEffect,
                format!(
                    "the component tuned does not carry out {name} ({})",
                    rules.number
                ),
                "remove these rules",
            );
            continue;
        }
        examine_sizes(release, collective, &rules.sizes, found);
    }
}

fn examine_sizes(
    release: &ExaminedRelease<'_>,
    collective: &TunedCollective,
    sizes: &[CommunicatorRules],
    found: &mut SteeringFindings,
) {
    let is_6 = release.version_numbers()[0] >= 6;
    let bounds: Vec<i64> = sizes.iter().map(|size| size.ranks).collect();
    let covered = if is_6 {
        rows::covered_up_to(&bounds)
    } else {
        rows::covered_from(&bounds)
    };
    for ((size, ranks), place) in sizes.iter().zip(covered).zip(0..) {
        // The component serves communicators of two ranks or more.
        let Some(ranks) = ranks.filter(|ranks| ranks.last >= 2) else {
            found.report(
                size.line,
                Unreachable,
                format!(
                    "the rules of {} for {} ranks apply to no communicator",
                    collective.name, size.ranks
                ),
                "sort the communicator sizes, each once",
            );
            continue;
        };
        if is_6 && sizes.len() > 1 && (ranks.first != size.ranks || place == 0) {
            found.report(
                size.line,
                Misread,
                format!("from 6.0 on these rules of {} apply to {ranks} ranks", collective.name),
                "write the rules in JSON, which 6.0 introduced (`colltune export --format openmpi-json`)",
            );
        } else if !is_6 && place == 0 && size.ranks > 2 {
            found.note(
                size.line,
                Remark,
                format!(
                    "the first rules of {} also apply to fewer than {} ranks",
                    collective.name, size.ranks
                ),
            );
        } else if !is_6 && place > 0 && ranks.first != size.ranks {
            found.report(
                size.line,
                Misread,
                format!("these rules of {} apply to {ranks} ranks", collective.name),
                "sort the communicator sizes",
            );
        }
        rows::examine_rows(release, collective, ranks, &size.rows, found);
    }
}
