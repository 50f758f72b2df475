//! Decision maps: the chosen algorithms by nodes (or ranks per node) and size.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use vocabulary::units::format_bytes;

use super::figure::{REST, figure};
use super::group::{Along, Group};
use super::palette::DEFAULT_AREA;
use super::plot::{cut, px};
use crate::grid::{TextTable, grid};
use crate::text::{factor, short_name, without_collective};
use results::CellDecision;

const HEIGHT: f64 = 34.0;
const LEFT: f64 = 64.0;
const TOP: f64 = 40.0;
const LINE: f64 = 21.0;
const NAMES_IN_A_LINE: usize = 3;
const NAME: f64 = 250.0;
/// The note on hatched fields.
const HATCHED: &str = "not deployed: low confidence or not confirmed";

/// The most maps of a collective.
const MOST_MAPS: usize = 2;
const MOST_COLUMNS: usize = 24;
const MOST_ROWS: usize = 16;

/// The maps, one for each number of ranks per node.
pub(super) fn maps(group: &Group<'_>) -> Markup {
    let all = Along::of(group.cells.iter().map(|result| result.cell.shape));
    let shown = thinned(&all, MOST_MAPS);
    html! {
        @for along in &shown { (map(group, *along)) }
        @if shown.len() < all.len() {
            p.left-out { "Maps of " (shown.len()) " of " (all.len()) " numbers of ranks per node. " (REST) }
        }
    }
}

fn map(group: &Group<'_>, along: Along) -> Markup {
    let mut cells: BTreeMap<(u32, u64), &CellDecision> = BTreeMap::new();
    let concerned = group.cells.iter().filter(|r| along.holds(r.cell.shape));
    for result in concerned {
        cells.insert((along.value(result.cell.shape), result.cell.bytes), result);
    }
    let sizes: BTreeSet<u64> = cells.keys().map(|(_, bytes)| *bytes).collect();
    let rows: BTreeSet<u32> = cells.keys().map(|(row, _)| *row).collect();
    let map = Map {
        group,
        along,
        sizes: thinned(&sizes.iter().copied().collect::<Vec<_>>(), MOST_COLUMNS),
        rows: thinned(&rows.iter().copied().collect::<Vec<_>>(), MOST_ROWS),
        cells: &cells,
    };
    let is_whole = map.sizes.len() == sizes.len() && map.rows.len() == rows.len();
    let id = format!("{}-map-{}", group.collective, along.id());
    html! {
        (figure(&id, &map.title(), &map.draw(&id), map.numbers()))
        @if !is_whole {
            p.left-out {
                "The map shows " (map.sizes.len()) " of " (sizes.len()) " sizes and "
                (map.rows.len()) " of " (rows.len()) " numbers of " (map.unit()) ". " (REST)
            }
        }
    }
}

/// At most `most` of the values, including the first and the last.
pub(super) fn thinned<T: Clone>(values: &[T], most: usize) -> Vec<T> {
    match values.len() {
        all if all <= most => values.to_vec(),
        all => {
            let place = |index: usize| index * (all - 1) / (most - 1).max(1);
            (0..most)
                .map(|index| values[place(index)].clone())
                .collect()
        }
    }
}

/// A size in at most five characters, rounded if necessary; fields and the table below have exact sizes.
fn short_size(bytes: u64) -> String {
    let exact = format_bytes(bytes);
    match bytes as f64 / 1024.0 {
        _ if exact.len() <= 5 => exact,
        kibibytes if kibibytes < 1000.0 => format!("{kibibytes:.0}K"),
        kibibytes => format!("{:.1}M", kibibytes / 1024.0),
    }
}

struct Map<'a, 'v> {
    group: &'a Group<'v>,
    along: Along,
    sizes: Vec<u64>,
    /// Numbers of nodes or of ranks per node, ascending.
    rows: Vec<u32>,
    cells: &'a BTreeMap<(u32, u64), &'v CellDecision>,
}

impl Map<'_, '_> {
    fn title(&self) -> String {
        format!(
            "The table's choices for {} {}",
            self.group.collective, self.along
        )
    }

    /// The unit of rows.
    fn unit(&self) -> &'static str {
        match self.along {
            Along::Nodes(_) => "nodes",
            Along::Ppn(_) => "per node",
        }
    }

    /// The cells that are shown, with row and column, by descending row and ascending size.
    fn shown(&self) -> impl Iterator<Item = (usize, usize, &CellDecision)> {
        let rows = self.rows.iter().rev().enumerate();
        rows.flat_map(move |(row, nodes)| {
            let columns = self.sizes.iter().enumerate();
            columns.filter_map(move |(column, bytes)| {
                let result = self.cells.get(&(*nodes, *bytes))?;
                Some((row, column, *result))
            })
        })
    }

    fn cell_width(&self) -> f64 {
        (720.0 / self.sizes.len().max(1) as f64).clamp(42.0, 74.0)
    }

    /// The algorithms that are shown, in the order of their keys.
    fn algorithms(&self) -> Vec<&str> {
        let shown = self.shown().map(|(_, _, result)| result.chosen.algorithm());
        let mut algorithms: Vec<&str> = shown.collect::<BTreeSet<_>>().into_iter().collect();
        algorithms.sort_by_key(|algorithm| {
            let key = self.group.looks.look(algorithm).key;
            (key.len(), key)
        });
        algorithms
    }

    fn draw(&self, id: &str) -> Markup {
        let width = self.cell_width();
        let right = LEFT + width * self.sizes.len() as f64;
        let bottom = TOP + HEIGHT * self.rows.len() as f64;
        let algorithms = self.algorithms();
        let whole_width = right.max(LEFT + NAME * NAMES_IN_A_LINE as f64) + 8.0;
        let (names, notes) = (algorithms.len().div_ceil(NAMES_IN_A_LINE), self.notes());
        let height = bottom + 14.0 + LINE * (names + notes.len()) as f64;
        let (title, description) = (format!("{id}-title"), format!("{id}-desc"));
        html! {
            svg.map role="img" viewBox=(format!("0 0 {} {}", px(whole_width), px(height))) width=(px(whole_width))
                aria-labelledby=(format!("{title} {description}")) {
                title id=(title) { (self.title()) }
                desc id=(description) {
                    "A field for each row and each size, with the letter of the algorithm and the speed-up \
                     over the library's default. The table below has the same numbers."
                }
                text.axis x=(px((LEFT + right) / 2.0)) y="12" text-anchor="middle" {
                    "size: " (table::message_size(self.group.collective))
                }
                text.axis x=(px(LEFT - 8.0)) y=(px(TOP - 7.0)) text-anchor="end" { (self.unit()) }
                @for (column, bytes) in self.sizes.iter().enumerate() {
                    text.tick x=(px(LEFT + width * (column as f64 + 0.5))) y=(px(TOP - 7.0)) text-anchor="middle" {
                        (short_size(*bytes))
                    }
                }
                @for (row, nodes) in self.rows.iter().rev().enumerate() {
                    text.tick x=(px(LEFT - 8.0)) y=(px(TOP + HEIGHT * (row as f64 + 0.5) + 4.0)) text-anchor="end" {
                        (nodes)
                    }
                }
                @for (row, column, result) in self.shown() { (self.field(row, column, result)) }
                (self.legend(&algorithms, bottom + 24.0))
                @for (index, note) in notes.iter().enumerate() {
                    @let y = bottom + 22.0 + LINE * (names + index) as f64;
                    @if *note == HATCHED {
                        rect.field x=(px(LEFT)) y=(px(y - 12.0)) width="28" height="17" fill=(DEFAULT_AREA) {}
                        rect x=(px(LEFT)) y=(px(y - 12.0)) width="28" height="17" fill="url(#hatched)" {}
                    }
                    text.note x=(px(if *note == HATCHED { LEFT + 35.0 } else { LEFT })) y=(px(y)) { (note) }
                }
            }
        }
    }

    /// Explanations of empty fields, letters in parentheses and hatched fields.
    fn notes(&self) -> Vec<&'static str> {
        let has_gaps = self.shown().count() < self.sizes.len() * self.rows.len();
        let is_expected = self.shown().any(|(_, _, result)| !result.is_measured());
        let gaps = has_gaps.then_some("empty: not measured; the rules below hold there too");
        let expected = is_expected.then_some("in parentheses: not measured, by the model");
        let view = self.group.view;
        let is_hatched = self
            .shown()
            .any(|(_, _, result)| view.why_withheld(result).is_some());
        let hatched = is_hatched.then_some(HATCHED);
        [gaps, expected, hatched].into_iter().flatten().collect()
    }

    fn field(&self, row: usize, column: usize, result: &CellDecision) -> Markup {
        let width = self.cell_width();
        let (x, y) = (LEFT + width * column as f64, TOP + HEIGHT * row as f64);
        let look = self.group.looks.look(result.chosen.algorithm());
        let gain = result.gain().map(|gain| factor(gain.median));
        let title = format!(
            "{}, {} bytes: {}, {}",
            result.cell.shape,
            format_bytes(result.cell.bytes),
            short_name(&result.chosen),
            self.group.view.verdict(result)
        );
        // Choices by the model are in parentheses.
        let key = match result.is_measured() {
            true => look.key.clone(),
            false => format!("({})", look.key),
        };
        let gain = gain.filter(|_| look.key != "–");
        let middle = x + width / 2.0;
        let baseline = y + if gain.is_some() { 15.0 } else { 21.0 };
        html! {
            g fill=(look.ink()) {
                title { (title) }
                rect.field x=(px(x)) y=(px(y)) width=(px(width)) height=(px(HEIGHT)) fill=(look.area()) {}
                @if look.is_striped {
                    rect x=(px(x)) y=(px(y)) width=(px(width)) height=(px(HEIGHT)) fill="url(#stripes)" {}
                }
                @if self.group.view.why_withheld(result).is_some() {
                    rect x=(px(x)) y=(px(y)) width=(px(width)) height=(px(HEIGHT)) fill="url(#hatched)" {}
                }
                text.key x=(px(middle)) y=(px(baseline)) { (key) }
                @if let Some(gain) = gain { text.gain x=(px(middle)) y=(px(y + 28.0)) { (gain) } }
            }
        }
    }

    fn legend(&self, algorithms: &[&str], top: f64) -> Markup {
        html! {
            @for (index, algorithm) in algorithms.iter().enumerate() {
                @let look = self.group.looks.look(algorithm);
                @let x = LEFT + NAME * (index % NAMES_IN_A_LINE) as f64;
                @let y = top + LINE * (index / NAMES_IN_A_LINE) as f64;
                g fill=(look.ink()) {
                    rect.field x=(px(x)) y=(px(y - 12.0)) width="28" height="17" fill=(look.area()) {}
                    @if look.is_striped {
                        rect x=(px(x)) y=(px(y - 12.0)) width="28" height="17" fill="url(#stripes)" {}
                    }
                    text.key x=(px(x + 14.0)) y=(px(y + 1.0)) { (look.key) }
                }
                text.name x=(px(x + 35.0)) y=(px(y + 1.0)) { (cut(&without_collective(algorithm))) }
            }
        }
    }

    fn numbers(&self) -> TextTable {
        let columns = "shape | bytes> | chosen | speed-up> | why";
        let rows = self.shown().map(|(_, _, result)| {
            let gain = result.gain().map(|gain| factor(gain.median));
            [
                result.cell.shape.to_string(),
                format_bytes(result.cell.bytes),
                short_name(&result.chosen),
                gain.unwrap_or_default(),
                self.group.view.verdict(result),
            ]
        });
        grid(columns, rows)
    }
}
