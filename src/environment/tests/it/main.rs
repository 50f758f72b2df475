//! Properties of machines, settings of MPI libraries, and warnings about both.

mod crowd;
mod force;
mod judge;
mod this_machine;
mod variables;
