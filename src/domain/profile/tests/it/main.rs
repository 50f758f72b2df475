//! Profiles: their sums, their files and their figures.

mod damaged;
mod made;
mod overview;
mod sums;
mod usage;
