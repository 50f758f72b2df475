//! Plans go in, records come out, as with the driver.

mod bench;
mod calls;
mod defaults;
mod launches;
mod noise;
mod patterns;
mod shared;
