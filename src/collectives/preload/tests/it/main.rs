//! `libcolltune.so` in programs written in C, C++ and Fortran.

mod chain;
mod corners;
mod counted;
mod fortran;
mod interface;
mod irregular;
mod large;
mod launch;
mod memory;
mod networks;
mod nodes;
mod order;
mod policy;
mod private;
mod recorded;
mod reload;
mod repeats;
mod secure;
mod strange;
mod stress;
mod synchronising;
mod threads;
mod unlike;
mod unserved;
mod usage;
mod wrong;
