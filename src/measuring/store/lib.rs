//! The campaign's store: one SQLite file with every raw repetition.
//!
//! The schema makes samples append-only. Statistics, fits, tables and reports are computed from [`Store::samples`] and
//! never written back, so they can always be rebuilt. Verdicts of validations ([`Store::verdicts`]) are also
//! append-only evidence, but their launches are not kept.
//!
//! The path of a measurement:
//!
//! 1. [`Lock::acquire`]: one measuring colltune per store; the lock ends with the process. If several hosts could
//!    measure, [`Lease::acquire`] too, which works on network file systems.
//! 2. [`Store::open_or_create`], [`Store::record_campaign`].
//! 3. [`Store::begin_launch`] with a plan numbered by [`Store::next_launch`].
//! 4. A [`SpoolReader`] reads what the driver writes; [`Store::ingest_record`] stores each record once, in its own
//!    transaction.
//! 5. [`Store::end_launch`].
//!
//! [`Store::samples_of_launch`] gives the samples of one launch with all that is stored about them, also the invalid
//! repetitions, so that a store of any size can be copied into other formats.
//!
//! A process killed at any moment leaves a consistent store. Records that the driver had written and the store had not
//! taken are still in the spool: at the next start [`Store::unfinished_launches`] returns the launch, and steps 4 and 5
//! are repeated from the beginning of the file.

mod columns;
mod cost;
mod error;
mod folder;
mod holder;
mod import;
mod ingest;
mod launch;
mod lease;
mod lock;
mod open;
mod order;
mod query;
mod read_only;
mod schema;
mod spool;
mod verdict;
mod whole;

pub use error::{Obstacle, StoreError, StoreMismatch};
pub use holder::Holder;
pub use import::{Import, ImportedLaunch, ImportedSample};
pub use launch::LaunchOutcome;
pub use lease::Lease;
pub use lock::{Lock, files_beside};
pub use open::Store;
pub use query::{CampaignRow, LaunchRow};
pub use spool::SpoolReader;
pub use whole::StoredSample;
