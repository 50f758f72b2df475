//! Sessions of browsers. Over loopback a session belongs to a user of this host ([`Peer::session_holder`]).

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use service::{Actor, Digest, SessionHolder};

use crate::auth::count_wrong_token;
use crate::{App, Peer, Problem, Visitor};

/// The most cookies with the session's name that are tried. Others on this host can set cookies of this name, too.
const COOKIES: usize = 64;

/// A session. It does not implement `Debug`, which would show the secret.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Session {
    secret: String,
    holder: SessionHolder,
}

impl Session {
    /// The actor of the session; `None` if it is not valid, or no longer. The database is read only if tokens or
    /// sessions have changed, so this rarely waits.
    ///
    /// # Errors
    /// Errors of the service.
    pub(crate) async fn find_actor(&self, app: &App) -> Result<Option<Actor>, Problem> {
        let Self { secret, holder } = self.clone();
        if let Some(known) = app
            .service
            .authenticate_session_from_memory(&secret, holder)
        {
            return Ok(known);
        }
        app.run_urgent(move |service| service.authenticate_session(&secret, holder))
            .await
    }

    /// The form token of the session: a digest that does not reveal the secret.
    pub(crate) fn form_token(&self) -> String {
        let labelled = format!("colltune form token 1\n{}", self.secret);
        Digest::of_bytes(labelled.as_bytes()).to_string()
    }
}

/// The first of a request's cookies that is a valid session of this peer, with its actor.
///
/// # Errors
/// Errors of the service.
pub(crate) async fn find_session(
    app: &App,
    peer: Peer,
    headers: &HeaderMap,
) -> Result<Option<(Actor, Session)>, Problem> {
    let Some(holder) = peer.session_holder(app) else {
        return Ok(None);
    };
    for secret in cookies_of(headers, cookie_name(app)).take(COOKIES) {
        let secret = secret.to_owned();
        let session = Session { secret, holder };
        if let Some(actor) = session.find_actor(app).await? {
            return Ok(Some((actor, session)));
        }
    }
    Ok(None)
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
/// 401 if the token is wrong, 429 if it is wrong after too many others; 403 if the session could not be bound to its
/// user.
pub(crate) async fn begin_session(app: &App, peer: Peer, token: &str) -> Result<Begun, Problem> {
    let token = token.trim().to_owned();
    let Some(holder) = peer.session_holder(app) else {
        let detail = "the kernel does not tell which user of this host has connected, so others could use the session, \
                      whose cookie browsers send to all ports of this host: use `colltune remote` with a token, or let \
                      the service speak TLS";
        return Err(Problem::new(StatusCode::FORBIDDEN, detail));
    };
    let begun = app
        .run_change(move |service| service.begin_session(&token, holder))
        .await?;
    let Some((session, lasts)) = begun else {
        return Err(count_wrong_token(app, peer));
    };
    let secret = session.expose().to_owned();
    Ok(Begun {
        cookie: set_cookie(app, &secret, lasts.as_secs())?,
        form_token: Session { secret, holder }.form_token(),
    })
}

/// Ends the visitor's session, if there is one. Returns the value of `Set-Cookie`.
///
/// # Errors
/// Errors of the service.
pub(crate) async fn log_out(app: &App, visitor: &Visitor) -> Result<HeaderValue, Problem> {
    if let Some(Session { secret, holder }) = visitor.session().cloned() {
        app.run_change(move |service| service.end_session(&secret, holder))
            .await?;
    }
    set_cookie(app, "", 0)
}

/// The name of the session cookie. The prefix `__Host-` keeps other hosts of the domain from setting it; browsers
/// accept it only with `Secure`.
fn cookie_name(app: &App) -> &'static str {
    if app.is_secure() {
        "__Host-colltune"
    } else {
        "colltune"
    }
}

fn set_cookie(app: &App, value: &str, seconds: u64) -> Result<HeaderValue, Problem> {
    let name = cookie_name(app);
    let secure = if app.is_secure() { "; Secure" } else { "" };
    let text =
        format!("{name}={value}; Max-Age={seconds}; Path=/; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::try_from(text).map_err(|error| Problem::internal(&error))
}

/// The values of all cookies with a name.
fn cookies_of<'h>(headers: &'h HeaderMap, name: &str) -> impl Iterator<Item = &'h str> {
    let lines = headers.get_all(header::COOKIE).iter();
    let pairs = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'));
    let named = pairs.filter_map(|pair| pair.trim().split_once('='));
    named.filter_map(move |(key, value)| (key == name).then_some(value))
}
