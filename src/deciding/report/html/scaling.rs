//! Figures of time against ranks, with constant data in total (strong scaling) or per rank (weak scaling).

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use vocabulary::CommShape;
use vocabulary::units::{format_bytes, format_seconds};

use super::figure::plot_figure;
use super::group::{Group, cells_by_shape, total_gain};
use super::map::thin_out;
use super::plot::{Axis, Curve, Plot, Point, notes_on_times};
use super::scale::Quantity;
use super::sizes::{algorithms_to_draw, best_of_algorithm};
use crate::grid::{TextTable, text_table};
use crate::text::without_collective;
use results::CellDecision;

/// The most algorithms in a figure, including the default.
const MOST_CURVES: usize = 5;

/// The most shapes in a figure.
const MOST_SHAPES: usize = 24;

/// The quantity that is constant while ranks are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScalingKind {
    /// The bytes of the whole vector.
    Strong,
    /// The bytes of the vector divided by the ranks.
    Weak,
}

impl ScalingKind {
    /// The constant quantity of a cell, in bytes.
    fn fixed_bytes(self, result: &CellDecision) -> f64 {
        let total = result.cell.vector_bytes() as f64;
        match self {
            Self::Strong => total,
            Self::Weak => total / f64::from(result.cell.shape.ranks()),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Strong => "strong",
            Self::Weak => "weak",
        }
    }

    fn describe_fixed(self, fixed: f64) -> String {
        let fixed = format_bytes(fixed.round() as u64);
        match self {
            Self::Strong => format!("strong scaling, {fixed} bytes in total"),
            Self::Weak => format!("weak scaling, {fixed} bytes per rank"),
        }
    }
}

/// Shapes that differ only in nodes, or only in ranks per node, with their cells by ascending size.
struct ShapeRow<'v> {
    shapes: Vec<(CommShape, Vec<&'v CellDecision>)>,
    /// The value that all have in common, as text.
    name: String,
    /// Whether no shape is left out.
    is_whole: bool,
}

/// The two figures, or the reason why there are none.
pub(super) fn ranks_figures(group: &Group<'_>) -> Markup {
    let Some(row) = longest_row(group) else {
        return html! {
            p { "There is no time against ranks, which needs two numbers of nodes or of ranks per node." }
        };
    };
    html! {
        div.figures {
            @for kind in [ScalingKind::Strong, ScalingKind::Weak] {
                @if let Some(figure) = ranks_figure(group, &row, kind) { (figure) }
            }
        }
    }
}

fn longest_row<'v>(group: &Group<'v>) -> Option<ShapeRow<'v>> {
    let shapes = cells_by_shape(group.measured_cells());
    let distinct = |of: fn(&CommShape) -> u32| shapes.keys().map(of).collect::<BTreeSet<u32>>();
    let rows_of =
        |values: BTreeSet<u32>, of: fn(&CommShape) -> u32, unit: &str| -> Vec<ShapeRow<'v>> {
            let row = |value: u32| ShapeRow {
                is_whole: true,
                shapes: shapes
                    .iter()
                    .filter(|(shape, _)| of(shape) == value)
                    .map(|(shape, cells)| (*shape, cells.clone()))
                    .collect(),
                name: match value {
                    1 => format!("1 {}", unit.replacen('s', "", 1)),
                    many => format!("{many} {unit}"),
                },
            };
            values.into_iter().map(row).collect()
        };
    let of_ppn = rows_of(distinct(|s| s.ppn), |s| s.ppn, "ranks per node");
    let of_nodes = rows_of(distinct(|s| s.nodes), |s| s.nodes, "nodes");
    let longest = |rows: Vec<ShapeRow<'v>>| {
        let rows = rows.into_iter().filter(|row| row.shapes.len() > 1);
        rows.max_by_key(|row| row.shapes.len())
    };
    let row = longest(of_ppn).or_else(|| longest(of_nodes))?;
    Some(ShapeRow {
        is_whole: row.shapes.len() <= MOST_SHAPES,
        shapes: thin_out(&row.shapes, MOST_SHAPES),
        name: row.name,
    })
}

fn ranks_figure(group: &Group<'_>, row: &ShapeRow<'_>, kind: ScalingKind) -> Option<Markup> {
    let fixed = most_telling(row, kind)?;
    let cells: Vec<&CellDecision> = row
        .shapes
        .iter()
        .flat_map(|(_, cells)| cells)
        .copied()
        .collect();
    let near: Vec<&CellDecision> = {
        // The cells within a factor of two of this size.
        let is_near = |r: &&&CellDecision| (0.5..=2.0).contains(&(kind.fixed_bytes(r) / fixed));
        cells.iter().filter(is_near).copied().collect()
    };
    let names = algorithms_to_draw(if near.is_empty() { &cells } else { &near });
    let curves: Vec<Curve> = names
        .into_iter()
        .take(MOST_CURVES)
        .map(|name| Curve {
            name: without_collective(&name),
            look: group.looks.look_of(&name),
            points: measured_points(row, kind, fixed, &name),
            expected: expected_points(row, kind, fixed, &name),
            vertical: None,
        })
        .filter(|curve| !curve.points.is_empty())
        .collect();
    let mut notes = notes_on_times(&curves);
    if !row.is_whole {
        notes.push("some shapes between the smallest and the largest are left out");
    }
    let plot = Plot {
        id: format!("{}-{}", group.collective, kind.name()),
        title: format!(
            "{}: time against ranks, {} on {}",
            group.collective,
            kind.describe_fixed(fixed),
            row.name
        ),
        description: "Median times on logarithmic axes, with a curve for each algorithm."
            .to_owned(),
        x: Axis {
            quantity: Quantity::Ranks,
            title: "ranks",
        },
        y: Axis {
            quantity: Quantity::Seconds,
            title: "time",
        },
        notes,
        reference: None,
        curves,
    };
    plot_figure(&plot, ranks_table(&plot.curves))
}

/// The fixed size within the measured range of most shapes; of several, the one with most at stake, or the largest.
fn most_telling(row: &ShapeRow<'_>, kind: ScalingKind) -> Option<f64> {
    let all = || row.shapes.iter().flat_map(|(_, cells)| cells);
    let mut sizes: BTreeMap<u64, f64> = BTreeMap::new();
    for result in all() {
        let fixed = kind.fixed_bytes(result);
        if fixed >= 1.0 && fixed.fract() == 0.0 {
            *sizes.entry(fixed as u64).or_default() += total_gain(&[*result]);
        }
    }
    let ranges = row.shapes.iter().map(|(_, cells)| {
        let fixed_sizes = cells.iter().map(|result| kind.fixed_bytes(result));
        fixed_sizes.fold((f64::INFINITY, 0.0_f64), |(least, most), size| {
            (least.min(size), most.max(size))
        })
    });
    let ranges: Vec<(f64, f64)> = ranges.collect();
    let count = |fixed: f64| {
        let known = ranges.iter();
        let known = known.filter(|(least, most)| *least <= fixed && fixed <= *most);
        known.count()
    };
    let best = sizes.into_iter().max_by(|(a, stake_a), (b, stake_b)| {
        let shapes = count(*a as f64).cmp(&count(*b as f64));
        shapes.then(stake_a.total_cmp(stake_b)).then(a.cmp(b))
    });
    let (fixed, _) = best?;
    (count(fixed as f64) > 1).then_some(fixed as f64)
}

fn measured_points(
    row: &ShapeRow<'_>,
    kind: ScalingKind,
    fixed: f64,
    algorithm: &str,
) -> Vec<Point> {
    let point = |(shape, cells): &(CommShape, Vec<&CellDecision>)| {
        let x = f64::from(shape.ranks());
        let exact = cells
            .iter()
            .find(|result| is_same_size(kind.fixed_bytes(result), fixed));
        if let Some(result) = exact {
            let timed = best_of_algorithm(result, algorithm)?;
            return Some(Point {
                interval: timed.interval.known_ends(),
                is_chosen: result.chosen == timed.candidate,
                ..Point::without_interval(x, timed.median_seconds)
            });
        }
        let seconds = interpolate_seconds(cells, kind, fixed, |result| {
            Some(best_of_algorithm(result, algorithm)?.median_seconds)
        })?;
        Some(Point {
            is_hollow: true,
            ..Point::without_interval(x, seconds)
        })
    };
    row.shapes.iter().filter_map(point).collect()
}

fn expected_points(
    row: &ShapeRow<'_>,
    kind: ScalingKind,
    fixed: f64,
    algorithm: &str,
) -> Vec<(f64, f64)> {
    let point = |(shape, cells): &(CommShape, Vec<&CellDecision>)| {
        let expected =
            |result: &CellDecision| best_of_algorithm(result, algorithm)?.predicted_seconds;
        let exact = cells
            .iter()
            .find(|result| is_same_size(kind.fixed_bytes(result), fixed));
        let seconds = match exact {
            Some(result) => expected(result),
            None => interpolate_seconds(cells, kind, fixed, expected),
        };
        Some((f64::from(shape.ranks()), seconds?))
    };
    row.shapes.iter().filter_map(point).collect()
}

fn is_same_size(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-9
}

/// A time interpolated between two measured sizes on logarithmic scales.
fn interpolate_seconds(
    cells: &[&CellDecision],
    kind: ScalingKind,
    fixed: f64,
    seconds: impl Fn(&CellDecision) -> Option<f64>,
) -> Option<f64> {
    let known = || {
        let known = |result: &&CellDecision| Some((kind.fixed_bytes(result), seconds(result)?));
        cells
            .iter()
            .filter_map(known)
            .filter(|(size, _)| *size > 0.0)
    };
    let order = |a: &(f64, f64), b: &(f64, f64)| a.0.total_cmp(&b.0);
    let below = known().filter(|(size, _)| *size < fixed).max_by(order)?;
    let above = known().filter(|(size, _)| *size > fixed).min_by(order)?;
    let share = (fixed / below.0).ln() / (above.0 / below.0).ln();
    Some(below.1 * (above.1 / below.1).powf(share))
}

fn ranks_table(curves: &[Curve]) -> TextTable {
    let columns = "algorithm | ranks> | time> | ";
    let rows = curves.iter().flat_map(|curve| {
        curve.points.iter().map(|point| {
            [
                curve.name.clone(),
                format!("{:.0}", point.x),
                format_seconds(point.y),
                match (point.is_hollow, point.is_chosen) {
                    (true, _) => "interpolated",
                    (false, true) => "chosen",
                    (false, false) => "",
                }
                .to_owned(),
            ]
        })
    });
    text_table(columns, rows)
}
