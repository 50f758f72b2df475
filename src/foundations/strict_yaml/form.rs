//! Forms of values beyond those of serde.
//!
//! `deserializer` recognises them by their names; other deserializers read the contained type.

use serde::Deserialize;

pub(crate) const SCALAR: &str = "strict_yaml::Scalar";
pub(crate) const ARGUMENT: &str = "strict_yaml::Argument";
pub(crate) const VERBATIM: &str = "strict_yaml::Verbatim";
pub(crate) const ONE_OR_MANY: &str = "strict_yaml::OneOrMany";
pub(crate) const SHORTHAND: &str = "strict_yaml::Shorthand";

/// A text or a whole number, such as a size or a duration. Other numbers are refused.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename = "strict_yaml::Scalar")]
pub struct Scalar(pub String);

/// Any text. Whole numbers need no quotes; other numbers do, since YAML would turn `4.10` into 4.1.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename = "strict_yaml::Argument")]
pub struct Argument(pub String);

/// A scalar as written, also if YAML would read it as another type.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename = "strict_yaml::Verbatim")]
pub struct Verbatim(pub String);

/// A list, or a single entry without the brackets.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename = "strict_yaml::OneOrMany")]
pub struct OneOrMany<T>(pub Vec<T>);

/// A short form (a scalar or a list), or a mapping that spells everything out.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename = "strict_yaml::Shorthand")]
pub enum Shorthand<S, M> {
    /// The short form.
    Short(S),
    /// The mapping.
    Full(M),
}
