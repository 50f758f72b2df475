//! Kinds and remedies beside the variants of errors.
//!
//! An error is declared in one place: `thiserror` makes its message from `#[error]`, and this crate its kind and its
//! remedy from `#[kind]` and `#[help]`.
//!
//! ```
//! use explained::Explained;
//! use thiserror::Error;
//! # #[derive(Debug, PartialEq)]
//! # pub enum ErrorKind { Input, Environment }
//!
//! #[derive(Debug, Error, Explained)]
//! pub enum RoomError {
//!     #[error("{ranks} ranks do not fit on {cores} cores")]
//!     #[kind(Environment)]
//!     #[help(if *cores == 1, "use one rank")]
//!     #[help("use at most {cores} ranks")]
//!     TooFewCores { ranks: u32, cores: u32 },
//!     #[error("there is no shape `{0}`")]
//!     #[kind(Input)]
//!     NoShape(String),
//! }
//!
//! let error = RoomError::TooFewCores { ranks: 8, cores: 4 };
//! assert_eq!(error.kind(), ErrorKind::Environment);
//! assert_eq!(error.help().as_deref(), Some("use at most 4 ranks"));
//! assert_eq!(RoomError::NoShape("x".into()).help(), None);
//! ```
//!
//! What an attribute holds:
//!
//! - `#[kind(NAME)]`: the kind `ErrorKind::NAME`. `ErrorKind` is the type of that name where the enum is declared.
//! - `#[help("TEXT", ARGUMENTS)]`: a text like that of `#[error]`, one sentence without a full stop. Texts and
//!   arguments use fields by their names; fields without names are `_0`, `_1` and so on. All are references.
//! - `#[help(EXPRESSION)]`: a value that becomes what `help` returns by `into`: a `String` or an `Option<String>`.
//! - `transparent` in place of these: kind or remedy of the error inside, which is the only field or the one with the
//!   name `source`; or `transparent(FIELD)`.
//! - `if CONDITION,` before any of these. The first attribute whose condition holds is taken. A condition may be a
//!   `let`, whose names the text may use, and has no comma outside brackets.
//!
//! If one variant has a kind, all must have one without a condition.

mod attributes;
mod generate;

use proc_macro::TokenStream;
use syn::{DeriveInput, Error, parse_macro_input};

use generate::Methods;

/// Makes the methods `kind` and `help` of an enum of errors, with the enum's visibility.
///
/// - `fn kind(&self) -> ErrorKind`, if variants have `#[kind]`.
/// - `fn help(&self) -> Option<String>`, if variants have `#[help]`; the remedy is `None` if no condition holds. With
///   `#[help(always)]` on the enum it is a `String`, and all variants must have a remedy without a condition. With
///   `#[help(fn NAME)]` on the enum the method has that name and is private: the enum's own `help` adds something.
///
/// The documentation of the crate has the attributes.
#[proc_macro_derive(Explained, attributes(kind, help))]
pub fn derive_explained(input: TokenStream) -> TokenStream {
    expand(input, Methods::Own)
}

/// Implements `strict_yaml::Problem` for an enum of problems with a file. All variants must have `#[help]` without a
/// condition.
///
/// The documentation of the crate has the attributes.
#[proc_macro_derive(Problem, attributes(help))]
pub fn derive_problem(input: TokenStream) -> TokenStream {
    expand(input, Methods::OfProblem)
}

fn expand(input: TokenStream, methods: Methods) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let generated = generate::generate_methods(&input, methods);
    generated.unwrap_or_else(Error::into_compile_error).into()
}
