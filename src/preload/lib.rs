//! `libcolltune.so`: decision tables at work in programs that know nothing of them, with the C
//! interface of the crate `capi`.
//!
//! Preloaded, its `MPI_Bcast` and the like take the place of the library's, whose own go by the names
//! `PMPI_Bcast` and so on (MPI 4.0, section 15.2). Without `COLLTUNE_TABLE` in the environment they
//! only pass on.

pub mod ends;
mod environment;
#[cfg(open_mpi)]
pub mod fortran;
mod gathering;
pub mod handle;
pub mod hooks;
mod lifetime;
