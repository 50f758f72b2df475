//! The best block size, in few measurements.
//!
//! The time of a pipelined algorithm against the logarithm of its block size falls and rises again:
//! `c0 + c1 b + c2 / b`, by the pipelining lemma. Golden-section search (Kiefer 1953, "Sequential
//! minimax search for a maximum") finds the bottom. What is searched is a lattice of half octaves:
//! between two neighbours the bottom is too flat to matter. Where messages of blocks go from eager to
//! rendezvous, the curve jumps; so each protocol segment is searched on its own. That a segment has
//! one bottom is not taken for granted: a stretch far from all that was measured is looked at too.

use std::collections::BTreeMap;

/// Measurements in one protocol segment, at most.
pub const MOST_PROBES: usize = 8;

/// The share of the greater part of a bracket that lies nearer to its middle point: `2 - golden ratio`.
const GOLDEN: f64 = 0.381_966_011_250_105_1;

/// How much farther the next step out of a descent goes.
const GROWTH: f64 = 1.0 + 0.618_033_988_749_894_9;

/// Lattice points, half octaves, between first probes.
const FIRST_STEP: usize = 2;

/// The fewest lattice points without a measurement that are a stretch where another bottom could be.
const FAR: usize = 10;

/// A basin whose lowest measured point is higher than the lowest of all by less than this share might still
/// be the deeper one.
const HOPE: f64 = 0.25;

/// The smallest block that is searched, in bytes.
const SMALLEST: u64 = 1 << 10;

/// Block sizes in bytes, `2^k` and `3 * 2^(k-1)` from 1 KiB to `longest`, ascending, in protocol
/// segments: up to the eager limit, which is a block size itself, and above it. The last one is
/// `longest`: a single block. Of sizes that cut as many blocks, the smallest stands for all. Segments
/// without any are left out.
pub fn segments(longest: u64, eager_limit: Option<u64>) -> Vec<Vec<u64>> {
    let octaves = (0..54)
        .map(|k| SMALLEST << k)
        .take_while(|&size| size < longest);
    let mut sizes: Vec<u64> = octaves
        .flat_map(|size| [size, size + size / 2])
        .filter(|&size| size < longest)
        .collect();
    sizes.push(longest);
    let Some(limit) = eager_limit.filter(|&limit| SMALLEST <= limit && limit < longest) else {
        tell_apart(&mut sizes, longest);
        return vec![sizes];
    };
    if let Err(place) = sizes.binary_search(&limit) {
        sizes.insert(place, limit);
    }
    tell_apart(&mut sizes, longest);
    let above = sizes.partition_point(|&size| size <= limit);
    let rendezvous = sizes.split_off(above);
    [sizes, rendezvous]
        .into_iter()
        .filter(|s| !s.is_empty())
        .collect()
}

fn tell_apart(sizes: &mut Vec<u64>, longest: u64) {
    sizes.dedup_by_key(|size| longest.div_ceil(*size));
}

/// The block size of the lattice nearest to `size`, as a ratio: what is measured there is of use to a search.
pub fn snap(longest: u64, eager_limit: Option<u64>, size: u64) -> u64 {
    let distance = |other: u64| (other.max(1) as f64 / size.max(1) as f64).ln().abs();
    let sizes = segments(longest, eager_limit).into_iter().flatten();
    sizes
        .min_by(|&a, &b| distance(a).total_cmp(&distance(b)))
        .unwrap_or(longest)
}

/// What to measure next in one protocol segment: sizes of the lattice `segment`, ascending; nothing
/// if the search is over.
///
/// `known` has what was measured, by size in bytes, in any unit of time; sizes that are not in the
/// segment do not matter. `start` is where the bottom is expected. Times that differ by less than the
/// share `tolerance` are the same. A caller that measures what is asked for, adds it to `known` and asks
/// again, is done after [`MOST_PROBES`] measurements at most.
pub fn next(segment: &[u64], known: &BTreeMap<u64, f64>, start: u64, tolerance: f64) -> Vec<u64> {
    let measured: Vec<(usize, f64)> = segment
        .iter()
        .enumerate()
        .filter_map(|(place, size)| Some((place, *known.get(size)?)))
        .collect();
    let room = MOST_PROBES.saturating_sub(measured.len());
    let places = match measured.is_empty() {
        true => around(segment, start),
        false => step(&measured, segment.len(), tolerance)
            .into_iter()
            .collect(),
    };
    places
        .into_iter()
        .take(room)
        .map(|place| segment[place])
        .collect()
}

/// The place nearest to `start`, as a ratio, and one on either side.
fn around(segment: &[u64], start: u64) -> Vec<usize> {
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

/// The next step from what was measured: towards the bottom of the deepest basin, then of others that may
/// be as deep, then far away.
fn step(measured: &[(usize, f64)], length: usize, tolerance: f64) -> Option<usize> {
    let time = |place: Option<usize>| place.and_then(|p| measured.get(p)).map(|(_, time)| *time);
    let is_bottom = |&place: &usize| {
        let here = measured[place].1;
        let beside = [time(place.checked_sub(1)), time(Some(place + 1))];
        beside.into_iter().flatten().all(|there| there >= here)
    };
    let mut bottoms: Vec<usize> = (0..measured.len()).filter(is_bottom).collect();
    bottoms.sort_by(|&a, &b| measured[a].1.total_cmp(&measured[b].1));
    let least = measured[*bottoms.first()?].1;
    let deep = bottoms
        .into_iter()
        .filter(|&place| measured[place].1 <= least * (1.0 + HOPE));
    let mut steps = deep.filter_map(|place| descend(measured, place, length, tolerance));
    steps.next().or_else(|| far(measured, length))
}

/// The next step in the basin whose lowest measured point is the `place`th; `None` at its bottom.
fn descend(
    measured: &[(usize, f64)],
    place: usize,
    length: usize,
    tolerance: f64,
) -> Option<usize> {
    let (lowest, least) = measured[place];
    let below = place.checked_sub(1).map(|below| measured[below]);
    let above = measured.get(place + 1).copied();
    // Out of a flat stretch in long steps.
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
        (None, None) => return around_alone(lowest, length),
        _ => {}
    }
    let gaps = [place.checked_sub(1), Some(place)].into_iter().flatten();
    let hidden = gaps.filter(|&gap| gap + 1 < measured.len()).map(|gap| {
        let (from, to) = (measured[gap].0, measured[gap + 1].0);
        (least - bound(measured, gap), from, to)
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

/// The least that a convex curve can be between the `gap`th measured point and the next: where the lines
/// through their outer neighbours meet.
fn bound(measured: &[(usize, f64)], gap: usize) -> f64 {
    let line = |a: (usize, f64), b: (usize, f64)| {
        let slope = (b.1 - a.1) / (b.0 as f64 - a.0 as f64);
        move |at: usize| b.1 + slope * (at as f64 - b.0 as f64)
    };
    let (from, to) = (measured[gap], measured[gap + 1]);
    let left = gap
        .checked_sub(1)
        .map(|before| line(measured[before], from));
    let right = measured.get(gap + 2).map(|&after| line(after, to));
    let at = |place: usize| {
        let lines = (
            left.as_ref().map(|line| line(place)),
            right.as_ref().map(|line| line(place)),
        );
        match lines {
            (Some(left), Some(right)) => left.max(right),
            (bound, None) | (None, bound) => bound.unwrap_or(f64::NEG_INFINITY),
        }
    };
    (from.0 + 1..to.0).map(at).fold(f64::INFINITY, f64::min)
}

/// A step from the only place that was measured, towards the farther end.
fn around_alone(only: usize, length: usize) -> Option<usize> {
    let above = length - 1 - only;
    match above >= only {
        true => (above > 0).then(|| only + FIRST_STEP.min(above)),
        false => Some(only - FIRST_STEP.min(only)),
    }
}

/// The middle of the longest stretch without a measurement, or its end at an end of the segment.
fn far(measured: &[(usize, f64)], length: usize) -> Option<usize> {
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
