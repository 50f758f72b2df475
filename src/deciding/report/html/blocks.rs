//! Figures of time against block size, with the optimum of the pipelining lemma.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use maud::{Markup, html};
use results::{BlockComparison, BlockPoint};
use vocabulary::CommShape;
use vocabulary::units::format_bytes;

use super::figure::{folded_table, plot_figure};
use super::group::Group;
use super::plot::{Axis, Curve, Plot, Point};
use super::scale::Quantity;
use crate::markdown::blocks_table;
use crate::text::without_collective;

/// The most figures of a collective, one per cell.
const MOST_FIGURES: usize = 2;
const MOST_CURVES: usize = 5;
/// The most rows of the table.
const MOST_ROWS: usize = 60;

/// The figures and the table, or a sentence if there are none.
pub(super) fn block_figures(group: &Group<'_>) -> Markup {
    let mut cells: BTreeMap<(CommShape, u64), Vec<&BlockComparison>> = BTreeMap::new();
    for comparison in &group.comparisons {
        for row in comparison.blocks.iter().filter(|row| row.points.len() > 1) {
            cells
                .entry((comparison.shape, row.cell.bytes))
                .or_default()
                .push(row);
        }
    }
    let mut order: Vec<_> = cells.into_iter().collect();
    let points = |rows: &[&BlockComparison]| rows.iter().map(|row| row.points.len()).sum::<usize>();
    order.sort_by_key(|((shape, bytes), rows)| Reverse((points(rows), *bytes, shape.ranks())));
    let shown = order.len().min(MOST_FIGURES);
    html! {
        @if order.is_empty() {
            p { "No pipelined algorithm was measured with more than one size of blocks." }
        } @else {
            div.figures {
                @for ((shape, bytes), rows) in &order[..shown] {
                    @if let Some(figure) = block_figure(group, *shape, *bytes, rows) { (figure) }
                }
            }
            @if shown < order.len() {
                p.left-out {
                    "The figures show " (shown) " of " (order.len()) " cells, those with most measured block sizes."
                }
            }
            (block_summary(group))
        }
    }
}

/// The predicted and measured block sizes of all algorithms and sizes.
fn block_summary(group: &Group<'_>) -> Markup {
    let rows = group
        .comparisons
        .iter()
        .flat_map(|comparison| &comparison.blocks);
    let mut table = blocks_table(rows);
    let all = table.rows.len();
    table.rows.truncate(MOST_ROWS);
    let shown = table.rows.len();
    html! {
        (folded_table("Predicted and measured sizes of blocks", table))
        @if shown < all { p.left-out { "The table has the first " (shown) " of " (all) " rows." } }
    }
}

fn block_figure(
    group: &Group<'_>,
    shape: CommShape,
    bytes: u64,
    rows: &[&BlockComparison],
) -> Option<Markup> {
    let mut rows = rows.to_vec();
    rows.sort_by(|a, b| a.measured.seconds.total_cmp(&b.measured.seconds));
    rows.truncate(MOST_CURVES);
    let curves = rows.iter().map(|row| block_curve(group, row)).collect();
    let plot = Plot {
        id: format!("{}-blocks-{shape}-{bytes}", group.collective),
        title: format!(
            "{} of {} bytes on {shape}: time against size of blocks",
            group.collective,
            format_bytes(bytes)
        ),
        description: "Measured and expected times against the size of blocks on logarithmic axes, with a curve for \
                      each algorithm and the sizes that the pipelining lemma predicts."
            .to_owned(),
        x: Axis {
            quantity: Quantity::Bytes,
            title: "bytes of a block",
        },
        y: Axis {
            quantity: Quantity::Seconds,
            title: "time",
        },
        curves,
        notes: vec![
            "ring: the fastest measured; vertical line: the pipelining lemma's optimum",
            "dashed: the model's prediction",
        ],
        reference: None,
    };
    plot_figure(&plot, blocks_table(rows))
}

fn block_curve(group: &Group<'_>, row: &BlockComparison) -> Curve {
    let point = |block: &BlockPoint| Point {
        is_chosen: block.block_bytes == row.measured.block_bytes,
        ..Point::without_interval(block.block_bytes as f64, block.seconds)
    };
    let expected = row.points.iter().zip(&row.predicted_of_points);
    let expected =
        expected.filter_map(|(block, seconds)| Some((block.block_bytes as f64, (*seconds)?)));
    Curve {
        name: without_collective(&row.algorithm),
        look: group.looks.look_of(&row.algorithm),
        points: row.points.iter().map(point).collect(),
        expected: expected.collect(),
        vertical: row.predicted.map(|block| block.block_bytes as f64),
    }
}
