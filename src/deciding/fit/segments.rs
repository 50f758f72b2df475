//! Change points in the straight line of a curve, where a library switches protocols or algorithms, found from the
//! times alone.

use std::ops::Range;

use crate::line::Line;
use crate::reweighted::{self, CurvePoint};

/// The fewest sizes of a segment: a line fits fewer than three well by chance.
pub(crate) const FEWEST_SIZES: usize = 3;
/// The most segments: more than eager, rendezvous and a switch of algorithm need.
const MOST_SEGMENTS: usize = 4;
/// The mean relative error below which no further segment is added.
const NEGLIGIBLE_ERROR: f64 = 0.01;
/// The penalty of a further segment, in logarithms of the number of sizes. Start, slope and place of the change count
/// three. The place is chosen freely, so the best one explains more noise than a fixed one (Zhang and Siegmund 2007),
/// and absolute errors of normal noise vary by half as much again as their likelihood says. With six, noise alone
/// divides less than one curve in fifty.
const PENALTY: f64 = 6.0;
/// Rounds of improving a line that has one more point.
const ROUNDS: u32 = 6;
/// The most points among which changes are searched: time grows with the cube of their number, memory with the square.
pub(crate) const MOST_PLACES: usize = 64;

/// The segments of a curve as ranges of `points`, each fitted best by its own line; one segment with fewer than twice
/// [`FEWEST_SIZES`] points. The points have different, ascending places.
///
/// For each number of segments, dynamic programming over all places of the changes (Bellman 1961) finds those with the
/// smallest absolute relative errors. The number of segments has the best Bayesian information criterion, for errors of
/// a Laplace distribution, with a scale estimated from the residuals and the degrees of freedom.
///
/// If there are more than [`MOST_PLACES`] points, [`MOST_PLACES`] evenly spread ones are examined: a segment is found
/// if it has [`FEWEST_SIZES`] of these. Each change is then moved among the points between two of them to where the
/// lines of both segments leave the smallest errors. So the time is proportional to the number of points.
pub(crate) fn find_segments(points: &[CurvePoint]) -> Vec<Range<usize>> {
    find_segments_with(points, &mut |part, line| {
        reweighted::improve_line(part, line, ROUNDS)
    })
}

/// Brings the line of some points nearer to the best one.
type Improve<'a> = &'a mut dyn FnMut(&[CurvePoint], Line) -> Line;

fn find_segments_with(points: &[CurvePoint], improve: Improve<'_>) -> Vec<Range<usize>> {
    let count = points.len();
    let places = count.min(MOST_PLACES);
    // The middle of the points that an examined point represents.
    let place = |sparse: usize| (2 * sparse + 1) * count / (2 * places);
    let sparse: Vec<CurvePoint> = (0..places).map(|sparse| points[place(sparse)]).collect();
    let parts = best_partition(&sparse, improve);
    let changes = parts.windows(2).map(|pair| {
        let first = place(pair[0].end - 1) + 1;
        let between = &points[first..place(pair[1].start)];
        let lines = [&pair[0], &pair[1]].map(|part| reweighted::robust_line(&sparse[part.clone()]));
        first + locate_change(between, &lines)
    });
    let mut start = 0;
    let ends = changes.chain([count]);
    ends.map(|end| std::mem::replace(&mut start, end)..end)
        .collect()
}

/// The number of points that the first line should cover so that both lines leave the smallest errors.
fn locate_change(points: &[CurvePoint], [before, after]: &[Line; 2]) -> usize {
    let mut cost = 0.0;
    let (mut lowest_cost, mut best_count) = (0.0, 0);
    for (point, count) in points.iter().zip(1..) {
        let error = |line| reweighted::log_error(point, line).abs();
        cost += error(before) - error(after);
        if cost < lowest_cost {
            (lowest_cost, best_count) = (cost, count);
        }
    }
    best_count
}

/// The partition with the best criterion.
fn best_partition(points: &[CurvePoint], improve: Improve<'_>) -> Vec<Range<usize>> {
    let count = points.len();
    let most = (count / FEWEST_SIZES).clamp(1, MOST_SEGMENTS);
    if most == 1 {
        return std::iter::once(0..count).collect();
    }
    let partitions = cheapest_partitions(count, most, &part_costs(points, improve));
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
fn part_costs(points: &[CurvePoint], improve: Improve<'_>) -> Vec<Vec<f64>> {
    let count = points.len();
    let mut costs = vec![vec![f64::INFINITY; count + 1]; count];
    for (first, row) in costs.iter_mut().enumerate() {
        let mut line: Option<Line> = None;
        for end in first + FEWEST_SIZES..=count {
            let part = &points[first..end];
            let start = line.unwrap_or_else(|| reweighted::relative_least_squares(part));
            let better = improve(part, start);
            let errors = part.iter().map(|p| reweighted::log_error(p, &better).abs());
            row[end] = errors.sum();
            line = Some(better);
        }
    }
    costs
}

/// The cheapest partition into 1, 2, ... `most` parts, with its cost.
fn cheapest_partitions(
    count: usize,
    most: usize,
    costs: &[Vec<f64>],
) -> Vec<(f64, Vec<Range<usize>>)> {
    // The cheapest cost of the points before each end, and where its last part begins.
    let mut best: Vec<(f64, usize)> = (0..=count).map(|end| (costs[0][end], 0)).collect();
    let mut firsts = vec![best.iter().map(|(_, first)| *first).collect::<Vec<_>>()];
    let mut found = Vec::new();
    for parts in 1..=most {
        found.push((best[count].0, trace_parts(count, &firsts)));
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

/// Recovers the parts from the start of the last one for each number of parts and each end.
fn trace_parts(count: usize, firsts: &[Vec<usize>]) -> Vec<Range<usize>> {
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

#[cfg(test)]
mod tests {
    use super::{MOST_PLACES, find_segments, find_segments_with};
    use crate::reweighted::CurvePoint;

    /// Alternately 3 % above and below two lines that change in the middle, where the second begins above.
    fn points(count: usize) -> Vec<CurvePoint> {
        let point = |place: usize| {
            let at = 8.0 * (place + 1) as f64;
            let start = if place < count / 2 { 1e-6 } else { 50e-6 };
            let noise = if place.is_multiple_of(2) { 1.03 } else { 0.97 };
            CurvePoint {
                at,
                value: noise * (start + 1e-10 * at),
            }
        };
        (0..count).map(point).collect()
    }

    /// The unit of work is one examined point of a line.
    #[test]
    fn work_is_bounded_for_any_number_of_sizes() {
        let work = |count: usize| {
            let mut work = 0;
            find_segments_with(&points(count), &mut |part, line| {
                work += part.len();
                line
            });
            work
        };
        let most = work(MOST_PLACES);
        assert!(work(MOST_PLACES - 1) < most, "all are examined");
        for count in [MOST_PLACES + 1, 250, 500, 1000, 2000, 100_000] {
            let work = work(count);
            assert!(work <= most, "{count} sizes: {work} and not {most}");
        }
    }

    #[test]
    fn a_change_is_found_at_its_place_among_many_sizes() {
        for count in [MOST_PLACES, MOST_PLACES + 1, 1000, 20_000] {
            let parts = find_segments(&points(count));
            assert_eq!(parts, [0..count / 2, count / 2..count], "{count} sizes");
        }
    }
}
