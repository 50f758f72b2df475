//! Proofs and counts for every row of the registry, so that a new row is tested automatically.

#![expect(clippy::unwrap_used, reason = "tests panic")]

mod alike;
mod bracketing;
mod cases;
mod catalogue;
mod counts;
mod export;
mod faults;
mod grid;
mod house;
mod in_place;
mod irregular;
mod lengths;
mod levels;
mod memory;
mod mutants;
mod naive;
mod orders;
mod outcomes;
mod pictures;
mod proofs;
mod published;
mod random;
mod script;
mod slots;
mod textbook;
mod timelines;
mod translation;
mod two_trees;
