//! Listening sockets and their connections.

use std::fs;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixListener as StdUnixListener;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use listenfd::ListenFd;
use service::{Configuration, Listen};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

use crate::WebError;
use crate::local::find_user_of;
use crate::peer::Peer;

/// The time without acknowledgements from the peer after which the kernel closes a connection.
const SILENCE: Duration = Duration::from_secs(30);

/// A listening socket.
#[derive(Debug)]
pub struct Socket(BoundListener);

#[derive(Debug)]
enum BoundListener {
    Tcp(std::net::TcpListener),
    Unix(StdUnixListener),
}

impl Socket {
    /// Opens the socket that systemd passes, or else the configured one. A Unix socket has the mode 0660; one left
    /// over from a killed service is replaced.
    ///
    /// # Errors
    /// [`WebError::Listen`]; [`WebError::Open`] for an address that other hosts can reach, without TLS or a proxy.
    pub fn open(configuration: &Configuration) -> Result<Self, WebError> {
        let inherited = Self::from_systemd()?;
        let address = match (&inherited, &configuration.listen) {
            (Some(socket), _) => socket.address(),
            (None, Listen::Address(address)) => Some(*address),
            (None, Listen::Socket(_)) => None,
        };
        let is_guarded = configuration.tls.is_some() || configuration.behind_proxy;
        match (address, inherited) {
            (Some(address), _) if !is_guarded && !is_loopback(address.ip()) => {
                Err(WebError::Open { address })
            }
            (_, Some(socket)) => Ok(socket),
            (_, None) => Self::bind_configured(&configuration.listen),
        }
    }

    fn from_systemd() -> Result<Option<Self>, WebError> {
        let failed = |source| WebError::Listen {
            place: "the socket of LISTEN_FDS".to_owned(),
            source,
        };
        let mut sockets = ListenFd::from_env();
        if sockets.len() == 0 {
            return Ok(None);
        }
        let inner = match sockets.take_tcp_listener(0) {
            Ok(tcp) => tcp.map(BoundListener::Tcp),
            Err(_) => sockets
                .take_unix_listener(0)
                .map_err(failed)?
                .map(BoundListener::Unix),
        };
        Ok(inner.map(Self))
    }

    fn bind_configured(listen: &Listen) -> Result<Self, WebError> {
        match listen {
            Listen::Address(address) => {
                let bound = std::net::TcpListener::bind(address);
                let failed = |source| WebError::Listen {
                    place: address.to_string(),
                    source,
                };
                Ok(Self(BoundListener::Tcp(bound.map_err(failed)?)))
            }
            Listen::Socket(path) => {
                let failed = |source| WebError::Listen {
                    place: path.display().to_string(),
                    source,
                };
                Ok(Self(BoundListener::Unix(bind_unix(path).map_err(failed)?)))
            }
        }
    }

    /// The address with the actual port; `None` for a Unix socket.
    pub fn address(&self) -> Option<SocketAddr> {
        match &self.0 {
            BoundListener::Tcp(listener) => listener.local_addr().ok(),
            BoundListener::Unix(_) => None,
        }
    }

    /// Registers the socket with the running tokio runtime.
    pub(crate) fn into_listener(self) -> io::Result<Listener> {
        match self.0 {
            BoundListener::Tcp(listener) => {
                listener.set_nonblocking(true)?;
                Ok(Listener::Tcp(TcpListener::from_std(listener)?))
            }
            BoundListener::Unix(listener) => {
                listener.set_nonblocking(true)?;
                Ok(Listener::Unix(UnixListener::from_std(listener)?))
            }
        }
    }
}

fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

fn bind_unix(path: &Path) -> io::Result<StdUnixListener> {
    // A live socket accepts connections; one left over from an ended process refuses them.
    let is_socket = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    if is_socket && std::os::unix::net::UnixStream::connect(path).is_err() {
        fs::remove_file(path)?;
    }
    let listener = StdUnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o660))?;
    Ok(listener)
}

/// A [`Socket`] of the tokio runtime.
#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    /// Accepts the next connection.
    pub(crate) async fn accept(&self) -> io::Result<(Box<dyn Stream>, Peer)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, address) = listener.accept().await?;
                // The connection also works without these options.
                let _ = stream.set_nodelay(true);
                let millis = u32::try_from(SILENCE.as_millis()).unwrap_or(u32::MAX);
                let _ = rustix::net::sockopt::set_tcp_user_timeout(&stream, millis);
                let peer = if is_loopback(address.ip()) {
                    Peer::Local(
                        stream
                            .local_addr()
                            .ok()
                            .and_then(|own| find_user_of(address, own)),
                    )
                } else {
                    Peer::Address(address.ip().to_canonical())
                };
                Ok((Box::new(stream), peer))
            }
            Self::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                let peer = match stream.peer_cred() {
                    Ok(credentials) => Peer::User(credentials.uid()),
                    Err(_) => Peer::Unknown,
                };
                Ok((Box::new(stream), peer))
            }
        }
    }
}

/// A connection.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {
    /// Waits for bytes, and leaves them to be read. Supported by TCP only.
    fn poll_peek(
        &mut self,
        context: &mut Context<'_>,
        bytes: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<usize>>;
}

impl Stream for TcpStream {
    fn poll_peek(
        &mut self,
        context: &mut Context<'_>,
        bytes: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<usize>> {
        TcpStream::poll_peek(self, context, bytes)
    }
}

impl Stream for UnixStream {
    fn poll_peek(&mut self, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<usize>> {
        Poll::Ready(Err(io::ErrorKind::Unsupported.into()))
    }
}

/// Writes as many bytes as the kernel accepts immediately.
pub(crate) async fn write_at_once(mut stream: Box<dyn Stream>, bytes: &[u8]) {
    // On failure the peer sees only that the connection is closed.
    let _ = poll_fn(|context| {
        let written = Pin::new(&mut stream).poll_write(context, bytes);
        Poll::Ready(written.is_ready())
    })
    .await;
}
