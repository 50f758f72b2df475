//! The store as its users see it: files, processes and records.

mod append_only;
mod cost;
mod fixture;
mod import;
mod ingest;
mod kill;
mod launch;
mod lease;
mod lock;
mod open;
mod order;
mod read_only;
mod spool;
mod verdict;
