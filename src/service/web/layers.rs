//! Middleware around all handlers: limits, checks of names and origins, response headers, error pages.

use std::any::Any;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{DefaultBodyLimit, MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::timeout::TimeoutLayer;

use crate::pools::refuse_full;
use crate::{App, Peer, Problem, hosts, pages, sessions};

/// The largest body of a request, in bytes.
pub(crate) const BODY_BYTES: usize = 1 << 20;
/// The longest path and query together, in characters.
const URI_CHARACTERS: usize = 4096;
/// The longest time from a request's headers to the response's, including the request's body. The body of a response,
/// such as an event stream, may take longer.
const WHOLE_REQUEST: Duration = Duration::from_secs(30);

const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Headers of all responses, unless the handler sets them.
const HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "same-origin"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::CACHE_CONTROL, "no-store"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

/// Headers of event streams. A proxy such as nginx would otherwise keep events until it has some kilobytes of them.
const HEADERS_OF_STREAMS: [(HeaderName, &str); 2] = [
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("x-accel-buffering"), "no"),
];

pub(crate) fn wrap_router(router: Router<App>, app: App) -> Router {
    router
        .layer(DefaultBodyLimit::max(BODY_BYTES))
        .layer(from_fn_with_state(app.clone(), admit_request))
        .layer(TimeoutLayer::with_status_code(
            StatusCode::REQUEST_TIMEOUT,
            WHOLE_REQUEST,
        ))
        .layer(CatchPanicLayer::custom(answer_panic))
        .layer(from_fn_with_state(app.clone(), limit_share))
        .layer(from_fn_with_state(app.clone(), answer_for_client))
        .with_state(app)
}

/// Refuses a request if its address or body is too long, its `Host` is wrong, or a page of another site sent it.
async fn admit_request(
    State(app): State<App>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let (uri, headers) = (request.uri(), request.headers());
    let length = uri.path_and_query().map_or(0, |all| all.as_str().len());
    if length > URI_CHARACTERS {
        let detail = format!("the address has more than {URI_CHARACTERS} characters");
        return Err(Problem::new(StatusCode::URI_TOO_LONG, detail));
    }
    let announced = headers.get(header::CONTENT_LENGTH);
    let announced = announced.and_then(|bytes| bytes.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|bytes| bytes > BODY_BYTES as u64) {
        let detail = format!("the body has more than {BODY_BYTES} bytes");
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail));
    }
    let asked = hosts::requested_host(headers);
    let is_local = matches!(request.extensions().get(), Some(Peer::User(_)));
    // Browsers reach a Unix socket only through a proxy.
    if !is_local || app.service.configuration().behind_proxy {
        app.shared.hosts.check_host(asked.as_ref())?;
    }
    // Browsers never add `Authorization` by themselves.
    if !request.method().is_safe() && !headers.contains_key(header::AUTHORIZATION) {
        hosts::check_origin(headers, asked.as_ref(), app.is_secure())?;
    }
    Ok(next.run(request).await)
}

fn answer_panic(_: Box<dyn Any + Send + 'static>) -> Response {
    // The panic hook has printed the message to standard error.
    let detail = "internal error; see the panic in the service's log";
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, detail).into_response()
}

/// Answers the request for its client.
async fn answer_for_client(State(app): State<App>, request: Request, next: Next) -> Response {
    let client = Peer::of_request(&app, request.extensions(), request.headers());
    client
        .run_as_client(answer_request(app, client, request, next))
        .await
}

/// Refuses a request behind a proxy if its client has too many others. Other clients are limited by their connections.
async fn limit_share(
    State(app): State<App>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let client = if app.service.configuration().behind_proxy {
        Peer::current_client()
    } else {
        None
    };
    let taken = "requests are being answered";
    let place = app.shared.forwarded.take_place(client);
    let _place = place.map_err(|full| refuse_full(full, taken))?;
    Ok(next.run(request).await)
}

/// Counts the request, renders errors as JSON or as a page, and adds headers.
async fn answer_request(app: App, client: Peer, request: Request, next: Next) -> Response {
    let start = Instant::now();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let method = request.method().clone();
    let wants_page = wants_page(request.uri().path(), request.headers());
    let has_token = request.headers().contains_key(header::AUTHORIZATION);
    let cookies = request.headers().get_all(header::COOKIE).iter().cloned();
    let cookies: HeaderMap = cookies.map(|line| (header::COOKIE, line)).collect();

    let response = next.run(request).await;
    let route = route.as_ref().map_or("none", |route| route.as_str());
    let mut response = with_problem(response).await;
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        // The session may have ended; then the visitor is anonymous.
        let is_known =
            has_token || (problem.lacks_scope && has_session(&app, client, &cookies).await);
        let problem = if problem.lacks_scope && !is_known {
            problem.with_unauthorized_status()
        } else {
            problem
        };
        let allow = response.headers_mut().remove(header::ALLOW);
        response = if wants_page {
            problem_page_response(&problem)
        } else {
            problem.into_response()
        };
        response.extensions_mut().remove::<Problem>();
        if let Some(allow) = allow {
            response.headers_mut().insert(header::ALLOW, allow);
        }
    }
    for (name, value) in HEADERS {
        let value = HeaderValue::from_static(value);
        response.headers_mut().entry(name).or_insert(value);
    }
    if has_media(&response, b"text/event-stream") {
        for (name, value) in HEADERS_OF_STREAMS {
            let value = HeaderValue::from_static(value);
            response.headers_mut().insert(name, value);
        }
    }
    if app.is_secure() {
        let value = HeaderValue::from_static("max-age=31536000");
        response
            .headers_mut()
            .insert(header::STRICT_TRANSPORT_SECURITY, value);
    }
    let metrics = &app.shared.metrics;
    metrics.count_request(&method, route, response.status(), start.elapsed());
    response
}

/// Whether the request has a valid session.
async fn has_session(app: &App, client: Peer, cookies: &HeaderMap) -> bool {
    let found = sessions::find_session(app, client, cookies).await;
    found.is_ok_and(|found| found.is_some())
}

fn problem_page_response(problem: &Problem) -> Response {
    let mut response = (problem.status, pages::problem_page(problem)).into_response();
    problem.set_headers(&mut response);
    response
}

/// Turns errors that axum itself answers, such as 405, into a [`Problem`].
async fn with_problem(response: Response) -> Response {
    let status = response.status();
    let is_error = status.is_client_error() || status.is_server_error();
    if !is_error
        || has_media(&response, b"text/html")
        || response.extensions().get::<Problem>().is_some()
    {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let text = to_bytes(body, 4096).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let detail = match (text.trim(), status) {
        ("", StatusCode::NOT_FOUND) => "there is nothing under this address",
        ("", StatusCode::METHOD_NOT_ALLOWED) => "this address does not allow the method",
        ("", StatusCode::REQUEST_TIMEOUT) => "the request took too long",
        ("", _) => status.canonical_reason().unwrap_or("an error"),
        (text, _) => text,
    };
    parts.extensions.insert(Problem::new(status, detail));
    Response::from_parts(parts, axum::body::Body::empty())
}

/// Whether a response is of a media type.
fn has_media(response: &Response, media: &[u8]) -> bool {
    let found = response.headers().get(header::CONTENT_TYPE);
    found.is_some_and(|found| found.as_bytes().starts_with(media))
}

/// Whether the client is a browser that shows a page.
fn wants_page(path: &str, headers: &HeaderMap) -> bool {
    let accepts = headers.get_all(header::ACCEPT).iter();
    let mut media = accepts
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|part| part.split(';').next().unwrap_or_default().trim());
    let first = media.find(|name| ["text/html", "application/json", "*/*"].contains(name));
    !path.starts_with("/api/") && first == Some("text/html")
}
