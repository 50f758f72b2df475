//! Files that users name: read within bounds, and written whole or not at all.
//!
//! All files whose names users choose are read and written here: devices, FIFOs, folders and endless files are refused
//! in the same way everywhere, and no file is ever half-written. Error messages quote file contents with the
//! functions of `printable`, which limit the length and escape unprintable characters.
//!
//! Folders that other accounts read, and locks, have modes that do not depend on the umask ([`create_folder`],
//! [`open_lock`]); folders that other accounts could redirect are not written to ([`check_folder`]). Folders of versions
//! with a link to the current one survive a crash at any moment ([`VersionsFolder`]).

mod file_system;
mod folder;
mod hexadecimal;
mod private;
mod read;
mod remedy;
mod trust;
mod versions;
mod write;

pub use file_system::network_file_system;
pub use folder::{
    create_folder, create_new, open_in_place, open_lock, open_temporary_lock, set_folder_mode,
    set_mode,
};
pub use hexadecimal::hexadecimal;
pub use printable::{MOST_QUOTED, Plain, quoted, shortened};
pub use private::{NotOwn, not_own};
pub use read::{MOST_BYTES, bytes_of, open_regular, read, read_text, text_of};
pub use remedy::remedy_for;
pub use trust::{UntrustedFolder, check_folder};
pub use versions::{
    CURRENT, CurrentLink, Turns, VERSIONS_LOCK, VersionsError, VersionsFolder, move_new_folder,
    remove_current_link, write_below,
};
pub use write::{
    check_writable, is_disk_full, is_same, is_special, write, write_by, write_without_sync,
};
