//! The service over HTTP: the interface `/api/v1`, the pages and metrics. [`service::Service`] does the work.
//!
//! [`serve`] accepts connections within limits; `routes` holds all routes; `layers` wraps all handlers; `auth`
//! authenticates visitors; every error becomes a `problem`.

mod api;
mod auth;
mod conditions;
mod document;
mod error;
mod extract;
mod failures;
mod health;
mod hosts;
mod json;
mod layers;
mod listen;
mod metrics;
mod pages;
mod peer;
mod problem;
mod pulls;
mod routes;
mod serve;
mod state;
mod tls;

pub use error::WebError;
pub use listen::Socket;
pub use routes::openapi;
pub use serve::serve;

pub(crate) use auth::Visitor;
pub(crate) use peer::Peer;
pub(crate) use problem::Problem;
pub(crate) use state::App;
