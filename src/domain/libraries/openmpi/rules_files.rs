//! The files of rules as Open MPI reads them: anything that is not a number is skipped, and after an error the file is
//! ignored without a word.
//!
//! From the sources of 4.0 to 6.0: `coll_tuned_dynamic_file.c` and `coll_base_util.c`.

use crate::RulesFileEffect::{self, Ignored, Read};
use crate::rules_files::release_numbers;

/// The number of collectives that a file can have rules for.
const COLLECTIVES: i64 = 22;

/// The first line of files of the second version.
const HEADER: &str = "rule-file-version-";

/// What a release does with the text of a file for `tuned`.
pub(super) fn effect_of_tuned_file(version: &str, text: &str) -> RulesFileEffect {
    if text.trim().is_empty() {
        return Ignored("it is empty".to_owned());
    }
    // 6 tries JSON first.
    if release_numbers(version)[0] >= 6 && text.trim_start().starts_with('{') {
        return match serde_json::from_str::<serde_json::Value>(text) {
            Ok(_) => Read(None),
            Err(error) => Ignored(format!("it is not JSON: {error}")),
        };
    }
    match read_classic(text, knows_header(version)) {
        Ok(()) => Read(None),
        Err(_) if text.starts_with(HEADER) && !knows_header(version) => Ignored(format!(
            "this release does not know its first line, `{HEADER}...`, which 4.1.8 and 5.0.7 introduced"
        )),
        Err(why) => Ignored(why),
    }
}

/// Whether a release knows files with a first line about their version.
fn knows_header(version: &str) -> bool {
    let version = release_numbers(version);
    let is_old_5 = version[..2] == [5, 0] && version[2] < 7;
    version >= [4, 1, 8] && !is_old_5
}

/// Reads a file in the format before 6.0.
///
/// # Errors
/// The reason why the library ignores it.
fn read_classic(text: &str, knows_header: bool) -> Result<(), String> {
    let mut numbers = Numbers {
        left: text.as_bytes(),
        line: 1,
    };
    let mut has_requests = false;
    if let Some(rest) = text.strip_prefix(HEADER).filter(|_| knows_header) {
        numbers.left = rest.as_bytes();
        has_requests = numbers.read_signed().is_some_and(|version| version > 1);
    }
    let collectives = numbers.read_number("the number of collectives")?;
    if collectives > COLLECTIVES {
        return Err(numbers.fault_in_line(&format!(
            "{collectives} collectives are more than {COLLECTIVES}"
        )));
    }
    for _ in 0..collectives {
        let collective = numbers.read_number("a collective")?;
        if collective >= COLLECTIVES {
            return Err(numbers.fault_in_line(&format!("there is no collective {collective}")));
        }
        for _ in 0..numbers.read_number("a number of communicator sizes")? {
            numbers.read_number("a communicator size")?;
            for row in 0..numbers.read_number("a number of rows")? {
                let bytes = numbers.read_number("a message size")?;
                for what in ["an algorithm", "a fanout", "a segment size"] {
                    numbers.read_number(what)?;
                }
                if has_requests && numbers.has_more_in_line() {
                    numbers.read_number("a number of requests")?;
                }
                if row == 0 && bytes != 0 {
                    return Err(
                        numbers.fault_in_line(&format!("the first message size is {bytes}, not 0"))
                    );
                }
            }
        }
    }
    Ok(())
}

/// The numbers of a text, as `scanf("%li")` reads them.
struct Numbers<'a> {
    left: &'a [u8],
    line: usize,
}

impl Numbers<'_> {
    /// The next number, which must not be negative.
    fn read_number(&mut self, what: &str) -> Result<i64, String> {
        match self.read_signed() {
            Some(number) if number < 0 => Err(self.fault_in_line(&format!("{what} is {number}"))),
            Some(number) => Ok(number),
            None => Err(self.fault_in_line(&format!("it ends where {what} is expected"))),
        }
    }

    fn fault_in_line(&self, what: &str) -> String {
        format!("line {}: {what}", self.line)
    }

    /// The next number; everything before it is skipped, after `#` the rest of the line.
    fn read_signed(&mut self) -> Option<i64> {
        loop {
            let first = *self.left.first()?;
            let (sign, digits) = match first {
                b'-' => (-1, &self.left[1..]),
                b'+' => (1, &self.left[1..]),
                _ => (1, self.left),
            };
            // A leading 0 makes it octal, 0x hexadecimal.
            let (digits, radix) = match digits {
                [b'0', b'x' | b'X', rest @ ..]
                    if rest.first().is_some_and(u8::is_ascii_hexdigit) =>
                {
                    (rest, 16)
                }
                [b'0', ..] => (digits, 8),
                _ => (digits, 10),
            };
            let is_digit = |byte: &&u8| char::from(**byte).is_digit(radix);
            let count = digits.iter().take_while(is_digit).count();
            if count > 0 {
                let text = std::str::from_utf8(&digits[..count]).unwrap_or_default();
                self.left = &digits[count..];
                return Some(sign * i64::from_str_radix(text, radix).unwrap_or(i64::MAX));
            }
            let skipped = match first {
                b'#' => self
                    .left
                    .iter()
                    .position(|byte| *byte == b'\n')
                    .unwrap_or(self.left.len()),
                _ => 1,
            };
            self.line += usize::from(first == b'\n');
            self.left = &self.left[skipped..];
        }
    }

    /// Whether a digit follows in this line, after blanks.
    fn has_more_in_line(&self) -> bool {
        let mut left = self
            .left
            .iter()
            .skip_while(|byte| [b' ', b'\t'].contains(byte));
        left.next().is_some_and(u8::is_ascii_digit)
    }
}
