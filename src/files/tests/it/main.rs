//! Writing files of every kind.

mod write;
