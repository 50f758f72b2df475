//! Connections to a service.

use std::path::PathBuf;

use client::{Remote, RemoteError, ServiceUrl, Token};

/// The arguments that name the token and the certificates to trust.
#[derive(Debug, clap::Args)]
pub(super) struct ConnectionArgs {
    /// A file with the token; by default the token in the variable COLLTUNE_TOKEN, if it is set
    ///
    /// Tokens are sent only over https, to Unix sockets and to this host, and never to another host after a redirect.
    #[arg(long, global = true, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// A PEM file with the certificate authorities to trust instead of the public ones
    #[arg(long, global = true, value_name = "FILE")]
    ca: Option<PathBuf>,
}

impl ConnectionArgs {
    /// Connects to a service at a URL.
    pub(super) fn connect_to(&self, url: ServiceUrl) -> Result<Remote, RemoteError> {
        let token = Token::from_file_or_environment(self.token_file.as_deref())?;
        Remote::new(url, token, self.ca.as_deref())
    }
}
