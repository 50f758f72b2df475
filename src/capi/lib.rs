//! The C interface of `include/colltune.h`, which is its documentation.
//!
//! Its names are all that `libcolltune.a` has; in `libcolltune.so` they stand beside MPI's own, which
//! the crate `preload` intercepts. What must be known before tables are used is common to both: the
//! library that the program runs with, and what the environment says.

mod check;
pub mod collectives;
pub mod header;
mod identity;
mod settings;
mod signatures;

pub use identity::{built_for, other_library};
pub use settings::{given, is_set, read, warn};
