//! The sizes at which messages change to another line, as with another protocol.

use std::collections::BTreeMap;

use model::Level;

use crate::FitError;
use crate::line::OperationTime;
use crate::parameters::line_parameters;
use crate::reweighted;
use crate::segments::{FEWEST_SIZES, find_segments};
use results::ProtocolSegment;

/// The segments of a level's ping-pongs; empty for fewer than three sizes.
///
/// Changes are searched in one curve from all turns, without the factor by which each turn as a whole is slow. Pooling
/// the turns would hide changes, and would create false ones where each size has the median of other turns. Lines and
/// intervals come from the turns, like those of all sizes. The eager limit plays no part.
pub(crate) fn protocol_segments(
    level: Level,
    ping_pongs: &[OperationTime],
) -> Result<Vec<ProtocolSegment>, FitError> {
    let curve = curve_without_turn_effects(ping_pongs);
    if curve.len() < FEWEST_SIZES {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for part in find_segments(&curve) {
        let (first, last) = (curve[part.start].at, curve[part.end - 1].at);
        let within = ping_pongs
            .iter()
            .filter(|point| (first..=last).contains(&point.bytes));
        let points: Vec<OperationTime> = within.copied().collect();
        let name = |parameter| format!("{}.{parameter}", level.name());
        let names = [(name("alpha"), "s"), (name("beta"), "s/byte")];
        let [alpha, beta] = line_parameters(&points, names)?;
        found.push(ProtocolSegment {
            level,
            from_bytes: first as u64,
            to_bytes: last as u64,
            sizes: part.len(),
            alpha,
            beta,
            ends_at_eager_limit: false,
        });
    }
    Ok(found)
}

/// Marks the segment that ends where senders begin to wait for their receivers.
pub(crate) fn mark_eager_limit_end(segments: &mut [ProtocolSegment], eager_limit: Option<u64>) {
    let nexts: Vec<u64> = segments
        .iter()
        .skip(1)
        .map(|next| next.from_bytes)
        .collect();
    for (segment, next) in segments.iter_mut().zip(nexts) {
        let ends_here = |limit: u64| (segment.to_bytes..next).contains(&limit);
        segment.ends_at_eager_limit = eager_limit.is_some_and(ends_here);
    }
}

/// Rounds of removing medians; after the second they hardly change anything.
const ROUNDS: u32 = 10;

/// The time of each size in an average turn, by ascending size: Tukey's median polish of the logarithms, by turns and
/// sizes.
fn curve_without_turn_effects(points: &[OperationTime]) -> Vec<reweighted::CurvePoint> {
    let key = |point: &OperationTime| point.bytes as u64;
    let mut sizes: BTreeMap<u64, f64> = points.iter().map(|point| (key(point), 0.0)).collect();
    let mut turns: BTreeMap<u32, f64> = points.iter().map(|point| (point.launch, 0.0)).collect();
    for _ in 0..ROUNDS {
        for (size, level) in &mut sizes {
            let of_size = points.iter().filter(|point| key(point) == *size);
            *level = median_or_zero(of_size.map(|point| point.seconds.ln() - turns[&point.launch]));
        }
        for (turn, slowness) in &mut turns {
            let of_turn = points.iter().filter(|point| point.launch == *turn);
            *slowness =
                median_or_zero(of_turn.map(|point| point.seconds.ln() - sizes[&key(point)]));
        }
    }
    let usual = median_or_zero(turns.into_values());
    sizes
        .into_iter()
        .map(|(size, level)| reweighted::CurvePoint {
            at: size as f64,
            value: (level + usual).exp(),
        })
        .collect()
}

fn median_or_zero(values: impl Iterator<Item = f64>) -> f64 {
    statistics::median(&values.collect::<Vec<_>>()).unwrap_or(0.0)
}
