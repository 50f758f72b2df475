//! The C interface of `include/colltune.h`, which documents it.
//!
//! `libcolltune.a` exports these names only; `libcolltune.so` also has MPI's own, which the crate `preload`
//! intercepts. Both share the checks before a table is used: of the library that the program runs with, and of the
//! environment.

mod check;
pub mod collectives;
pub mod header;
mod identity;
mod settings;
mod signatures;

pub use identity::{built_for, other_library};
pub use settings::{is_set, print_warning, read_with_settings, variable_value};
