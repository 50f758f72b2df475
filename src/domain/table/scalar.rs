//! Texts as YAML scalars.

use std::borrow::Cow;
use std::fmt::Write as _;

use printable::is_unprintable;

/// Words that some YAML readers do not read as text.
const RESERVED: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

/// The text as a scalar on one line: unquoted where every YAML reader takes it for that text, in block and in flow
/// style, otherwise in double quotes.
pub(crate) fn yaml_scalar(text: &str) -> Cow<'_, str> {
    if is_plain(text) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(quote_yaml(text))
    }
}

fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    let starts_as_text = match bytes {
        [b'.', second, ..] => second.is_ascii_alphabetic() && !matches!(second, b'i' | b'n'),
        [first, ..] => first.is_ascii_alphabetic() || *first == b'/',
        [] => false,
    };
    let harmless = |b: &u8| b.is_ascii_alphanumeric() || b" _./+()@-".contains(b);
    starts_as_text
        && bytes.iter().all(harmless)
        && !text.ends_with(' ')
        && !text.contains("  ")
        // Some parsers take ` -` before a bracket as the start of an item.
        && !text.contains(" -")
        && !RESERVED.iter().any(|word| text.eq_ignore_ascii_case(word))
}

fn quote_yaml(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            ' '..='~' => quoted.push(c),
            _ if c.is_alphanumeric() && !is_unprintable(c) => quoted.push(c),
            // Writing to a string cannot fail.
            _ if u32::from(c) <= 0xffff => _ = write!(quoted, "\\u{:04x}", u32::from(c)),
            _ => _ = write!(quoted, "\\U{:08x}", u32::from(c)),
        }
    }
    quoted.push('"');
    quoted
}
