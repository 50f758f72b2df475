//! Texts with unprintable characters escaped, on one line, or shortened.

use std::borrow::Cow;
use std::fmt::{self, Display, Write};

use crate::is_unprintable;

/// The most characters of a line or value that messages quote.
pub const MOST_QUOTED: usize = 160;

/// Displays its value with unprintable characters escaped as in JSON (`\u0085`), except line ends and tabs.
///
/// A JSON text remains one with the same value: such characters occur only in its strings.
#[derive(Clone, Copy, Debug)]
pub struct Plain<T>(pub T);

impl<T: Display> Display for Plain<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keeps = "\n\t";
        write!(Escaping { to: f, keeps }, "{}", self.0)
    }
}

/// The text on one line, with unprintable characters escaped, and without its middle if it has more than `most`
/// characters.
#[must_use]
pub fn quoted(text: &str, most: usize) -> String {
    let mut escaped = String::new();
    // Writing to a string cannot fail.
    let _ = Escaping {
        to: &mut escaped,
        keeps: "",
    }
    .write_str(&shortened(text, most));
    shortened(&escaped, most).into_owned()
}

/// The text on one line, with a space in place of each unprintable character.
#[must_use]
pub fn on_one_line(text: &str) -> String {
    text.replace(is_unprintable, " ")
}

/// The text, or the beginning and the end of a longer one, in at most `most` characters.
#[must_use]
pub fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    const GAP: &str = " ... ";
    if text.chars().nth(most).is_none() {
        return text.into();
    }
    let kept = most.saturating_sub(GAP.len());
    let behind = kept / 3;
    let place = |found: Option<(usize, char)>| found.map_or(text.len(), |(place, _)| place);
    let end = place(text.char_indices().nth(kept - behind));
    let start = match behind {
        0 => text.len(),
        _ => place(text.char_indices().nth_back(behind - 1)),
    };
    format!("{}{GAP}{}", &text[..end], &text[start..]).into()
}

/// A writer that escapes unprintable characters as JSON does.
struct Escaping<'a, W> {
    to: &'a mut W,
    /// Unprintable characters that are not escaped.
    keeps: &'static str,
}

impl<W: Write> Write for Escaping<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let is_escaped = |c: char| is_unprintable(c) && !self.keeps.contains(c);
        let mut rest = text;
        while let Some((place, found)) = rest.char_indices().find(|(_, c)| is_escaped(*c)) {
            self.to.write_str(&rest[..place])?;
            for unit in found.encode_utf16(&mut [0; 2]) {
                write!(self.to, "\\u{unit:04x}")?;
            }
            rest = &rest[place + found.len_utf8()..];
        }
        self.to.write_str(rest)
    }
}
