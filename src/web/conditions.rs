//! `ETag`, `If-None-Match` and `If-Match`.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::Problem;
use crate::extract::text_of;

/// The tag of something: its name in quotes.
pub(crate) fn tag(name: impl std::fmt::Display) -> String {
    format!("\"{name}\"")
}

/// 304 with the tag, if the asker has that already.
pub(crate) fn unchanged(headers: &HeaderMap, tag: &str, cached: &'static str) -> Option<Response> {
    let lists = headers.get_all(header::IF_NONE_MATCH).iter();
    let mut known = lists
        .filter_map(|list| list.to_str().ok())
        .flat_map(|list| list.split(','))
        .map(|one| one.trim().trim_start_matches("W/"));
    known.any(|one| one == tag || one == "*").then(|| {
        let mut response = StatusCode::NOT_MODIFIED.into_response();
        mark(&mut response, tag, cached);
        response
    })
}

/// Adds the tag, and for how long the answer may be kept.
pub(crate) fn mark(response: &mut Response, tag: &str, cached: &'static str) {
    // Digits of numbers and digests make a header's value.
    if let Ok(tag) = HeaderValue::from_str(tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    let cached = HeaderValue::from_static(cached);
    response.headers_mut().insert(header::CACHE_CONTROL, cached);
}

/// The release at which a change expects its channel: `If-Match: "12"`, or `If-None-Match: *` for a channel without
/// releases, which is 0. `If-Match: *` expects none in particular.
///
/// # Errors
/// 428 without either, 400 for what is no number of a release.
pub(crate) fn expected(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    if text_of(headers, &header::IF_NONE_MATCH)? == Some("*") {
        return Ok(Some(0));
    }
    let Some(given) = text_of(headers, &header::IF_MATCH)? else {
        let detail = "say with `If-Match` at which release the channel is (its ETag), or with `If-None-Match: *` that it \
                      has none";
        return Err(Problem::new(StatusCode::PRECONDITION_REQUIRED, detail));
    };
    let given = given.trim();
    if given == "*" {
        return Ok(None);
    }
    let bare = given
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    match bare.and_then(|digits| digits.parse().ok()) {
        Some(sequence) => Ok(Some(sequence)),
        None => {
            let detail = "`If-Match` must be the ETag of the channel, as in `\"12\"`";
            Err(Problem::new(StatusCode::BAD_REQUEST, detail))
        }
    }
}
