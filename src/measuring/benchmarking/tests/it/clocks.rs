//! Synthetic clocks with known offsets and drifts, and messages with irregular delays.

mod learning;
mod machine;
mod pace;
mod stale;
mod tree;
mod window;
