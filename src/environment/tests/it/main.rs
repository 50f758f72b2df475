//! What is told of machines and of MPI libraries' surroundings.

mod crowd;
mod judge;
mod this_machine;
mod variables;
