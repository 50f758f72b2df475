//! Aggregates of the points of trends, of many series at once.

use polars::prelude::*;
use thiserror::Error;

/// A point of a series: both times of a choice at a size, as a check or validation measured them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeriesPoint {
    /// The number of the series.
    pub series: u64,
    /// The time of the measurement, in milliseconds since the Unix epoch.
    pub at: i64,
    /// The time of the table's choice in seconds; positive.
    pub seconds: f64,
    /// The time of the library's default in seconds; positive.
    pub default_seconds: f64,
    /// Whether other work was running; such a point is not compared.
    pub is_busy: bool,
}

/// How the newest points of many series compare with those before them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LevelComparison {
    /// The time of the newest point, in milliseconds since the Unix epoch; `None` if there are no points.
    pub newest_at: Option<i64>,
    /// The points, without those that are not compared.
    pub points: u64,
    /// The series of these points.
    pub series: u64,
    /// The series with both newest points and earlier ones.
    pub compared_series: u64,
    /// The newest times of the default divided by the earlier ones: the geometric mean over the compared series, each
    /// with the geometric means of its points. `None` if there is no such series.
    pub default_factor: Option<f64>,
    /// The same of the ratio of the choice's time to the default's.
    pub ratio_factor: Option<f64>,
}

/// Points that cannot be aggregated: a bug.
#[derive(Debug, Error)]
#[error("cannot aggregate the points of trends: {0}")]
pub struct AggregateError(#[from] PolarsError);

/// Compares the points of the last `newest_milliseconds` before the newest one, and that one, with all earlier ones.
///
/// # Errors
/// A bug.
pub fn compare_newest_level(
    points: &[SeriesPoint],
    newest_milliseconds: i64,
) -> Result<LevelComparison, AggregateError> {
    let all = frame_of_points(points)?;
    let Some(newest_at) = all.column("at")?.i64()?.max() else {
        return Ok(LevelComparison::default());
    };
    let is_busy = all.column("is_busy")?.bool()?;
    let idle = all.filter(&!is_busy)?;

    // Within a series, newest points have the same weight, as earlier ones have, whatever their numbers are.
    let is_newest = idle
        .column("at")?
        .i64()?
        .gt(newest_at - newest_milliseconds);
    let newest = average_by_series(&idle.filter(&is_newest)?)?;
    let earlier = average_by_series(&idle.filter(&!&is_newest)?)?;

    // Series that have no points on one side are left out.
    let compared = newest.inner_join(&earlier, ["series"], ["series"])?;
    Ok(LevelComparison {
        newest_at: Some(newest_at),
        points: idle.height() as u64,
        series: idle.column("series")?.n_unique()? as u64,
        compared_series: compared.height() as u64,
        default_factor: mean_factor(&compared, "default_mean", "default_mean_right")?,
        ratio_factor: mean_factor(&compared, "ratio_mean", "ratio_mean_right")?,
    })
}

/// A row for each point, with the logarithms of both quantities.
fn frame_of_points(points: &[SeriesPoint]) -> Result<DataFrame, PolarsError> {
    let series: Vec<u64> = points.iter().map(|point| point.series).collect();
    let at: Vec<i64> = points.iter().map(|point| point.at).collect();
    let is_busy: Vec<bool> = points.iter().map(|point| point.is_busy).collect();
    let logarithm_of_ratio = |point: &SeriesPoint| (point.seconds / point.default_seconds).ln();
    let ratio: Vec<f64> = points.iter().map(logarithm_of_ratio).collect();
    let logarithm_of_default = |point: &SeriesPoint| point.default_seconds.ln();
    let default: Vec<f64> = points.iter().map(logarithm_of_default).collect();
    let columns = vec![
        Column::new("series".into(), series),
        Column::new("at".into(), at),
        Column::new("is_busy".into(), is_busy),
        Column::new("ratio".into(), ratio),
        Column::new("default".into(), default),
    ];
    DataFrame::new(points.len(), columns)
}

/// A row for each series, with the means of the logarithms in `ratio_mean` and `default_mean`.
#[expect(
    deprecated,
    reason = "the lazy interface would have far more of polars compiled, for one aggregation"
)]
fn average_by_series(points: &DataFrame) -> Result<DataFrame, PolarsError> {
    let by_series = points.group_by_stable(["series"])?;
    by_series.select(["ratio", "default"]).mean()
}

/// The factor between logarithms in two columns, on average over the rows.
fn mean_factor(
    compared: &DataFrame,
    newest: &str,
    earlier: &str,
) -> Result<Option<f64>, PolarsError> {
    let differences = compared.column(newest)?.f64()? - compared.column(earlier)?.f64()?;
    Ok(differences.mean().map(f64::exp))
}
