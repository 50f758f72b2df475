//! Style sheet, script and icon: embedded, and served under a digest of their contents, so that browsers may cache
//! them forever.

use std::sync::LazyLock;

use axum::Router;
use axum::extract::Path;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use service::Digest;

use crate::{App, Problem};

const STYLE: &str = include_str!("../assets/style.css");
const SCRIPT: &str = include_str!("../assets/refresh.js");
const ICON: &str = include_str!("../assets/icon.svg");

/// The folder of these files in links.
static FOLDER: LazyLock<String> = LazyLock::new(|| {
    let all = [STYLE, report::FIGURE_STYLE, SCRIPT, ICON].concat();
    format!("/assets/{}", Digest::of_bytes(all.as_bytes()).short())
});

/// The address of a file: `style.css`, `refresh.js` or `icon.svg`.
pub(super) fn versioned_address(file: &str) -> String {
    format!("{}/{file}", *FOLDER)
}

pub(super) fn build_router() -> Router<App> {
    Router::new().route("/assets/{digest}/{file}", get(serve_file))
}

async fn serve_file(Path((digest, file)): Path<(String, String)>) -> Result<Response, Problem> {
    let is_current = FOLDER.ends_with(&format!("/{digest}"));
    let (kind, text) = match file.as_str() {
        "style.css" if is_current => ("text/css", [report::FIGURE_STYLE, STYLE].concat()),
        "refresh.js" if is_current => ("text/javascript", SCRIPT.to_owned()),
        "icon.svg" if is_current => ("image/svg+xml", ICON.to_owned()),
        _ => return Err(Problem::not_found("file", file)),
    };
    let headers = [
        (CONTENT_TYPE, format!("{kind}; charset=utf-8")),
        (
            CACHE_CONTROL,
            "public, max-age=31536000, immutable".to_owned(),
        ),
    ];
    Ok((headers, text).into_response())
}
