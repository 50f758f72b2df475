//! The forms that a value may be written in.
//!
//! Untagged enums of serde forget where an error is; these visitors do not.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{
    Deserialize, Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};

/// A text; whole numbers are taken as they are written.
///
/// Other numbers are refused: YAML would turn an unquoted `4.10` into `4.1`.
#[derive(Clone, Debug)]
pub(crate) struct Scalar(pub(crate) String);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Scalar;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a whole number")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Scalar, E> {
                Ok(Scalar(text.to_owned()))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Scalar, E> {
                Ok(Scalar(number.to_string()))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Scalar, E> {
                Ok(Scalar(number.to_string()))
            }
        }
        from.deserialize_any(Reader)
    }
}

/// A whole number that is not negative.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whole(pub(crate) u32);

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Whole;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a whole number from 0 to {}", u32::MAX)
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Whole, E> {
                let unexpected = serde::de::Unexpected::Unsigned(number);
                u32::try_from(number)
                    .map(Whole)
                    .map_err(|_| E::invalid_value(unexpected, &self))
            }
        }
        from.deserialize_any(Reader)
    }
}

/// A number with or without a fraction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Real(pub(crate) f64);

impl<'de> Deserialize<'de> for Real {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Real;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Real, E> {
                Ok(Real(number))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Real, E> {
                // Only small numbers pass validation, and those are exact.
                #[expect(clippy::cast_precision_loss, reason = "large values are refused later")]
                Ok(Real(number as f64))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Real, E> {
                #[expect(clippy::cast_precision_loss, reason = "negatives are refused later")]
                Ok(Real(number as f64))
            }
        }
        from.deserialize_any(Reader)
    }
}

/// A list, or a single entry without the brackets.
#[derive(Clone, Debug)]
pub(crate) struct OneOrMany<T>(pub(crate) Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
            type Value = OneOrMany<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("one entry or a list of entries")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                T::deserialize(text.into_deserializer()).map(|one| OneOrMany(vec![one]))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
                T::deserialize(number.into_deserializer()).map(|one| OneOrMany(vec![one]))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(|one| OneOrMany(vec![one]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(seq)).map(OneOrMany)
            }
        }
        from.deserialize_any(Reader(PhantomData))
    }
}

/// A short form (a scalar or a list), or a mapping that spells everything out.
#[derive(Clone, Debug)]
pub(crate) enum Shorthand<S, M> {
    /// The short form.
    Short(S),
    /// The mapping.
    Full(M),
}

impl<'de, S: Deserialize<'de>, M: Deserialize<'de>> Deserialize<'de> for Shorthand<S, M> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader<S, M>(PhantomData<(S, M)>);
        impl<'de, S: Deserialize<'de>, M: Deserialize<'de>> Visitor<'de> for Reader<S, M> {
            type Value = Shorthand<S, M>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a mapping")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                S::deserialize(text.into_deserializer()).map(Shorthand::Short)
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
                S::deserialize(number.into_deserializer()).map(Shorthand::Short)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
                S::deserialize(SeqAccessDeserializer::new(seq)).map(Shorthand::Short)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                M::deserialize(MapAccessDeserializer::new(map)).map(Shorthand::Full)
            }
        }
        from.deserialize_any(Reader(PhantomData))
    }
}
