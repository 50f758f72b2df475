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
//!   earlier calls, and arguments that MPI requires to be equal on all ranks: the collective, the root, bytes of data
//!   (not in irregular collectives other than an allgatherv), the operator. When a table is loaded over a communicator, its ranks compare tables and settings, and none uses
//!   the table if there is a difference. If the file is checked for changes, ranks compare again when a communicator
//!   is attached.
//! - *Messages do not interfere.* Our messages use a communicator of the library that the application has not, and a tag
//!   for each of the application's. It is created at the first call that is ours on the communicator that the table was
//!   loaded over, and freed with the table. Parts of that communicator which have such calls before get others until then.
//!   Communicators other than `MPI_COMM_WORLD` are attached only after some calls ([`Settings::attach_after_bytes`]),
//!   since that takes longer than a few calls can gain.
//! - *Threads may call at the same time* where MPI lets them (`MPI_THREAD_MULTIPLE`), and then lose a few conveniences
//!   (`threads.rs`).
//! - *Only confirmed rules apply*, of medium or high confidence and on measured shapes, unless [`Settings::policy`]
//!   says otherwise.
//! - *Calls that cannot be served are passed on* to the library: see [`FallbackReason`].
//!
//! # How a call is decided
//!
//! 1. A hook of `preload`, a function of `capi` or a method of [`Runtime`] hands the call to the [`Dispatcher`]
//!    (`dispatcher.rs`, `serve.rs`). Calls that are known to stay with the library from their collective alone, or from
//!    their collective, a predefined datatype and a number of elements below all rules, are passed on before any other
//!    check (`state.rs`).
//! 2. The communicator's state is found: an attribute of the communicator (`attribute.rs`), or its handle among those
//!    used recently (`recent.rs`).
//! 3. A communicator is attached once its calls have moved enough data (`attach.rs`).
//! 4. The call is recognised by its key (`call.rs`), and so is its plan: one of our algorithms, or the library
//!    (`plan.rs`).
//! 5. The first call that one of our algorithms is to carry out gets a private communicator (`private.rs`) and, if
//!    rules need them, channels of shared memory (`idle.rs`).
//!
//! Nonblocking collectives are decided about in the same way, and carried out step by step (`nonblocking.rs`).
//!
//! # How ranks stay in agreement
//!
//! What only one rank may see, ranks agree on when a communicator is attached: another release of the library, another
//! CPU, drivers of accelerators (`agree.rs`, `table_mismatch.rs`, `devices.rs`). The number of bytes is equal on all
//! ranks, extents and counts of elements are not, and which side of a gather gives it depends on the rank
//! (`arguments.rs`). Whether an operator commutes is equal, a pointer is not.
//!
//! A call that fails before a message is sent, for a reason that all ranks have, is passed on; all other errors go to
//! the communicator's error handler. Predefined operators on datatypes for which MPI does not define them, or which the
//! library lacks, are passed on too: they would fail when messages are under way. So is a call that this rank alone can
//! prove to be wrong (`wrong.rs`).

mod agree;
mod arguments;
mod attach;
mod attribute;
mod bridge;
mod call;
mod chosen;
mod datatypes;
mod deployed;
mod devices;
mod dispatcher;
mod error;
mod fallback_reason;
mod idle;
mod irregular;
mod left;
mod loaded;
mod nonblocking;
mod place;
mod plan;
mod predefined;
mod private;
mod progress;
mod recent;
mod room;
mod safe;
mod serve;
mod state;
mod steady;
mod summary;
mod sync;
mod table_mismatch;
mod threads;
mod unserved;
mod user_handles;
mod versions;
mod watch;
mod wrong;

pub use bridge::Bridge;
pub use deployed::{DeployedCall, test_pending, wait_for_pending};
pub use dispatcher::{
    ATTACH_AFTER_BYTES, BYTES_OF_A_CALL, Dispatcher, KnownCommunicator, Settings,
};
pub use environment::force::Force;
pub use error::RuntimeError;
pub use exec::{RawBlocks, RawCall, RawIrregularCall};
pub use fallback_reason::FallbackReason;
pub use loaded::Loaded;
pub use nonblocking::{
    NotNonblocking, advance_calls, are_calls_polled, calls_under_way, finish_calls,
    keep_freed_datatype, keep_freed_operator, keep_freed_request,
};
pub use room::Creators;
pub use safe::{Communicating, Runtime, SliceBlocks};
pub use summary::{By, CallSummary, SummaryRow};
pub use table_mismatch::TableMismatch;
pub use unserved::{
    GivenBack, GivenRequests, RequestKind, RequestTracker, UnservedCalls, UnservedCollective,
    UnservedReason, UnservedRow,
};
