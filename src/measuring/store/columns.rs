//! The representation of values in columns.
//!
//! Values that are read are checked against the ranges of `vocabulary::bounds`: one that no measurement can have is
//! damage.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, Type, ValueRef};
use rusqlite::{Row, ToSql};
use serde::{Serialize, de::DeserializeOwned};
use vocabulary::CommShape;
use vocabulary::bounds::{Bounds, TIME};

/// A serializable value as JSON text. The text of equal values is equal, so it can be a key.
pub(crate) struct Json<T>(pub(crate) T);

impl<T: Serialize> ToSql for Json<T> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let text = serde_json::to_string(&self.0)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
        Ok(ToSqlOutput::from(text))
    }
}

impl<T: DeserializeOwned> FromSql for Json<T> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        serde_json::from_str(value.as_str()?)
            .map(Json)
            .map_err(FromSqlError::other)
    }
}

/// A whole number as an INTEGER, which is signed: numbers from 2^63 on are refused.
pub(crate) struct Whole(pub(crate) u64);

impl ToSql for Whole {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let number = i64::try_from(self.0)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
        Ok(ToSqlOutput::from(number))
    }
}

impl FromSql for Whole {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let number = value.as_i64()?;
        let number = u64::try_from(number).map_err(|_| FromSqlError::OutOfRange(number))?;
        Ok(Self(number))
    }
}

/// Seconds per call, one entry per repetition, as little-endian IEEE doubles: every bit is kept.
pub(crate) struct Repetitions(pub(crate) Vec<f64>);

impl Repetitions {
    /// The bytes that are stored.
    pub(crate) fn encode(seconds: &[f64]) -> Vec<u8> {
        seconds.iter().flat_map(|time| time.to_le_bytes()).collect()
    }
}

impl FromSql for Repetitions {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let seconds = split_blob(value.as_blob()?, f64::from_le_bytes)?;
        match seconds.iter().find(|time| !TIME.contains_or_zero(**time)) {
            None => Ok(Self(seconds)),
            Some(time) => Err(FromSqlError::Other(impossible_value(*time).into())),
        }
    }
}

/// A shape, from a column with the nodes and the next column with the ranks on each.
pub(crate) fn shape_from_columns(row: &Row<'_>, column: usize) -> rusqlite::Result<CommShape> {
    let (nodes, ppn) = (row.get(column)?, row.get(column + 1)?);
    let impossible = || rusqlite::Error::IntegralValueOutOfRange(column, i64::from(nodes));
    CommShape::try_new(nodes, ppn).ok_or_else(impossible)
}

/// A number from a column; a value outside the bounds is damage.
pub(crate) fn number_within(
    row: &Row<'_>,
    column: usize,
    bounds: &Bounds<f64>,
) -> rusqlite::Result<f64> {
    let value: f64 = row.get(column)?;
    let refused = || damaged_column(column, Type::Real, impossible_value(value));
    bounds.if_within(value).ok_or_else(refused)
}

fn impossible_value(value: f64) -> String {
    format!("impossible value {value:e}")
}

/// The error for damage in a column.
pub(crate) fn damaged_column(column: usize, of: Type, what: String) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, of, what.into())
}

/// The invalid repetitions: indices into [`Repetitions`], as little-endian 32-bit numbers. Nothing is stored if all are
/// valid.
pub(crate) struct Places(pub(crate) Vec<u32>);

impl Places {
    /// The bytes that are stored.
    pub(crate) fn encode(places: &[u32]) -> Option<Vec<u8>> {
        let bytes = || places.iter().flat_map(|place| place.to_le_bytes());
        (!places.is_empty()).then(|| bytes().collect())
    }
}

impl FromSql for Places {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let bytes = value.as_blob_or_null()?.unwrap_or_default();
        split_blob(bytes, u32::from_le_bytes).map(Self)
    }
}

/// The entries of a blob, of `N` bytes each.
fn split_blob<T, const N: usize>(blob: &[u8], read: fn([u8; N]) -> T) -> FromSqlResult<Vec<T>> {
    let (entries, rest) = blob.as_chunks();
    match rest {
        [] => Ok(entries.iter().copied().map(read).collect()),
        _ => Err(FromSqlError::InvalidBlobSize {
            expected_size: entries.len() * N,
            blob_size: blob.len(),
        }),
    }
}
