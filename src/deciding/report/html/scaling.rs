//! Figures of time against ranks, with constant data in total (strong scaling) or per rank (weak scaling).

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use vocabulary::CommShape;
use vocabulary::units::{format_bytes, format_seconds};

use super::figure::plotted;
use super::group::{Group, by_shape, stake};
use super::map::thinned;
use super::plot::{Curve, Plot, Point, notes_on_times};
use super::scale::Quantity;
use super::sizes::{algorithms, fastest_of};
use crate::grid::{TextTable, grid};
use crate::text::without_collective;
use results::CellDecision;

/// The most algorithms in a figure, including the default.
const MOST_CURVES: usize = 5;

/// The most shapes in a figure.
const MOST_SHAPES: usize = 24;

/// The quantity that is constant while ranks are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The bytes of the whole vector.
    Strong,
    /// The bytes of the vector divided by the ranks.
    Weak,
}

impl Kind {
    /// The constant quantity of a cell, in bytes.
    fn fixed(self, result: &CellDecision) -> f64 {
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

    fn explains(self, fixed: f64) -> String {
        let fixed = format_bytes(fixed.round() as u64);
        match self {
            Self::Strong => format!("strong scaling, {fixed} bytes in total"),
            Self::Weak => format!("weak scaling, {fixed} bytes per rank"),
        }
    }
}

/// Shapes that differ only in nodes, or only in ranks per node, with their cells by ascending size.
struct Row<'v> {
    shapes: Vec<(CommShape, Vec<&'v CellDecision>)>,
    /// The value that all have in common, as text.
    name: String,
    /// Whether no shape is left out.
    is_whole: bool,
}

/// The two figures, or the reason why there are none.
pub(super) fn figures(group: &Group<'_>) -> Markup {
    let Some(row) = longest_row(group) else {
        return html! {
            p { "There is no time against ranks, which needs two numbers of nodes or of ranks per node." }
        };
    };
    html! {
        div.figures {
            @for kind in [Kind::Strong, Kind::Weak] {
                @if let Some(figure) = figure(group, &row, kind) { (figure) }
            }
        }
    }
}

fn longest_row<'v>(group: &Group<'v>) -> Option<Row<'v>> {
    let shapes = by_shape(group.measured());
    let distinct = |of: fn(&CommShape) -> u32| shapes.keys().map(of).collect::<BTreeSet<u32>>();
    let rows = |values: BTreeSet<u32>, of: fn(&CommShape) -> u32, unit: &str| -> Vec<Row<'v>> {
        let row = |value: u32| Row {
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
    let of_ppn = rows(distinct(|s| s.ppn), |s| s.ppn, "ranks per node");
    let of_nodes = rows(distinct(|s| s.nodes), |s| s.nodes, "nodes");
    let longest = |rows: Vec<Row<'v>>| {
        let rows = rows.into_iter().filter(|row| row.shapes.len() > 1);
        rows.max_by_key(|row| row.shapes.len())
    };
    let row = longest(of_ppn).or_else(|| longest(of_nodes))?;
    Some(Row {
        is_whole: row.shapes.len() <= MOST_SHAPES,
        shapes: thinned(&row.shapes, MOST_SHAPES),
        name: row.name,
    })
}

fn figure(group: &Group<'_>, row: &Row<'_>, kind: Kind) -> Option<Markup> {
    let fixed = most_telling(row, kind)?;
    let cells: Vec<&CellDecision> = row
        .shapes
        .iter()
        .flat_map(|(_, cells)| cells)
        .copied()
        .collect();
    let near: Vec<&CellDecision> = {
        // The cells within a factor of two of this size.
        let is_near = |r: &&&CellDecision| (0.5..=2.0).contains(&(kind.fixed(r) / fixed));
        cells.iter().filter(is_near).copied().collect()
    };
    let names = algorithms(if near.is_empty() { &cells } else { &near });
    let curves: Vec<Curve> = names
        .into_iter()
        .take(MOST_CURVES)
        .map(|name| Curve {
            name: without_collective(&name),
            look: group.looks.look(&name),
            points: points(row, kind, fixed, &name),
            expected: expected(row, kind, fixed, &name),
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
            kind.explains(fixed),
            row.name
        ),
        description: "Median times on logarithmic axes, with a curve for each algorithm."
            .to_owned(),
        x: (Quantity::Ranks, "ranks"),
        y: (Quantity::Seconds, "time"),
        notes,
        reference: None,
        curves,
    };
    plotted(&plot, numbers(&plot.curves))
}

/// The fixed size within the measured range of most shapes; of several, the one with most at stake, or the largest.
fn most_telling(row: &Row<'_>, kind: Kind) -> Option<f64> {
    let all = || row.shapes.iter().flat_map(|(_, cells)| cells);
    let mut sizes: BTreeMap<u64, f64> = BTreeMap::new();
    for result in all() {
        let fixed = kind.fixed(result);
        if fixed >= 1.0 && fixed.fract() == 0.0 {
            *sizes.entry(fixed as u64).or_default() += stake(&[*result]);
        }
    }
    let ranges = row.shapes.iter().map(|(_, cells)| {
        let sizes = cells.iter().map(|result| kind.fixed(result));
        sizes.fold((f64::INFINITY, 0.0_f64), |(least, most), size| {
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

fn points(row: &Row<'_>, kind: Kind, fixed: f64, algorithm: &str) -> Vec<Point> {
    let point = |(shape, cells): &(CommShape, Vec<&CellDecision>)| {
        let x = f64::from(shape.ranks());
        let exact = cells.iter().find(|result| same(kind.fixed(result), fixed));
        if let Some(result) = exact {
            let timed = fastest_of(result, algorithm)?;
            return Some(Point {
                interval: timed.interval.ends(),
                is_chosen: result.chosen == timed.candidate,
                ..Point::bare(x, timed.median_seconds)
            });
        }
        let seconds = between(cells, kind, fixed, |result| {
            Some(fastest_of(result, algorithm)?.median_seconds)
        })?;
        Some(Point {
            is_hollow: true,
            ..Point::bare(x, seconds)
        })
    };
    row.shapes.iter().filter_map(point).collect()
}

fn expected(row: &Row<'_>, kind: Kind, fixed: f64, algorithm: &str) -> Vec<(f64, f64)> {
    let point = |(shape, cells): &(CommShape, Vec<&CellDecision>)| {
        let expected = |result: &CellDecision| fastest_of(result, algorithm)?.predicted_seconds;
        let exact = cells.iter().find(|result| same(kind.fixed(result), fixed));
        let seconds = match exact {
            Some(result) => expected(result),
            None => between(cells, kind, fixed, expected),
        };
        Some((f64::from(shape.ranks()), seconds?))
    };
    row.shapes.iter().filter_map(point).collect()
}

fn same(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-9
}

/// A time interpolated between two measured sizes on logarithmic scales.
fn between(
    cells: &[&CellDecision],
    kind: Kind,
    fixed: f64,
    seconds: impl Fn(&CellDecision) -> Option<f64>,
) -> Option<f64> {
    let known = || {
        let known = |result: &&CellDecision| Some((kind.fixed(result), seconds(result)?));
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

fn numbers(curves: &[Curve]) -> TextTable {
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
    grid(columns, rows)
}
