//! Our algorithms beside the library's own: equivalents, and the best of each side.

mod best;

use std::collections::BTreeMap;

use libraries::{RIVALS, library_equivalent};
use results::{Pair, Pairs, Summary};
use schedule::Collective;
use statistics::{PairedRatio, paired_ratio};
use vocabulary::defaults::CONFIDENCE;
use vocabulary::{Candidate, Cell, CommShape, Library, Subject};

/// The summaries of each cell, by collective and shape.
type ShapeCells<'a> = BTreeMap<(Collective, CommShape), BTreeMap<Cell, Vec<&'a Summary>>>;

/// All pairs in which both sides were measured, with evenly distributed data; empty if no algorithm of the library was
/// forced.
pub fn compare_pairs(summaries: &[Summary], library: &Library) -> Vec<Pairs> {
    let mut series: ShapeCells<'_> = BTreeMap::new();
    for summary in summaries {
        if let Subject::Cell(cell) = summary.subject
            && cell.distribution.is_uniform()
        {
            let cells = series.entry((cell.collective, cell.shape)).or_default();
            cells.entry(cell).or_default().push(summary);
        }
    }
    let has_natives = |cells: &BTreeMap<Cell, Vec<&Summary>>| {
        let mut all = cells.values().flatten();
        all.any(|summary| summary.candidate.is_native())
    };
    series
        .into_iter()
        .filter(|(_, cells)| has_natives(cells))
        .map(|((collective, shape), cells)| {
            let (equivalents, left_equivalents) = pair_equivalents(&cells, library);
            Pairs {
                collective,
                shape,
                equivalents,
                left_equivalents,
                best: pair_best_candidates(&cells),
            }
        })
        .collect()
}

/// One row per candidate that has an equivalent, in the order of candidates, and the number of points that are missing
/// because one of the two was eliminated. Candidates that look slow are eliminated.
fn pair_equivalents(
    cells: &BTreeMap<Cell, Vec<&Summary>>,
    library: &Library,
) -> (Vec<Pair>, usize) {
    let mut left = 0;
    let mut rows: BTreeMap<(&Candidate, Candidate), Vec<(u64, PairedRatio)>> = BTreeMap::new();
    for (cell, summaries) in cells {
        for ours in summaries {
            let Some(native) = library_equivalent(library, cell, &ours.candidate) else {
                continue;
            };
            let mut others = summaries.iter();
            let Some(theirs) = others.find(|other| other.candidate == native) else {
                continue;
            };
            if ours.counts.left_launches > 0 || theirs.counts.left_launches > 0 {
                left += 1;
            } else if let Some(ratio) = paired_time_ratio(ours, theirs) {
                let row = rows.entry((&ours.candidate, native)).or_default();
                row.push((cell.bytes, ratio));
            }
        }
    }
    let pair = |((name, against), points): ((&Candidate, Candidate), _)| Pair {
        name: name.to_string(),
        against: against.to_string(),
        points,
    };
    (rows.into_iter().map(pair).collect(), left)
}

/// Our best against the library's best forced algorithm and its default, and pairs among our own algorithms.
fn pair_best_candidates(cells: &BTreeMap<Cell, Vec<&Summary>>) -> Vec<Pair> {
    let is_default = |candidate: &Candidate| *candidate == Candidate::Default;
    let pair = |name: &str, against: &str, points| Pair {
        name: name.to_owned(),
        against: against.to_owned(),
        points,
    };
    // First what users gain over the library, and how much of that is only its choice among its own algorithms.
    let forced = "the library, forced";
    let mut pairs = vec![
        pair(
            "colltune",
            forced,
            best_ratios_by_size(cells, Candidate::is_ours, Candidate::is_native),
        ),
        pair(
            "colltune",
            "default",
            best_ratios_by_size(cells, Candidate::is_ours, is_default),
        ),
        pair(
            forced,
            "default",
            best_ratios_by_size(cells, Candidate::is_native, is_default),
        ),
    ];
    // Then our algorithms that compete for the same calls, and each of them beside the library.
    for (one, other) in RIVALS {
        let first = |candidate: &Candidate| candidate.algorithm() == one;
        let second = |candidate: &Candidate| candidate.algorithm() == other;
        pairs.extend([
            pair(one, other, best_ratios_by_size(cells, first, second)),
            pair(
                one,
                forced,
                best_ratios_by_size(cells, first, Candidate::is_native),
            ),
            pair(
                one,
                "default",
                best_ratios_by_size(cells, first, is_default),
            ),
        ]);
    }
    // Campaigns seldom measure all of them.
    pairs.retain(|kept| !kept.points.is_empty());
    pairs
}

fn best_ratios_by_size(
    cells: &BTreeMap<Cell, Vec<&Summary>>,
    first: impl Fn(&Candidate) -> bool,
    second: impl Fn(&Candidate) -> bool,
) -> Vec<(u64, PairedRatio)> {
    let point = |(cell, summaries): (&Cell, &Vec<&Summary>)| {
        let (first, second) = (
            matching_summaries(summaries, &first),
            matching_summaries(summaries, &second),
        );
        Some((cell.bytes, best::ratio_of_best(&first, &second)?))
    };
    cells.iter().filter_map(point).collect()
}

fn matching_summaries<'a>(
    summaries: &[&'a Summary],
    which: impl Fn(&Candidate) -> bool,
) -> Vec<&'a Summary> {
    let chosen = summaries.iter().filter(|summary| which(&summary.candidate));
    chosen.copied().collect()
}

fn paired_time_ratio(first: &Summary, second: &Summary) -> Option<PairedRatio> {
    paired_ratio(&first.launch_medians, &second.launch_medians, CONFIDENCE)
}
