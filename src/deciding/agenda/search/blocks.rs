//! The search for the best block size in few measurements.
//!
//! The time of a pipelined algorithm as a function of its block size falls and rises again: `c0 + c1 b + c2 / b`, by
//! the pipelining lemma. Golden-section search (Kiefer 1953, "Sequential minimax search for a maximum") finds the
//! minimum on a lattice of half octaves, between which the curve is so flat that differences do not matter. The curve
//! jumps where blocks change from the eager to the rendezvous protocol, so each protocol segment is searched
//! separately. A segment may have several minima, so long stretches without a measurement are probed too.
//!
//! A search ends when a convex curve can hide nothing better, and it includes one block size far away. Protocol
//! segments that the model expects not to come near are left out.

use std::collections::BTreeMap;

/// The most measurements in one protocol segment.
pub const MOST_PROBES: usize = 8;

/// The place of the next probe in a bracket, as a share of its length: `2 - golden ratio`.
const GOLDEN: f64 = 0.381_966_011_250_105_1;

/// The factor from one step to the next while the search moves downhill: the golden ratio.
const GROWTH: f64 = 1.0 + 0.618_033_988_749_894_9;

/// Lattice points (half octaves) between first probes.
const FIRST_STEP: usize = 2;

/// The fewest consecutive lattice points without a measurement that may hide another minimum.
const FAR: usize = 10;

/// A local minimum that is higher than the lowest one by at most this share may still become the lowest.
const HOPE: f64 = 0.25;

/// The smallest block that is searched, in bytes.
const SMALLEST: u64 = 1 << 10;

/// Block sizes in bytes, `2^k` and `3 * 2^(k-1)` from 1 KiB to `longest`, ascending, by protocol segment: up to the
/// eager limit, which is a block size itself, and above it. The last size is `longest`, a single block. Of sizes that
/// give the same number of blocks only the smallest is kept. Empty segments are left out.
pub fn protocol_segments(longest: u64, eager_limit: Option<u64>) -> Vec<Vec<u64>> {
    let octaves = (0..54)
        .map(|k| SMALLEST << k)
        .take_while(|&size| size < longest);
    let mut sizes: Vec<u64> = octaves
        .flat_map(|size| [size, size + size / 2])
        .filter(|&size| size < longest)
        .collect();
    sizes.push(longest);
    let Some(limit) = eager_limit.filter(|&limit| SMALLEST <= limit && limit < longest) else {
        keep_distinct(&mut sizes, longest);
        return vec![sizes];
    };
    if let Err(place) = sizes.binary_search(&limit) {
        sizes.insert(place, limit);
    }
    keep_distinct(&mut sizes, longest);
    let above = sizes.partition_point(|&size| size <= limit);
    let rendezvous = sizes.split_off(above);
    [sizes, rendezvous]
        .into_iter()
        .filter(|s| !s.is_empty())
        .collect()
}

/// Keeps one size for each number of blocks.
fn keep_distinct(sizes: &mut Vec<u64>, longest: u64) {
    sizes.dedup_by_key(|size| longest.div_ceil(*size));
}

/// The block size of the lattice that is nearest to `size` by ratio; a search can use a time measured there.
pub fn snap_to_lattice(longest: u64, eager_limit: Option<u64>, size: u64) -> u64 {
    let distance = |other: u64| (other.max(1) as f64 / size.max(1) as f64).ln().abs();
    let sizes = protocol_segments(longest, eager_limit)
        .into_iter()
        .flatten();
    sizes
        .min_by(|&a, &b| distance(a).total_cmp(&distance(b)))
        .unwrap_or(longest)
}

/// The sizes of the lattice `segment` to measure next, ascending; empty if the search is over.
///
/// `known` holds the measured times by size in bytes, in any unit of time; sizes outside the segment are ignored.
/// `start` is the size at which the minimum is expected. Times that differ by less than the share `tolerance` count as
/// equal. A caller that measures these sizes, adds their times to `known` and calls again needs at most
/// [`MOST_PROBES`] measurements.
pub fn next_sizes(
    segment: &[u64],
    known: &BTreeMap<u64, f64>,
    start: u64,
    tolerance: f64,
) -> Vec<u64> {
    let measured: Vec<(usize, f64)> = segment
        .iter()
        .enumerate()
        .filter_map(|(place, size)| Some((place, *known.get(size)?)))
        .collect();
    let room = MOST_PROBES.saturating_sub(measured.len());
    let places = if measured.is_empty() {
        places_around(segment, start)
    } else {
        next_place(&measured, segment.len(), tolerance)
            .into_iter()
            .collect()
    };
    places
        .into_iter()
        .take(room)
        .map(|place| segment[place])
        .collect()
}

/// The place nearest to `start` by ratio, and one on either side.
fn places_around(segment: &[u64], start: u64) -> Vec<usize> {
    let distance = |size: u64| (size.max(1) as f64 / start.max(1) as f64).ln().abs();
    let nearest =
        (0..segment.len()).min_by(|&a, &b| distance(segment[a]).total_cmp(&distance(segment[b])));
    let Some(nearest) = nearest else {
        return Vec::new();
    };
    let last = segment.len() - 1;
    let mut places = vec![
        nearest.saturating_sub(FIRST_STEP),
        nearest,
        (nearest + FIRST_STEP).min(last),
    ];
    places.dedup();
    places
}

/// The next place to measure: towards the lowest minimum, then towards others that may be as low, then in a long
/// stretch without measurements.
fn next_place(measured: &[(usize, f64)], length: usize, tolerance: f64) -> Option<usize> {
    let time = |place: Option<usize>| place.and_then(|p| measured.get(p)).map(|(_, time)| *time);
    let is_minimum = |&place: &usize| {
        let here = measured[place].1;
        let beside = [time(place.checked_sub(1)), time(Some(place + 1))];
        beside.into_iter().flatten().all(|there| there >= here)
    };
    let mut minima: Vec<usize> = (0..measured.len()).filter(is_minimum).collect();
    minima.sort_by(|&a, &b| measured[a].1.total_cmp(&measured[b].1));
    let least = measured[*minima.first()?].1;
    let low = minima
        .into_iter()
        .filter(|&place| measured[place].1 <= least * (1.0 + HOPE));
    let mut steps = low.filter_map(|place| place_near_minimum(measured, place, length, tolerance));
    steps
        .next()
        .or_else(|| place_in_long_stretch(measured, length))
}

/// The next place to measure around the local minimum at index `place`; `None` if it is known well enough.
fn place_near_minimum(
    measured: &[(usize, f64)],
    place: usize,
    length: usize,
    tolerance: f64,
) -> Option<usize> {
    let (lowest, least) = measured[place];
    let below = place.checked_sub(1).map(|below| measured[below]);
    let above = measured.get(place + 1).copied();
    // Long steps across a flat stretch.
    let stride = |(from, time): (usize, f64), room: usize| {
        let golden = (from.abs_diff(lowest) as f64 * GROWTH).round() as usize;
        let long = if time <= least * (1.0 + tolerance) {
            room / 2
        } else {
            0
        };
        golden.max(long).max(FIRST_STEP).min(room)
    };
    let room = [lowest, length - 1 - lowest];
    match (below, above) {
        (None, Some(above)) if room[0] > 0 => return Some(lowest - stride(above, room[0])),
        (Some(below), None) if room[1] > 0 => return Some(lowest + stride(below, room[1])),
        (None, None) => return place_beside_only(lowest, length),
        _ => {}
    }
    let gaps = [place.checked_sub(1), Some(place)].into_iter().flatten();
    let hidden = gaps.filter(|&gap| gap + 1 < measured.len()).map(|gap| {
        let (from, to) = (measured[gap].0, measured[gap + 1].0);
        (least - lower_bound_in_gap(measured, gap), from, to)
    });
    let matters =
        |(gain, from, to): &(f64, usize, usize)| to - from > 1 && *gain > least * tolerance;
    let (_, from, to) = hidden.filter(matters).max_by(|a, b| a.0.total_cmp(&b.0))?;
    let inside = (((to - from) as f64 * GOLDEN).round() as usize).clamp(1, to - from - 1);
    Some(if from == lowest {
        from + inside
    } else {
        to - inside
    })
}

/// The lower bound of a convex curve between the `gap`th measured point and the next, from the lines through either
/// point and its outer neighbour.
fn lower_bound_in_gap(measured: &[(usize, f64)], gap: usize) -> f64 {
    let line_through = |a: (usize, f64), b: (usize, f64)| {
        let slope = (b.1 - a.1) / (b.0 as f64 - a.0 as f64);
        move |at: usize| b.1 + slope * (at as f64 - b.0 as f64)
    };
    let (from, to) = (measured[gap], measured[gap + 1]);
    let left = gap
        .checked_sub(1)
        .map(|before| line_through(measured[before], from));
    let right = measured.get(gap + 2).map(|&after| line_through(after, to));
    let at = |place: usize| {
        let lines = (
            left.as_ref().map(|line| line(place)),
            right.as_ref().map(|line| line(place)),
        );
        match lines {
            (Some(left_bound), Some(right_bound)) => left_bound.max(right_bound),
            (bound, None) | (None, bound) => bound.unwrap_or(f64::NEG_INFINITY),
        }
    };
    (from.0 + 1..to.0).map(at).fold(f64::INFINITY, f64::min)
}

/// A step from the only measured place, towards the farther end.
fn place_beside_only(only: usize, length: usize) -> Option<usize> {
    let above = length - 1 - only;
    if above >= only {
        (above > 0).then(|| only + FIRST_STEP.min(above))
    } else {
        Some(only - FIRST_STEP.min(only))
    }
}

/// The middle of the longest stretch without a measurement, or a place near the segment's end if the stretch lies
/// there; `None` if all stretches are short.
fn place_in_long_stretch(measured: &[(usize, f64)], length: usize) -> Option<usize> {
    let (first, last) = (measured.first()?.0, measured.last()?.0);
    let inner = measured.windows(2).map(|pair| {
        let (from, to) = (pair[0].0, pair[1].0);
        (to - from - 1, (from + to) / 2)
    });
    let ends = [
        (first, first / 3),
        (length - 1 - last, length - 1 - (length - 1 - last) / 3),
    ];
    let longest = inner.chain(ends).max_by_key(|(points, _)| *points)?;
    (longest.0 >= FAR).then_some(longest.1)
}
