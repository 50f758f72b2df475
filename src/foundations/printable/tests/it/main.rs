//! Texts with characters that are not printed.

use printable::{Plain, is_unprintable, on_one_line, quoted};

/// One or more characters of each kind that is not printed.
const UNPRINTABLE: &str = "\0\u{7}\u{8}\t\n\u{b}\u{c}\r\u{1b}\u{7f}\u{80}\u{85}\u{9b}\u{9f}\
    \u{a0}\u{1680}\u{2000}\u{2007}\u{200a}\u{202f}\u{205f}\u{3000}\
    \u{2028}\u{2029}\
    \u{ad}\u{600}\u{61c}\u{180e}\u{200b}\u{200d}\u{200e}\u{200f}\u{202a}\u{202e}\u{2060}\u{2066}\u{2069}\u{206f}\
    \u{feff}\u{fff9}\u{fffb}\u{110bd}\u{1d173}\u{e0001}\u{e0041}\u{e007f}\
    \u{e000}\u{f8ff}\u{f0000}\u{10fffd}\
    \u{378}\u{2065}\u{fdd0}\u{fff0}\u{fffe}\u{ffff}\u{1ffff}\u{e0080}\u{10ffff}\
    \u{34f}\u{115f}\u{17b4}\u{180b}\u{3164}\u{fe0f}\u{ffa0}\u{e0100}";

#[test]
fn characters_without_a_glyph_are_unprintable() {
    for c in UNPRINTABLE.chars() {
        assert!(is_unprintable(c), "{c:?}");
    }
    for c in " ~aZ0-_\"\\<ßé—µ\u{301}→…Ж中あ한א\u{fffd}\u{2800}😀𝕏".chars() {
        assert!(!is_unprintable(c), "{c:?}");
    }
    let obeyed = (char::MIN..=char::MAX).filter(|c| c.is_control() || c.is_whitespace());
    for c in obeyed.filter(|c| *c != ' ') {
        assert!(is_unprintable(c), "{c:?}");
    }
}

#[test]
fn unprintable_characters_are_escaped() {
    let text = "a\u{1b}[2Jb\u{9b}c\td\r\ne\u{202e}f\0\u{85}\u{2028}\u{a0}\u{e0041}";
    let shown =
        "a\\u001b[2Jb\\u009bc\td\\u000d\ne\\u202ef\\u0000\\u0085\\u2028\\u00a0\\udb40\\udc41";
    assert_eq!(Plain(text).to_string(), shown);
    assert_eq!(quoted("a\tb\nc", 20), "a\\u0009b\\u000ac");
    assert_eq!(quoted("Größe — 4 µs", 20), "Größe — 4 µs");
    assert_eq!(on_one_line("a\n\tb\u{2029}c\u{202e}"), "a  b c ");
}

#[test]
fn escaped_json_has_the_same_value() {
    let strings: Vec<String> = UNPRINTABLE
        .chars()
        .map(|c| format!("\\{c}\\\\{c}u\"{c}é"))
        .collect();
    let value = serde_json::json!({UNPRINTABLE: strings});
    for text in [value.to_string(), format!("{value:#}")] {
        let escaped = Plain(text).to_string();
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&escaped).expect("JSON"),
            value
        );
        assert!(
            !escaped.contains(|c| is_unprintable(c) && c != '\n'),
            "{escaped}"
        );
    }
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
