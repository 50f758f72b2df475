//! The search: what a guided campaign measures next.

mod blocks;
mod guide;
mod switching;
