//! Rules files of the component `han`, which it reads only with `coll_han_use_dynamic_file_rules`.
//!
//! From the sources of 4.1.4, 5.0.10 and 6.1 (`coll_han_dynamic_file.c`). After an error the whole file is dropped, and the
//! settings of the component count.

use super::numbers::{Numbers, in_message};
use super::tuned::NUMBERED;
use crate::findings::{ExaminedRelease, FindingKind::*, SteeringFindings};

/// Levels by their numbers; from 5.0 on files may have the names.
const LEVELS: [&str; 3] = ["intra_node", "inter_node", "global_communicator"];

/// The collectives that the component carries out.
const SERVED: [&str; 8] = [
    "allgather",
    "allgatherv",
    "allreduce",
    "barrier",
    "bcast",
    "gather",
    "reduce",
    "scatter",
];

/// The components that a rule can name.
const COMPONENTS: [&str; 8] = [
    "self", "basic", "libnbc", "tuned", "sm", "adapt", "han", "xhc",
];

/// Names that only some algorithms of `han` have.
const ALGORITHMS: [(&str, &[&str]); 11] = [
    ("barrier", &["simple"]),
    ("bcast", &["intra", "simple"]),
    ("reduce", &["intra", "simple", "reproducible"]),
    ("allreduce", &["intra", "simple", "reproducible"]),
    ("scatter", &["intra", "simple"]),
    ("scatterv", &["intra"]),
    ("gather", &["intra", "simple"]),
    ("gatherv", &["intra"]),
    ("allgather", &["intra", "simple"]),
    ("alltoall", &["smsc"]),
    ("alltoallv", &["smsc"]),
];

/// Whether a text looks like a rules file of `han`: a component's name stands between numbers.
pub(super) fn is_han_file(text: &str) -> bool {
    let mut words = Numbers::starting_at(text, 0);
    let mut has_number = false;
    while let Some((word, _)) = words.next_word() {
        if word.contains('=') {
            return false;
        }
        has_number |= word.bytes().all(|byte| byte.is_ascii_digit());
        if has_number && COMPONENTS.contains(&word.split('@').next().unwrap_or(word)) {
            return true;
        }
    }
    false
}

/// What is wrong with the text of a file.
pub(super) fn examine_han(release: &ExaminedRelease<'_>, text: &str) -> SteeringFindings {
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
    if release.version_numbers() < [4, 1, 0] {
        found.report(
            None,
            IgnoredFile,
            "this release has no component han",
            "use it with 4.1 or later",
        );
    }
    let mut reader = HanReader {
        release: release.version_numbers(),
        words: Numbers::starting_at(text, 0),
        found,
    };
    if reader.read_file().is_ok()
        && let Some(rest) = reader.words.next_number()
    {
        reader.found.report(
            rest.line,
            NoEffect,
            format!(
                "everything from `{}` on is ignored, since all counted rules were read",
                in_message(rest.word)
            ),
            "correct the counts above",
        );
    }
    reader.found.sorted()
}

/// The end of reading after an error; the reader has a finding about it.
struct Dropped;

struct HanReader<'a> {
    release: [u32; 3],
    words: Numbers<'a>,
    found: SteeringFindings,
}

/// A number or a word with its line.
struct Placed<T> {
    value: T,
    line: usize,
}

impl<'a> HanReader<'a> {
    fn drop_file(
        &mut self,
        line: usize,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Dropped {
        self.found.report(line, IgnoredFile, message, remedy);
        Dropped
    }

    fn read_number(&mut self, what: &str, least: i64) -> Result<Placed<i64>, Dropped> {
        let Some(number) = self.words.next_number() else {
            let line = self.words.line();
            let message = format!("it ends where {what} is expected");
            return Err(self.drop_file(
                line,
                message,
                "correct the counts above, or add what is missing",
            ));
        };
        if number.value < least {
            let message = format!("{what} is {}, but must be at least {least}", number.value);
            return Err(self.drop_file(number.line, message, "correct the number"));
        }
        Ok(Placed {
            value: number.value,
            line: number.line,
        })
    }

    fn read_word(&mut self, what: &str) -> Result<Placed<&'a str>, Dropped> {
        match self.words.next_word() {
            Some((value, line)) => Ok(Placed { value, line }),
            None => {
                let line = self.words.line();
                let message = format!("it ends where {what} is expected");
                Err(self.drop_file(
                    line,
                    message,
                    "correct the counts above, or add what is missing",
                ))
            }
        }
    }

    fn read_file(&mut self) -> Result<(), Dropped> {
        let collectives = self.read_number("the number of collectives", 1)?;
        for _ in 0..collectives.value {
            self.read_collective()?;
        }
        Ok(())
    }

    fn read_collective(&mut self) -> Result<(), Dropped> {
        let word = self.read_word("a collective")?;
        let by_number = word
            .value
            .parse::<usize>()
            .ok()
            .and_then(|number| NUMBERED.get(number));
        let by_name = || NUMBERED.iter().find(|known| known.name == word.value);
        let Some(collective) = by_number.or_else(by_name).map(|known| known.name) else {
            let message = format!("there is no collective `{}`", in_message(word.value));
            return Err(self.drop_file(
                word.line,
                message,
                "write a name such as `allreduce`; check the counts above",
            ));
        };
        let is_newer =
            self.release[0] >= 6 && ALGORITHMS.iter().any(|(name, _)| *name == collective);
        if !SERVED.contains(&collective) && !is_newer {
            self.found.report(
                word.line,
                NoEffect,
                format!("han does not carry out {collective} by rules, so these are not used"),
                "remove them",
            );
        }
        let levels = self.read_number("the number of levels", 0)?;
        self.warn_about_none(&levels, "levels", collective);
        for _ in 0..levels.value {
            self.read_level(collective)?;
        }
        Ok(())
    }

    fn warn_about_none(&mut self, count: &Placed<i64>, what: &str, collective: &str) {
        if count.value == 0 {
            let message =
                format!("the rules of {collective} have 0 {what}, so this part has no effect");
            self.found.report(
                count.line,
                NoEffect,
                message,
                "write rules, or remove the part",
            );
        }
    }

    fn read_level(&mut self, collective: &str) -> Result<(), Dropped> {
        let word = self.read_word("a level")?;
        let by_number = word
            .value
            .parse::<usize>()
            .ok()
            .filter(|number| *number < LEVELS.len());
        let by_name = LEVELS.iter().position(|name| *name == word.value);
        let Some(level) = by_number.or(by_name.filter(|_| self.release[0] >= 5)) else {
            let message = if by_name.is_some() {
                format!(
                    "levels have no names in this release: `{}`",
                    in_message(word.value)
                )
            } else {
                format!("there is no level `{}`", in_message(word.value))
            };
            return Err(self.drop_file(
                word.line,
                message,
                "write 0 (within a node), 1 (between nodes) or 2 (the whole communicator)",
            ));
        };
        let sizes = self.read_number("the number of communicator sizes", 0)?;
        self.warn_about_none(&sizes, "communicator sizes", collective);
        let mut largest = Placed { value: 0, line: 0 };
        for place in 0..sizes.value {
            let size = self.read_number("a communicator size", 1)?;
            if place == 0 && size.value > 1 {
                let message = format!("the first communicator size is {}, not 1", size.value);
                return Err(self.drop_file(size.line, message, "begin with rules for size 1"));
            }
            if place > 0 && size.value <= largest.value {
                let kind = if size.value == largest.value {
                    NoEffect
                } else {
                    Misread
                };
                self.found.report(
                    size.line,
                    kind,
                    format!("the rules of {collective} for communicators of {} follow those for {}; the last ones \
                             that fit count", size.value, largest.value),
                    "sort the communicator sizes, each once",
                );
            }
            if size.value >= largest.value {
                largest = Placed {
                    value: size.value,
                    line: size.line,
                };
            }
            self.read_rows(collective, level)?;
        }
        Ok(())
    }

    fn read_rows(&mut self, collective: &str, level: usize) -> Result<(), Dropped> {
        let rows = self.read_number("the number of rows", 0)?;
        self.warn_about_none(&rows, "rows", collective);
        let mut previous: Option<i64> = None;
        for place in 0..rows.value {
            let bytes = self.read_number("a message size", i64::MIN)?;
            if place == 0 && !(0..=1).contains(&bytes.value) {
                let message = format!("the first message size is {}, not 0", bytes.value);
                return Err(self.drop_file(bytes.line, message, "begin with a row for size 0"));
            }
            if previous.is_some_and(|previous| bytes.value <= previous) {
                self.found.report(
                    bytes.line,
                    Unreachable,
                    format!("this row of {collective} for {} bytes does not follow a smaller one, so it hides \
                             rows before it, or they hide it", bytes.value),
                    "sort the rows by message size, each size once",
                );
            }
            previous = Some(bytes.value);
            self.read_choice(collective, level)?;
        }
        Ok(())
    }

    fn read_choice(&mut self, collective: &str, level: usize) -> Result<(), Dropped> {
        let component = self.read_word("a component")?;
        let line = component.line;
        let is_known = COMPONENTS.contains(&component.value)
            && (component.value != "xhc" || self.release[0] >= 6);
        if !is_known {
            let is_number = component.value.bytes().all(|byte| byte.is_ascii_digit());
            let (message, remedy) = match component.value.split_once('@') {
                Some((name, algorithm)) if COMPONENTS.contains(&name) => (
                    format!(
                        "there is no component `{}`: a blank is needed before `@`",
                        in_message(component.value)
                    ),
                    format!("write `{name} @{}`", in_message(algorithm)),
                ),
                _ if is_number => (
                    format!(
                        "components have names here, not numbers such as {}",
                        in_message(component.value)
                    ),
                    "write tuned, sm, adapt, libnbc, basic, self or han".to_owned(),
                ),
                _ => (
                    format!("there is no component `{}`", in_message(component.value)),
                    "write tuned, sm, adapt, libnbc, basic, self or han".to_owned(),
                ),
            };
            return Err(self.drop_file(line, message, remedy));
        }
        let is_han = component.value == "han";
        if is_han && level != 2 {
            self.found.report(
                line,
                NoEffect,
                format!("han can be chosen for whole communicators (level 2) only, not for level {level} ({})", LEVELS[level]),
                "name another component at this level",
            );
        }
        if is_han && self.release[0] >= 5 && self.words.take_char('@') {
            self.read_algorithm(collective)?;
        }
        if self.words.take_char('[') {
            self.found
                .note(line, Remark, "the numbers in `[...]` are read and not used");
            while !self.words.take_char(']') {
                self.read_number("a segment size or `]`", i64::MIN)?;
            }
        }
        Ok(())
    }

    fn read_algorithm(&mut self, collective: &str) -> Result<(), Dropped> {
        let word = self.read_word("an algorithm")?;
        let known = ALGORITHMS.iter().find(|(name, _)| *name == collective);
        let known = known.map_or(&[][..], |(_, algorithms)| *algorithms);
        let by_number = word
            .value
            .parse::<usize>()
            .is_ok_and(|number| number <= known.len());
        if by_number || known.contains(&word.value) || word.value == "default" {
            return Ok(());
        }
        let message = format!(
            "han has no algorithm `{}` of {collective}",
            in_message(word.value)
        );
        Err(self.drop_file(
            word.line,
            message,
            format!("write one of {}", known.join(", ")),
        ))
    }
}
