//! Aggregation of raw repetitions by polars.

use polars::prelude::*;
use polars::series::IsSorted;
use vocabulary::Sample;

use crate::FitError;

/// The repetitions of one group in one launch.
pub(crate) struct LaunchSummary {
    pub(crate) group: u32,
    pub(crate) launch: u32,
    pub(crate) repetitions: u32,
    /// In seconds.
    pub(crate) median: f64,
}

/// Summarises every launch of every group, by ascending group and launch.
///
/// Each sample comes with the number of its group. The frame's key is the number of the group's launch, in ascending
/// order: polars then finds the groups as slices, and neither hashes nor copies.
pub(crate) fn summarise_launches(
    samples: &[(u32, &Sample)],
) -> Result<Vec<LaunchSummary>, FitError> {
    let mut samples = samples.to_vec();
    samples.sort_by_key(|(group, sample)| (*group, sample.launch));
    let lengths = samples.iter().map(|(_, sample)| sample.seconds.len());
    let rows = lengths.sum();
    // Rows are numbered with 32 bits.
    if rows >= u32::MAX as usize {
        return Err(FitError::TooManyRepetitions { repetitions: rows });
    }
    let (mut keys, mut seconds) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    let mut parts = Vec::new();
    for (group, sample) in samples
        .iter()
        .filter(|(_, sample)| !sample.seconds.is_empty())
    {
        if parts.last() != Some(&(*group, sample.launch)) {
            parts.push((*group, sample.launch));
        }
        keys.resize(keys.len() + sample.seconds.len(), parts.len() as u32);
        seconds.extend_from_slice(&sample.seconds);
    }
    let mut keys = Column::new("part".into(), keys);
    keys.set_sorted_flag(IsSorted::Ascending);
    let seconds = Column::new("seconds".into(), seconds);
    let frame = DataFrame::new(rows, vec![keys, seconds])?;
    let groups = frame.group_by(["part"])?;
    let groups = groups.get_groups().iter();
    let summaries = parts
        .iter()
        .zip(groups)
        .map(|(&(group, launch), part_rows)| {
            Ok(LaunchSummary {
                group,
                launch,
                repetitions: part_rows.len() as u32,
                median: median_of_rows(&frame, part_rows)?,
            })
        });
    summaries.collect()
}

/// The median of the times in some rows.
fn median_of_rows(frame: &DataFrame, rows: GroupsIndicator<'_>) -> Result<f64, FitError> {
    let seconds = frame.column("seconds")?.f64()?;
    let seconds = match rows {
        GroupsIndicator::Idx((_, rows)) => seconds.take(rows.as_slice())?,
        GroupsIndicator::Slice([first, length]) => seconds.slice(first.into(), length as usize),
    };
    let median = seconds.quantile(0.5, QuantileMethod::Linear)?;
    Ok(median.unwrap_or(f64::NAN))
}
