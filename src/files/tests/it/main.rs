//! Files of every kind, written.

mod write;
