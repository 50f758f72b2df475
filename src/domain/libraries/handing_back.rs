//! Lines of files handed back to the library, with every other byte as it was.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::findings::{ExaminedRelease, SteeringFormat};

/// What is to be written in place of some bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// The bytes.
    pub bytes: Range<usize>,
    /// What to write.
    pub text: &'static str,
}

/// The bytes that mark a text as UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A file in which the rules of some lines leave the choice to the library. All other bytes are as before.
///
/// `None` if files of this format cannot be changed, or if the release would read other lines otherwise than before.
pub fn hand_back_lines(
    file: &[u8],
    format: &SteeringFormat,
    release: &ExaminedRelease<'_>,
    lines: &BTreeSet<usize>,
) -> Option<Vec<u8>> {
    let choices_in_lines = format.choices_in_lines?;
    // Files need not be UTF-8: with a character for each byte, places in the text are those in the file.
    let mark = if file.starts_with(BYTE_ORDER_MARK) {
        BYTE_ORDER_MARK.len()
    } else {
        0
    };
    let text: String = file[mark..].iter().copied().map(char::from).collect();
    let byte_places: Vec<usize> = text.char_indices().map(|(place, _)| place).collect();
    let place_in_file = |place: usize| mark + byte_places.partition_point(|known| *known < place);
    let mut replacements = choices_in_lines(&text, lines);
    replacements.sort_by_key(|replacement| replacement.bytes.start);
    let mut written = Vec::with_capacity(file.len());
    let mut copied = 0;
    for Replacement { bytes, text: own } in replacements {
        let (start, end) = (place_in_file(bytes.start), place_in_file(bytes.end));
        written.extend_from_slice(file.get(copied..start)?);
        written.extend_from_slice(own.as_bytes());
        copied = end;
    }
    written.extend_from_slice(file.get(copied..)?);
    is_same_elsewhere(file, &written, format, release, lines).then_some(written)
}

/// Whether a release reads two files alike, apart from some lines, whose rules leave the choice to the library in the
/// second one.
fn is_same_elsewhere(
    before: &[u8],
    after: &[u8],
    format: &SteeringFormat,
    release: &ExaminedRelease<'_>,
    lines: &BTreeSet<usize>,
) -> bool {
    let rules_of = |file: &[u8]| {
        let text = String::from_utf8_lossy(file);
        format.read_rules?(release, &text).ok()
    };
    let (Some(before), Some(after)) = (rules_of(before), rules_of(after)) else {
        return false;
    };
    let mut expected = before.rules;
    for rule in &mut expected {
        if lines.contains(&rule.line) {
            rule.choice = None;
        }
    }
    expected == after.rules
}
