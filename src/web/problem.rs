//! Errors as `application/problem+json` (RFC 9457). `layers.rs` renders them as pages for browsers.

use std::error::Error;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use campaign::CampaignError;
use export::deploy::DeployError;
use serde::Serialize;
use service::{Gate, ServiceError};
use table::TableError;

/// An error with its status. A response made from it keeps it as an extension, from which a page can be rendered.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    detail: String,
    gates: Vec<Gate>,
    place: Option<(usize, usize)>,
    retry_after: Option<u64>,
    lacks_scope: bool,
}

/// The JSON form of [`Problem`].
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = Problem)]
pub(crate) struct ProblemJson {
    /// Always `about:blank`: the status identifies the error.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The status in words.
    title: &'static str,
    /// The status.
    status: u16,
    /// A description of the error, with a remedy.
    detail: String,
    /// The gates of a refused release.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    gates: Vec<Gate>,
    /// The line in the request's body or in the named file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    /// The column, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
}

impl Problem {
    /// Makes a problem from a sentence.
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self {
            status,
            detail: detail.into(),
            gates: Vec::new(),
            place: None,
            retry_after: None,
            lacks_scope: false,
        }
    }

    /// Makes a problem with status 404, for a name that does not exist.
    pub(crate) fn not_found(kind: &'static str, name: impl Into<String>) -> Self {
        let name = name.into();
        ServiceError::NotFound { kind, name }.into()
    }

    /// Prints the error with a number to standard error, and makes a problem with status 500 that has only the number.
    pub(crate) fn internal(error: &dyn Error) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(1);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(inner) = cause {
            text = format!("{text}: {inner}");
            cause = inner.source();
        }
        // If standard error is closed, there is no other place to report it.
        let _ = writeln!(io::stderr(), "error {number}: {text}");
        let detail = format!("internal error; see `error {number}` in the service's log");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
    }

    /// Adds a place in a text, counted from 1.
    pub(crate) fn at(self, line: usize, column: usize) -> Self {
        let place = Some((line, column));
        Self { place, ..self }
    }

    /// Adds the time after which the client may try again.
    pub(crate) fn retry_after(self, wait: Duration) -> Self {
        let retry_after = Some(wait.as_secs().max(1));
        Self {
            retry_after,
            ..self
        }
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// The description, a sentence without a full stop.
    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    /// The gates of a refused release; otherwise empty.
    pub(crate) fn gates(&self) -> &[Gate] {
        &self.gates
    }

    /// Line and column, if the problem has a place in a text.
    pub(crate) fn place(&self) -> Option<(usize, usize)> {
        self.place
    }

    /// Whether a scope is missing, so that logging in may help.
    pub(crate) fn lacks_scope(&self) -> bool {
        self.lacks_scope
    }

    /// Changes the status to 401, for anonymous visitors.
    pub(crate) fn unrecognised(self) -> Self {
        let status = StatusCode::UNAUTHORIZED;
        Self { status, ..self }
    }

    fn json(&self) -> ProblemJson {
        ProblemJson {
            kind: "about:blank",
            title: self.status.canonical_reason().unwrap_or("Error"),
            status: self.status.as_u16(),
            detail: self.detail.clone(),
            gates: self.gates.clone(),
            line: self.place.map(|(line, _)| line),
            column: self.place.map(|(_, column)| column),
        }
    }

    /// Sets the headers of the problem, which do not depend on the form of its body.
    pub(crate) fn set_headers(&self, response: &mut Response) {
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if self.status == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static("Bearer realm=\"colltune\"");
            headers.insert(header::WWW_AUTHENTICATE, challenge);
        }
    }
}

impl From<ServiceError> for Problem {
    fn from(error: ServiceError) -> Self {
        let help = error.help().map(|help| format!("; {help}"));
        let with_help = |status| {
            Self::new(
                status,
                format!("{error}{}", help.as_deref().unwrap_or_default()),
            )
        };
        match &error {
            ServiceError::Forbidden { .. } => Self {
                lacks_scope: true,
                ..with_help(StatusCode::FORBIDDEN)
            },
            ServiceError::NotFound { .. } | ServiceError::NoLog(_) => {
                with_help(StatusCode::NOT_FOUND)
            }
            ServiceError::Conflict(_) => with_help(StatusCode::CONFLICT),
            ServiceError::Gates { gates } => Self {
                gates: gates.clone(),
                ..with_help(StatusCode::CONFLICT)
            },
            ServiceError::Precondition { .. } => with_help(StatusCode::PRECONDITION_FAILED),
            ServiceError::Invalid { .. } => with_help(StatusCode::UNPROCESSABLE_ENTITY),
            ServiceError::Campaign(CampaignError::Invalid(found))
            | ServiceError::Table(TableError::Invalid(found)) => {
                with_help(StatusCode::UNPROCESSABLE_ENTITY).at(found.line, found.column)
            }
            ServiceError::Damaged { .. } => with_help(StatusCode::INTERNAL_SERVER_ERROR),
            ServiceError::Deploy(
                DeployError::Unconfirmed { .. }
                | DeployError::Nothing { .. }
                | DeployError::NothingForLibrary { .. }
                | DeployError::Export(_),
            ) => with_help(StatusCode::CONFLICT),
            ServiceError::Deploy(DeployError::Busy { .. }) | ServiceError::Random(_) => {
                with_help(StatusCode::SERVICE_UNAVAILABLE).retry_after(Duration::from_secs(1))
            }
            _ if error.is_disk_full() => with_help(StatusCode::INSUFFICIENT_STORAGE),
            _ if error.is_busy() => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "the database is in use")
                    .retry_after(Duration::from_secs(1))
            }
            _ => Self::internal(&error),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self.json()).unwrap_or_default();
        let media = [(header::CONTENT_TYPE, "application/problem+json")];
        let mut response = (self.status, media, body).into_response();
        self.set_headers(&mut response);
        response.extensions_mut().insert(self);
        response
    }
}
