//! The format of numbers, and the extremes for sentences.

use super::cluster::ELEMENT_BYTES;

/// Seconds as microseconds, to three digits or more.
pub(crate) fn microseconds(seconds: f64) -> String {
    match seconds * 1e6 {
        short if short < 100.0 => format!("{short:.1}"),
        long => format!("{long:.0}"),
    }
}

/// Seconds as nanoseconds.
pub(crate) fn nanoseconds(seconds: Option<f64>) -> String {
    match seconds {
        Some(seconds) => format!("{:.3}", seconds * 1e9),
        None => "no".to_owned(),
    }
}

/// A ratio of times.
pub(crate) fn factor(ratio: f64) -> String {
    format!("{ratio:.2}")
}

/// A share, as in 0.07.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// The length of a vector of elements.
pub(crate) fn length(elements: u64) -> String {
    size(elements * ELEMENT_BYTES)
}

pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        _ if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes >= 1 << 10 && bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} B"),
    }
}

/// A number in groups of three digits.
pub(crate) fn count(number: u32) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

/// Names in a sentence.
pub(crate) fn list(names: &[&str]) -> String {
    match names {
        [] => "none".to_owned(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The item with the least value.
pub(crate) fn least<T>(items: &[T], value: impl Fn(&T) -> f64) -> Option<&T> {
    items.iter().min_by(|a, b| value(a).total_cmp(&value(b)))
}

/// The item with the greatest value.
pub(crate) fn greatest<T>(items: &[T], value: impl Fn(&T) -> f64) -> Option<&T> {
    items.iter().max_by(|a, b| value(a).total_cmp(&value(b)))
}

/// Prose in lines of up to 100 characters, those after the first of a paragraph indented; tables, titles
/// and commands stay as they are.
pub(crate) fn wrapped(text: &str, indent: &str) -> String {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        if paragraph.starts_with(['|', '#', ' ']) {
            lines.push(paragraph.to_owned());
            continue;
        }
        let mut line = String::new();
        for word in paragraph.split(' ') {
            if line.chars().count() + word.chars().count() >= 100 {
                lines.push(std::mem::replace(&mut line, indent.to_owned()));
            } else if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    lines.join("\n")
}
