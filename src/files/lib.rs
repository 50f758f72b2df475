//! Files that users name: read within bounds, and written whole or not at all.
//!
//! Everything that colltune reads or writes under a name that somebody chose passes through here, so that a device, a
//! FIFO, a folder or a file without end is refused in one way, and no file is ever half-written.

mod read;
mod write;

pub use read::{Bounded, MOST_BYTES, open, read, read_text};
pub use write::{is_same, is_special, probe, write};
