//! The errors in `service.yaml`, each with a remedy.

use std::net::SocketAddr;
use std::path::PathBuf;

use thiserror::Error;
use vocabulary::units::UnitError;

/// The longest path of a Unix socket, in bytes.
pub(super) const LONGEST_SOCKET: usize = 107;

/// An error at one place of the file.
#[derive(Debug, Error)]
pub(super) enum Problem {
    #[error("`{}` is not a folder that can be opened: {reason}", path.display())]
    Folder { path: PathBuf, reason: String },
    #[error("`{}` cannot be read: {reason}", path.display())]
    File { path: PathBuf, reason: String },
    #[error("a path is missing")]
    NoPath,
    #[error("`{text}` is neither an address with a port nor a socket")]
    Listen { text: String },
    #[error("the socket's path has {bytes} bytes; the system allows {LONGEST_SOCKET}")]
    LongSocket { bytes: usize },
    #[error("other hosts could connect to {address}, and the connection would not be encrypted")]
    Unencrypted { address: SocketAddr },
    #[error("a Unix socket cannot use TLS")]
    TlsOnSocket,
    #[error("`{name}` is not the name of a host")]
    HostName { name: String },
    #[error("this list is empty")]
    EmptyList,
    #[error("`{name}` cannot be the name of a machine")]
    Name { name: String },
    #[error("two machines are called `{name}`")]
    SameName { name: String },
    #[error("the pattern `{pattern}` leads out of the folder, or names no file in it")]
    Pattern { pattern: String },
    #[error(transparent)]
    Duration(#[from] UnitError),
}

impl strict_yaml::Problem for Problem {
    fn help(&self) -> String {
        let help = match self {
            Self::Folder { .. } => "name a folder that exists, relative to this file's own",
            Self::File { .. } => {
                "name a file that the service may read, relative to this file's folder"
            }
            Self::NoPath => "write one, or remove the key to get its default",
            Self::Listen { .. } => {
                "write ADDRESS:PORT with a number for the address, as in `127.0.0.1:7878` or `\"[::1]:7878\"`, \
                 or `unix:PATH`"
            }
            Self::LongSocket { .. } => "choose a shorter path, as in `unix:/run/colltune.sock`",
            Self::Unencrypted { .. } => {
                "add `tls: {certificate: FILE, key: FILE}`; or `behind_proxy: true` if only a proxy that speaks TLS can \
                 reach it; or listen on `127.0.0.1:7878`"
            }
            Self::HostName { .. } => {
                "write it without scheme and port, as in `colltune.site.example`"
            }
            Self::TlsOnSocket => "remove `tls`, or listen on an address",
            Self::EmptyList => "name at least one entry, or remove the key to get its default",
            Self::Name { .. } => {
                "use 1 to 64 of `a` to `z`, digits, `-`, `_` and `.`, beginning with anything but `.`"
            }
            Self::SameName { .. } => "give each machine a name of its own",
            Self::Pattern { .. } => {
                "write a path in the folder, without `..`, as in `tuning/*.yaml`"
            }
            Self::Duration(UnitError::LongDuration(_)) => "write a duration within these bounds",
            Self::Duration(_) => "the unit is required: s, m, h or d",
        };
        help.to_owned()
    }
}
