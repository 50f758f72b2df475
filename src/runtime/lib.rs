//! Decision tables at work inside MPI programs.
//!
//! A [`Runtime`] has read a table, on all ranks the same. Its collectives take rsmpi's communicators
//! and slices, and do what the table says: one of our algorithms, or the library's own collective.
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
//! [`Dispatcher`] is the same on MPI's own handles and addresses, for libraries that stand between an
//! application and MPI. What holds for both:
//!
//! - *Ranks cannot disagree.* A decision depends only on the table, the shape of the
//!   communicator and what MPI demands to be equal on all ranks: the collective, the root, bytes of
//!   data, the operator. All ranks of the communicator that a table is loaded over compare what they
//!   have read and their settings; on any difference none uses it. So do those of a new communicator where the
//!   file is looked at again.
//! - *Traffic does not meet.* Messages of ours go through a private communicator, made at the first
//!   call and freed with the application's.
//! - *Only confirmed rules decide*, of medium confidence or more and on the shapes that were measured, unless
//!   [`Settings::policy`] says otherwise.
//! - *What cannot be served is passed on* to the library: see [`PassedOn`].

mod agree;
mod arguments;
mod attach;
mod attribute;
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
mod recent;
mod safe;
mod serve;
mod summary;
mod table_mismatch;
mod user_handles;
mod versions;
mod watch;

pub use deployed::DeployedCall;
pub use dispatcher::{Dispatcher, Settings};
pub use error::RuntimeError;
pub use exec::RawCall;
pub use fallback_reason::FallbackReason;
pub use loaded::Loaded;
pub use safe::{Communicating, Runtime};
pub use summary::{By, CallSummary, SummaryRow};
pub use table_mismatch::TableMismatch;
