//! `libcolltune.so`: decision tables for programs that need not know them, with the C interface of the crate `capi`.
//!
//! When it is preloaded, its `MPI_Bcast` and `PMPI_Bcast`, and others, take the place of the library's; the module
//! `chain` says how tools fit in. Without `COLLTUNE_TABLE` in the environment, every call is passed on.
//!
//! # The way of a call
//!
//! Hooks (`hooks.rs`) hand a collective to the dispatcher of `runtime`, whose documentation says how the call is
//! decided. To the library calls go by the addresses of its functions. All other functions that `exec` calls by MPI's
//! names lead to those for profiling within `libcolltune.so` (`shim.c`), so that tools do not see our messages.
//!
//! Collectives that tables do not decide about (`unserved.rs`) go to the library. While a summary is asked for, they are
//! counted (`counts.rs`) with the time in them, of nonblocking ones also in the calls that complete them (`requests.rs`).
//! A line about the job, for a site's accounting (`usage.rs`), has the counts of all ranks.
//!
//! Three of them are served if the table has rules for them or the user asks for it (`nonblocking.rs`).
//!
//! While a profile is asked for, the recorder (`record.rs`) sees every collective first, whether colltune or
//! the library carries it out.
//!
//! Before ranks agree on anything, they meet (`gathering.rs`), since some may run without this library.

mod chain;
mod counts;
mod creators;
mod ends;
mod environment;
mod gathering;
mod handle;
mod hooks;
mod lifetime;
mod nonblocking;
mod record;
mod requests;
#[cfg(sessions)]
mod sessions;
mod unserved;
mod usage;
