//! Errors that prevent the service from being served.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use thiserror::Error;
use tokio_rustls::rustls;
use vocabulary::ErrorKind;

/// The reason why the service cannot be served.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum WebError {
    /// The address or socket cannot be used.
    #[error("cannot listen on {place}: {source}")]
    Listen { place: String, source: io::Error },
    /// Others could read the traffic.
    #[error(
        "refusing to listen on {address} without TLS: name a certificate and key under `tls`, or `behind_proxy: true` if \
         a proxy speaks TLS, or listen on 127.0.0.1 or a socket"
    )]
    Open { address: SocketAddr },
    /// The runtime's threads cannot be started.
    #[error("cannot start the threads of the HTTP interface: {0}")]
    Threads(io::Error),
    /// Metrics with wrong names: a defect of this crate.
    #[error("metrics: {0}")]
    Metrics(prometheus::Error),
    /// A certificate or key cannot be read.
    #[error("cannot read {}: {problem}", path.display())]
    Pem { path: PathBuf, problem: String },
    /// The certificate and key cannot be used, for instance because they do not match.
    #[error("the certificate or its key cannot be used: {0}")]
    Tls(rustls::Error),
}

impl WebError {
    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Open { .. } | Self::Pem { .. } | Self::Tls(_) => ErrorKind::Input,
            Self::Listen { .. } | Self::Threads(_) => ErrorKind::Environment,
            Self::Metrics(_) => ErrorKind::Internal,
        }
    }
}
