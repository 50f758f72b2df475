//! `libcolltune.so`: decision tables for programs that need not know them, with the C interface of the crate `capi`.
//!
//! When it is preloaded, its `MPI_Bcast` and others replace the library's, which are then called by their profiling
//! names such as `PMPI_Bcast` (MPI 4.0, section 15.2). Without `COLLTUNE_TABLE` in the environment, every call is
//! passed on.

pub mod ends;
mod environment;
#[cfg(open_mpi)]
pub mod fortran;
mod gathering;
pub mod handle;
pub mod hooks;
mod lifetime;
