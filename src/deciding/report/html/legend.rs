//! The legend of a decision map.

use std::collections::BTreeSet;

use maud::{Markup, html};
use results::CellDecision;
use vocabulary::Candidate;

use super::kept::Kept;
use super::map::Map;
use super::palette::Look;
use super::plot::{px, shorten_name};
use crate::text::{algorithm_name, without_collective};

pub(super) const LINE: f64 = 21.0;
/// The space of a sample with its distance to the text.
const SAMPLE: f64 = 35.0;
const LEFT: f64 = 4.0;
/// The width of a character, of broad fonts.
const CHARACTER: f64 = 6.9;
/// The width of lines, which a phone shows without scrolling.
const WIDTH: f64 = 346.0;

/// The sample beside a text.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LegendSample {
    Algorithm(Look),
    Kept(Kept),
    /// A choice that is not deployed.
    Hatched,
    /// A choice without a measurement of its own.
    Pale,
    None,
}

#[derive(Clone, Debug)]
struct LegendEntry {
    sample: LegendSample,
    /// The lines of the text.
    lines: Vec<String>,
}

/// The explanation of a map's colours and letters.
#[derive(Clone, Debug)]
pub(super) struct Legend {
    /// In columns.
    algorithms: Vec<LegendEntry>,
    /// One below the other.
    notes: Vec<LegendEntry>,
    columns: usize,
    /// The width of a column.
    column: f64,
}

impl Legend {
    /// The legend for the fields that a map shows.
    pub(super) fn from_map(map: &Map<'_, '_>) -> Self {
        let (group, results) = (map.group(), map.shown_cells().map(|(_, _, result)| result));
        let results: Vec<&CellDecision> = results.collect();
        let chosen = results.iter().map(|result| &result.chosen);
        let chosen = chosen.chain(map.ruled_cells().map(|(_, _, candidate)| candidate));
        let chosen = chosen.filter(|candidate| **candidate != Candidate::Default);
        let names: BTreeSet<_> = chosen.map(algorithm_name).collect();
        let mut algorithms: Vec<LegendEntry> = names
            .iter()
            .map(|name| LegendEntry {
                sample: LegendSample::Algorithm(group.looks.look_of(name)),
                lines: vec![shorten_name(&without_collective(name))],
            })
            .collect();
        algorithms.sort_by_key(|entry| match &entry.sample {
            LegendSample::Algorithm(look) => (look.key.len(), look.key.clone()),
            _ => Default::default(),
        });
        let longest = algorithms.iter().flat_map(|entry| &entry.lines);
        let longest = longest.map(|line| line.chars().count()).max().unwrap_or(0);
        let column = SAMPLE + CHARACTER * (longest + 2) as f64;
        let characters = ((WIDTH - SAMPLE) / CHARACTER) as usize;
        let notes = map_notes(map, &results);
        let note = |(sample, text): (LegendSample, &str)| LegendEntry {
            sample,
            lines: wrap_text(text, characters),
        };
        Self {
            columns: ((WIDTH / column) as usize).max(1),
            column,
            algorithms,
            notes: notes.into_iter().map(note).collect(),
        }
    }

    pub(super) fn width(&self) -> f64 {
        LEFT + WIDTH.max(self.column)
    }

    pub(super) fn height(&self) -> f64 {
        LINE * (self.lines_of_algorithms() + self.lines_of_notes()) as f64
    }

    fn lines_of_algorithms(&self) -> usize {
        self.algorithms.len().div_ceil(self.columns)
    }

    fn lines_of_notes(&self) -> usize {
        self.notes.iter().map(|entry| entry.lines.len()).sum()
    }

    /// Draws the legend with the first line at `top`.
    pub(super) fn draw(&self, top: f64) -> Markup {
        let mut line = self.lines_of_algorithms();
        let notes = self.notes.iter().map(|entry| {
            let y = top + LINE * line as f64;
            line += entry.lines.len();
            entry.draw(LEFT, y, "note")
        });
        let notes: Vec<Markup> = notes.collect();
        html! {
            @for (index, entry) in self.algorithms.iter().enumerate() {
                @let x = LEFT + self.column * (index % self.columns) as f64;
                (entry.draw(x, top + LINE * (index / self.columns) as f64, "name"))
            }
            @for note in notes { (note) }
        }
    }
}

impl LegendEntry {
    fn draw(&self, x: f64, y: f64, class: &str) -> Markup {
        let text = match self.sample {
            LegendSample::None => x,
            _ => x + SAMPLE,
        };
        html! {
            (self.sample.draw(x, y))
            @for (line, words) in self.lines.iter().enumerate() {
                text class=(class) x=(px(text)) y=(px(y + 1.0 + LINE * line as f64)) { (words) }
            }
        }
    }
}

impl LegendSample {
    fn draw(&self, x: f64, y: f64) -> Markup {
        let (place, extent) = ([x, y - 12.0], [28.0, 17.0]);
        let filled = |pattern: &str| {
            html! {
                rect x=(px(place[0])) y=(px(place[1])) width=(px(extent[0])) height=(px(extent[1])) fill=(pattern) {}
            }
        };
        let key = |key: &str| html! { text.key x=(px(x + 14.0)) y=(px(y + 1.0)) { (key) } };
        match self {
            Self::Algorithm(look) => html! {
                g fill=(look.text_colour()) {
                    (filled(look.colour))
                    @if look.is_striped { (filled("url(#stripes)")) }
                    (key(&look.key))
                }
            },
            Self::Kept(kept) => html! {
                g class=(kept.css_class()) { (kept.draw_area(place, extent)) (key(kept.key())) }
            },
            Self::Hatched => html! { g.sample { (filled("inherit")) } (filled("url(#hatched)")) },
            Self::Pale => html! { g.sample { g.pale { (filled("inherit")) } } },
            Self::None => html! {},
        }
    }
}

/// Explanations of kept defaults, letters in parentheses, hatched and empty fields.
fn map_notes(map: &Map<'_, '_>, results: &[&CellDecision]) -> Vec<(LegendSample, &'static str)> {
    let view = map.group().view;
    let kept = results
        .iter()
        .filter_map(|result| Kept::from_decision(result));
    let mut ruled = map.ruled_cells().map(|(_, _, candidate)| candidate);
    let by_rule = ruled.any(|candidate| *candidate == Candidate::Default);
    let kept = kept.chain(by_rule.then_some(Kept::Unbeaten));
    let kept = kept.collect::<BTreeSet<Kept>>().into_iter();
    let mut notes: Vec<(LegendSample, &str)> = kept
        .map(|kept| (LegendSample::Kept(kept), kept.legend_text(view.basis)))
        .collect();
    let withheld = |result: &&CellDecision| view.why_withheld(result).is_some();
    if results.iter().any(withheld) {
        let text = "not deployed: low confidence or not confirmed";
        notes.push((LegendSample::Hatched, text));
    }
    if map.has_gaps() {
        let text = "empty: not measured; the rules below hold there too";
        notes.push((LegendSample::None, text));
    }
    if map.ruled_cells().next().is_some() {
        let text = "pale: this size was measured in other rows; by the table's rules";
        notes.push((LegendSample::Pale, text));
    }
    if results.iter().any(|result| !result.is_measured()) {
        let text = "in parentheses: not measured, by the model";
        notes.push((LegendSample::None, text));
    }
    notes
}

/// A text in lines of at most so many characters, broken between words.
fn wrap_text(text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
