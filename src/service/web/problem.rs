//! Errors as `application/problem+json` (RFC 9457). `layers.rs` renders them as pages for browsers.

use std::error::Error;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use campaign::CampaignError;
use export::deploy::DeployError;
use printable::Plain;
use serde::{Serialize, Serializer};
use service::{Gate, ServiceError};
use table::TableError;
use utoipa::ToSchema;

use crate::document::PROBLEM;

/// An error: its status and a description.
// A response made from a problem keeps it as an extension, from which a page can be rendered.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// Always `about:blank`: the status identifies the error.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The status in words.
    pub(crate) title: &'static str,
    /// The status.
    #[serde(serialize_with = "code")]
    #[schema(value_type = u16)]
    pub(crate) status: StatusCode,
    /// A description of the error, with a remedy.
    pub(crate) detail: String,
    /// The gates of a refused release.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) gates: Vec<Gate>,
    /// The line in the request's body or in the named file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<u32>,
    /// The column, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) column: Option<u32>,
    /// Seconds after which the client may try again.
    #[serde(skip)]
    retry_after: Option<u64>,
    /// Whether a scope is missing, so that logging in may help.
    #[serde(skip)]
    pub(crate) lacks_scope: bool,
}

fn code<S: Serializer>(status: &StatusCode, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u16(status.as_u16())
}

impl Problem {
    /// Makes a problem from a sentence.
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self {
            kind: "about:blank",
            title: status.canonical_reason().unwrap_or("Error"),
            status,
            detail: detail.into(),
            gates: Vec::new(),
            line: None,
            column: None,
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
        let _ = writeln!(io::stderr(), "error {number}: {}", Plain(text));
        let detail = format!("internal error; see `error {number}` in the service's log");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
    }

    /// Adds a place in a text, counted from 1.
    pub(crate) fn at_position(self, line: usize, column: usize) -> Self {
        Self {
            line: u32::try_from(line).ok(),
            column: u32::try_from(column).ok(),
            ..self
        }
    }

    /// Adds the time after which the client may try again.
    pub(crate) fn retry_after(self, wait: Duration) -> Self {
        let retry_after = Some(wait.as_secs().max(1));
        Self {
            retry_after,
            ..self
        }
    }

    /// Changes the status to 401, for anonymous visitors.
    pub(crate) fn with_unauthorized_status(self) -> Self {
        Self {
            lacks_scope: self.lacks_scope,
            ..Self::new(StatusCode::UNAUTHORIZED, self.detail)
        }
    }

    /// The problem in JSON.
    pub(crate) fn json_body(&self) -> Vec<u8> {
        let text = serde_json::to_string(self).unwrap_or_default();
        Plain(text).to_string().into_bytes()
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
            ServiceError::NotFound { .. }
            | ServiceError::CampaignNotTold { .. }
            | ServiceError::NoLog(_) => with_help(StatusCode::NOT_FOUND),
            ServiceError::Conflict(_) => with_help(StatusCode::CONFLICT),
            ServiceError::Gates { gates } => Self {
                gates: gates.clone(),
                ..with_help(StatusCode::CONFLICT)
            },
            ServiceError::Precondition { .. } | ServiceError::Outdated { .. } => {
                with_help(StatusCode::PRECONDITION_FAILED)
            }
            ServiceError::Invalid { .. } => with_help(StatusCode::UNPROCESSABLE_ENTITY),
            ServiceError::Campaign(CampaignError::Invalid(found))
            | ServiceError::Table(TableError::Invalid(found)) => {
                with_help(StatusCode::UNPROCESSABLE_ENTITY).at_position(found.line, found.column)
            }
            ServiceError::Damaged { .. } => with_help(StatusCode::INTERNAL_SERVER_ERROR),
            ServiceError::Deploy(DeployError::LongName { .. }) => {
                with_help(StatusCode::UNPROCESSABLE_ENTITY)
            }
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
        let media = [(header::CONTENT_TYPE, PROBLEM)];
        let mut response = (self.status, media, self.json_body()).into_response();
        self.set_headers(&mut response);
        response.extensions_mut().insert(self);
        response
    }
}

#[cfg(test)]
mod tests {
    use answers::ProblemAnswer;
    use service::GateState;

    use super::*;

    #[test]
    fn a_client_reads_the_gates_of_a_refusal() {
        let gates = vec![Gate {
            name: "validated".to_owned(),
            state: GateState::Closed,
            reason: "validate it".to_owned(),
        }];
        let problem: Problem = ServiceError::Gates {
            gates: gates.clone(),
        }
        .into();
        let refusal: ProblemAnswer =
            serde_json::from_slice(&problem.json_body()).expect("readable");
        assert_eq!(refusal.gates, gates);
        assert_eq!(refusal.detail, Some(problem.detail));
        assert_eq!(refusal.title.as_deref(), Some("Conflict"));
    }
}
