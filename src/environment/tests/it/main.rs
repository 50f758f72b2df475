//! What is told of machines and of MPI libraries' surroundings.

mod judge;
mod variables;
