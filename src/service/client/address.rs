//! Addresses of services and of their release channels.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use printable::is_unprintable;
use serde::{Deserialize, Serialize};
use ureq::http::Uri;

use crate::RemoteError;

/// Characters that need no escaping in a path of a URL.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// The URL used in requests to a Unix socket.
const MADE_UP: &str = "http://localhost";

/// The path of the interface.
const INTERFACE: &str = "/api/v1";

/// Escapes one component of a URL's path.
pub fn encode_step(name: &str) -> impl fmt::Display + '_ {
    utf8_percent_encode(name, PLAIN)
}

/// A URL's query with these names and values; empty if there are none.
pub fn encode_query(values: &[(&str, &str)]) -> String {
    let pairs = values
        .iter()
        .map(|(name, value)| format!("{}={}", encode_step(name), encode_step(value)));
    match values {
        [] => String::new(),
        _ => format!("?{}", pairs.collect::<Vec<_>>().join("&")),
    }
}

/// The address of a service: `https://HOST[:PORT][/PREFIX]`, the same with `http`, or `unix:/SOCKET[:/PREFIX]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceUrl {
    /// The URL with scheme and host, without a trailing `/`; for a socket with a made-up host.
    pub(crate) base: String,
    /// The address as people write it.
    shown: String,
    pub(crate) socket: Option<PathBuf>,
    pub(crate) is_encrypted: bool,
    /// Whether the service is on this host.
    pub(crate) is_here: bool,
}

impl ServiceUrl {
    /// Parses an address. A trailing `/api/v1` is dropped.
    ///
    /// # Errors
    /// [`RemoteError::Url`].
    pub fn parse(text: &str) -> Result<Self, RemoteError> {
        Self::parse_as(text, "service")
    }

    fn parse_as(text: &str, wanted: &'static str) -> Result<Self, RemoteError> {
        let wrong = |problem: &str| RemoteError::Url {
            url: text.to_owned(),
            wanted,
            problem: problem.to_owned(),
        };
        let form = "write https://HOST[:PORT], http://HOST[:PORT] or unix:/SOCKET";
        if let Some(rest) = text.strip_prefix("unix:") {
            let (socket, prefix) = rest.split_once(':').unwrap_or((rest, ""));
            if !socket.starts_with('/') {
                return Err(wrong("the path of a socket must begin with /"));
            }
            let prefix = without_interface(prefix);
            if !prefix.is_empty() && !prefix.starts_with('/') {
                return Err(wrong(form));
            }
            return Ok(Self {
                base: format!("{MADE_UP}{prefix}"),
                shown: match prefix {
                    "" => format!("unix:{socket}"),
                    path => format!("unix:{socket}:{path}"),
                },
                socket: Some(socket.into()),
                is_encrypted: false,
                is_here: true,
            });
        }
        let uri: Uri = text.parse().map_err(|_| wrong(form))?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(wrong(form));
        };
        if !matches!(scheme, "http" | "https") {
            return Err(wrong(form));
        }
        if authority.as_str().contains('@') {
            let problem = "do not put secrets into a URL; name a file with `--token-file`";
            return Err(RemoteError::Url {
                // Do not show the secret.
                url: format!("{scheme}://...@{}", authority.host()),
                wanted,
                problem: problem.to_owned(),
            });
        }
        if uri.query().is_some() || text.contains('#') {
            return Err(wrong("remove `?` or `#` and what follows it"));
        }
        let host = authority.host().trim_matches(['[', ']']);
        let is_loopback = host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
        let prefix = without_interface(uri.path());
        let base = format!("{scheme}://{authority}{prefix}");
        Ok(Self {
            shown: base.clone(),
            base,
            socket: None,
            is_encrypted: scheme == "https",
            is_here: is_loopback || host.eq_ignore_ascii_case("localhost"),
        })
    }

    /// The URL of a path below `/api/v1`.
    pub(crate) fn api_url(&self, path: &str) -> String {
        format!("{}{INTERFACE}{path}", self.base)
    }

    /// The URL of a path below `/api/v1`, in the form that people write.
    pub(crate) fn shown_api_url(&self, path: &str) -> String {
        match &self.socket {
            Some(socket) => {
                let prefix = self.base.trim_start_matches(MADE_UP);
                format!("unix:{}:{prefix}{INTERFACE}{path}", socket.display())
            }
            None => self.api_url(path),
        }
    }
}

impl fmt::Display for ServiceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

/// The path without `/api/v1` at its end.
fn without_interface(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.strip_suffix(INTERFACE)
        .unwrap_or(path)
        .trim_end_matches('/')
}

/// A channel of a machine and library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelAddress {
    /// The machine.
    pub machine: String,
    /// `NAME-VERSION` of the MPI library.
    pub library: String,
    /// `candidate`, `canary` or `production`.
    pub channel: String,
}

impl ChannelAddress {
    /// Parses the URL of a channel, `SERVICE[/api/v1]/machines/MACHINE/libraries/LIBRARY/channels/CHANNEL`.
    ///
    /// # Errors
    /// [`RemoteError::Url`].
    pub fn from_url(text: &str) -> Result<(ServiceUrl, Self), RemoteError> {
        let wrong = || RemoteError::Url {
            url: text.to_owned(),
            wanted: "channel",
            problem: "it must end with /machines/MACHINE/libraries/LIBRARY/channels/CHANNEL"
                .to_owned(),
        };
        let (service, path) = text.rsplit_once("/machines/").ok_or_else(wrong)?;
        let steps: Vec<&str> = path.split('/').collect();
        let [machine, "libraries", library, "channels", channel] = steps[..] else {
            return Err(wrong());
        };
        let decoded = |step: &str| {
            let name = percent_decode_str(step).decode_utf8().ok()?;
            let is_name = !name.is_empty() && !name.starts_with('.') && name.len() <= 128;
            let is_plain = !name.contains(|c: char| c == '/' || is_unprintable(c));
            (is_name && is_plain).then(|| name.into_owned())
        };
        let channel = Self {
            machine: decoded(machine).ok_or_else(wrong)?,
            library: decoded(library).ok_or_else(wrong)?,
            channel: decoded(channel).ok_or_else(wrong)?,
        };
        // A colon separates the socket from the path; drop it if the path is empty.
        let service = if service.starts_with("unix:") {
            service.trim_end_matches(':')
        } else {
            service
        };
        Ok((ServiceUrl::parse_as(service, "channel")?, channel))
    }

    /// The channel's path below `/api/v1`.
    pub fn path(&self) -> String {
        format!(
            "/machines/{}/libraries/{}/channels/{}",
            encode_step(&self.machine),
            encode_step(&self.library),
            encode_step(&self.channel)
        )
    }
}

impl fmt::Display for ChannelAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.machine, self.library, self.channel)
    }
}
