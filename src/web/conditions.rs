//! `ETag`, `If-None-Match` and `If-Match`.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use service::{Digest, Manifest};

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

/// The tag of a channel: the number of its release and its table, since numbers are given anew after a restore from a
/// backup.
pub(crate) fn channel_tag(sequence: u64, digest: &Digest) -> String {
    tag(format_args!("{sequence}-{digest}"))
}

/// The state in which a change expects its channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected<'h> {
    /// `If-Match: *`
    Any,
    /// `If-None-Match: *`
    NoRelease,
    /// `If-Match` with the channel's tag, or with the number of the release alone, which people know.
    At(u64, Option<&'h str>),
}

impl<'h> Expected<'h> {
    /// # Errors
    /// 428 without either header, 400 for what is no tag of a channel.
    pub(crate) fn of(headers: &'h HeaderMap) -> Result<Self, Problem> {
        if text_of(headers, &header::IF_NONE_MATCH)? == Some("*") {
            return Ok(Self::NoRelease);
        }
        let Some(given) = text_of(headers, &header::IF_MATCH)? else {
            let detail = "say with `If-Match` at which release the channel is (its ETag), or with `If-None-Match: *` \
                          that it has none";
            return Err(Problem::new(StatusCode::PRECONDITION_REQUIRED, detail));
        };
        let given = given.trim();
        if given == "*" {
            return Ok(Self::Any);
        }
        let bare = given
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'));
        let read = bare.and_then(|bare| match bare.split_once('-') {
            Some((number, digest)) => Some(Self::At(number.parse().ok()?, Some(digest))),
            None => Some(Self::At(bare.parse().ok()?, None)),
        });
        read.ok_or_else(|| {
            let detail = "`If-Match` must be the ETag of the channel, or the number of its release as in `\"12\"`";
            Problem::new(StatusCode::BAD_REQUEST, detail)
        })
    }

    /// The number of the release that is expected; `None` for any, 0 for none. `current` is what the channel has.
    ///
    /// # Errors
    /// 412 if that release has another table.
    pub(crate) fn sequence(self, current: Option<&Manifest>) -> Result<Option<u64>, Problem> {
        match (self, current) {
            (Self::Any, _) => Ok(None),
            (Self::NoRelease, _) => Ok(Some(0)),
            (Self::At(number, Some(digest)), Some(current))
                if number == current.sequence && digest != current.digest.as_str() =>
            {
                let detail = format!(
                    "release {number} of the channel has another table than `If-Match` says, as after a restore from a \
                     backup; look at the channel again"
                );
                Err(Problem::new(StatusCode::PRECONDITION_FAILED, detail))
            }
            (Self::At(number, _), _) => Ok(Some(number)),
        }
    }
}
