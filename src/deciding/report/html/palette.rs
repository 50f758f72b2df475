//! The looks of algorithms: a letter, a colour and a mark each, the same in all figures of a collective.
//!
//! Colour is never the only distinction between two algorithms.

use std::borrow::Cow;
use std::collections::BTreeMap;

/// Colours that are distinct for all common kinds of colour vision (Okabe and Ito 2008); the default is black.
const COLOURS: [&str; 7] = [
    "#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#f0e442",
];

pub(super) const DEFAULT: &str = "default";

/// The colour of the default's lines: that of the text, which depends on the colour scheme.
const INK: &str = "currentColor";

/// The shape of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Circle,
    Square,
    Triangle,
    Diamond,
    Inverted,
    Cross,
    Hexagon,
}

const MARKS: [Mark; 7] = [
    Mark::Square,
    Mark::Triangle,
    Mark::Diamond,
    Mark::Inverted,
    Mark::Cross,
    Mark::Hexagon,
    Mark::Circle,
];

/// The look of an algorithm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Look {
    /// One or two letters; empty for the default.
    pub(super) key: String,
    pub(super) colour: &'static str,
    pub(super) mark: Mark,
    /// Whether areas are striped because another algorithm has the same colour.
    pub(super) is_striped: bool,
}

impl Look {
    /// The library's default.
    pub(super) fn for_default() -> Self {
        Self {
            key: String::new(),
            colour: INK,
            mark: Mark::Circle,
            is_striped: false,
        }
    }

    /// The look of the algorithm with this number; the first 49 differ in colour or mark.
    pub(super) fn numbered(index: usize) -> Self {
        Self {
            key: key_letters(index),
            colour: COLOURS[index % COLOURS.len()],
            // The marks are shifted when colours repeat.
            mark: MARKS[(index + index / COLOURS.len()) % MARKS.len()],
            is_striped: index >= COLOURS.len(),
        }
    }

    /// The colour of text on the area.
    pub(super) fn text_colour(&self) -> &'static str {
        match self.colour {
            "#0072b2" => "#ffffff",
            _ => "#000000",
        }
    }
}

/// `A` to `Z`, then `AA`, `AB` etc.
fn key_letters(index: usize) -> String {
    let letter = |place: usize| char::from(b'A' + (place % 26) as u8);
    match index / 26 {
        0 => letter(index).to_string(),
        again => format!("{}{}", letter(again - 1), letter(index)),
    }
}

/// The looks of the algorithms of a collective.
#[derive(Clone, Debug, Default)]
pub(super) struct Looks {
    numbers: BTreeMap<String, usize>,
}

impl Looks {
    /// Numbers algorithms by their frequency in `chosen`, the most frequent first, and then all others.
    pub(super) fn by_frequency<'a>(
        chosen: impl Iterator<Item = Cow<'a, str>>,
        all: impl Iterator<Item = Cow<'a, str>>,
    ) -> Self {
        let is_other = |name: &Cow<'_, str>| name != DEFAULT;
        let mut counts: BTreeMap<Cow<'_, str>, usize> = BTreeMap::new();
        for name in chosen.filter(is_other) {
            *counts.entry(name).or_default() += 1;
        }
        for name in all.filter(is_other) {
            counts.entry(name).or_default();
        }
        let mut order: Vec<(Cow<'_, str>, usize)> = counts.into_iter().collect();
        order.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let names = order.into_iter().map(|(name, _)| name.into_owned());
        Self {
            numbers: names.zip(0..).collect(),
        }
    }

    /// The look of an algorithm by its name, as [`crate::text::algorithm_name`] gives it; unknown algorithms share the
    /// look after the last.
    pub(super) fn look_of(&self, algorithm: &str) -> Look {
        match self.numbers.get(algorithm) {
            _ if algorithm == DEFAULT => Look::for_default(),
            Some(number) => Look::numbered(*number),
            None => Look::numbered(self.numbers.len()),
        }
    }
}
