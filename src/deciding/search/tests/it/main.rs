//! Integration tests of the crate `search`.

mod blocks;
mod guide;
mod switching;
