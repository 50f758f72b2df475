//! HTTP over Unix sockets.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport,
};
use ureq::{Error, Timeout};

/// A connector to one socket, which ignores the URL.
#[derive(Debug)]
pub(crate) struct Socket(pub(crate) PathBuf);

impl Connector for Socket {
    type Out = Stream;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        _: Option<()>,
    ) -> Result<Option<Stream>, Error> {
        let stream = UnixStream::connect(&self.0)?;
        let sizes = details.config;
        let buffers = LazyBuffers::new(sizes.input_buffer_size(), sizes.output_buffer_size());
        Ok(Some(Stream { stream, buffers }))
    }
}

/// A resolver that gives every host the same address, which is not used.
#[derive(Debug)]
pub(crate) struct NoNames;

impl Resolver for NoNames {
    fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        let mut found = self.empty();
        found.push(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        Ok(found)
    }
}

pub(crate) struct Stream {
    stream: UnixStream,
    buffers: LazyBuffers,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.stream.fmt(f)
    }
}

impl Transport for Stream {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        let limit = timeout.not_zero().map(|limit| *limit);
        self.stream.set_write_timeout(limit)?;
        let sent = self.stream.write_all(&self.buffers.output()[..amount]);
        sent.map_err(|error| transport_error(error, timeout.reason))
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let limit = timeout.not_zero().map(|limit| *limit);
        self.stream.set_read_timeout(limit)?;
        let read = self.stream.read(self.buffers.input_append_buf());
        let amount = read.map_err(|error| transport_error(error, timeout.reason))?;
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    fn is_open(&mut self) -> bool {
        // A new connection to a socket costs little, so none is reused.
        false
    }
}

fn transport_error(error: io::Error, reason: Timeout) -> Error {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => Error::Timeout(reason),
        _ => error.into(),
    }
}
