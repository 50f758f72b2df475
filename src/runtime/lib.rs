//! Decision tables inside MPI programs.
//!
//! A [`Runtime`] has read a table, the same on all ranks. Its collectives take rsmpi's communicators and slices, and
//! are carried out as the table says: by one of our algorithms, or by the library.
//!
//! ```no_run
//! use mpi::collective::SystemOperation;
//! use mpi::traits::*;
//! use runtime::{Runtime, Settings};
//!
//! let universe = mpi::initialize().expect("MPI starts");
//! let world = universe.world();
//! let runtime = Runtime::load("tables/cluster.yaml".as_ref(), &world, Settings::default())?;
//! let mine = [f64::from(world.rank()); 1024];
//! let mut sum = [0.0; 1024];
//! runtime.allreduce(&world, &mine, &mut sum, SystemOperation::sum())?;
//! # Ok::<(), runtime::RuntimeError>(())
//! ```
//!
//! [`Dispatcher`] does the same for MPI's own handles and addresses, for libraries that intercept MPI. Both have
//! these properties:
//!
//! - *Ranks never disagree.* A decision depends only on the table, the shape of the communicator, the sizes of its
//!   earlier calls, and arguments that MPI requires to be equal on all ranks: the collective, the root, bytes of data,
//!   the operator. When a table is loaded over a communicator, its ranks compare tables and settings, and none uses
//!   the table if there is a difference. If the file is checked for changes, ranks compare again when a communicator
//!   is attached.
//! - *Messages do not interfere.* Our messages use a communicator of the library that the application has not, and a tag
//!   for each of the application's. It is created at the first call that is ours on the communicator that the table was
//!   loaded over, and freed with the table. Parts of that communicator which have such calls before get others until then.
//! - *Only confirmed rules apply*, of medium or high confidence and on measured shapes, unless [`Settings::policy`]
//!   says otherwise.
//! - *Calls that cannot be served are passed on* to the library: see [`FallbackReason`].

mod agree;
mod arguments;
mod attach;
mod attribute;
mod bridge;
mod call;
mod datatypes;
mod deployed;
mod devices;
mod dispatcher;
mod error;
mod fallback_reason;
mod idle;
mod loaded;
mod place;
mod plan;
mod private;
mod recent;
mod room;
mod safe;
mod serve;
mod state;
mod summary;
mod table_mismatch;
mod user_handles;
mod versions;
mod watch;
mod wrong;

pub use bridge::Bridge;
pub use deployed::DeployedCall;
pub use dispatcher::{
    ATTACH_AFTER_BYTES, BYTES_OF_A_CALL, Dispatcher, KnownCommunicator, Settings,
};
pub use environment::force::Force;
pub use error::RuntimeError;
pub use exec::RawCall;
pub use fallback_reason::FallbackReason;
pub use loaded::Loaded;
pub use room::Creators;
pub use safe::{Communicating, Runtime};
pub use summary::{By, CallSummary, SummaryRow};
pub use table_mismatch::TableMismatch;
