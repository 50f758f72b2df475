//! The service over HTTP: the interface `/api/v1`, the pages, metrics. All it does is asked of [`service::Service`].
//!
//! [`serve`] accepts connections within limits; `routes` puts everything together; `layers` stands around all handlers;
//! `auth` says who asks; `problem` is what every error becomes.

mod api;
mod auth;
mod conditions;
mod error;
mod extract;
mod failures;
mod health;
mod hosts;
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
