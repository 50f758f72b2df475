//! `libcolltune.so`: decision tables for programs that need not know them, with the C interface of the crate `capi`.
//!
//! When it is preloaded, its `MPI_Bcast` and `PMPI_Bcast`, and others, take the place of the library's; the module
//! `chain` says how tools fit in. Without `COLLTUNE_TABLE` in the environment, every call is passed on.

mod chain;
mod creators;
mod ends;
mod environment;
mod gathering;
mod handle;
mod hooks;
mod lifetime;
#[cfg(sessions)]
mod sessions;
