//! Where the straight line of a curve changes: protocols and algorithms that a library switches
//! between, found in the times alone.

use std::ops::Range;

use crate::line::Line;
use crate::reweighted::{self, Point};

/// Sizes that a part of a curve must have: with fewer than three, a line explains anything.
pub(crate) const FEWEST_SIZES: usize = 3;
/// More parts than eager, rendezvous and a switch of algorithm need.
const MOST_SEGMENTS: usize = 4;
/// Mean relative error below which a better fit is no reason for another segment.
const NEGLIGIBLE_ERROR: f64 = 0.01;
/// What a further segment costs, in logarithms of the number of sizes. Start, slope and place of the
/// change make three; a change may stand anywhere, so that the best place explains more noise than one
/// given beforehand (Zhang and Siegmund 2007); and absolute errors of normal noise vary by half as
/// much again as their likelihood says. Six leaves less than one curve in fifty cut for noise alone.
const PENALTY: f64 = 6.0;
/// Rounds of improving a line that has got one more point.
const ROUNDS: u32 = 6;

/// The parts of a curve, each best told by a line of its own, as ranges of `points`; one part with
/// fewer than twice [`FEWEST_SIZES`] points. The points have different, ascending places.
///
/// For each number of segments the parts with the least absolute relative errors are found by dynamic
/// programming over all places of the changes (Bellman 1961); the number is that with the best
/// Bayesian information criterion, for errors of a Laplace distribution whose scale is estimated from
/// what is left after the parameters.
pub(crate) fn segments(points: &[Point]) -> Vec<Range<usize>> {
    let count = points.len();
    let most = (count / FEWEST_SIZES).clamp(1, MOST_SEGMENTS);
    if most == 1 {
        return std::iter::once(0..count).collect();
    }
    let partitions = partitions(count, most, &costs(points));
    let score = |(cost, parts): &(f64, Vec<Range<usize>>)| {
        let free = count - 2 * parts.len();
        let scale = (cost / free as f64).max(NEGLIGIBLE_ERROR);
        let further = (parts.len() - 1) as f64;
        2.0 * count as f64 * scale.ln() + PENALTY * further * (count as f64).ln()
    };
    let best = partitions
        .into_iter()
        .min_by(|a, b| score(a).total_cmp(&score(b)));
    best.map_or_else(|| std::iter::once(0..count).collect(), |(_, parts)| parts)
}

/// `costs[first][end]`: the sum of absolute relative errors of the points from `first` to before
/// `end` under their line; infinite for too few points.
fn costs(points: &[Point]) -> Vec<Vec<f64>> {
    let count = points.len();
    let mut costs = vec![vec![f64::INFINITY; count + 1]; count];
    for (first, costs) in costs.iter_mut().enumerate() {
        let mut line: Option<Line> = None;
        for end in first + FEWEST_SIZES..=count {
            let part = &points[first..end];
            let start = line.unwrap_or_else(|| reweighted::relative_least_squares(part));
            let better = reweighted::improve(part, start, ROUNDS);
            let errors = part.iter().map(|p| reweighted::error(p, &better).abs());
            costs[end] = errors.sum();
            line = Some(better);
        }
    }
    costs
}

/// The cheapest partition into 1, 2, ... `most` parts, with its cost.
fn partitions(count: usize, most: usize, costs: &[Vec<f64>]) -> Vec<(f64, Vec<Range<usize>>)> {
    // The cheapest cost of the points before each end, and where its last part begins.
    let mut best: Vec<(f64, usize)> = (0..=count).map(|end| (costs[0][end], 0)).collect();
    let mut firsts = vec![best.iter().map(|(_, first)| *first).collect::<Vec<_>>()];
    let mut found = Vec::new();
    for parts in 1..=most {
        found.push((best[count].0, trace(count, &firsts)));
        if parts == most {
            break;
        }
        best = (0..=count)
            .map(|end| {
                (1..end)
                    .map(|first| (best[first].0 + costs[first][end], first))
                    .min_by(|a, b| a.0.total_cmp(&b.0))
                    .unwrap_or((f64::INFINITY, 0))
            })
            .collect();
        firsts.push(best.iter().map(|(_, first)| *first).collect());
    }
    found.retain(|(cost, _)| cost.is_finite());
    found
}

/// The parts, from where the last one begins for each number of parts and each end.
fn trace(count: usize, firsts: &[Vec<usize>]) -> Vec<Range<usize>> {
    let mut end = count;
    let mut parts: Vec<Range<usize>> = firsts
        .iter()
        .rev()
        .map(|firsts| {
            let part = firsts[end]..end;
            end = part.start;
            part
        })
        .collect();
    parts.reverse();
    parts
}
