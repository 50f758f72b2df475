//! Colltune's algorithms compared with the library's own.

use results::Pair;
use schedule::Collective;
use statistics::{PairedRatio, geometric_mean};
use vocabulary::CommShape;
use vocabulary::units::{format_bytes, format_count, format_counted};

use crate::grid::{TextTable, text_table};
use crate::markdown::format_interval;
use crate::text::{escape_markdown, format_factor};
use crate::view::View;

/// The ratio of times above which a point is listed as slower.
const SLOWER: f64 = 1.3;

/// The smallest coverage of an interval for a certain statement.
const SURE: f64 = 0.95;

/// The section; empty if none of the library's algorithms was forced.
pub(crate) fn pairs_section(view: &View) -> String {
    if view.pairs.is_empty() {
        return String::new();
    }
    let mut text = "## Against the library's own algorithms\n\n\
        Times of the first divided by those of the second, paired inside launches: below 1 the first\n\
        is faster. The library's own algorithms were forced one by one. The mean over sizes is\n\
        geometric. Equivalent algorithms send the same messages, with the same blocks. Where a side has\n\
        several candidates, the best of each side are compared. In each launch these are the candidates with\n\
        the shortest median time in all other launches, since a choice by the launch's own times would\n\
        favour the side with more candidates.\n\n"
        .to_owned();
    for pairs in &view.pairs {
        text += &format!(
            "### {}: pairs\n\n",
            shape_title(pairs.collective, pairs.shape)
        );
        for (what, rows) in [
            ("Equivalent algorithms", &pairs.equivalents),
            ("The best", &pairs.best),
        ] {
            if !rows.is_empty() {
                text += &format!("{what}:\n\n{}", ratio_table(rows).to_markdown());
            }
        }
        text += &escape_markdown(&judge_equivalents(&pairs.equivalents));
        text += &left_out_sentence(pairs.left_equivalents);
    }
    text
}

pub(crate) fn shape_title(collective: Collective, shape: CommShape) -> String {
    format!("{collective} on {shape}")
}

pub(crate) fn ratio_table(rows: &[Pair]) -> TextTable {
    let columns = "first | second | sizes | mean> | worst> | interval> | at>";
    let rows = rows.iter().filter_map(|pair| {
        let (first, last) = (pair.points.first()?, pair.points.last()?);
        let (at, worst) = worst_ratio(pair)?;
        let ratios = pair.points.iter().map(|(_, ratio)| ratio.median);
        Some([
            pair.name.clone(),
            pair.against.clone(),
            format!("{} to {}", format_bytes(first.0), format_bytes(last.0)),
            format_factor(geometric_mean(ratios)?),
            format_factor(worst.median),
            format_interval(&worst),
            format_bytes(at),
        ])
    });
    text_table(columns, rows)
}

fn worst_ratio(pair: &Pair) -> Option<(u64, PairedRatio)> {
    let ratio = |point: &&(u64, PairedRatio)| point.1.median;
    let order = |a: &&(u64, PairedRatio), b: &&(u64, PairedRatio)| ratio(a).total_cmp(&ratio(b));
    pair.points.iter().max_by(order).copied()
}

/// The mean over all pairs of equivalent algorithms, and the points at which ours is slower.
pub(crate) fn judge_equivalents(equivalents: &[Pair]) -> String {
    let ratios = || equivalents.iter().flat_map(|pair| &pair.points);
    let count = ratios().count();
    let Some(mean) = geometric_mean(ratios().map(|(_, ratio)| ratio.median)) else {
        return String::new();
    };
    let mut text = format!(
        "All equivalent algorithms together: {} over {}.",
        format_factor(mean),
        format_counted(count as u64, "point")
    );
    let slow: Vec<String> = equivalents.iter().flat_map(slow_points).collect();
    if slow.is_empty() {
        text += &format!(" None is slower by more than {SLOWER}.");
    } else {
        text += &format!(
            "\nSlower by more than {SLOWER}, certain where an interval of {:.0} % lies above that: {}.",
            100.0 * SURE,
            slow.join(", ")
        );
    }
    text + "\n\n"
}

/// The points at which ours is slower, and whether that is certain by its interval.
fn slow_points(pair: &Pair) -> impl Iterator<Item = String> {
    let slow = pair
        .points
        .iter()
        .filter(|(_, ratio)| ratio.median > SLOWER);
    slow.map(|(bytes, ratio)| {
        let (name, at) = (&pair.name, format_bytes(*bytes));
        let certainty = if ratio.interval.coverage >= SURE && ratio.interval.low > SLOWER {
            "certain"
        } else {
            "within noise"
        };
        format!(
            "{name} at {at} ({}, {certainty})",
            format_factor(ratio.median)
        )
    })
}

/// A sentence about the points left out; empty if there are none.
pub(crate) fn left_out_sentence(points: usize) -> String {
    let points = match points {
        0 => return String::new(),
        1 => "1 point of equivalent algorithms is".to_owned(),
        many => format!(
            "{} points of equivalent algorithms are",
            format_count(many as u64)
        ),
    };
    format!(
        "{points} left out, because one of the two was eliminated in some launch: its time is uncertain\n\
         and probably too long.\n\n"
    )
}
