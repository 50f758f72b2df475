//! The errors in `service.yaml`, each with a remedy.

use std::net::SocketAddr;
use std::path::PathBuf;

use thiserror::Error;
use vocabulary::units::UnitError;

/// The longest path of a Unix socket, in bytes.
pub(super) const LONGEST_SOCKET: usize = 107;

/// An error at one place of the file.
#[derive(Debug, Error, strict_yaml::Problem)]
pub(super) enum Problem {
    #[error("`{}` is not a folder that can be opened: {reason}", path.display())]
    #[help("name a folder that exists, relative to this file's own")]
    Folder { path: PathBuf, reason: String },
    #[error("`{}` cannot be read: {reason}", path.display())]
    #[help("name a file that the service may read, relative to this file's folder")]
    File { path: PathBuf, reason: String },
    #[error("a path is missing")]
    #[help("write one, or remove the key to get its default")]
    NoPath,
    #[error("`{text}` is neither an address with a port nor a socket")]
    #[help(
        "write ADDRESS:PORT with a number for the address, as in `127.0.0.1:7878` or `\"[::1]:7878\"`, or \
         `unix:PATH`"
    )]
    Listen { text: String },
    #[error("the socket's path has {bytes} bytes; the system allows {LONGEST_SOCKET}")]
    #[help("choose a shorter path, as in `unix:/run/colltune.sock`")]
    LongSocket { bytes: usize },
    #[error("other hosts could connect to {address}, and the connection would not be encrypted")]
    #[help(
        "add `tls: {{certificate: FILE, key: FILE}}`; or `behind_proxy: true` if only a proxy that speaks TLS can \
         reach it; or listen on `127.0.0.1:7878`"
    )]
    Unencrypted { address: SocketAddr },
    #[error("a Unix socket cannot use TLS")]
    #[help("remove `tls`, or listen on an address")]
    TlsOnSocket,
    #[error("`{name}` is not the name of a host")]
    #[help("write it without scheme and port, as in `colltune.site.example`")]
    HostName { name: String },
    #[error("this list is empty")]
    #[help("name at least one entry, or remove the key to get its default")]
    EmptyList,
    #[error("`{name}` cannot be the name of a machine")]
    #[help("use 1 to 64 of `a` to `z`, digits, `-`, `_` and `.`, beginning with anything but `.`")]
    Name { name: String },
    #[error("two machines are called `{name}`")]
    #[help("give each machine a name of its own")]
    SameName { name: String },
    #[error("the pattern `{pattern}` leads out of the folder, or names no file in it")]
    #[help("write a path in the folder, without `..`, as in `tuning/*.yaml`")]
    Pattern { pattern: String },
    #[error("`{name}` is no time zone")]
    #[help("write the name of one in the IANA database, as in `Europe/Berlin`, or `UTC`")]
    TimeZone { name: String },
    #[error(transparent)]
    #[help(if matches!(_0, UnitError::LongDuration(_)), "write a duration within these bounds")]
    #[help("the unit is required: s, m, h or d")]
    Duration(#[from] UnitError),
}
