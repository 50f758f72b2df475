//! The axes of figures.

use report::{View, render_html};
use results::{CellDecision, Ranked, Verdict};
use schedule::Collective;
use statistics::PairedRatio;
use vocabulary::Candidate;

use crate::cells;

/// Cells of a broadcast, on these numbers of nodes with 2 ranks on each, of these sizes.
fn broadcasts(nodes: &[u32], sizes: &[u64]) -> Vec<CellDecision> {
    let (nodes, sizes) = (nodes.iter().copied(), sizes.iter().copied());
    cells::results(&[Collective::Bcast], nodes, sizes)
}

/// The ticks of a figure with their places, those of the horizontal axis and those of the vertical one.
fn axes(cells: Vec<CellDecision>, id: &str) -> [Vec<(f64, String)>; 2] {
    let view = View {
        cells,
        ..cells::empty()
    };
    let page = render_html(&view);
    let start = format!("<figure id=\"{id}\"");
    let (_, figure) = page.split_once(&start).expect("a figure");
    let (picture, _) = figure.split_once("</svg>").expect("a picture");
    let ticks = |end: &str, place: &str| {
        let ticks = picture.split("<text class=\"tick\"").skip(1);
        let tick = |tick: &str| {
            let (attributes, rest) = tick.split_once('>')?;
            let (_, at) = attributes
                .split_once(place)
                .filter(|_| attributes.contains(end))?;
            let (at, _) = at.split_once('"')?;
            Some((at.parse().ok()?, rest.split_once('<')?.0.to_owned()))
        };
        ticks.filter_map(tick).collect()
    };
    [ticks("\"middle\"", " x=\""), ticks("\"end\"", " y=\"")]
}

#[track_caller]
fn check(ticks: &[(f64, String)], names: &[&str]) {
    let found: Vec<&str> = ticks.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(found, names);
    assert!(ticks.iter().all(|(pixel, _)| (0.0..=560.0).contains(pixel)));
}

/// The same with a time, and a speed-up as large, of all candidates of each cell.
fn timed(mut cells: Vec<CellDecision>, times: [f64; 2]) -> Vec<CellDecision> {
    for (result, time) in cells.iter_mut().zip(times) {
        for ranked in &mut result.ranking {
            *ranked = Ranked {
                speedup: Some(PairedRatio::single_value(time)),
                ..Ranked::unmeasured(ranked.candidate.clone(), time)
            };
        }
        let mut candidates = result.ranking.iter().map(|ranked| &ranked.candidate);
        let chosen = candidates.find(|candidate| **candidate != Candidate::Default);
        result.chosen = chosen.expect("others").clone();
        result.verdict = Verdict::Fastest;
    }
    cells
}

#[test]
fn ticks_are_round_and_few() {
    let [sizes, _] = axes(broadcasts(&[1], &[8, 1024]), "bcast-time-1x2");
    check(&sizes, &["8", "16", "32", "64", "128", "256", "512", "1K"]);
    let [wide_sizes, _] = axes(broadcasts(&[1], &[8, 4 << 20]), "bcast-time-1x2");
    check(&wide_sizes, &["8", "64", "512", "4K", "32K", "256K", "2M"]);
    let [ranks, _] = axes(broadcasts(&[1, 32], &[1 << 20]), "bcast-strong");
    check(&ranks, &["2", "4", "8", "16", "32", "64"]);
    let two = || broadcasts(&[1], &[8, 1024]);
    let [_, seconds] = axes(timed(two(), [1e-6, 1e-3]), "bcast-time-1x2");
    check(&seconds, &["1 us", "10 us", "100 us", "1 ms"]);
    let [_, factors] = axes(timed(two(), [0.9, 3.1]), "bcast-speedup-2");
    check(&factors, &["1x", "1.5x", "2x", "3x"]);
}

#[test]
fn a_single_value_is_in_the_middle() {
    let [sizes, _] = axes(broadcasts(&[1], &[8]), "bcast-time-1x2");
    check(&sizes, &["8"]);
    assert!((sizes[0].0 - 306.0).abs() < 1e-9);
}
