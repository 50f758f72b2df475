//! The client of a service, for `colltune pull` and `colltune remote`.
//!
//! A [`Remote`] is a service at a [`ServiceUrl`], with a token. [`pull_table`] brings the table of a channel into a
//! folder. If a pull fails, or the process is killed at any time, the folder keeps the last good table:
//!
//! ```text
//! DIR/DIGEST.yaml     a table, under the SHA-256 digest of its bytes; never changed
//! DIR/current         a symbolic link to the channel's table
//! DIR/.pulled.json    the response that made `current`, for the next conditional request
//! DIR/.lock           locked while the folder is changed
//! ```
//!
//! All waiting times and bodies are limited, and redirects are not followed. A token is sent only to the service's own
//! host, and without encryption only if the service is on this host.

mod address;
mod encryption;
mod error;
mod folder;
mod follow;
mod pull;
mod remote;
mod token;
mod unix;
mod webhook;

pub use address::{ChannelAddress, ServiceUrl, encode_query, encode_step};
pub use error::{PullError, RemoteError, ServiceProblem};
pub use folder::Folder;
pub use follow::{Following, follow_task};
pub use pull::{Pulled, host_delay, host_name, pull_table};
pub use remote::{Ask, Remote};
pub use token::Token;
pub use webhook::WebhookSender;
