//! Errors as `application/problem+json` (RFC 9457). The layer in `layers.rs` makes a page of them where a browser asks.

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

/// An error with its status. Responses made of it keep it as an extension, so that a page can be made of it.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    detail: String,
    gates: Vec<Gate>,
    place: Option<(usize, usize)>,
    retry_after: Option<u64>,
    lacks_scope: bool,
}

/// What [`Problem`] looks like as JSON.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = Problem)]
pub(crate) struct ProblemJson {
    /// Always `about:blank`: the status says what is wrong.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The status in words.
    title: &'static str,
    /// The status.
    status: u16,
    /// What is wrong, and what can be done about it.
    detail: String,
    /// The gates of a release that were not all open.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    gates: Vec<Gate>,
    /// The line of what was sent, or of the file that is named, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    /// The column, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
}

impl Problem {
    /// A problem that is stated in a sentence.
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

    /// 404 of something that has no such name.
    pub(crate) fn not_found(kind: &'static str, name: impl Into<String>) -> Self {
        let name = name.into();
        ServiceError::NotFound { kind, name }.into()
    }

    /// 500: the error goes to standard error with a number, and the answer has the number alone.
    pub(crate) fn internal(error: &dyn Error) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(1);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(inner) = cause {
            text = format!("{text}: {inner}");
            cause = inner.source();
        }
        // Without standard error there is no place to tell it.
        let _ = writeln!(io::stderr(), "error {number}: {text}");
        let detail = format!("an internal error; the service's log has it as `error {number}`");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
    }

    /// The same with a place in a text, both from 1.
    pub(crate) fn at(self, line: usize, column: usize) -> Self {
        let place = Some((line, column));
        Self { place, ..self }
    }

    /// The same with the time after which another attempt makes sense.
    pub(crate) fn retry_after(self, wait: Duration) -> Self {
        let retry_after = Some(wait.as_secs().max(1));
        Self {
            retry_after,
            ..self
        }
    }

    /// The status.
    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// What is wrong: a sentence without a full stop at its end.
    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    /// The gates of a refused release; mostly empty.
    pub(crate) fn gates(&self) -> &[Gate] {
        &self.gates
    }

    /// Line and column, where the problem has a place in a text.
    pub(crate) fn place(&self) -> Option<(usize, usize)> {
        self.place
    }

    /// Whether a scope is missing, so that a token would help a visitor who has none.
    pub(crate) fn lacks_scope(&self) -> bool {
        self.lacks_scope
    }

    /// The same as 401, for visitors who were not recognised.
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

    /// Headers that belong to the problem, whatever its body is.
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
        let told = |status| {
            Self::new(
                status,
                format!("{error}{}", help.as_deref().unwrap_or_default()),
            )
        };
        match &error {
            ServiceError::Forbidden { .. } => Self {
                lacks_scope: true,
                ..told(StatusCode::FORBIDDEN)
            },
            ServiceError::NotFound { .. } | ServiceError::NoLog(_) => told(StatusCode::NOT_FOUND),
            ServiceError::Conflict(_) => told(StatusCode::CONFLICT),
            ServiceError::Gates { gates } => Self {
                gates: gates.clone(),
                ..told(StatusCode::CONFLICT)
            },
            ServiceError::Precondition { .. } => told(StatusCode::PRECONDITION_FAILED),
            ServiceError::Invalid { .. } => told(StatusCode::UNPROCESSABLE_ENTITY),
            ServiceError::Campaign(CampaignError::Invalid(found))
            | ServiceError::Table(TableError::Invalid(found)) => {
                told(StatusCode::UNPROCESSABLE_ENTITY).at(found.line, found.column)
            }
            ServiceError::Damaged { .. } => told(StatusCode::INTERNAL_SERVER_ERROR),
            ServiceError::Deploy(
                DeployError::Unconfirmed { .. }
                | DeployError::Nothing { .. }
                | DeployError::NothingForLibrary { .. }
                | DeployError::Export(_),
            ) => told(StatusCode::CONFLICT),
            ServiceError::Deploy(DeployError::Busy { .. }) | ServiceError::Random(_) => {
                told(StatusCode::SERVICE_UNAVAILABLE).retry_after(Duration::from_secs(1))
            }
            _ if error.is_disk_full() => told(StatusCode::INSUFFICIENT_STORAGE),
            ServiceError::Database(rusqlite::Error::SqliteFailure(failure, _))
                if failure.code == rusqlite::ErrorCode::DatabaseBusy =>
            {
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
