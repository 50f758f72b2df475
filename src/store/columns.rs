//! How values of ours stand in columns.

use rusqlite::ToSql;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef};
use serde::{Serialize, de::DeserializeOwned};

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

/// Seconds a call, one entry a repetition, as little-endian IEEE doubles: every bit is kept.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Repetitions(pub(crate) Vec<f64>);

impl Repetitions {
    /// The bytes that are stored.
    pub(crate) fn encode(seconds: &[f64]) -> Vec<u8> {
        seconds.iter().flat_map(|time| time.to_le_bytes()).collect()
    }
}

impl FromSql for Repetitions {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let bytes = value.as_blob()?;
        let (entries, rest) = bytes.as_chunks::<{ size_of::<f64>() }>();
        if !rest.is_empty() {
            let expected_size = entries.len() * size_of::<f64>();
            return Err(FromSqlError::InvalidBlobSize {
                expected_size,
                blob_size: bytes.len(),
            });
        }
        Ok(Self(
            entries
                .iter()
                .map(|entry| f64::from_le_bytes(*entry))
                .collect(),
        ))
    }
}

/// Which repetitions are not valid: places in [`Repetitions`], as little-endian 32-bit numbers.
/// Nothing is stored where all are valid.
#[derive(Clone, Debug, PartialEq)]
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
        let (entries, rest) = bytes.as_chunks::<{ size_of::<u32>() }>();
        if !rest.is_empty() {
            return Err(FromSqlError::InvalidBlobSize {
                expected_size: entries.len() * size_of::<u32>(),
                blob_size: bytes.len(),
            });
        }
        let place = |entry: &[u8; 4]| u32::from_le_bytes(*entry);
        Ok(Self(entries.iter().map(place).collect()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn repetitions_keep_every_bit(bits in proptest::collection::vec(any::<u64>(), 0..50)) {
            let seconds: Vec<f64> = bits.iter().copied().map(f64::from_bits).collect();
            let blob = Repetitions::encode(&seconds);
            let Repetitions(read) = Repetitions::column_result(ValueRef::Blob(&blob))?;
            prop_assert_eq!(read.iter().map(|time| time.to_bits()).collect::<Vec<_>>(), bits);
        }
    }

    #[test]
    fn places_are_kept_and_none_take_no_room() {
        assert_eq!(Places::encode(&[]), None);
        assert_eq!(Places::column_result(ValueRef::Null), Ok(Places(vec![])));
        let blob = Places::encode(&[0, 7, u32::MAX]).expect("some bytes");
        let read = Places::column_result(ValueRef::Blob(&blob));
        assert_eq!(read, Ok(Places(vec![0, 7, u32::MAX])));
        assert!(Places::column_result(ValueRef::Blob(&blob[..11])).is_err());
    }

    #[test]
    fn half_a_repetition_is_refused() {
        let blob = Repetitions::encode(&[1.0, 2.0]);
        assert!(Repetitions::column_result(ValueRef::Blob(&blob[..15])).is_err());
        assert!(Repetitions::column_result(ValueRef::Text(b"1.0")).is_err());
    }
}
