//! SQLite files that belong to colltune: opened, checked, and brought to the newest version of their format.
//!
//! A [`FileFormat`] is a mark in the file's header and a list of migrations. The crate knows nothing of the tables.
//!
//! # What a crash leaves
//!
//! All migrations that a file lacks, the mark and the version are one transaction, so a file has one version or
//! another and nothing between them:
//!
//! - A process that is killed before the commit leaves the file as it was, with SQLite's journal beside it. The next
//!   connection rolls the journal back before it reads anything. [`FileFormat::open_for_writing`] therefore believes the
//!   header that it reads without SQLite only as far as a journal cannot change it: a file whose first page was lost
//!   with the power while it was made is left to SQLite if there is a journal.
//! - A file that is being made is empty until that commit, so [`FileStart::Empty`] and a missing file are the same.
//! - The write-ahead log is switched on after the migration: a file's first page, with the mark, is never only in the log.
//! - `synchronous=extra` has a commit on disk when the call returns, in new files and in those that are there, whatever
//!   their journal is. The removal of a rollback journal is what commits, and `full` does not sync the folder after it:
//!   a power failure could bring the journal back, and the next connection would roll the last commit back. With the
//!   write-ahead log, `extra` does the same as `full` (<https://www.sqlite.org/pragma.html#pragma_synchronous>).
//!
//! # What two processes may do
//!
//! A migration takes the exclusive lock and reads the version again under it: of two processes, the second finds the
//! work done, and, if the first was a newer colltune, refuses the file ([`OpenError::Newer`]) as it would have at first.
//! A process waits up to [`PATIENCE`] for another one.
//!
//! Files of other programs, of newer versions and with damage are refused before anything is written to them.

mod error;
mod format;
mod read_only;

pub use error::OpenError;
pub use format::{Check, FileFormat, FileStart, Journal, Missing, Opening, PATIENCE, connect_to};
pub use read_only::{connect_without_writing, find_journal};
