//! The lines that messages, combinations and copies follow, for the simulator.

use std::collections::BTreeMap;

use model::{Level, Line, Link};
use results::ProtocolSegment;

use crate::factors::{certain_factor, certain_factor_above_one, fan_factor};
use crate::line::OperationTime;
use crate::{FitError, experiments::LevelMessages};

/// A line holds for a segment if it is off by at most this at every size.
const SMALL_ERROR: f64 = 0.1;
/// The fewest turns that prove a line wrong: with fewer, all may be off by chance.
const FEWEST_TURNS: usize = 3;
/// Sizes share one rate if their rates differ by less than this factor.
const ONE_RATE: f64 = 1.3;

/// A level's link with a line for each protocol segment with known parameters, and with the known factors of patterns.
/// If all messages follow one line and no pattern takes longer, the link is unchanged.
pub(crate) fn link_with_lines(
    level: Level,
    link: Link,
    messages: &LevelMessages,
    segments: &[ProtocolSegment],
) -> Result<Link, FitError> {
    let largest =
        |points: &[OperationTime]| points.iter().map(|point| point.bytes).fold(0.0, f64::max);
    // The overhead is measured up to this size.
    let overheads = largest(&messages.bursts).max(link.eager_limit.unwrap_or(0) as f64);
    let mut lines = Vec::new();
    let mut before: Option<&ProtocolSegment> = None;
    for segment in segments {
        let [Some(alpha), Some(beta)] =
            [&segment.alpha, &segment.beta].map(|known| known.value_at_measured_sizes())
        else {
            return Ok(link);
        };
        let from = match before {
            Some(before) if before.ends_at_eager_limit => link.eager_limit.unwrap_or(0) + 1,
            Some(_) => segment.from_bytes,
            None => 0,
        };
        let sizes = segment.from_bytes as f64..=segment.to_bytes as f64;
        let within = |points: &[OperationTime]| -> Vec<OperationTime> {
            let within = points.iter().filter(|point| sizes.contains(&point.bytes));
            within.copied().collect()
        };
        let exchange = certain_factor_above_one(&within(&messages.exchanges), &messages.ping_pongs);
        let line = Line {
            from,
            alpha,
            beta,
            exchange,
            ..Line::default()
        };
        lines.extend(
            split_line_by_size(line, &within(&messages.ping_pongs)).map(|line| Line {
                overhead: link
                    .overhead
                    .filter(|_| {
                        line.from as f64 <= overheads && segment.to_bytes as f64 <= overheads
                    })
                    .map(|overhead| overhead.min(line.alpha)),
                ..line
            }),
        );
        before = Some(segment);
    }
    let is_one = lines.len() < 2 && lines.iter().all(|line| line.exchange.is_none());
    let shift = certain_factor_above_one(&messages.shifts, &messages.ping_pongs);
    let fan = |pattern, fans: &BTreeMap<u32, Vec<OperationTime>>| match fans.last_key_value() {
        Some((partners, points)) => {
            let found = fan_factor(pattern, level, (*partners, points), Some(&link))?;
            Ok(certain_factor(&found))
        }
        None => Ok::<_, FitError>(None),
    };
    Ok(Link {
        lines: if is_one { Vec::new() } else { lines },
        shift,
        fan_out: fan("fan_out", &messages.fan_outs)?,
        fan_in: fan("fan_in", &messages.fan_ins)?,
        ..link
    })
}

/// Returns the line, or, if at some size it is off by more than [`SMALL_ERROR`] in every turn, lines through each two
/// neighbouring sizes. Where times grow faster than sizes, there is a step at the next size.
fn split_line_by_size(line: Line, ping_pongs: &[OperationTime]) -> impl Iterator<Item = Line> {
    let mut sizes: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for point in ping_pongs {
        sizes
            .entry(point.bytes as u64)
            .or_default()
            .push(point.seconds);
    }
    let times: Vec<(u64, f64)> = sizes
        .iter()
        .filter_map(|(bytes, seconds)| Some((*bytes, statistics::median(seconds)?)))
        .collect();
    // A disturbance makes some turns slower. Only an error in all turns shows that the line is wrong there.
    let is_off = |(bytes, turns): (&u64, &Vec<f64>)| {
        let errors = || {
            turns
                .iter()
                .map(|seconds| line.seconds(*bytes) / seconds - 1.0)
        };
        let always = errors().all(|e| e > SMALL_ERROR) || errors().all(|e| e < -SMALL_ERROR);
        turns.len() >= FEWEST_TURNS && always
    };
    let lines: Vec<Line> = if !sizes.iter().any(is_off) {
        vec![line]
    } else {
        let between = times.windows(2).zip(0..).map(|(pair, place)| {
            let [(bytes, seconds), (next, later)] = [pair[0], pair[1]];
            let slope = ((later - seconds) / (next - bytes) as f64).max(0.0);
            // A line must not begin below zero, as it would where the next size is a step higher.
            let beta = if slope * bytes as f64 <= seconds {
                slope
            } else {
                line.beta.min(seconds / bytes.max(1) as f64)
            };
            Line {
                from: if place == 0 { line.from } else { bytes },
                alpha: (seconds - beta * bytes as f64).max(0.0),
                beta,
                ..line
            }
        });
        between.collect()
    };
    lines.into_iter()
}

/// Seconds per byte by size where rates differ, as in and outside caches; empty if they do not. A measured size's rate
/// holds for all sizes nearer to it than to other measured ones, on a logarithmic scale.
pub(crate) fn rates_by_size(points: &[OperationTime]) -> Vec<Line> {
    let mut sizes: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for point in points {
        let rates = sizes.entry(point.bytes as u64).or_default();
        rates.push(point.seconds / point.bytes);
    }
    let rates: Vec<(u64, f64)> = sizes
        .iter()
        .filter_map(|(bytes, rates)| Some((*bytes, statistics::median(rates)?)))
        .collect();
    let least = rates
        .iter()
        .map(|(_, rate)| *rate)
        .fold(f64::INFINITY, f64::min);
    let most = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let turns = sizes.values().map(Vec::len).min().unwrap_or(0);
    if turns < FEWEST_TURNS || most <= ONE_RATE * least {
        return Vec::new();
    }
    let froms = rates
        .windows(2)
        .map(|pair| (pair[0].0 as f64 * pair[1].0 as f64).sqrt() as u64);
    std::iter::once(0)
        .chain(froms)
        .zip(&rates)
        .map(|(from, (_, beta))| Line {
            from,
            beta: *beta,
            ..Line::default()
        })
        .collect()
}
