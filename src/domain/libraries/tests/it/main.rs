//! The known properties of MPI libraries, and that no other crate contains them.

mod audited;
mod equivalents;
mod facts;
mod forcing;
mod house;
mod rows;
mod serving;
mod steering;
