//! Tests that start programs on several ranks, and some that need none.

mod lengths;
mod natives;
mod ranks;
