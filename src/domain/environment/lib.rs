//! The properties of a machine that affect measurements, and warnings about them.
//!
//! The measuring program and `colltune doctor` use the same functions: [`this_node`] reads the kernel's information,
//! [`variables`] the environment variables of MPI libraries, [`shared_memory`] colltune's own variable;
//! [`others_running`] detects other work, and [`judge_environment`] derives warnings from all this. Only Linux provides
//! the information; elsewhere most of it is empty.

mod caches;
mod cpus;
pub mod force;
mod judge;
mod kernel;
mod networks;
mod oversubscription;
pub mod shared_memory;
pub mod variables;

pub use caches::{ASSUMED_LAST_LEVEL_BYTES, available_bytes, last_level_bytes};
pub use cpus::CpuBits;
pub use judge::judge_environment;
pub use kernel::{
    frequency_governor, host_cpu_model, host_name, kernel_release, lack_cpus, others_running,
    own_cpu_bits, own_cpus, this_node, usable_cores,
};
pub use networks::{DEVICES, find_networks};
pub use oversubscription::is_oversubscribed;
