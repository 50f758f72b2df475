//! How a service is asked.

use std::path::PathBuf;

use client::{Remote, RemoteError, ServiceUrl, Token};

/// The arguments that name the token and the certificates to trust.
#[derive(Debug, clap::Args)]
pub(super) struct ConnectionArgs {
    /// A file with the token to ask with; by default the variable COLLTUNE_TOKEN has it, if one is needed
    ///
    /// Tokens go to https, to Unix sockets and to this host only, and to no other host after a redirect.
    #[arg(long, global = true, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// A PEM file of the certificate authorities to trust, in place of the public ones
    #[arg(long, global = true, value_name = "FILE")]
    ca: Option<PathBuf>,
}

impl ConnectionArgs {
    /// A service at a URL.
    pub(super) fn remote(&self, url: ServiceUrl) -> Result<Remote, RemoteError> {
        let token = Token::find(self.token_file.as_deref())?;
        Remote::new(url, token, self.ca.as_deref())
    }
}
