//! The driver on real MPI: every algorithm compared with its expected result, and every way to end.
//!
//! `MPI_FAMILY` names the library that this build is linked to; `scripts/with-mpi` sets it.

mod calls;
mod cold;
mod conformance;
mod contest;
mod endings;
mod launch;
mod native;
mod nonblocking;
mod order;
mod sabotage;
mod shared;
mod skew;
mod surroundings;
mod trace;
