//! Files that users name: read within bounds, and written whole or not at all.
//!
//! Everything that colltune reads or writes under a name that a user chose passes through here, so that a device, a
//! FIFO, a folder or a file without end is refused in one way, and no file is ever half-written. Messages
//! quote files by functions of this crate, so that they are shorter than a screen and have no control characters.

mod quote;
mod read;
mod write;

pub use quote::{MOST_QUOTED, Plain, quoted, shortened};
pub use read::{MOST_BYTES, bytes_of, open, read, read_text, text_of};
pub use write::{is_same, is_special, probe, write};
