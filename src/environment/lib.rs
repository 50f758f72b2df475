//! What a machine is, as far as measurements depend on it, and what speaks against trusting them.
//!
//! The measuring program and `colltune doctor` look at machines with the same eyes: [`node`] reads
//! what the kernel tells, [`variables`] what the environment tells MPI libraries, [`shared_memory`] us, [`others_running`]
//! whether other work is running, and [`judge`] turns all of it into warnings. Only Linux tells;
//! elsewhere most of it stays empty.

mod caches;
mod cpus;
mod judge;
mod kernel;
mod oversubscription;
pub mod shared_memory;
pub mod variables;

pub use caches::{ASSUMED_LAST_LEVEL_BYTES, available_bytes, last_level_bytes};
pub use judge::judge;
pub use kernel::{cpu, governor, host, kernel, node, others_running, own_cpus};
pub use oversubscription::is_oversubscribed;
