//! Logs: the outputs of benchmarks among the lines of shells, launchers and other programs.
//!
//! Launchers and tools may print a label before each line, as `[1,0]<stdout>:` or `0:`. The label is what precedes the
//! title of an output; the lines that begin with it are that output's. So outputs with different labels may be mixed.

/// A line of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'t> {
    /// Its number, from 1.
    pub(crate) number: u64,
    /// The label before it; empty without one.
    pub(crate) label: &'t str,
    /// The line without its label and the blanks around it.
    pub(crate) text: &'t str,
    /// Whether the file ends within the line, so that its last number may be incomplete.
    pub(crate) is_cut: bool,
}

/// Splits a log. `is_title` recognises what may follow the `#` of a title.
pub(crate) fn split_log<'t>(log: &'t str, is_title: fn(&str) -> bool) -> Vec<Line<'t>> {
    let labels = find_labels(log, is_title);
    let whole = log.lines().count();
    let ends = log.is_empty() || log.ends_with('\n');
    let line = |(number, text): (usize, &'t str)| {
        let text = text.trim();
        let labelled = labels.iter().find_map(|label| label.strip_from(text));
        let (label, text) = labelled.unwrap_or(("", text));
        Line {
            number: number as u64,
            label,
            text: text.trim(),
            is_cut: number == whole && !ends,
        }
    };
    (1..).zip(log.lines()).map(line).collect()
}

/// What precedes the title in a line, without the blanks around it; `None` if the line has no title.
pub(crate) fn before_title(line: &str, is_title: fn(&str) -> bool) -> Option<&str> {
    let line = line.trim();
    let mut marks = line.match_indices('#');
    let place = marks.find(|(place, _)| is_title(line[place + 1..].trim_start()));
    place.map(|(place, _)| line[..place].trim_end())
}

/// A label, as it stands before one title.
struct Label<'t> {
    text: &'t str,
    /// The kinds of its characters, if it has a time of day, with which it varies from line to line.
    pattern: Option<Vec<CharacterKind>>,
}

/// A kind of characters in a label that varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CharacterKind {
    Letter,
    Digit,
    Mark(char),
}

/// The labels of a log, the longest first.
fn find_labels(text: &str, is_title: fn(&str) -> bool) -> Vec<Label<'_>> {
    let before = text
        .lines()
        .filter_map(|line| before_title(line, is_title))
        .filter(|label| is_label(label));
    let mut found: Vec<&str> = before.collect();
    found.sort_by_key(|label| (std::cmp::Reverse(label.len()), *label));
    found.dedup();
    let labels = found.into_iter().map(|label| Label {
        text: label,
        pattern: has_time(label).then(|| label.chars().map(character_kind).collect()),
    });
    labels.collect()
}

/// Whether a text before a title can be told from what follows it in other lines.
pub(crate) fn is_label(text: &str) -> bool {
    text.ends_with(|c: char| !c.is_alphanumeric()) || has_time(text)
}

/// Whether a text contains a time of day, as in `10:05:04`.
fn has_time(text: &str) -> bool {
    let kinds: Vec<CharacterKind> = text.chars().map(character_kind).collect();
    let time = [
        CharacterKind::Digit,
        CharacterKind::Digit,
        CharacterKind::Mark(':'),
        CharacterKind::Digit,
        CharacterKind::Digit,
        CharacterKind::Mark(':'),
        CharacterKind::Digit,
        CharacterKind::Digit,
    ];
    kinds.windows(time.len()).any(|window| window == time)
}

fn character_kind(c: char) -> CharacterKind {
    match c {
        _ if c.is_alphabetic() => CharacterKind::Letter,
        _ if c.is_ascii_digit() => CharacterKind::Digit,
        _ => CharacterKind::Mark(c),
    }
}

impl<'t> Label<'t> {
    /// Splits a line into this label and the rest; `None` if the line has another one.
    fn strip_from<'l>(&self, line: &'l str) -> Option<(&'t str, &'l str)> {
        let Some(pattern) = &self.pattern else {
            let rest = line.strip_prefix(self.text)?;
            return Some((self.text, rest));
        };
        let end = line.char_indices().nth(pattern.len());
        let end = end.map_or(line.len(), |(place, _)| place);
        let (label, rest) = line.split_at(end);
        let kinds: Vec<CharacterKind> = label.chars().map(character_kind).collect();
        // A day of the month may have a blank in place of its first digit.
        let is_alike = |(a, b): (&CharacterKind, &CharacterKind)| {
            let pair = [*a, *b];
            a == b
                || (pair.contains(&CharacterKind::Digit)
                    && pair.contains(&CharacterKind::Mark(' ')))
        };
        let are_alike = kinds.len() == pattern.len() && kinds.iter().zip(pattern).all(is_alike);
        are_alike.then_some((self.text, rest))
    }
}
