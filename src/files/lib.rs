//! Files that users name: read within bounds, and written whole or not at all.
//!
//! All files whose names users choose are read and written here: devices, FIFOs, folders and endless files are refused
//! in the same way everywhere, and no file is ever half-written. Error messages quote file contents with this crate's
//! functions, which limit the length and escape control characters.

mod hexadecimal;
mod private;
mod quote;
mod read;
mod remedy;
mod write;

pub use hexadecimal::hexadecimal;
pub use private::{NotOwn, not_own};
pub use quote::{MOST_QUOTED, Plain, quoted, shortened};
pub use read::{MOST_BYTES, bytes_of, open, read, read_text, text_of};
pub use remedy::remedy;
pub use write::{is_disk_full, is_same, is_special, probe, write};
