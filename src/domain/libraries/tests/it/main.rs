//! The known properties of MPI libraries, and that no other crate contains them.

mod audited;
mod components;
mod equivalents;
mod facts;
mod forcing;
mod handing_back;
mod house;
mod rows;
mod serving;
mod steering;
