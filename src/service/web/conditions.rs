//! `ETag`, `If-None-Match` and `If-Match`.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use service::{Digest, ExpectedRevision, Manifest};

use crate::Problem;
use crate::extract::header_text;

/// An ETag: a name in quotes.
pub(crate) fn format_etag(name: impl std::fmt::Display) -> String {
    format!("\"{name}\"")
}

/// A response 304 with the tag, if the client already has this version, which must exist.
pub(crate) fn not_modified_response(
    headers: &HeaderMap,
    tag: &str,
    cached: &'static str,
) -> Option<Response> {
    let lists = headers.get_all(header::IF_NONE_MATCH).iter();
    let mut known = lists
        .filter_map(|list| list.to_str().ok())
        .flat_map(|list| list.split(','))
        .map(|one| one.trim().trim_start_matches("W/"));
    known.any(|one| one == tag || one == "*").then(|| {
        let mut response = StatusCode::NOT_MODIFIED.into_response();
        set_cache_headers(&mut response, tag, cached);
        response
    })
}

/// Adds the ETag and `Cache-Control`.
pub(crate) fn set_cache_headers(response: &mut Response, tag: &str, cached: &'static str) {
    // Tags of numbers and digests are always valid.
    if let Ok(tag) = HeaderValue::from_str(tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    let cached = HeaderValue::from_static(cached);
    response.headers_mut().insert(header::CACHE_CONTROL, cached);
}

/// The expected state of a schedule that is to be changed: its ETag, or only its revision, for use by hand.
///
/// # Errors
/// 428 without `If-Match` and `If-None-Match`, 400 for an invalid ETag.
pub(crate) fn revision_from_headers(headers: &HeaderMap) -> Result<ExpectedRevision, Problem> {
    if header_text(headers, &header::IF_NONE_MATCH)? == Some("*") {
        return Ok(ExpectedRevision::Missing);
    }
    let Some(given) = header_text(headers, &header::IF_MATCH)? else {
        let detail =
            "send `If-Match` with the ETag of the schedule, or `If-None-Match: *` for a new one";
        return Err(Problem::new(StatusCode::PRECONDITION_REQUIRED, detail));
    };
    let given = given.trim();
    if given == "*" {
        return Ok(ExpectedRevision::Any);
    }
    let bare = given
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    let expected = bare.and_then(|bare| {
        let by_hand = bare.parse().map(ExpectedRevision::At);
        by_hand
            .or_else(|_| bare.parse().map(ExpectedRevision::Same))
            .ok()
    });
    expected.ok_or_else(|| {
        let detail = "`If-Match` must be the ETag of the schedule, or its revision, as in `\"12\"`";
        Problem::new(StatusCode::BAD_REQUEST, detail)
    })
}

/// The ETag of a channel: its release and its table. After a restore from a backup, the number of a release may be
/// used again for another table.
pub(crate) fn channel_etag(sequence: u64, digest: &Digest) -> String {
    format_etag(format_args!("{sequence}-{digest}"))
}

/// The expected state of the channel to be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExpectedRelease<'h> {
    /// `If-Match: *`
    Any,
    /// `If-None-Match: *`
    NoRelease,
    /// `If-Match` with the channel's ETag, or with only the number of its release, for use by hand.
    At(u64, Option<&'h str>),
}

impl<'h> ExpectedRelease<'h> {
    /// # Errors
    /// 428 without either header, 400 for an invalid ETag.
    pub(crate) fn from_headers(headers: &'h HeaderMap) -> Result<Self, Problem> {
        if header_text(headers, &header::IF_NONE_MATCH)? == Some("*") {
            return Ok(Self::NoRelease);
        }
        let Some(given) = header_text(headers, &header::IF_MATCH)? else {
            let detail = "send `If-Match` with the ETag of the channel, or `If-None-Match: *` if it has no release";
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

    /// The expected number of the release: `None` for any, 0 for a channel without releases. `current` is the
    /// channel's manifest.
    ///
    /// # Errors
    /// 412 if that release has another table, or if there is none for `If-Match: *`.
    pub(crate) fn expected_sequence(
        self,
        current: Option<&Manifest>,
    ) -> Result<Option<u64>, Problem> {
        match (self, current) {
            (Self::Any, Some(_)) => Ok(None),
            (Self::Any, None) => {
                let detail = "the channel has no release, which `If-Match: *` demands; send `If-None-Match: *`";
                Err(Problem::new(StatusCode::PRECONDITION_FAILED, detail))
            }
            (Self::NoRelease, _) => Ok(Some(0)),
            (Self::At(number, Some(digest)), Some(current))
                if number == current.sequence && digest != current.digest.as_str() =>
            {
                let detail = format!(
                    "release {number} of the channel has another table than `If-Match` says, as after a restore from a \
                     backup; read the channel again"
                );
                Err(Problem::new(StatusCode::PRECONDITION_FAILED, detail))
            }
            (Self::At(number, _), _) => Ok(Some(number)),
        }
    }
}
