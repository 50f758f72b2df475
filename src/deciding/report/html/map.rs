//! Decision maps: the chosen algorithms by nodes (or ranks per node) and size.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use schedule::Collective;
use table::{OperatorClass, Rule, rule_at};
use vocabulary::Candidate;
use vocabulary::units::format_bytes;

use super::figure::{REST, figure_with_numbers};
use super::group::{Along, Group, group_by_collective};
use super::kept::Kept;
use super::legend::Legend;
use super::picture::{PicturePart, picture_file};
use super::plot::px;
use crate::grid::{TextTable, text_table};
use crate::text::{algorithm_name, format_factor, short_name};
use crate::view::{Comparison, View};
use results::CellDecision;

const HEIGHT: f64 = 34.0;
const LEFT: f64 = 64.0;
const TOP: f64 = 40.0;
/// The distance from the fields to the first line of the legend.
const BELOW: f64 = 24.0;

/// The most maps of a collective.
const MOST_MAPS: usize = 2;
const MOST_COLUMNS: usize = 24;
const MOST_ROWS: usize = 16;

/// The maps, one for each number of ranks per node.
pub(super) fn draw_maps(group: &Group<'_>) -> Markup {
    let all = Along::for_shapes(group.cells.iter().map(|result| result.cell.shape));
    let shown = thin_out(&all, MOST_MAPS);
    html! {
        @for along in &shown { (draw_map(group, *along)) }
        @if shown.len() < all.len() {
            p.left-out { "Maps of " (shown.len()) " of " (all.len()) " numbers of ranks per node. " (REST) }
        }
    }
}

/// The maps of one collective as an SVG file, one for each number of ranks per node, as many as the page shows; `None` if
/// the view has no cells of it.
pub fn render_maps(view: &View, collective: Collective) -> Option<String> {
    let groups = group_by_collective(view);
    let is_it = |group: &&Group<'_>| group.collective == collective && !group.cells.is_empty();
    let group = groups.iter().find(is_it)?;
    let all = Along::for_shapes(group.cells.iter().map(|result| result.cell.shape));
    let parts = thin_out(&all, MOST_MAPS).into_iter().map(|along| {
        let map = Map::new(group, along);
        let (extent, content) = map.draw_content();
        PicturePart {
            heading: map.title(),
            extent,
            content,
        }
    });
    let library = &view.provenance.library;
    let kind = if library.is_simulated() {
        "Simulated speed-ups"
    } else {
        "Speed-ups"
    };
    let footer = format!("{kind} over the default of {library}");
    let title = format!("{}: the table's choices for {collective}", view.name);
    Some(picture_file(&title, &footer, &parts.collect::<Vec<_>>()))
}

fn draw_map(group: &Group<'_>, along: Along) -> Markup {
    let map = Map::new(group, along);
    let is_whole = map.sizes.len() == map.all_sizes && map.rows.len() == map.all_rows;
    let id = format!("{}-map-{}", group.collective, along.id());
    html! {
        (figure_with_numbers(&id, &map.title(), &map.draw(&id), map.map_table()))
        @if !is_whole {
            p.left-out {
                "The map shows " (map.sizes.len()) " of " (map.all_sizes) " sizes and "
                (map.rows.len()) " of " (map.all_rows) " numbers of " (map.row_unit()) ". " (REST)
            }
        }
    }
}

/// At most `most` of the values, including the first and the last.
pub(super) fn thin_out<T: Clone>(values: &[T], most: usize) -> Vec<T> {
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

/// A map.
#[derive(Debug)]
pub(super) struct Map<'a, 'v> {
    group: &'a Group<'v>,
    along: Along,
    sizes: Vec<u64>,
    /// Numbers of nodes or of ranks per node, ascending.
    rows: Vec<u32>,
    /// The number of sizes with those that are left out.
    all_sizes: usize,
    /// The number of rows with those that are left out.
    all_rows: usize,
    cells: BTreeMap<(u32, u64), &'v CellDecision>,
}

impl<'a, 'v> Map<'a, 'v> {
    fn new(group: &'a Group<'v>, along: Along) -> Self {
        let concerned = group.cells.iter().filter(|r| along.has_shape(r.cell.shape));
        let cells: BTreeMap<(u32, u64), &CellDecision> = concerned
            .map(|result| {
                (
                    (along.varying_value(result.cell.shape), result.cell.bytes),
                    *result,
                )
            })
            .collect();
        let sizes: BTreeSet<u64> = cells.keys().map(|(_, bytes)| *bytes).collect();
        let rows: BTreeSet<u32> = cells.keys().map(|(row, _)| *row).collect();
        Self {
            group,
            along,
            all_sizes: sizes.len(),
            all_rows: rows.len(),
            sizes: thin_out(&sizes.into_iter().collect::<Vec<_>>(), MOST_COLUMNS),
            rows: thin_out(&rows.into_iter().collect::<Vec<_>>(), MOST_ROWS),
            cells,
        }
    }
}

impl<'v> Map<'_, 'v> {
    pub(super) fn group(&self) -> &Group<'v> {
        self.group
    }

    fn title(&self) -> String {
        format!(
            "The table's choices for {} {}",
            self.group.collective, self.along
        )
    }

    /// The unit of rows.
    fn row_unit(&self) -> &'static str {
        match self.along {
            Along::Nodes(_) => "nodes",
            Along::Ppn(_) => "per node",
        }
    }

    /// The cells that are shown, with row and column, by descending row and ascending size.
    pub(super) fn shown_cells(&self) -> impl Iterator<Item = (usize, usize, &CellDecision)> {
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

    /// The table's choices for sizes that were not measured in a row but in others, with row and column.
    pub(super) fn ruled_cells(&self) -> impl Iterator<Item = (usize, usize, &'v Candidate)> {
        let rows = self.rows.iter().rev().enumerate();
        rows.flat_map(move |(row, value)| {
            let rules = self.rules_of_row(*value);
            let columns = self.sizes.iter().enumerate();
            let missing =
                columns.filter(move |(_, bytes)| !self.cells.contains_key(&(*value, **bytes)));
            missing.filter_map(move |(column, bytes)| {
                let rule = rule_at(rules, *bytes)?;
                Some((row, column, &rule.candidate))
            })
        })
    }

    /// The table's rules for the shape of a row; none if they are not known.
    fn rules_of_row(&self, row: u32) -> &'v [Rule] {
        let is_it = |comparison: &&&Comparison| {
            self.along.has_shape(comparison.shape)
                && self.along.varying_value(comparison.shape) == row
                && comparison.operators.hold_for(OperatorClass::Commutative)
        };
        let comparison = self.group.comparisons.iter().find(is_it);
        comparison.map_or(&[], |comparison| &comparison.rules)
    }

    /// Whether the choice is not known for sizes of some rows.
    pub(super) fn has_gaps(&self) -> bool {
        self.shown_cells().count() + self.ruled_cells().count() < self.sizes.len() * self.rows.len()
    }

    fn draw(&self, id: &str) -> Markup {
        let ([width, height], content) = self.draw_content();
        let (title, description) = (format!("{id}-title"), format!("{id}-desc"));
        html! {
            svg.map role="img" viewBox=(format!("0 0 {} {}", px(width), px(height))) width=(px(width))
                height=(px(height)) aria-labelledby=(format!("{title} {description}")) {
                title id=(title) { (self.title()) }
                desc id=(description) {
                    "A field for each row and each size, with the letter of the algorithm and the speed-up \
                     over the library's default. The table below has the same numbers."
                }
                (content)
            }
        }
    }

    /// The extent of the picture, and what is in it.
    fn draw_content(&self) -> ([f64; 2], Markup) {
        let width = self.cell_width();
        let right = LEFT + width * self.sizes.len() as f64;
        let bottom = TOP + HEIGHT * self.rows.len() as f64;
        let legend = Legend::from_map(self);
        let extent = [
            right.max(legend.width()) + 8.0,
            bottom + BELOW + legend.height(),
        ];
        let content = html! {
            text.axis x=(px(LEFT)) y="12" {
                "size: " (table::message_size(self.group.collective))
            }
            text.axis x=(px(LEFT - 8.0)) y=(px(TOP - 7.0)) text-anchor="end" { (self.row_unit()) }
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
            @for (row, column, candidate) in self.ruled_cells() { (self.draw_ruled_field(row, column, candidate)) }
            @for (row, column, result) in self.shown_cells() { (self.draw_field(row, column, result)) }
            (legend.draw(bottom + BELOW))
        };
        (extent, content)
    }

    fn draw_field(&self, row: usize, column: usize, result: &CellDecision) -> Markup {
        let width = self.cell_width();
        let (x, y) = (LEFT + width * column as f64, TOP + HEIGHT * row as f64);
        let look = self.group.looks.look_of(&algorithm_name(&result.chosen));
        let kept = Kept::from_decision(result);
        let key = kept.map_or(&*look.key, |kept| kept.key());
        let gain = match kept {
            None => result.chosen_gain().map(|gain| format_factor(gain.median)),
            Some(kept) => kept.possible_gain(result),
        };
        let title = format!(
            "{}, {} bytes: {}, {}",
            result.cell.shape,
            format_bytes(result.cell.bytes),
            short_name(&result.chosen),
            self.group.view.full_verdict(result)
        );
        let middle = x + width / 2.0;
        let baseline = y + if gain.is_some() { 15.0 } else { 21.0 };
        let filled = |fill: &str| {
            html! { rect.field x=(px(x)) y=(px(y)) width=(px(width)) height=(px(HEIGHT)) fill=(fill) {} }
        };
        let ink = kept.is_none().then(|| look.text_colour());
        html! {
            g fill=[ink] class=[kept.map(Kept::css_class)] {
                title { (title) }
                @match kept {
                    Some(kept) => (kept.draw_area([x, y], [width, HEIGHT])),
                    None => (filled(look.colour)),
                }
                @if look.is_striped { (filled("url(#stripes)")) }
                @if self.group.view.why_withheld(result).is_some() { (filled("url(#hatched)")) }
                // Choices by the model are in parentheses.
                text.key x=(px(middle)) y=(px(baseline)) {
                    @if result.is_measured() { (key) } @else { "(" (key) ")" }
                }
                @if let Some(gain) = gain { text.gain x=(px(middle)) y=(px(y + 28.0)) { (gain) } }
            }
        }
    }

    /// A pale field for a choice without a measurement of its own.
    fn draw_ruled_field(&self, row: usize, column: usize, candidate: &Candidate) -> Markup {
        let width = self.cell_width();
        let (x, y) = (LEFT + width * column as f64, TOP + HEIGHT * row as f64);
        let kept = (*candidate == Candidate::Default).then_some(Kept::Unbeaten);
        let look = self.group.looks.look_of(&algorithm_name(candidate));
        let title = format!(
            "{}: not measured, by the table's rules",
            short_name(candidate)
        );
        html! {
            g.ruled {
                title { (title) }
                g.pale {
                    g class=[kept.map(Kept::css_class)] {
                        rect.field x=(px(x)) y=(px(y)) width=(px(width)) height=(px(HEIGHT)) fill=(look.colour) {}
                    }
                }
                text.key x=(px(x + width / 2.0)) y=(px(y + 21.0)) { (kept.map_or(&*look.key, |kept| kept.key())) }
            }
        }
    }

    fn map_table(&self) -> TextTable {
        let columns = "shape | bytes> | chosen | speed-up> | why";
        let rows = self.shown_cells().map(|(_, _, result)| {
            let gain = result.chosen_gain().map(|gain| format_factor(gain.median));
            [
                result.cell.shape.to_string(),
                format_bytes(result.cell.bytes),
                short_name(&result.chosen),
                gain.unwrap_or_default(),
                self.group.view.full_verdict(result),
            ]
        });
        text_table(columns, rows)
    }
}
