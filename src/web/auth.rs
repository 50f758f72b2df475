//! Authentication of visitors: by a token in `Authorization: Bearer`, a session's cookie, or the user at the other
//! end of a Unix socket. Anyone else is anonymous and may read where reading is open.

use std::time::Instant;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use service::{Actor, Digest, Scope, Service, ServiceError, Task, TaskId, Version};
use subtle::ConstantTimeEq;

use crate::peer::Peer;
use crate::{App, Problem};

/// The visitor. Extraction fails with 401 if the token is wrong, or if there is none and reading is not open; with
/// 429 after too many wrong tokens. Public pages take `Result<Visitor, Problem>`.
#[derive(Clone)]
pub(crate) struct Visitor {
    pub(crate) actor: Actor,
    /// The form token of the visitor's browser session, if there is one. Forms carry it, and [`Visitor::check_form`]
    /// checks it before any change.
    pub(crate) form_token: Option<String>,
    how: How,
    reads: bool,
}

/// The way a visitor was authenticated. It does not implement `Debug`, which would show the secret.
#[derive(Clone, PartialEq, Eq)]
enum How {
    Unrecognised,
    Token,
    User,
    /// A session's cookie, with its secret.
    Session(String),
}

impl Visitor {
    /// Whether the visitor is not authenticated; pages then offer to log in.
    pub(crate) fn is_anonymous(&self) -> bool {
        self.how == How::Unrecognised
    }

    /// Whether the visitor may read about a machine, or about all (`None`).
    pub(crate) fn may_read(&self, machine: Option<&str>) -> bool {
        self.reads || self.actor.may(Scope::Read, machine)
    }

    /// The machines that the visitor may read about; `None` for all.
    pub(crate) fn machines(&self) -> Option<Vec<String>> {
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
    pub(crate) fn versions_of(
        &self,
        service: &Service,
        digest: &Digest,
    ) -> Result<Vec<Version>, ServiceError> {
        let may_read = |machine: &String| self.may_read(Some(machine));
        let mut versions = service.versions_of(digest)?;
        versions.retain(|version| may_read(&version.machine));
        let is_known = self.may_read(None)
            || !versions.is_empty()
            || service.machines_released_to(digest)?.iter().any(may_read);
        match is_known {
            true => Ok(versions),
            false => Err(ServiceError::NotFound {
                kind: "table",
                name: digest.to_string(),
            }),
        }
    }

    /// The task, if the visitor may read about its machine.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`], also for a task of another machine.
    pub(crate) fn task(&self, service: &Service, id: TaskId) -> Result<Task, ServiceError> {
        let task = service.task(id)?;
        match self.may_read(task.request.machine.as_deref()) {
            true => Ok(task),
            false => Err(ServiceError::NotFound {
                kind: "task",
                name: id.to_string(),
            }),
        }
    }

    /// Requires [`Self::may_read`].
    ///
    /// # Errors
    /// 403.
    pub(crate) fn require_read(&self, machine: Option<&str>) -> Result<(), Problem> {
        match self.reads {
            true => Ok(()),
            false => Ok(self.actor.require(Scope::Read, machine)?),
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
        match own.as_bytes().ct_eq(given.as_bytes()).into() {
            true => Ok(()),
            false => {
                let detail =
                    "the form belongs to another session: reload the page and submit it again";
                Err(Problem::new(StatusCode::FORBIDDEN, detail))
            }
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
                How::Session(secret) => Some(form_token(secret)),
                _ => None,
            },
            how,
            reads: app.service.configuration().open_reading,
        };
        if let Some(given) = parts.headers.get(header::AUTHORIZATION) {
            let actor = by_token(app, peer, bearer(given)).await?;
            return Ok(visitor(actor, How::Token));
        }
        if let Some(secret) = cookie(&parts.headers, cookie_name(app)) {
            let session = secret.clone();
            // The browser may still send the cookie of a session that has ended; it is ignored.
            if let Some(actor) = app.ask(move |service| service.session(&session)).await? {
                let visitor = visitor(actor, How::Session(secret));
                // Requests to the interface are checked here; handlers of pages check the field of the form.
                if !parts.method.is_safe() && parts.uri.path().starts_with("/api/") {
                    let given = parts.headers.get("x-form-token");
                    visitor.check_form(given.and_then(|given| given.to_str().ok()))?;
                }
                return Ok(visitor);
            }
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
                Ok(visitor(owner, How::User))
            }
            _ if app.service.configuration().open_reading => {
                let stranger = Actor {
                    name: "anonymous".to_owned(),
                    scopes: vec![Scope::Read],
                    machines: Vec::new(),
                };
                Ok(visitor(stranger, How::Unrecognised))
            }
            _ => Err(unauthorized("this needs a token")),
        }
    }
}

/// A session that has begun.
pub(crate) struct Begun {
    /// The value of `Set-Cookie`.
    pub(crate) cookie: HeaderValue,
    pub(crate) form_token: String,
}

/// Exchanges a token for a session.
///
/// # Errors
/// 401 if the token is wrong, 429 after too many wrong ones.
pub(crate) async fn begin(app: &App, peer: Peer, token: &str) -> Result<Begun, Problem> {
    let token = token.trim().to_owned();
    check_failures(app, peer)?;
    let begun = app
        .ask(move |service| service.begin_session(&token))
        .await?;
    let Some((session, lasts)) = begun else {
        return Err(wrong_token(app, peer));
    };
    Ok(Begun {
        cookie: set_cookie(app, session.expose(), lasts.as_secs())?,
        form_token: form_token(session.expose()),
    })
}

/// Ends the visitor's session, if there is one. Returns the value of `Set-Cookie`.
///
/// # Errors
/// Errors of the service.
pub(crate) async fn log_out(app: &App, visitor: &Visitor) -> Result<HeaderValue, Problem> {
    if let How::Session(secret) = &visitor.how {
        let secret = secret.clone();
        app.ask(move |service| service.end_session(&secret)).await?;
    }
    set_cookie(app, "", 0)
}

/// The name of the session cookie. The prefix `__Host-` keeps other hosts of the domain from setting it; browsers
/// accept it only with `Secure`.
pub(crate) fn cookie_name(app: &App) -> &'static str {
    match app.is_secure() {
        true => "__Host-colltune",
        false => "colltune",
    }
}

fn set_cookie(app: &App, value: &str, seconds: u64) -> Result<HeaderValue, Problem> {
    let name = cookie_name(app);
    let secure = if app.is_secure() { "; Secure" } else { "" };
    let text =
        format!("{name}={value}; Max-Age={seconds}; Path=/; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::try_from(text).map_err(|error| Problem::internal(&error))
}

pub(crate) fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let lines = headers.get_all(header::COOKIE).iter();
    let pairs = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'));
    let mut named = pairs.filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = named.find(|(key, _)| *key == name)?;
    Some(value.to_owned())
}

/// The form token of a session: a digest that does not reveal the secret.
fn form_token(secret: &str) -> String {
    let labelled = format!("colltune form token 1\n{secret}");
    Digest::of(labelled.as_bytes()).to_string()
}

fn bearer(given: &HeaderValue) -> Option<String> {
    let (scheme, secret) = given.to_str().ok()?.split_once(' ')?;
    let is_bearer = scheme.eq_ignore_ascii_case("bearer");
    is_bearer.then(|| secret.trim().to_owned())
}

async fn by_token(app: &App, peer: Peer, secret: Option<String>) -> Result<Actor, Problem> {
    check_failures(app, peer)?;
    let Some(secret) = secret else {
        let detail = "`Authorization` must be `Bearer` and a token";
        return Err(unauthorized(detail));
    };
    let actor = app
        .ask(move |service| service.authenticate(&secret))
        .await?;
    actor.ok_or_else(|| wrong_token(app, peer))
}

fn check_failures(app: &App, peer: Peer) -> Result<(), Problem> {
    match app.shared.failures.wait(peer, Instant::now()) {
        None => Ok(()),
        Some(wait) => {
            let detail = "too many wrong tokens came from this address";
            Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, detail).retry_after(wait))
        }
    }
}

fn wrong_token(app: &App, peer: Peer) -> Problem {
    app.shared.failures.note(peer, Instant::now());
    unauthorized("the token is unknown, expired or revoked")
}

fn unauthorized(detail: &str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, detail)
}
