//! Properties of machines, settings of MPI libraries, and warnings about both.

mod crowd;
mod force;
mod judge;
mod networks;
mod this_machine;
mod variables;
