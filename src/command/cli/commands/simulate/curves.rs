//! A picture of times against bytes or ranks.

use std::collections::BTreeMap;

use report::{Quantity, render_times};
use vocabulary::units::format_bytes;

use super::SimulateError;
use super::point::CommonCall;
use super::rows::SimulationRow;

/// Draws a curve for each algorithm on logarithmic axes. If there are several sizes, the horizontal axis has sizes, and
/// each communicator has its own curves.
pub(super) fn draw_curves(
    call: &CommonCall<'_>,
    rows: &[SimulationRow],
) -> Result<String, SimulateError> {
    let bytes: fn(&SimulationRow) -> u64 = |row| row.bytes;
    let ranks: fn(&SimulationRow) -> u64 = |row| row.ranks.into();
    let varies =
        |value: fn(&SimulationRow) -> u64| rows.iter().any(|row| value(row) != value(&rows[0]));
    let is_several = varies(bytes) && varies(ranks);
    let (axis, value, what) = match (varies(bytes), varies(ranks)) {
        (true, true) => (Quantity::Bytes, bytes, "against bytes".to_owned()),
        (true, false) => {
            let what = format!("against bytes on {} ranks", rows[0].ranks);
            (Quantity::Bytes, bytes, what)
        }
        (false, true) => {
            let what = format!("of {} bytes against ranks", format_bytes(rows[0].bytes));
            (Quantity::Ranks, ranks, what)
        }
        (false, false) => return Err(SimulateError::NoAxis),
    };
    let mut curves: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    // Logarithmic axes have no zero.
    for row in rows
        .iter()
        .filter(|row| row.seconds > 0.0 && value(row) > 0)
    {
        let name = if is_several {
            format!("{} on {} ranks", row.algorithm.name(), row.ranks)
        } else {
            row.algorithm.name()
        };
        let curve = curves.entry(name).or_default();
        curve.push((value(row) as f64, row.seconds));
    }
    // The legend has the order in which the curves end, from slow to fast.
    let mut curves: Vec<_> = curves.into_iter().collect();
    let last_seconds = |curve: &[(f64, f64)]| curve.last().map_or(0.0, |point| point.1);
    curves.sort_by(|a, b| last_seconds(&b.1).total_cmp(&last_seconds(&a.1)));
    let (machine, placement) = (&call.machine.name, call.placement);
    let title = format!("simulated time {what}, {machine}, placement {placement}");
    render_times(&title, axis, curves).ok_or(SimulateError::NothingToDraw)
}
