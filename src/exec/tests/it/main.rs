//! Tests that start programs on several ranks, and some that need none.

mod launch;
mod lengths;
mod natives;
mod ranks;
