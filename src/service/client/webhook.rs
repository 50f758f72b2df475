//! Posts messages to webhooks.
//!
//! A receiver's address is not the service's own choice. So it is resolved once, every address that its name has is
//! checked, and the connection goes to one of these: a name cannot lead to another host between check and connection.
//! Redirects are not followed, and proxies of the environment are not used, as they would resolve the name again.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use ureq::Agent;
use ureq::config::Config;
use ureq::http::{Uri, header};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};

use crate::remote::describe_error;

/// Posts messages.
#[derive(Clone, Debug)]
pub struct WebhookSender {
    agent: Agent,
    /// The limit on the whole time of a message.
    limit: Duration,
}

impl WebhookSender {
    /// A sender that connects to addresses of the internet only and encrypted, or also to private ones and by `http://`,
    /// with a limit on the whole time of a message.
    pub fn new(allows_private: bool, limit: Duration) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .https_only(!allows_private)
            .max_redirects(0)
            .proxy(None)
            .timeout_global(Some(limit))
            .max_idle_connections(0)
            .user_agent(concat!("colltune/", env!("CARGO_PKG_VERSION")));
        let resolver = CheckedNames {
            allows_private,
            names: DefaultResolver::default(),
        };
        Self {
            agent: Agent::with_parts(config.build(), DefaultConnector::default(), resolver),
            limit,
        }
    }

    /// Posts JSON with these headers, and returns the status of the answer.
    ///
    /// # Errors
    /// The reason why there is no answer.
    pub fn post_json(
        &self,
        url: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Result<u16, String> {
        let mut request = self
            .agent
            .post(url)
            .header(header::CONTENT_TYPE, "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        match request.send(body) {
            Ok(response) => Ok(response.status().as_u16()),
            // Its own text has the whole address, which may be a credential.
            Err(ureq::Error::RequireHttpsOnly(_)) => Err(
                "the address is not encrypted; make the webhook again with `https://`, or allow `http://` by \
                 `webhooks: {private_addresses: true}` in the configuration"
                    .to_owned(),
            ),
            Err(error) => Err(describe_error(&error, self.limit)),
        }
    }
}

/// A resolver that refuses names of private addresses.
#[derive(Debug)]
struct CheckedNames {
    allows_private: bool,
    names: DefaultResolver,
}

impl Resolver for CheckedNames {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = self.names.resolve(uri, config, timeout)?;
        let mut addresses = found.iter().map(|address| address.ip());
        match addresses.find(|address| !self.allows_private && !is_of_the_internet(*address)) {
            Some(address) => Err(ureq::Error::Other(Box::new(PrivateAddress(address)))),
            None => Ok(found),
        }
    }
}

/// An address to which no message is sent.
#[derive(Debug)]
struct PrivateAddress(IpAddr);

impl fmt::Display for PrivateAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is no address of the internet; allow others by `webhooks: {{private_addresses: true}}` in the \
             configuration",
            self.0
        )
    }
}

impl std::error::Error for PrivateAddress {}

/// Whether an address is one that other networks can reach: neither of this host, nor of a private network, nor reserved.
fn is_of_the_internet(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(mapped) => is_public_v4(mapped),
            None => is_public_v6(address),
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_shared = a == 100 && b & 0xc0 == 64;
    let is_assigned = a == 192 && b == 0 && c == 0;
    let is_for_tests = a == 198 && b & 0xfe == 18;
    let is_special = a == 0
        || a >= 240
        || is_shared
        || is_assigned
        || is_for_tests
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || address.is_multicast();
    !is_special
}

/// Only global unicast addresses are, without those that stand for others: 6to4, Teredo and other assignments to protocols,
/// and documentation.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    let is_global = first & 0xe000 == 0x2000;
    let is_of_protocol = first == 0x2001 && second < 0x200;
    let is_documentation = first == 0x2001 && second == 0xdb8 || first & 0xfff0 == 0x3ff0;
    is_global && !is_of_protocol && !is_documentation && first != 0x2002
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_hosts_and_private_networks_are_not_of_the_internet() {
        for public in [
            "8.8.8.8",
            "100.63.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "2606:4700::1111",
            "::ffff:8.8.8.8",
        ] {
            let address = public.parse().expect("an address");
            assert!(is_of_the_internet(address), "{public}");
        }
        for private in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "127.0.0.1",
            "127.8.9.10",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
        ] {
            let address = private.parse().expect("an address");
            assert!(!is_of_the_internet(address), "{private}");
        }
    }
}
