//! What talks to a service: `colltune pull` and `colltune remote`.
//!
//! A [`Remote`] is a service at a [`ServiceUrl`], with the token that it is asked with. [`pull`] brings the table of a
//! channel into a folder, such that whatever fails and whenever the process is killed, the folder has the last good
//! table:
//!
//! ```text
//! DIR/DIGEST.yaml     a table, under the SHA-256 digest of its bytes; never changed
//! DIR/current         a symbolic link to the channel's table
//! DIR/.pulled.json    the answer that `current` is from, for the next conditional request
//! DIR/.lock           held while something is changed
//! ```
//!
//! Every wait has a limit and every body a bound, redirects are not followed, and a token goes to no other host and
//! over no unencrypted connection but to this host itself.

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
pub use error::{PullError, RemoteError, RequestOutcome, ServiceProblem};
pub use folder::Folder;
pub use follow::{Following, follow};
pub use pull::{Pulled, jitter, pull};
pub use remote::{Ask, Remote};
pub use token::Token;
