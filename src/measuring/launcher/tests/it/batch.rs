//! Launches in jobs of batch systems, of which there are only commands that behave like them.

mod cluster;
mod endings;
mod launches;
mod receipts;
mod records;
mod scripts;
