//! How often a candidate is called before its time is known well enough, and in which portions.
//!
//! Pure: what all ranks know of the times decides, so all ranks decide alike; and what stands in for
//! MPI, such as the simulated machine, samples as the real one does.

mod progress;

pub use progress::{Progress, has_settled};
