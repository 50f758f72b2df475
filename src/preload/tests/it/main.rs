//! `libcolltune.so` in programs written in C and Fortran.

mod corners;
mod interface;
mod launch;
mod reload;
mod stress;
mod tables;
