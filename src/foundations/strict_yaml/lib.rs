//! A strict reader of YAML files written by people: every error has its file, line, column, field and a remedy.
//!
//! A [`Document`] is a text in which every value has a place. [`Document::read_values`] deserialises it into any type
//! that derives [`serde::Deserialize`]; [`Document::error_at_value`] gives a place to problems beyond the form of
//! values. The crate refuses bad syntax, keys that are unknown, doubled, missing or without a value, values of another
//! form than expected, texts that YAML would take for numbers, and anchors, aliases, tags, further documents and deep
//! nesting.
//!
//! ```
//! #[derive(serde::Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct Service {
//!     port: u16,
//! }
//!
//! const KIND: strict_yaml::Kind = strict_yaml::Kind {
//!     name: "a service",
//!     start: "begin with `port: ...`",
//!     reference: None,
//! };
//! let refused = |text| {
//!     let document = strict_yaml::Document::parse(&KIND, "service.yaml".as_ref(), text)?;
//!     document.read_values::<Service>().map(|service| service.port)
//! };
//! assert_eq!(refused("port: 8080\n"), Ok(8080));
//! let shown = refused("prot: 8080\n").map_err(|refused| refused.to_string());
//! assert_eq!(
//!     shown,
//!     Err("\
//! unknown key `prot`
//!  --> service.yaml:1:1 (prot)
//!   |
//! 1 | prot: 8080
//!   | ^^^^
//!   = help: did you mean `port`?"
//!         .to_owned())
//! );
//! ```
//!
//! # How a crate reads its files
//!
//! It provides a [`Kind`], its terms, and its problems: an enum that derives `strict_yaml::Problem`, each variant with
//! its message (`#[error]` of `thiserror`) and its remedy (`#[help]` of `explained`). Types derive `Deserialize` with
//! `deny_unknown_fields`. The refused parts of YAML are those that campaigns, job specifications, machine files and
//! tables do not need.

mod deserializer;
mod diagnostic;
mod document;
mod error;
mod field;
mod form;
mod mistake;
mod nearest;
mod plain;
mod tree;

pub use diagnostic::{Diagnostic, Problem};
pub use document::{Document, Kind};
pub use explained::Problem;
pub use field::Field;
pub use form::{Argument, OneOrMany, Scalar, Shorthand, Verbatim};
pub use mistake::Mistake;
pub use nearest::nearest_name;
