//! Authentication of visitors: by a token in `Authorization: Bearer`, a session's cookie, or the user at the other
//! end of a Unix socket. Anyone else is anonymous and may read where reading is open.
//!
//! A right token is never refused because of wrong ones, whoever sent them: only wrong tokens are counted, and 256
//! random bits need no counting. `sessions` holds what browsers need.

use std::time::Instant;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use service::{Actor, Digest, Scope, Service, ServiceError, Task, TaskId, Version};
use subtle::ConstantTimeEq;

use crate::peer::Peer;
use crate::sessions::{self, Session};
use crate::{App, Problem};

/// The visitor. Extraction fails with 401 if the token is wrong, or if there is none and reading is not open; with
/// 429 if it is wrong after too many others. Public pages take `Result<Visitor, Problem>`.
#[derive(Clone)]
pub(crate) struct Visitor {
    pub(crate) actor: Actor,
    /// The form token of the visitor's browser session, if there is one. Forms carry it, and [`Visitor::check_form`]
    /// checks it before any change.
    pub(crate) form_token: Option<String>,
    how: Authentication,
    peer: Peer,
    reads: bool,
}

/// The way a visitor was authenticated. It does not implement `Debug`, which would show the secret.
#[derive(Clone, PartialEq, Eq)]
enum Authentication {
    Unrecognised,
    /// A token, with its secret.
    Token(String),
    User,
    /// A session's cookie.
    Session(Session),
}

impl Visitor {
    /// Whether the visitor is not authenticated; pages then offer to log in.
    pub(crate) fn is_anonymous(&self) -> bool {
        self.how == Authentication::Unrecognised
    }

    /// Whether the visitor may read about a machine, or about all (`None`).
    pub(crate) fn may_read(&self, machine: Option<&str>) -> bool {
        self.reads || self.actor.has_scope(Scope::Read, machine)
    }

    /// The machines that the visitor may read about; `None` for all.
    pub(crate) fn readable_machines(&self) -> Option<Vec<String>> {
        if self.may_read(None) {
            return None;
        }
        let mut machines = self.actor.machines.clone();
        machines.retain(|machine| self.may_read(Some(machine)));
        Some(machines)
    }

    /// The versions of a table on machines that the visitor may read about. A table that was only released, such as the
    /// empty one, has none.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`] of a table that only other machines have, as if it did not exist.
    pub(crate) fn find_versions(
        &self,
        service: &Service,
        digest: &Digest,
    ) -> Result<Vec<Version>, ServiceError> {
        let may_read = |machine: &String| self.may_read(Some(machine));
        let mut versions = service.versions_with_digest(digest)?;
        versions.retain(|version| may_read(&version.machine));
        let is_known = self.may_read(None)
            || !versions.is_empty()
            || service.machines_released_to(digest)?.iter().any(may_read);
        if is_known {
            Ok(versions)
        } else {
            Err(ServiceError::NotFound {
                kind: "table",
                name: digest.to_string(),
            })
        }
    }

    /// The task, if the visitor may read about its machine.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`], also for a task of another machine.
    pub(crate) fn find_task(&self, service: &Service, id: TaskId) -> Result<Task, ServiceError> {
        let task = service.read_task(id)?;
        if self.may_read(task.request.machine.as_deref()) {
            Ok(task)
        } else {
            Err(ServiceError::NotFound {
                kind: "task",
                name: id.to_string(),
            })
        }
    }

    /// Requires the scope of a machine's agent, before a long body is parsed.
    ///
    /// # Errors
    /// 403.
    pub(crate) fn require_agent(&self, machine: &str) -> Result<(), Problem> {
        Ok(self.actor.require_scope(Scope::Agent, Some(machine))?)
    }

    /// Requires [`Self::may_read`].
    ///
    /// # Errors
    /// 403.
    pub(crate) fn require_read(&self, machine: Option<&str>) -> Result<(), Problem> {
        if self.reads {
            Ok(())
        } else {
            Ok(self.actor.require_scope(Scope::Read, machine)?)
        }
    }

    /// Requires the right to read about some machine, for use before the machine in question is known.
    ///
    /// # Errors
    /// 403.
    pub(crate) fn require_read_anything(&self) -> Result<(), Problem> {
        let machine = self.actor.machines.first().map(String::as_str);
        self.require_read(machine)
    }

    /// The visitor's session, if there is one.
    pub(crate) fn session(&self) -> Option<&Session> {
        match &self.how {
            Authentication::Session(session) => Some(session),
            _ => None,
        }
    }

    /// Whether the token or session by which the visitor was authenticated is still valid. Answers that take long ask
    /// this again and again, and end if it is not, or cannot be found out.
    pub(crate) async fn is_still_valid(&self, app: &App) -> bool {
        let actor = self.peer.run_as_client(async {
            match &self.how {
                Authentication::Unrecognised | Authentication::User => Ok(Some(self.actor.clone())),
                Authentication::Token(secret) => find_token_actor(app, secret).await,
                Authentication::Session(session) => session.find_actor(app).await,
            }
        });
        actor.await.is_ok_and(|actor| actor.is_some())
    }

    /// Checks the field `form_token` of a form that changes something. It is required only from visitors with a
    /// session, as browsers send cookies, but no tokens, by themselves.
    ///
    /// # Errors
    /// 403 if it does not belong to the session.
    pub(crate) fn check_form(&self, form_token: Option<&str>) -> Result<(), Problem> {
        let Some(own) = &self.form_token else {
            return Ok(());
        };
        let given = form_token.unwrap_or_default();
        if own.as_bytes().ct_eq(given.as_bytes()).into() {
            Ok(())
        } else {
            let detail = "the form belongs to another session: reload the page and submit it again";
            Err(Problem::new(StatusCode::FORBIDDEN, detail))
        }
    }
}

impl FromRequestParts<App> for Visitor {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let Ok(peer) = Peer::from_request_parts(parts, app).await;
        let visitor = |actor, how| Self {
            actor,
            form_token: match &how {
                Authentication::Session(session) => Some(session.form_token()),
                _ => None,
            },
            how,
            peer,
            reads: app.service.configuration().open_reading,
        };
        if let Some(given) = parts.headers.get(header::AUTHORIZATION) {
            let (actor, secret) = authenticate_bearer(app, peer, parse_bearer(given)).await?;
            return Ok(visitor(actor, Authentication::Token(secret)));
        }
        // The browser may still send the cookie of a session that has ended; it is ignored.
        if let Some((actor, session)) = sessions::find_session(app, peer, &parts.headers).await? {
            let visitor = visitor(actor, Authentication::Session(session));
            // Requests to the interface are checked here; handlers of pages check the field of the form.
            if !parts.method.is_safe() && parts.uri.path().starts_with("/api/") {
                let given = parts.headers.get("x-form-token");
                visitor.check_form(given.and_then(|given| given.to_str().ok()))?;
            }
            return Ok(visitor);
        }
        match peer {
            // Behind a proxy the peer is always the proxy.
            Peer::User(uid)
                if uid == nix::unistd::geteuid().as_raw()
                    && !app.service.configuration().behind_proxy =>
            {
                let owner = Actor {
                    name: format!("uid {uid}"),
                    scopes: vec![Scope::Admin],
                    machines: Vec::new(),
                };
                Ok(visitor(owner, Authentication::User))
            }
            _ if app.service.configuration().open_reading => {
                let stranger = Actor {
                    name: "anonymous".to_owned(),
                    scopes: vec![Scope::Read],
                    machines: Vec::new(),
                };
                Ok(visitor(stranger, Authentication::Unrecognised))
            }
            _ => Err(unauthorized_problem("this needs a token")),
        }
    }
}

fn parse_bearer(given: &HeaderValue) -> Option<String> {
    let (scheme, secret) = given.to_str().ok()?.split_once(' ')?;
    let is_bearer = scheme.eq_ignore_ascii_case("bearer");
    is_bearer.then(|| secret.trim().to_owned())
}

/// The actor of a token, and the token's secret.
async fn authenticate_bearer(
    app: &App,
    peer: Peer,
    secret: Option<String>,
) -> Result<(Actor, String), Problem> {
    let Some(secret) = secret else {
        let detail = "`Authorization` must be `Bearer` and a token";
        return Err(unauthorized_problem(detail));
    };
    match find_token_actor(app, &secret).await? {
        Some(actor) => Ok((actor, secret)),
        None => Err(count_wrong_token(app, peer)),
    }
}

/// The actor of a token. The database is read only if tokens have changed, so this rarely waits.
async fn find_token_actor(app: &App, secret: &str) -> Result<Option<Actor>, Problem> {
    if let Some(known) = app.service.authenticate_token_from_memory(secret) {
        return Ok(known);
    }
    let secret = secret.to_owned();
    app.run_urgent(move |service| service.authenticate_token(&secret))
        .await
}

/// Counts a wrong token: 401, or 429 after too many.
pub(crate) fn count_wrong_token(app: &App, peer: Peer) -> Problem {
    let (failures, now) = (&app.shared.failures, Instant::now());
    if let Some(wait) = failures.required_wait(peer, now) {
        let detail = "the token is wrong, and so were too many others from this client; a right one is accepted at any time";
        return Problem::new(StatusCode::TOO_MANY_REQUESTS, detail).retry_after(wait);
    }
    failures.note_wrong_token(peer, now);
    unauthorized_problem("the token is unknown, expired or revoked")
}

fn unauthorized_problem(detail: &str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, detail)
}
