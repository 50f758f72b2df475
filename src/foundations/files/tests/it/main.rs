//! Files of every kind, and folders.

mod folder;
mod trust;
mod write;
