//! Checks of `Host` and `Origin`.
//!
//! Another site may make its name resolve to this address (DNS rebinding); a browser then treats its pages and the
//! service as one origin. Requests of such pages have the site's name in `Host`, and are refused. IP addresses cannot
//! be rebound.

use std::net::IpAddr;

use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode, header};
use service::Configuration;

use crate::Problem;

/// The names of the service.
#[derive(Debug)]
pub(crate) struct Hosts {
    /// Whether any name is accepted: with TLS the certificate proves the name.
    any: bool,
    names: Vec<String>,
}

impl Hosts {
    pub(crate) fn from_configuration(configuration: &Configuration) -> Self {
        let any = configuration.tls.is_some();
        let mut names = configuration.names.clone();
        names.push("localhost".to_owned());
        Self { any, names }
    }

    /// Checks the name in a request's `Host`.
    ///
    /// # Errors
    /// 400 if it is missing or invalid, 421 if it is not a name of the service.
    pub(crate) fn check_host(&self, asked: Option<&Authority>) -> Result<(), Problem> {
        let Some(asked) = asked else {
            let detail = "the request has no `Host` header, or an invalid one";
            return Err(Problem::new(StatusCode::BAD_REQUEST, detail));
        };
        let name = asked.host();
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        let is_known = |own: &String| own.eq_ignore_ascii_case(name);
        if self.any || bare.parse::<IpAddr>().is_ok() || self.names.iter().any(is_known) {
            return Ok(());
        }
        let detail = format!(
            "`{name}` is not a name of this service: use its address, or add the name to `names` in service.yaml"
        );
        Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, detail))
    }
}

/// The name and port in `Host`.
pub(crate) fn requested_host(headers: &HeaderMap) -> Option<Authority> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next()?.to_str().ok()?;
    match hosts.next() {
        Some(_) => None,
        // The crate `http` accepts a user before the name, as in `user@host`.
        None => host.parse().ok().filter(|_| !host.contains('@')),
    }
}

/// Checks that a change is requested by one of the service's own pages, or by no page. If browsers reach the service
/// over TLS only (`is_secure`), a page that came without encryption is not its own: anyone on the way may have written
/// it.
///
/// # Errors
/// 403.
pub(crate) fn check_origin(
    headers: &HeaderMap,
    asked: Option<&Authority>,
    is_secure: bool,
) -> Result<(), Problem> {
    let foreign = |what: &str| {
        let detail = format!("a page of another site requested the change ({what})");
        Err(Problem::new(StatusCode::FORBIDDEN, detail))
    };
    if let Some(site) = headers.get("sec-fetch-site")
        && !["same-origin", "none"].iter().any(|own| site == own)
    {
        return foreign("`Sec-Fetch-Site`");
    }
    let Some(origin) = headers.get(header::ORIGIN) else {
        return Ok(());
    };
    let origin = origin.to_str().unwrap_or_default();
    let is_own = |own: &Authority| {
        origin.split_once("://").is_some_and(|(scheme, from)| {
            own.as_str().eq_ignore_ascii_case(from) && (scheme == "https" || !is_secure)
        })
    };
    if asked.is_some_and(is_own) {
        Ok(())
    } else {
        foreign("`Origin`")
    }
}
