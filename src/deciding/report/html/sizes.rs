//! Figures of time against size, for the shapes with most at stake.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use vocabulary::units::{format_bytes, format_seconds};
use vocabulary::{Candidate, CommShape};

use super::figure::{REST, left_out_note, plot_figure};
use super::group::{Group, fastest_candidate};
use super::map::thin_out;
use super::palette::DEFAULT;
use super::plot::{Axis, Curve, Plot, Point, notes_on_times};
use super::scale::Quantity;
use crate::grid::{TextTable, text_table};
use crate::text::{NONE, algorithm_name, or_none, short_name, without_collective};
use results::{CellDecision, Ranked};

/// The most shapes of a collective.
const MOST_SHAPES: usize = 2;
/// The most points of a curve.
pub(super) const MOST_SIZES: usize = 32;
/// The note if there are more sizes.
pub(super) const SIZES_LEFT_OUT: &str =
    "some sizes between the smallest and the largest are left out";
/// The most curves of a shape, beside the default's.
const MOST_CURVES: usize = 6;

pub(super) fn time_figures(group: &Group<'_>) -> Markup {
    let shapes = group.shapes_by_stake();
    let shown = shapes.len().min(MOST_SHAPES);
    html! {
        @if !group.collective.has_data() {
            p { "The collective has no data, so there is no time against size." }
        } @else {
            div.figures {
                @for (shape, cells) in &shapes[..shown] {
                    @if let Some(figure) = time_figure(group, *shape, cells) { (figure) }
                }
            }
            (left_out_note(shown, shapes.len(), "shapes are shown", REST))
        }
    }
}

fn time_figure(group: &Group<'_>, shape: CommShape, all: &[&CellDecision]) -> Option<Markup> {
    let cells = &thin_out(all, MOST_SIZES)[..];
    let algorithms = algorithms_to_draw(cells);
    let curves: Vec<Curve> = algorithms
        .iter()
        .map(|algorithm| time_curve(group, algorithm, cells))
        .collect();
    let mut notes = notes_on_times(&curves);
    if cells.len() < all.len() {
        notes.push(SIZES_LEFT_OUT);
    }
    let title = format!("{} on {shape}: time against size", group.collective);
    let plot = Plot {
        id: format!("{}-time-{shape}", group.collective),
        description: format!(
            "Median times on logarithmic axes of {}, each with its best parameters at each size.",
            curves
                .iter()
                .map(|curve| curve.name.clone())
                .collect::<Vec<_>>()
                .join(", ")
        ),
        title,
        x: Axis {
            quantity: Quantity::Bytes,
            title: "bytes",
        },
        y: Axis {
            quantity: Quantity::Seconds,
            title: "time",
        },
        curves,
        notes,
        reference: None,
    };
    plot_figure(&plot, time_table(&algorithms, cells))
}

/// At how many sizes an algorithm is the table's choice, and at how many it is the fastest.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Votes {
    chosen: usize,
    fastest: usize,
}

/// The number of sizes at which an algorithm was measured, and the sum of the logarithms of its speed-ups.
#[derive(Default)]
struct SumOfSpeedups {
    sizes: usize,
    logarithms: f64,
}

/// The algorithms to draw: the default, then those that the table chooses most often, then those that are fastest most
/// often.
pub(super) fn algorithms_to_draw<'v>(cells: &[&'v CellDecision]) -> Vec<Cow<'v, str>> {
    let mut votes: BTreeMap<Cow<'v, str>, Votes> = BTreeMap::new();
    for result in cells {
        let of_chosen = votes.entry(algorithm_name(&result.chosen)).or_default();
        of_chosen.chosen += 1;
        if let Some(timed) = fastest_candidate(&result.ranking) {
            let of_fastest = votes.entry(algorithm_name(&timed.candidate)).or_default();
            of_fastest.fastest += 1;
        }
    }
    votes.remove(DEFAULT);
    let mut order: Vec<(Cow<'v, str>, Votes)> = votes.into_iter().collect();
    order.sort_by_key(|(_, tally)| std::cmp::Reverse(*tally));
    let mut seen: BTreeSet<Cow<'v, str>> = order.iter().map(|(name, _)| name.clone()).collect();
    // For comparison, the best of the library's own algorithms and the best of all.
    let mut order: Vec<Cow<'v, str>> = order.into_iter().map(|(name, _)| name).collect();
    for kind in [Candidate::NATIVE, ""] {
        order.extend(strongest_algorithm(cells, kind).filter(|name| seen.insert(name.clone())));
    }
    let others = order.into_iter().take(MOST_CURVES);
    std::iter::once(Cow::Borrowed(DEFAULT))
        .chain(others)
        .collect()
}

/// The algorithm whose name begins with `kind` that has the largest mean speed-up over most sizes.
fn strongest_algorithm<'v>(cells: &[&'v CellDecision], kind: &str) -> Option<Cow<'v, str>> {
    let mut sums: BTreeMap<Cow<'v, str>, SumOfSpeedups> = BTreeMap::new();
    for result in cells {
        let Some(default) = result.ranked_default() else {
            continue;
        };
        let names: BTreeSet<Cow<'v, str>> = result
            .ranking
            .iter()
            .map(|timed| algorithm_name(&timed.candidate))
            .filter(|name| name.starts_with(kind) && name != DEFAULT)
            .collect();
        for name in names {
            let Some(timed) = best_of_algorithm(result, &name) else {
                continue;
            };
            let sum = sums.entry(name).or_default();
            sum.sizes += 1;
            sum.logarithms += (default.median_seconds / timed.median_seconds).ln();
        }
    }
    let best = sums.into_iter().max_by(|(_, a), (_, b)| {
        let sizes = a.sizes.cmp(&b.sizes);
        sizes.then(a.logarithms.total_cmp(&b.logarithms))
    });
    best.map(|(name, _)| name)
}

/// The chosen candidate if it has the algorithm of this name, or else the fastest candidate that does.
pub(super) fn best_of_algorithm<'v>(result: &'v CellDecision, name: &str) -> Option<&'v Ranked> {
    if algorithm_name(&result.chosen) == name
        && let Some(chosen) = result.ranked(&result.chosen)
    {
        return Some(chosen);
    }
    let is_member = |timed: &&Ranked| algorithm_name(&timed.candidate) == name;
    fastest_candidate(result.ranking.iter().filter(is_member))
}

fn time_curve(group: &Group<'_>, name: &str, cells: &[&CellDecision]) -> Curve {
    let members = || {
        let timed = |result: &&CellDecision| {
            let timed = best_of_algorithm(result, name)?.clone();
            let is_chosen = result.chosen == timed.candidate;
            Some((result.cell.bytes as f64, timed, is_chosen))
        };
        cells
            .iter()
            .filter_map(timed)
            .filter(|(bytes, ..)| *bytes > 0.0)
    };
    Curve {
        name: without_collective(name),
        look: group.looks.look_of(name),
        points: members()
            .map(|(x, timed, is_chosen)| Point {
                interval: timed.interval.known_ends(),
                is_chosen,
                ..Point::without_interval(x, timed.median_seconds)
            })
            .collect(),
        expected: members()
            .filter_map(|(x, timed, _)| Some((x, timed.predicted_seconds?)))
            .collect(),
        vertical: None,
    }
}

fn time_table(algorithms: &[Cow<'_, str>], cells: &[&CellDecision]) -> TextTable {
    let columns = "bytes> | candidate | time> | interval> | expected> | launches> | chosen";
    let rows = cells.iter().flat_map(|result| {
        let members = algorithms
            .iter()
            .filter_map(|name| best_of_algorithm(result, name));
        members.map(|timed| {
            let interval = |ends: [f64; 2]| ends.map(format_seconds).join(" .. ");
            let is_chosen = result.chosen == timed.candidate;
            [
                format_bytes(result.cell.bytes),
                short_name(&timed.candidate),
                format_seconds(timed.median_seconds),
                or_none(timed.interval.known_ends(), interval),
                or_none(timed.predicted_seconds, format_seconds),
                match timed.counts.launches {
                    0 => NONE.to_owned(),
                    launches => launches.to_string(),
                },
                if is_chosen { "yes" } else { "" }.to_owned(),
            ]
        })
    });
    text_table(columns, rows)
}
