//! Aggregation of raw repetitions by polars.

use polars::prelude::*;
use vocabulary::Sample;

use crate::FitError;

/// The repetitions of one group in one launch.
pub(crate) struct LaunchSummary {
    /// The group's number.
    pub(crate) group: u32,
    /// The launch's number.
    pub(crate) launch: u32,
    /// The number of repetitions.
    pub(crate) repetitions: u32,
    /// Their median, in seconds.
    pub(crate) median: f64,
}

/// Summarises every launch of every group, by ascending group and launch.
///
/// Each sample comes with the number of its group: a column of numbers is much smaller than one of names.
pub(crate) fn summarise_launches(
    samples: &[(u32, &Sample)],
) -> Result<Vec<LaunchSummary>, FitError> {
    let lengths = samples.iter().map(|(_, sample)| sample.seconds.len());
    let rows = lengths.sum();
    // Rows are numbered with 32 bits.
    if rows >= u32::MAX as usize {
        return Err(FitError::TooManyRepetitions { repetitions: rows });
    }
    let mut columns = (
        Vec::with_capacity(rows),
        Vec::with_capacity(rows),
        Vec::with_capacity(rows),
    );
    for (group, sample) in samples {
        let rows = columns.2.len() + sample.seconds.len();
        columns.0.resize(rows, *group);
        columns.1.resize(rows, sample.launch);
        columns.2.extend_from_slice(&sample.seconds);
    }
    let columns = vec![
        Column::new("group".into(), columns.0),
        Column::new("launch".into(), columns.1),
        Column::new("seconds".into(), columns.2),
    ];
    let frame = DataFrame::new(rows, columns)?;
    let groups = frame.group_by(["group", "launch"])?;
    let groups = groups.get_groups().iter();
    let mut summaries = groups
        .map(|rows| summarise_launch(&frame, rows))
        .collect::<Result<Vec<_>, _>>()?;
    summaries.sort_unstable_by_key(|summary| (summary.group, summary.launch));
    Ok(summaries)
}

/// Summarises the rows of one launch of one group.
fn summarise_launch(
    frame: &DataFrame,
    rows: GroupsIndicator<'_>,
) -> Result<LaunchSummary, FitError> {
    let first = rows.first() as usize;
    let number = |name: &str| -> Result<u32, FitError> {
        let value = frame.column(name)?.u32()?.get(first);
        Ok(value.unwrap_or_default())
    };
    let seconds = frame.column("seconds")?.f64()?;
    let seconds = match rows {
        GroupsIndicator::Idx((_, rows)) => seconds.take(rows.as_slice())?,
        GroupsIndicator::Slice([first, length]) => seconds.slice(first.into(), length as usize),
    };
    let median = seconds.quantile(0.5, QuantileMethod::Linear)?;
    Ok(LaunchSummary {
        group: number("group")?,
        launch: number("launch")?,
        repetitions: seconds.len() as u32,
        median: median.unwrap_or(f64::NAN),
    })
}
