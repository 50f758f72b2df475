//! The other end of a connection.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv6Addr};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::App;

/// The other end of a connection. Every request has one as an extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Peer {
    /// An IP address; behind a proxy the one that the proxy reports.
    Address(IpAddr),
    /// A user of this host, connected to a Unix socket.
    User(u32),
    /// An unknown user of a Unix socket, or a client for which the proxy reports no address.
    Unknown,
}

impl Peer {
    /// The peer under which wrong tokens are counted. IPv6 addresses are reduced to their first 64 bits, since one
    /// host can use all of the other bits.
    pub(crate) fn counted(self) -> Self {
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
}

impl FromRequestParts<App> for Peer {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Infallible> {
        let peer = parts.extensions.get().copied().unwrap_or(Self::Unknown);
        match app.service.configuration().behind_proxy {
            true => Ok(forwarded(parts).unwrap_or(Self::Unknown)),
            false => Ok(peer),
        }
    }
}

/// The address that the proxy itself has added: the last one of the header.
fn forwarded(parts: &Parts) -> Option<Peer> {
    let headers = parts.headers.get_all("x-forwarded-for");
    let last = headers.iter().next_back()?.to_str().ok()?;
    let address = last.rsplit(',').next()?.trim().parse().ok()?;
    Some(Peer::Address(address))
}
