//! Barrier algorithms: a chain of empty messages from every rank reaches every rank.
//!
//! Through shared memory a signal is what every empty message is: a packet without data in the next slot of the channel
//! from one rank to the other (`signal_transfer` in `exec/steps.rs`). Of a slot's two cache lines it uses the first, which
//! is in the receiver's own part of the segment and has one writer and one reader (`channel/layout.rs`). One line for each
//! rank, which writes its progress there for all others to read, would not shorten the way: as many signals follow each
//! other, and either way each is one line that passes from one cache to another. But several ranks would read a line, and
//! every store would take it from all of them. It would be a second protocol beside that of the channels, in which a
//! signal could overtake messages that were sent before it, and what runs would no longer be the program that is verified
//! and simulated.

pub(crate) mod binary;
pub(crate) mod binomial;
pub(crate) mod dissemination;
pub(crate) mod double_ring;
pub(crate) mod leaders;
pub(crate) mod linear;
pub(crate) mod recursive_doubling;
mod up_and_down;
