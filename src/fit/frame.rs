//! Aggregation of raw repetitions; the only user of polars.

use polars::prelude::*;
use vocabulary::Sample;

use crate::FitError;
use statistics::Quartiles;

/// The repetitions of one group in one launch.
pub(crate) struct LaunchSummary {
    /// The group's number.
    pub(crate) group: u32,
    /// The launch's number.
    pub(crate) launch: u32,
    /// How many repetitions.
    pub(crate) repetitions: u32,
    /// Their quartiles, in seconds.
    pub(crate) quartiles: Quartiles,
    /// The shortest, in seconds.
    pub(crate) minimum: f64,
}

/// Summarises every launch of every group, by ascending group and launch.
///
/// Each sample comes with the number of its group: a column of numbers is much smaller than one of
/// names.
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
    let quantile = |q: f64, name: &str| {
        col("seconds")
            .quantile(lit(q), QuantileMethod::Linear)
            .alias(name)
    };
    let frame = DataFrame::new(rows, columns)?
        .lazy()
        .group_by([col("group"), col("launch")])
        .agg([
            len().alias("repetitions"),
            quantile(0.25, "lower"),
            quantile(0.5, "median"),
            quantile(0.75, "upper"),
            col("seconds").min().alias("minimum"),
        ])
        .sort(["group", "launch"], SortMultipleOptions::default())
        .collect()?;
    read(&frame)
}

fn read(frame: &DataFrame) -> Result<Vec<LaunchSummary>, FitError> {
    let whole = |name| Ok::<_, PolarsError>(frame.column(name)?.u32()?.into_no_null_iter());
    let real = |name| Ok::<_, PolarsError>(frame.column(name)?.f64()?.into_no_null_iter());
    let quartiles =
        real("lower")?
            .zip(real("median")?)
            .zip(real("upper")?)
            .map(|((lower, median), upper)| Quartiles {
                lower,
                median,
                upper,
            });
    Ok(whole("group")?
        .zip(whole("launch")?)
        .zip(whole("repetitions")?)
        .zip(quartiles)
        .zip(real("minimum")?)
        .map(
            |((((group, launch), repetitions), quartiles), minimum)| LaunchSummary {
                group,
                launch,
                repetitions,
                quartiles,
                minimum,
            },
        )
        .collect())
}
