//! The comparison of the best of several candidates with the best of others.

use results::Summary;
use statistics::{PairedRatio, median, median_interval};
use vocabulary::defaults::CONFIDENCE;

/// The ratio of the time of the best first candidate to that of the best second one in one cell: the median over the
/// launches that measured both, and its interval.
///
/// If the best were chosen by the times that are then compared, a time that is short by chance would count as speed,
/// more often on the side with more candidates. So the choices for each launch come from all other launches: on either
/// side the candidate with the smallest median over them. A single launch has to choose for itself; the coverage is
/// then 0.
pub(super) fn ratio_of_best(first: &[&Summary], second: &[&Summary]) -> Option<PairedRatio> {
    let mut launches: Vec<u32> = first
        .iter()
        .flat_map(|summary| &summary.launch_medians)
        .map(|(launch, _)| *launch)
        .collect();
    launches.sort_unstable();
    launches.dedup();
    let ratios: Vec<f64> = launches
        .into_iter()
        .filter_map(|launch| {
            Some(
                seconds_of_fastest_in_others(first, launch)?
                    / seconds_of_fastest_in_others(second, launch)?,
            )
        })
        .collect();
    Some(PairedRatio {
        median: median(&ratios)?,
        interval: median_interval(&ratios, CONFIDENCE)?,
        launches: ratios.len() as u32,
    })
}

/// The time in this launch of the candidate that is fastest in all others. Candidates measured only in this launch come
/// last; among them the fastest is taken.
fn seconds_of_fastest_in_others(candidates: &[&Summary], launch: u32) -> Option<f64> {
    let here = candidates.iter().filter_map(|summary| {
        let medians = &summary.launch_medians;
        let (_, seconds) = medians.iter().find(|(number, _)| *number == launch)?;
        let others = medians.iter().filter(|(number, _)| *number != launch);
        let others: Vec<f64> = others.map(|(_, other)| *other).collect();
        Some((median(&others).unwrap_or(f64::INFINITY), *seconds))
    });
    let order = |a: &(f64, f64), b: &(f64, f64)| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1));
    here.min_by(order).map(|(_, seconds)| seconds)
}
