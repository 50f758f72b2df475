//! The other end of a connection.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap};
use service::SessionHolder;
use tokio::task::futures::TaskLocalFuture;

use crate::App;

/// The other end of a connection. Every request has one as an extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Peer {
    /// An IP address; behind a proxy the one that the proxy reports.
    Address(IpAddr),
    /// A user of this host, connected over loopback; `None` if the kernel does not tell which one.
    Local(Option<u32>),
    /// A user of this host, connected to a Unix socket.
    User(u32),
    /// An unknown user of a Unix socket, or a client for which the proxy reports no address.
    Unknown,
}

tokio::task_local! {
    /// The client whose request the running task answers.
    static CLIENT: Peer;
}

impl Peer {
    /// The client of a request: its peer, or the client that the proxy reports.
    pub(crate) fn of_request(app: &App, extensions: &Extensions, headers: &HeaderMap) -> Self {
        if app.service.configuration().behind_proxy {
            read_forwarded(headers).unwrap_or(Self::Unknown)
        } else {
            extensions.get().copied().unwrap_or(Self::Unknown)
        }
    }

    /// The client as which a peer is counted. IPv6 addresses are reduced to their first 64 bits, since one host can
    /// use all of the other bits.
    pub(crate) fn to_counted_client(self) -> Self {
        match self {
            Self::Address(IpAddr::V6(address)) => match address.to_ipv4_mapped() {
                Some(v4) => Self::Address(v4.into()),
                None => {
                    let prefix = address.to_bits() & !u128::from(u64::MAX);
                    Self::Address(Ipv6Addr::from_bits(prefix).into())
                }
            },
            other => other,
        }
    }

    /// The holder of the sessions that this peer begins and uses. `None` if it can have none: other users of this host
    /// could use the session, too, as browsers send its cookie to every port.
    pub(crate) fn session_holder(self, app: &App) -> Option<SessionHolder> {
        match self {
            Self::Local(Some(uid)) | Self::User(uid) => Some(SessionHolder::User(uid)),
            // Cookies go over TLS only.
            _ if app.is_secure() => Some(SessionHolder::Anyone),
            Self::Address(_) | Self::Local(None) | Self::Unknown => None,
        }
    }

    /// Runs `answering` for this client: [`Self::current_client`] returns it there.
    pub(crate) fn run_as_client<F: Future>(self, answering: F) -> TaskLocalFuture<Self, F> {
        CLIENT.scope(self, answering)
    }

    /// The client whose request the running task answers; `None` for the service's own work.
    pub(crate) fn current_client() -> Option<Self> {
        CLIENT.try_with(|client| client.to_counted_client()).ok()
    }
}

impl FromRequestParts<App> for Peer {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Infallible> {
        Ok(Self::of_request(app, &parts.extensions, &parts.headers))
    }
}

/// Reads the address that the proxy itself has added: the last one of the header.
fn read_forwarded(headers: &HeaderMap) -> Option<Peer> {
    let last = headers.get_all("x-forwarded-for").iter().next_back()?;
    let last = last.to_str().ok()?;
    let address = parse_address(last.rsplit(',').next()?.trim())?;
    Some(Peer::Address(address.to_canonical()))
}

/// Parses an address as proxies write it: alone, in brackets if it is one of IPv6, or with the client's port.
fn parse_address(text: &str) -> Option<IpAddr> {
    if let Ok(with_port) = text.parse::<SocketAddr>() {
        return Some(with_port.ip());
    }
    let in_brackets = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    match in_brackets {
        Some(address) => address.parse().ok().map(IpAddr::V6),
        None => text.parse().ok(),
    }
}
