//! The characters that are not printed.

use unicode_general_category::{GeneralCategory, get_general_category};

/// Whether a character is not printed as a glyph of its own: Unicode's control, format, private-use and unassigned
/// characters, its separators except the space (U+0020), and the letters and marks that show nothing.
///
/// Line ends and tabs are among them. Apart from the letters and marks, these are the characters for which `isprintable`
/// of Python is false.
pub fn is_unprintable(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    match get_general_category(c) {
        GeneralCategory::Control
        | GeneralCategory::Format
        | GeneralCategory::Surrogate
        | GeneralCategory::PrivateUse
        | GeneralCategory::Unassigned
        | GeneralCategory::LineSeparator
        | GeneralCategory::ParagraphSeparator
        | GeneralCategory::SpaceSeparator => true,
        _ => shows_nothing(c),
    }
}

/// Whether a character is a letter or a mark that is ignored when text is shown: the characters of these categories that
/// have Unicode's property `Default_Ignorable_Code_Point`.
fn shows_nothing(c: char) -> bool {
    matches!(
        c,
        // The joiner of graphemes, and fillers of Hangul.
        '\u{34f}' | '\u{115f}'..='\u{1160}' | '\u{3164}' | '\u{ffa0}'
        // Inherent vowels of Khmer.
        | '\u{17b4}'..='\u{17b5}'
        // Selectors of variants.
        | '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}'
    )
}
