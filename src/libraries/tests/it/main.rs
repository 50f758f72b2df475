//! What is known of MPI libraries, and that nothing else knows it.

mod equivalents;
mod facts;
mod house;
mod serving;
