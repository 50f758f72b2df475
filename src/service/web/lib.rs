//! The service over HTTP: the interface `/api/v1`, the pages and metrics. [`service::Service`] does the work.
//!
//! [`serve_requests`] accepts connections within limits; `routes` holds all routes; `layers` wraps all handlers; `auth`
//! and `sessions` authenticate visitors; every error becomes a `problem`. `pools` keeps apart what may not wait for each other, and
//! `shares` leaves room for other clients; `results` keeps what is made of tables.

mod api;
mod auth;
mod conditions;
mod document;
mod error;
mod extract;
mod facts;
mod failures;
mod health;
mod hosts;
mod json;
mod layers;
mod listen;
mod local;
mod metrics;
mod pages;
mod peer;
mod pools;
mod problem;
mod pulls;
mod results;
mod routes;
mod serve;
mod sessions;
mod shares;
mod state;
mod tls;
mod usage_rate;

pub use error::WebError;
pub use listen::Socket;
pub use routes::openapi_document;
pub use serve::serve_requests;

pub(crate) use auth::Visitor;
pub(crate) use peer::Peer;
pub(crate) use problem::Problem;
pub(crate) use state::App;
