//! Figures of the table's speed-up over the default against size.

use maud::{Markup, html};
use vocabulary::CommShape;
use vocabulary::units::format_bytes;

use super::figure::plot_figure;
use super::group::{Along, Group, cells_by_shape};
use super::map::thin_out;
use super::palette::Look;
use super::plot::{Axis, Curve, Plot, Point};
use super::scale::Quantity;
use super::sizes::{MOST_SIZES, SIZES_LEFT_OUT};
use crate::grid::{TextTable, text_table};
use crate::markdown::format_interval;
use crate::text::{format_factor, short_name};
use crate::view::View;
use results::CellDecision;

/// The most shapes in a figure.
const MOST_SHAPES: usize = 6;
/// The most figures of a collective, one per number of ranks per node.
const MOST_FIGURES: usize = 2;

/// The figures; none for a collective without data.
pub(super) fn speedup_figures(group: &Group<'_>) -> Markup {
    let all = Along::for_shapes(group.measured_cells().map(|result| result.cell.shape));
    html! {
        @if group.collective.has_data() {
            @for along in thin_out(&all, MOST_FIGURES) {
                @if let Some(figure) = speedup_figure(group, along) { (figure) }
            }
        }
    }
}

/// A figure; `None` if the table keeps the default everywhere, which the map shows.
fn speedup_figure(group: &Group<'_>, along: Along) -> Option<Markup> {
    let mut shapes = cells_by_shape(
        group
            .measured_cells()
            .filter(|r| along.has_shape(r.cell.shape)),
    );
    let mut measured = shapes.values().flatten();
    if !measured.any(|result| result.replaces_default()) {
        return None;
    }
    let has_many = shapes.values().any(|cells| cells.len() > MOST_SIZES);
    for cells in shapes.values_mut() {
        *cells = thin_out(cells, MOST_SIZES);
    }
    let all: Vec<CommShape> = shapes.keys().copied().collect();
    let shown = thin_out(&all, MOST_SHAPES);
    let curves: Vec<Curve> = shown
        .iter()
        .enumerate()
        .map(|(index, shape)| speedup_curve(group.view, index, *shape, &shapes[shape]))
        .collect();
    let mut notes = vec!["line at 1x: the library's default; hollow: the default is kept"];
    let mut shown_cells = shown.iter().flat_map(|shape| &shapes[shape]);
    if shown_cells.any(|result| group.view.why_withheld(result).is_some()) {
        notes.push("hollow above 1x: the choice is not deployed");
    }
    if curves
        .iter()
        .flat_map(|curve| &curve.points)
        .any(|point| point.interval.is_some())
    {
        notes.push("bars: intervals of the speed-up over launches");
    }
    if shown.len() < all.len() {
        notes.push("some shapes between the smallest and the largest are left out");
    }
    if has_many {
        notes.push(SIZES_LEFT_OUT);
    }
    let plot = Plot {
        id: format!("{}-speedup-{}", group.collective, along.id()),
        title: format!(
            "{} {along}: what the table {} over the default",
            group.collective,
            group.view.gain_verb()
        ),
        description:
            "The default's time divided by that of the table's choice, against size, with a curve \
                      for each shape; above 1 the table is faster."
                .to_owned(),
        x: Axis {
            quantity: Quantity::Bytes,
            title: "bytes",
        },
        y: Axis {
            quantity: Quantity::Factor,
            title: "speed-up",
        },
        curves,
        notes,
        reference: Some(1.0),
    };
    let cells: Vec<&CellDecision> = shown
        .iter()
        .flat_map(|shape| &shapes[shape])
        .copied()
        .collect();
    plot_figure(&plot, speedup_table(&cells))
}

fn speedup_curve(view: &View, index: usize, shape: CommShape, cells: &[&CellDecision]) -> Curve {
    let point = |result: &&CellDecision| {
        let gain = result.chosen_gain()?;
        Some(Point {
            interval: gain.interval.known_ends(),
            is_hollow: !result.replaces_default() || view.why_withheld(result).is_some(),
            ..Point::without_interval(result.cell.bytes as f64, gain.median)
        })
    };
    let points = cells.iter().filter_map(point).filter(|point| point.x > 0.0);
    Curve {
        name: shape.to_string(),
        look: Look::numbered(index),
        points: points.collect(),
        expected: Vec::new(),
        vertical: None,
    }
}

fn speedup_table(cells: &[&CellDecision]) -> TextTable {
    let columns = "shape | bytes> | chosen | speed-up> | interval>";
    let rows = cells.iter().filter_map(|result| {
        let gain = result.chosen_gain()?;
        Some([
            result.cell.shape.to_string(),
            format_bytes(result.cell.bytes),
            short_name(&result.chosen),
            format_factor(gain.median),
            format_interval(&gain),
        ])
    });
    text_table(columns, rows)
}
