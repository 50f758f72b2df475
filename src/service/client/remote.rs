//! Requests to a service.

use std::path::Path;
use std::time::Duration;

use answers::ProblemAnswer;
use serde::de::DeserializeOwned;
use serde_json::Value;
use ureq::http::{Method, Request, Response, header};
use ureq::tls::{PemItem, RootCerts, TlsConfig};
use ureq::{Agent, Body};

use crate::encryption;
use crate::unix::{NoNames, Socket};
use crate::{RemoteError, ServiceProblem, ServiceUrl, Token};

/// The limit on the time to connect.
const CONNECT: Duration = Duration::from_secs(2);

/// The default limit on the time of a request.
const WHOLE: Duration = Duration::from_secs(30);

/// The default limit on the length of an answer: 16 MiB.
const BYTES: u64 = 16 << 20;

/// The body of a request.
#[derive(Clone, Copy, Debug)]
enum AskBody<'a> {
    Json(&'a Value),
    /// YAML.
    Text(&'a str),
}

/// A request to a service.
#[derive(Clone, Debug)]
pub struct Ask<'a> {
    method: Method,
    path: &'a str,
    headers: Vec<(&'a str, &'a str)>,
    body: Option<AskBody<'a>>,
    limit: Duration,
    most_bytes: u64,
}

impl<'a> Ask<'a> {
    /// A GET of an escaped path below `/api/v1`.
    pub fn get(path: &'a str) -> Self {
        Self {
            method: Method::GET,
            path,
            headers: Vec::new(),
            body: None,
            limit: WHOLE,
            most_bytes: BYTES,
        }
    }

    /// A POST to a path below `/api/v1`.
    pub fn post(path: &'a str, body: &'a Value) -> Self {
        Self {
            method: Method::POST,
            body: Some(AskBody::Json(body)),
            ..Self::get(path)
        }
    }

    /// A POST of a text in YAML to a path below `/api/v1`.
    pub fn post_text(path: &'a str, text: &'a str) -> Self {
        Self {
            method: Method::POST,
            body: Some(AskBody::Text(text)),
            ..Self::get(path)
        }
    }

    /// A PUT to a path below `/api/v1`.
    pub fn put(path: &'a str, body: &'a Value) -> Self {
        Self {
            method: Method::PUT,
            body: Some(AskBody::Json(body)),
            ..Self::get(path)
        }
    }

    /// A PATCH of a path below `/api/v1`.
    pub fn patch(path: &'a str, body: &'a Value) -> Self {
        Self {
            method: Method::PATCH,
            body: Some(AskBody::Json(body)),
            ..Self::get(path)
        }
    }

    /// A DELETE of a path below `/api/v1`.
    pub fn delete(path: &'a str) -> Self {
        Self {
            method: Method::DELETE,
            ..Self::get(path)
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn with_header(mut self, name: &'a str, value: &'a str) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Sets limits on the total time and on the answer's length in bytes.
    #[must_use]
    pub fn with_limits(mut self, limit: Duration, most_bytes: u64) -> Self {
        self.limit = limit;
        self.most_bytes = most_bytes;
        self
    }
}

/// An answer that is not an error: a status of 200 to 299, or 304.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) etag: Option<String>,
    pub(crate) body: Vec<u8>,
}

/// A service, with the token for requests.
#[derive(Debug)]
pub struct Remote {
    url: ServiceUrl,
    agent: Agent,
    token: Option<Token>,
}

/// The most characters of a service's message that are shown.
const MOST_SAID: usize = 1000;

impl Remote {
    /// Prepares requests to a service, without sending any. `certificates` is a PEM file of authorities that replaces
    /// the public ones.
    ///
    /// # Errors
    /// [`RemoteError::Unencrypted`], [`RemoteError::Certificates`], [`RemoteError::File`].
    pub fn new(
        url: ServiceUrl,
        token: Option<Token>,
        certificates: Option<&Path>,
    ) -> Result<Self, RemoteError> {
        if token.is_some() && !url.is_encrypted && !url.is_here {
            return Err(RemoteError::Unencrypted(url.to_string()));
        }
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_connect(Some(CONNECT))
            .timeout_resolve(Some(CONNECT))
            .user_agent(concat!("colltune/", env!("CARGO_PKG_VERSION")));
        if url.is_here {
            config = config.proxy(None);
        }
        if let Some(path) = certificates {
            let roots = RootCerts::new_with_certs(&read_certificates(path)?);
            config = config.tls_config(TlsConfig::builder().root_certs(roots).build());
        }
        let agent = match &url.socket {
            Some(socket) => Agent::with_parts(config.build(), Socket(socket.clone()), NoNames),
            None => Agent::new_with_config(config.build()),
        };
        Ok(Self { url, agent, token })
    }

    /// The service's URL.
    pub fn url(&self) -> &ServiceUrl {
        &self.url
    }

    /// Sends a request, and parses the answer as JSON; `null` if it is empty.
    ///
    /// # Errors
    /// All errors but those of [`Self::new`].
    pub fn request_json(&self, ask: Ask<'_>) -> Result<Value, RemoteError> {
        let path = ask.path;
        let answer = self.send_request(ask)?;
        if answer.body.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&answer.body).map_err(|error| self.unexpected_answer(path, error))
    }

    /// As [`Self::request_json`], with the answer's ETag.
    ///
    /// # Errors
    /// As [`Self::request_json`].
    pub fn request_json_with_etag(
        &self,
        ask: Ask<'_>,
    ) -> Result<(Value, Option<String>), RemoteError> {
        let path = ask.path;
        let answer = self.send_request(ask)?;
        let value = serde_json::from_slice(&answer.body);
        let value = value.map_err(|error| self.unexpected_answer(path, error))?;
        Ok((value, answer.etag))
    }

    /// As [`Self::request_json`], also deserialising the answer.
    ///
    /// # Errors
    /// As [`Self::request_json`].
    pub fn request_as<T: DeserializeOwned>(&self, ask: Ask<'_>) -> Result<(Value, T), RemoteError> {
        let path = ask.path;
        let value = self.request_json(ask)?;
        match T::deserialize(&value) {
            Ok(read) => Ok((value, read)),
            Err(error) => Err(self.unexpected_answer(path, error)),
        }
    }

    /// Sends a request, and returns the answer.
    pub(crate) fn send_request(&self, ask: Ask<'_>) -> Result<Answer, RemoteError> {
        let url = self.url.api_url(ask.path);
        let unreachable = |error: &ureq::Error| RemoteError::Unreachable {
            url: self.shown_url(ask.path),
            problem: describe_error(error, ask.limit),
        };
        let mut request = Request::builder()
            .method(ask.method.clone())
            .uri(&url)
            .header(
                header::ACCEPT,
                "application/json, application/problem+json, */*;q=0.5",
            );
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {}", token.expose()));
        }
        for (name, value) in &ask.headers {
            request = request.header(*name, *value);
        }
        let response = match ask.body {
            Some(AskBody::Json(body)) => {
                let request = request.header(header::CONTENT_TYPE, "application/json");
                self.run_with_limit(request.body(body.to_string()), ask.limit)
            }
            Some(AskBody::Text(text)) => {
                let request = request.header(header::CONTENT_TYPE, "application/yaml");
                self.run_with_limit(request.body(text), ask.limit)
            }
            None => self.run_with_limit(request.body(()), ask.limit),
        };
        let mut response = response.map_err(|error| unreachable(&error))?;
        let status = response.status().as_u16();
        let etag = header_text(&response, header::ETAG.as_str());
        let body = response.body_mut().with_config().limit(ask.most_bytes);
        let body = match body.read_to_vec() {
            Ok(body) => body,
            Err(ureq::Error::BodyExceedsLimit(_)) => {
                let most = vocabulary::units::format_bytes(ask.most_bytes);
                return Err(self.unexpected_answer(
                    ask.path,
                    format_args!("the answer has more than {most} bytes"),
                ));
            }
            Err(error) => return Err(unreachable(&error)),
        };
        match status {
            200..=299 | 304 => Ok(Answer { status, etag, body }),
            300..=399 => {
                let place = header_text(&response, header::LOCATION.as_str()).unwrap_or_default();
                let place = files::quoted(&place, files::MOST_QUOTED);
                Err(self.unexpected_answer(
                    ask.path,
                    format_args!("it redirects ({status}) to `{place}`, and redirects are not followed; give the service's own URL"),
                ))
            }
            _ => Err(self.refusal_error(ask.path, status, &response, &body)),
        }
    }

    fn run_with_limit<B: ureq::AsSendBody>(
        &self,
        request: ureq::http::Result<Request<B>>,
        limit: Duration,
    ) -> Result<Response<Body>, ureq::Error> {
        let request = self.agent.configure_request(request?);
        self.agent.run(request.timeout_global(Some(limit)).build())
    }

    /// The error of a response with an error status.
    fn refusal_error(
        &self,
        path: &str,
        status: u16,
        response: &Response<Body>,
        body: &[u8],
    ) -> RemoteError {
        let refusal: ProblemAnswer = serde_json::from_slice(body).unwrap_or_default();
        let said = refusal.detail.as_ref().or(refusal.title.as_ref());
        // Without these fields, the answer comes from a proxy or another service, usually because of a wrong URL.
        let detail = match said {
            Some(said) => files::Plain(files::shortened(said, MOST_SAID)).to_string(),
            None if status < 500 && status != 429 => {
                "the request was refused, but not by a colltune service".to_owned()
            }
            None => "it failed to answer the request".to_owned(),
        };
        let closed = refusal.gates.iter().filter(|gate| !gate.is_open());
        let closed = closed.map(|gate| files::quoted(&gate.to_string(), MOST_SAID));
        let retry_after = header_text(response, header::RETRY_AFTER.as_str());
        RemoteError::Refused {
            url: self.shown_url(path),
            problem: ServiceProblem {
                status,
                detail,
                closed_gates: closed.collect(),
                retry_after: retry_after.and_then(|text| text.parse().ok()),
            },
        }
    }

    /// The error of an answer that is not that of a service.
    pub fn unexpected_answer(&self, path: &str, problem: impl std::fmt::Display) -> RemoteError {
        RemoteError::Unexpected {
            url: self.shown_url(path),
            problem: problem.to_string(),
        }
    }

    /// A URL in the form that people write.
    pub(crate) fn shown_url(&self, path: &str) -> String {
        self.url.shown_api_url(path)
    }
}

fn header_text(response: &Response<Body>, name: &str) -> Option<String> {
    Some(response.headers().get(name)?.to_str().ok()?.to_owned())
}

/// Describes an error of a request with a limit on its time.
pub(crate) fn describe_error(error: &ureq::Error, limit: Duration) -> String {
    if let Some(problem) = encryption::describe_tls_error(error) {
        return problem;
    }
    match error {
        ureq::Error::Timeout(_) => format!("no answer within {:.1} s", limit.as_secs_f32()),
        ureq::Error::Io(error) => error.to_string(),
        ureq::Error::HostNotFound => "the host name cannot be resolved".to_owned(),
        other => other.to_string(),
    }
}

fn read_certificates(path: &Path) -> Result<Vec<ureq::tls::Certificate<'static>>, RemoteError> {
    let pem = files::read(path).map_err(|source| RemoteError::File {
        path: path.to_owned(),
        source,
    })?;
    let items = ureq::tls::parse_pem(&pem);
    let certificates: Vec<_> = items
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    if !certificates.is_empty() {
        Ok(certificates)
    } else {
        Err(RemoteError::Certificates {
            path: path.to_owned(),
        })
    }
}
