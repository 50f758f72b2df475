//! Quotations of file contents, shortened and with control characters escaped.

use std::borrow::Cow;
use std::fmt::{self, Display, Write};

/// The most characters of a line or value that messages quote.
pub const MOST_QUOTED: usize = 160;

/// Displays its value with control characters escaped, except line ends and tabs.
#[derive(Clone, Copy, Debug)]
pub struct Plain<T>(pub T);

impl<T: Display> Display for Plain<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keeps = "\n\t";
        write!(Escaping { to: f, keeps }, "{}", self.0)
    }
}

/// The text on one line, with control characters escaped, and without its middle if it has more than `most` characters.
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

/// A writer that escapes control characters as JSON does.
struct Escaping<'a, W> {
    to: &'a mut W,
    /// Control characters that are not escaped.
    keeps: &'static str,
}

impl<W: Write> Write for Escaping<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let is_escaped = |c: char| is_control(c) && !self.keeps.contains(c);
        let mut rest = text;
        while let Some((place, found)) = rest.char_indices().find(|(_, c)| is_escaped(*c)) {
            self.to.write_str(&rest[..place])?;
            write!(self.to, "\\u{:04x}", u32::from(found))?;
            rest = &rest[place + found.len_utf8()..];
        }
        self.to.write_str(rest)
    }
}

/// Whether a terminal interprets a character instead of printing it.
fn is_control(c: char) -> bool {
    // The ranges change the direction of writing.
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        let text = "a\u{1b}[2Jb\u{9b}c\td\r\ne\u{202e}f\0";
        let shown = "a\\u001b[2Jb\\u009bc\td\\u000d\ne\\u202ef\\u0000";
        assert_eq!(Plain(text).to_string(), shown);
        assert_eq!(quoted("a\tb\nc", 20), "a\\u0009b\\u000ac");
        assert_eq!(quoted("Größe — 4 µs", 20), "Größe — 4 µs");
    }

    #[test]
    fn quotations_are_short_and_show_both_ends() {
        for length in [0, 1, 19, 20, 21, 1000] {
            let text = "ä".repeat(length);
            let short = quoted(&text, 20);
            assert_eq!(short.chars().count(), length.min(20));
            assert_eq!(short == text, length <= 20);
        }
        let sentence = format!("`{}` is not a size", "9".repeat(1000));
        let short = quoted(&sentence, 40);
        assert!(short.starts_with("`999"), "{short}");
        assert!(short.ends_with(" not a size"), "{short}");
        assert_eq!(quoted(&"\0".repeat(1 << 20), 160).chars().count(), 160);
    }
}
