//! The numbers of a text as Open MPI's readers see them: C's `%li`, everything else is skipped, after `#` the whole line.
//!
//! From the sources of 4.0 to 6.1 (`coll_base_util.c`). `010` is 8, `0x1F` is 31, and `08` is two numbers, 0 and 8.

use std::ops::Range;

use printable::quoted;

/// The most characters of a word in a message.
const MOST_CHARACTERS: usize = 40;

/// The most numbers of a word in a message.
const MOST_NUMBERS: usize = 4;

/// A reader of numbers.
pub(super) struct Numbers<'a> {
    text: &'a str,
    /// The next byte.
    offset: usize,
    /// The line of the next byte.
    line: usize,
    /// The bytes of the word that contains the last number.
    word: Range<usize>,
}

/// A number with its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlacedNumber<'a> {
    pub(super) value: i64,
    pub(super) line: usize,
    /// Its first byte, and the number of its bytes.
    pub(super) start: usize,
    pub(super) length: usize,
    /// The word that contains it.
    pub(super) word: &'a str,
    /// Whether it is the first number in its word.
    pub(super) begins_word: bool,
}

/// Whether a character separates words, besides blanks.
fn is_separator(c: char) -> bool {
    c.is_whitespace() || ",;:#(){}=".contains(c)
}

impl<'a> Numbers<'a> {
    /// A reader of a text from a byte on.
    pub(super) fn starting_at(text: &'a str, offset: usize) -> Self {
        Self {
            text,
            offset,
            line: 1 + text[..offset].matches('\n').count(),
            word: 0..0,
        }
    }

    /// The line of the place up to which the text was read.
    pub(super) fn line(&self) -> usize {
        self.line
    }

    /// The next number.
    pub(super) fn next_number(&mut self) -> Option<PlacedNumber<'a>> {
        loop {
            let left = &self.text.as_bytes()[self.offset..];
            let first = *left.first()?;
            if let Some(Scanned { value, length }) = scan_number(left) {
                let end = self.offset + length;
                let (word, begins_word) = self.word_around(self.offset, end);
                let start = self.offset;
                self.offset += length;
                return Some(PlacedNumber {
                    value,
                    line: self.line,
                    start,
                    length,
                    word,
                    begins_word,
                });
            }
            let skipped = match first {
                b'#' => left
                    .iter()
                    .position(|byte| *byte == b'\n')
                    .unwrap_or(left.len()),
                _ => 1,
            };
            self.line += usize::from(first == b'\n');
            self.offset += skipped;
        }
    }

    /// The next word between blanks, as C's `%32s` reads it; words that begin with `#` are comments.
    pub(super) fn next_word(&mut self) -> Option<(&'a str, usize)> {
        loop {
            let left = self.text.get(self.offset..)?;
            let start = left.find(|c: char| !c.is_ascii_whitespace())?;
            self.pass(start);
            let left = &left[start..];
            let length = if left.starts_with('#') {
                left.find('\n').unwrap_or(left.len())
            } else {
                left.find(|c: char| c.is_ascii_whitespace())
                    .unwrap_or(left.len())
            };
            let line = self.line;
            self.pass(length);
            if !left.starts_with('#') {
                return Some((&left[..length], line));
            }
        }
    }

    /// Passes over a character if it is the next one behind blanks, ends of lines and comments.
    pub(super) fn take_char(&mut self, c: char) -> bool {
        while let Some(left) = self.text.get(self.offset..) {
            let length = match left.chars().next() {
                Some(first) if first == c => {
                    self.pass(first.len_utf8());
                    return true;
                }
                Some('#') => left.find('\n').unwrap_or(left.len()),
                Some(first) if first.is_ascii_whitespace() => 1,
                _ => return false,
            };
            self.pass(length);
        }
        false
    }

    fn pass(&mut self, bytes: usize) {
        self.line += self.text[self.offset..self.offset + bytes]
            .matches('\n')
            .count();
        self.offset += bytes;
    }

    /// Whether a digit follows in this line, after blanks.
    pub(super) fn has_more_in_line(&self) -> bool {
        let left = &self.text.as_bytes()[self.offset..];
        let mut left = left.iter().skip_while(|byte| [b' ', b'\t'].contains(byte));
        left.next().is_some_and(u8::is_ascii_digit)
    }

    /// The word around a number in some bytes, and whether the number is the first one in it.
    ///
    /// Each word is searched for its ends only once, whatever numbers it has.
    fn word_around(&mut self, start: usize, end: usize) -> (&'a str, bool) {
        let text = self.text;
        let begins_word = start >= self.word.end;
        if begins_word {
            // Numbers consist of ASCII, but the bytes before them may belong to any character.
            let before = text.get(self.word.end..start).unwrap_or_default();
            let word_start = before.rfind(is_separator).map_or(0, |place| {
                place + before[place..].chars().next().map_or(1, char::len_utf8)
            });
            let after = text.get(end..).unwrap_or_default();
            let word_end = end + after.find(is_separator).unwrap_or(after.len());
            self.word = self.word.end + word_start..word_end;
        }
        (&text[self.word.clone()], begins_word)
    }
}

/// A number at the beginning of some bytes.
struct Scanned {
    value: i64,
    length: usize,
}

fn scan_number(left: &[u8]) -> Option<Scanned> {
    let (sign, digits) = match left.first()? {
        b'-' => (-1, &left[1..]),
        b'+' => (1, &left[1..]),
        _ => (1, left),
    };
    // A leading 0 makes it octal, 0x hexadecimal.
    let (digits, radix) = match digits {
        [b'0', b'x' | b'X', rest @ ..] if rest.first().is_some_and(u8::is_ascii_hexdigit) => {
            (rest, 16)
        }
        [b'0', ..] => (digits, 8),
        _ => (digits, 10),
    };
    let is_digit = |byte: &&u8| char::from(**byte).is_digit(radix);
    let count = digits.iter().take_while(is_digit).count();
    if count == 0 {
        return None;
    }
    let text = std::str::from_utf8(&digits[..count]).unwrap_or_default();
    Some(Scanned {
        // C stops at the largest number.
        value: sign * i64::from_str_radix(text, radix).unwrap_or(i64::MAX),
        length: left.len() - digits.len() + count,
    })
}

/// What is read of a word, unless that is its number as people read it.
pub(super) fn misreading_of(word: &str) -> Option<Vec<i64>> {
    let mut numbers = Numbers::starting_at(word, 0);
    let read: Vec<i64> = std::iter::from_fn(|| numbers.next_number())
        .map(|number| number.value)
        .collect();
    let plain = word.strip_prefix('+').unwrap_or(word).parse::<i64>();
    (!plain.is_ok_and(|plain| read == [plain])).then_some(read)
}

/// A word in a message, without its middle if it is long.
pub(super) fn in_message(word: &str) -> String {
    quoted(word, MOST_CHARACTERS)
}

/// Numbers in a message, of many only the first ones.
pub(super) fn numbers_in_message(numbers: &[i64]) -> String {
    let few = &numbers[..numbers.len().min(MOST_NUMBERS)];
    let few: Vec<String> = few.iter().map(i64::to_string).collect();
    let more = if numbers.len() > MOST_NUMBERS {
        " and more numbers"
    } else {
        ""
    };
    format!("{}{more}", few.join(" and "))
}
