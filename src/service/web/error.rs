//! Errors that prevent the service from being served.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use explained::Explained;
use thiserror::Error;
use tokio_rustls::rustls;
use vocabulary::ErrorKind;

/// The reason why the service cannot be served.
#[derive(Debug, Error, Explained)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum WebError {
    /// The address or socket cannot be used.
    #[error("cannot listen on {place}: {source}")]
    #[kind(Environment)]
    #[help(
        if source.kind() == io::ErrorKind::AddrInUse,
        "another program uses this address, perhaps another `colltune serve`: choose another one with `--listen`"
    )]
    Listen { place: String, source: io::Error },
    /// Others could read the traffic.
    #[error(
        "refusing to listen on {address} without TLS: name a certificate and key under `tls`, or `behind_proxy: true` if \
         a proxy speaks TLS, or listen on 127.0.0.1 or a socket"
    )]
    #[kind(Input)]
    Open { address: SocketAddr },
    /// The runtime's threads cannot be started.
    #[error("cannot start the threads of the HTTP interface: {0}")]
    #[kind(Environment)]
    Threads(io::Error),
    /// Metrics with wrong names: a defect of this crate.
    #[error("metrics: {0}")]
    #[kind(Internal)]
    Metrics(prometheus::Error),
    /// A certificate or key cannot be read.
    #[error("cannot read {}: {problem}", path.display())]
    #[kind(Input)]
    Pem { path: PathBuf, problem: String },
    /// A certificate or key is invalid, or of a kind that is not supported.
    #[error("cannot use {}: {problem}", path.display())]
    #[kind(Input)]
    Unusable { path: PathBuf, problem: String },
    /// The certificate is another key's.
    #[error(
        "{} is not the key of the first certificate in {}: that one must be the service's own, and its authorities' follow \
         it",
        key.display(), certificate.display()
    )]
    #[kind(Input)]
    OtherKey { certificate: PathBuf, key: PathBuf },
    /// Every user of this host could speak in the service's name.
    #[error("every user of this host may read or write the key {0}: run `chmod o= {0}`", path.display())]
    #[kind(Input)]
    OpenKey { path: PathBuf },
    /// The versions of TLS are not supported: a defect of this crate.
    #[error("TLS: {0}")]
    #[kind(Internal)]
    Tls(rustls::Error),
    /// Signals cannot be received.
    #[error("cannot handle SIGHUP: {0}")]
    #[kind(Environment)]
    Signals(io::Error),
}
