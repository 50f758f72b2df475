//! The client of a service, for `colltune pull` and `colltune remote`.
//!
//! A [`Remote`] is a service at a [`ServiceUrl`], with a token. [`pull`] brings the table of a channel into a folder.
//! Whatever fails, and whenever the process is killed, the folder has the last good table:
//!
//! ```text
//! DIR/DIGEST.yaml     a table, under the SHA-256 digest of its bytes; never changed
//! DIR/current         a symbolic link to the channel's table
//! DIR/.pulled.json    the answer that `current` is from, for the next conditional request
//! DIR/.lock           held while something is changed
//! ```
//!
//! Every wait and every body is bounded, and redirects are not followed. A token is sent only to the service's own
//! host, and unencrypted only if that is this host.

mod address;
mod answers;
mod error;
mod folder;
mod follow;
mod pull;
mod remote;
mod token;
mod unix;

pub use address::{ChannelAddress, ServiceUrl, query};
pub use answers::{LogPart, Manifest, Page, Task};
pub use error::{PullError, RemoteError, ServiceProblem};
pub use folder::Folder;
pub use follow::{Following, follow};
pub use pull::{Pulled, jitter, pull};
pub use remote::{Ask, Remote};
pub use token::Token;
