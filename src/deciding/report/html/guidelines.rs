//! Performance guidelines: collectives compared with equivalents made of other collectives (mock-ups).

use std::collections::BTreeMap;

use maud::{Markup, html};
use schedule::Collective;
use statistics::PairedRatio;
use vocabulary::units::format_bytes;
use vocabulary::{Candidate, CommShape};

use super::figure::{folded_table, left_out_note, plot_figure};
use super::palette::Look;
use super::plot::{Axis, Curve, Plot, Point};
use super::scale::Quantity;
use crate::grid::{TextTable, text_table};
use crate::markdown::format_interval;
use crate::text::{format_factor, short_name};
use crate::view::{Basis, View};
use results::{CellDecision, Ranked};

/// The most violations in the table.
const MOST_ROWS: usize = 40;

/// A cell beside its strongest mock-up.
#[derive(Clone, Copy)]
struct Compared<'v> {
    result: &'v CellDecision,
    mockup: &'v Ranked,
    /// The default's time divided by that of the mock-up.
    before: PairedRatio,
    /// The time of the table's choice divided by that of the mock-up.
    after: f64,
}

/// The section's content, with a sentence if there are no mock-ups.
pub(super) fn guidelines_content(view: &View) -> Markup {
    if view.basis == Basis::TableAlone {
        return html! { p { "A table alone has no times of mock-ups." } };
    }
    let mut compared: Vec<Compared<'_>> =
        view.cells.iter().filter_map(compare_with_mockup).collect();
    if compared.is_empty() {
        return html! {
            p {
                "No mock-ups were measured, so guidelines were not checked: name "
                code { "mockup:*" } " among the " code { "candidates" } " of the campaign to compare each "
                "collective with an equivalent made of the library's other collectives."
            }
        };
    }
    let figures = guideline_figures(&compared);
    let cells = compared.len();
    compared.sort_by(|a, b| b.before.median.total_cmp(&a.before.median));
    compared.retain(Compared::is_violated);
    let left = compared
        .iter()
        .filter(|one| one.after > 1.0 + TOLERANCE)
        .count();
    let shown = compared.len().min(MOST_ROWS);
    html! {
        p {
            "A collective should not be slower than an equivalent made of the library's other collectives "
            "(self-consistent performance guidelines: Träff, Gropp, Thakur 2010). A guideline is violated "
            "where the interval of the ratio lies above 1."
        }
        p.key-figure {
            "Violated by the default in " strong { (compared.len()) } " of " (cells) " cells, by the table's "
            "choices in " strong { (left) } "."
        }
        div.figures { @for figure in figures { (figure) } }
        (folded_table("The violations", guideline_table(&compared[..shown])))
        (left_out_note(shown, compared.len(), "violations are shown", super::figure::REST))
    }
}

/// The largest extra time of the table's choice, as a share, that is not a violation; its ratio has no interval.
const TOLERANCE: f64 = 0.02;

fn ranked_mockups(result: &CellDecision) -> impl Iterator<Item = &Ranked> {
    let candidates = result.ranking.iter();
    candidates.filter(|timed| matches!(timed.candidate, Candidate::Mockup { .. }))
}

/// A cell with its strongest mock-up, if it has one.
fn compare_with_mockup(result: &CellDecision) -> Option<Compared<'_>> {
    let mockups = ranked_mockups(result).filter_map(|mockup| Some((mockup, mockup.speedup?)));
    let (mockup, before) = mockups.max_by(|a, b| a.1.median.total_cmp(&b.1.median))?;
    let gain = result.chosen_gain().filter(|_| result.is_measured())?;
    Some(Compared {
        result,
        mockup,
        before,
        after: before.median / gain.median,
    })
}

/// A figure for each collective with violations, for the shape that has most of them.
fn guideline_figures(compared: &[Compared<'_>]) -> Vec<Markup> {
    type Shape = (Collective, CommShape);
    let mut shapes: BTreeMap<Shape, Vec<&Compared<'_>>> = BTreeMap::new();
    for one in compared.iter().filter(|one| one.result.cell.bytes > 0) {
        let cell = one.result.cell;
        shapes
            .entry((cell.collective, cell.shape))
            .or_default()
            .push(one);
    }
    let violated = |cells: &[&Compared<'_>]| cells.iter().filter(|one| one.is_violated()).count();
    let mut worst: BTreeMap<Collective, (usize, CommShape)> = BTreeMap::new();
    for ((collective, shape), cells) in &shapes {
        let worst = worst.entry(*collective).or_insert((0, *shape));
        *worst = (*worst).max((violated(cells), *shape));
    }
    let drawn = worst.into_iter().filter(|(_, (count, _))| *count > 0);
    drawn
        .filter_map(|(collective, (_, shape))| {
            guideline_figure(collective, shape, &shapes[&(collective, shape)])
        })
        .collect()
}

fn guideline_figure(
    collective: Collective,
    shape: CommShape,
    cells: &[&Compared<'_>],
) -> Option<Markup> {
    let curve = |name: &str, look: Look, point: fn(&Compared<'_>) -> Point| Curve {
        name: name.to_owned(),
        look,
        points: cells.iter().map(|one| point(one)).collect(),
        expected: Vec::new(),
        vertical: None,
    };
    let before = |one: &Compared<'_>| Point {
        interval: one.before.interval.known_ends(),
        ..Point::without_interval(one.result.cell.bytes as f64, one.before.median)
    };
    let after =
        |one: &Compared<'_>| Point::without_interval(one.result.cell.bytes as f64, one.after);
    let plot = Plot {
        id: format!("{collective}-guidelines"),
        title: format!("{collective} on {shape}: beside its strongest mock-up"),
        description:
            "Times of the default and of the table's choice, divided by that of the strongest \
                      mock-up, against size: above 1 the guideline is violated."
                .to_owned(),
        x: Axis {
            quantity: Quantity::Bytes,
            title: "bytes",
        },
        y: Axis {
            quantity: Quantity::Factor,
            title: "time / time of the mock-up",
        },
        curves: vec![
            curve("before: the default", Look::for_default(), before),
            curve("after: the table's choice", Look::numbered(0), after),
        ],
        notes: vec!["above the line at 1x the guideline is violated"],
        reference: Some(1.0),
    };
    let cells: Vec<Compared<'_>> = cells.iter().map(|one| **one).collect();
    plot_figure(&plot, guideline_table(&cells))
}

impl Compared<'_> {
    /// Whether the mock-up is significantly faster than the default.
    fn is_violated(&self) -> bool {
        self.before.interval.low > 1.0
    }
}

fn guideline_table(compared: &[Compared<'_>]) -> TextTable {
    let columns = "collective | shape | bytes> | faster mock-up | default / mock-up> | \
                   interval> | chosen | chosen / mock-up>";
    let rows = compared.iter().map(|one| {
        let Compared {
            result,
            mockup,
            before,
            after,
        } = one;
        [
            result.cell.collective.to_string(),
            result.cell.shape.to_string(),
            format_bytes(result.cell.bytes),
            short_name(&mockup.candidate),
            format_factor(before.median),
            format_interval(before),
            short_name(&result.chosen),
            format_factor(*after),
        ]
    });
    text_table(columns, rows)
}
