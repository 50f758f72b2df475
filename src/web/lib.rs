//! The service over HTTP: the interface `/api/v1`, the pages, metrics. All it does is asked of [`service::Service`].

mod auth;
mod failures;
mod hosts;
mod pages;
mod peer;
mod problem;
mod state;

pub(crate) use auth::Visitor;
pub(crate) use peer::Peer;
pub(crate) use problem::Problem;
pub(crate) use state::App;
