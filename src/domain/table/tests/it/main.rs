//! Tests of decision tables through the public interface.

mod between;
mod catalogue;
mod deployed;
mod diff;
mod dispatch;
mod file;
mod invalid;
mod layout;
mod lookup;
mod mutants;
mod nonblocking;
mod numerics;
mod policy;
mod repair;
mod round_trip;
mod sample;
mod times;
mod verdicts;
