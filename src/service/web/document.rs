//! The OpenAPI document of the interface: what all of its operations have in common.

use utoipa::openapi::content::Content;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::{OpenApi, Ref, RefOr, Response};

/// The media type of errors.
pub(crate) const PROBLEM: &str = "application/problem+json";

/// The statuses with which the layers around all operations may answer.
const OF_ALL: [(u16, &str); 9] = [
    (400, "The request is malformed"),
    (
        403,
        "The request comes from a page of another site, or needs a scope",
    ),
    (408, "The request took too long"),
    (413, "The body is too long"),
    (414, "The address is too long"),
    (421, "The service has another host name"),
    (429, "Too many wrong tokens"),
    (500, "A defect, which the service's log describes"),
    (503, "The service or its database is busy, or stops"),
];

/// Gives all errors their media type, and adds those that any operation may answer with.
pub(crate) fn complete_responses(document: &mut OpenApi) {
    for item in document.paths.paths.values_mut() {
        for operation in operations_of(item) {
            let responses = &mut operation.responses.responses;
            for (status, description) in OF_ALL {
                let common = || Response::builder().description(description).build().into();
                responses.entry(status.to_string()).or_insert_with(common);
            }
            for (status, response) in responses {
                if let RefOr::T(response) = response
                    && status.as_str() >= "400"
                {
                    let schema = Ref::from_schema_name("Problem");
                    let content = Content::builder().schema(Some(schema)).build();
                    response.content = [(PROBLEM.to_owned(), content.into())].into();
                }
            }
        }
    }
}

fn operations_of(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem {
        get,
        put,
        post,
        patch,
        delete,
        ..
    } = item;
    [get, put, post, patch, delete].into_iter().flatten()
}
