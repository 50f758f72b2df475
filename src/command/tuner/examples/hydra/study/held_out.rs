//! The regret of a table made from every second count.

use results::{HeldOut, Method};
use tuner::CampaignAnalysis;

use super::markdown::{list, percent, table};
use super::{Fallible, Row, analyse, choice};

/// A count, with the choice of a table made from the others.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) row: Row,
    /// Whether the table was made without it.
    pub(crate) is_held_out: bool,
    pub(crate) chosen: String,
    pub(crate) regret: f64,
}

/// All counts. From this index on every second one is held out, except the smallest and the largest.
pub(crate) fn points(rows: &[Row], from: usize) -> Fallible<Vec<Point>> {
    let last = rows.len().saturating_sub(1);
    let inner = rows.iter().take(last).skip(from).step_by(2);
    let held: Vec<u64> = inner.map(|row| row.elements).collect();
    let of_half = analyse(|elements| !held.contains(&elements))?.table()?;
    let point = |row: &Row| {
        let chosen = choice(&of_half, row.elements);
        Ok(Point {
            is_held_out: held.contains(&row.elements),
            regret: row.regret(&chosen)?,
            row: row.clone(),
            chosen,
        })
    };
    rows.iter().map(point).collect()
}

/// Mean regret, as a share.
pub(crate) fn mean<'a>(points: impl Iterator<Item = &'a Point>) -> f64 {
    let regrets: Vec<f64> = points.map(|point| point.regret).collect();
    regrets.iter().sum::<f64>() / regrets.len().max(1) as f64
}

/// The held-out counts at which the table costs more than 5 %.
pub(crate) fn wrong(points: &[Point]) -> Vec<&Point> {
    let is_wrong = |point: &&Point| point.is_held_out && point.regret > results::WITHIN;
    points.iter().filter(is_wrong).collect()
}

/// Mean regrets at held-out and at all counts, of every method.
fn scores(analysis: &CampaignAnalysis) -> Fallible<Vec<Vec<String>>> {
    let all = analysis.score_held_out_points()?;
    let sizes = all.iter().find(|scores| scores.held_out == HeldOut::Sizes);
    let scores = &sizes.ok_or("no counts are held out")?.scores;
    let share = |share: Option<f64>| share.map_or_else(|| "-".to_owned(), percent);
    let row = |method: &Method| {
        let score = scores.iter().find(|score| score.method == *method)?;
        let figures = [score.mean, score.median, score.mean_everywhere].map(share);
        Some(std::iter::once(method.to_string()).chain(figures).collect())
    };
    Ok(Method::ALL.iter().filter_map(row).collect())
}

/// The wrong choice at a count, with the times of its neighbours.
fn reason(rows: &[Row], point: &Point) -> String {
    let place = rows.iter().position(|row| *row == point.row).unwrap_or(0);
    let of = |neighbour: usize| rows.get(neighbour);
    let beside = [place.checked_sub(1).and_then(of), of(place + 1)];
    let winners = beside.into_iter().flatten().map(|row| {
        let milliseconds = row.seconds[0] * 1e3;
        let fastest = row.fastest();
        format!(
            "{fastest} at {} (default {milliseconds:.2} ms)",
            row.elements
        )
    });
    format!(
        "With {} elements {} is chosen and {} is the fastest: {} more. The default takes {:.2} ms there; \
         beside it, the fastest is {}.",
        point.row.elements,
        point.chosen,
        point.row.fastest(),
        percent(point.regret),
        point.row.seconds[0] * 1e3,
        list(&winners.collect::<Vec<_>>())
    )
}

pub(crate) fn section(rows: &[Row], analysis: &CampaignAnalysis) -> Fallible<String> {
    let halves = [points(rows, 1)?, points(rows, 2)?];
    let header = [
        "left out",
        "mean regret",
        "wrong by more than 5 %",
        "mean of the rest",
    ];
    let cells = halves.iter().map(|points| {
        let held = || points.iter().filter(|point| point.is_held_out);
        let is_right = |point: &&Point| point.regret <= results::WITHIN;
        vec![
            format!("{} of {}", held().count(), points.len()),
            percent(mean(held())),
            wrong(points).len().to_string(),
            percent(mean(held().filter(is_right))),
        ]
    });
    let wrong = halves.iter().flat_map(|points| wrong(points));
    let reasons: Vec<String> = wrong.map(|point| reason(rows, point)).collect();
    let methods = ["method", "held-out counts", "median", "all counts"];
    Ok(format!(
        "## 3. Every second count left out\n\n\
         Two tables, each made without every second count, the first without the second, the fourth and so on, the other \
         one without the third, the fifth and so on:\n\n{}\n\
         A few counts make nearly all of it. {} \
         The library's own allreduce changes its algorithm between 2125 and 2500 elements, and costs ten times as \
         much from there on; the counts that remain do not tell where between them. At 875000 elements it is slower than \
         on either side, or was disturbed. No curve through the counts that remain tells of either. What helps is to \
         measure there: a guided search does so where the choice changes between counts more than a factor of two \
         apart.\n\n\
         Mean regrets of `colltune evaluate`, of the first half, beside other ways to choose:\n\n{}",
        table(&header, &cells.collect::<Vec<_>>()),
        reasons.join(" "),
        table(&methods, &scores(analysis)?)
    ))
}
