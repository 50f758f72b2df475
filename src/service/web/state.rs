//! The state that all handlers share.

use std::sync::Arc;

use axum::body::Bytes;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use printable::Plain;
use serde::Serialize;
use service::{Actor, ChannelKey, Release, ReleaseAction, ReleaseRequest, Service, ServiceError};
use tokio::sync::watch;

use crate::failures::Failures;
use crate::hosts::Hosts;
use crate::metrics::Metrics;
use crate::pools::{Pool, Pools};
use crate::pulls::Pulls;
use crate::results::Results;
use crate::shares::Shares;
use crate::usage_rate::UsageRate;
use crate::{Problem, WebError};

/// The most event streams at a time.
const STREAMS: usize = 512;
/// The most requests that are answered at a time behind a proxy, of all clients together.
const FORWARDED: usize = 2048;

/// The service and the state of its HTTP interface. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct App {
    pub(crate) service: Arc<Service>,
    pub(crate) shared: Arc<Shared>,
}

/// The state of the HTTP interface.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) hosts: Hosts,
    /// Wrong tokens, by peer.
    pub(crate) failures: Failures,
    /// Pulls that wait to be recorded.
    pub(crate) pulls: Pulls,
    pub(crate) metrics: Metrics,
    /// Places for event streams.
    pub(crate) streams: Shares,
    /// Places for requests behind a proxy, whose clients are not known by their connections.
    pub(crate) forwarded: Shares,
    /// Threads that may block.
    pub(crate) pools: Pools,
    /// What was made of tables.
    pub(crate) results: Results,
    /// The requests with lines about jobs.
    pub(crate) usage_rate: UsageRate,
    /// Becomes true when the service stops, which ends event streams.
    pub(crate) ending: watch::Receiver<bool>,
}

impl App {
    pub(crate) fn new(
        service: Arc<Service>,
        ending: watch::Receiver<bool>,
    ) -> Result<Self, WebError> {
        let shared = Shared {
            hosts: Hosts::from_configuration(service.configuration()),
            failures: Failures::default(),
            pulls: Pulls::default(),
            metrics: Metrics::new().map_err(WebError::Metrics)?,
            streams: Shares::new(STREAMS),
            forwarded: Shares::new(FORWARDED),
            pools: Pools::default(),
            results: Results::default(),
            usage_rate: UsageRate::default(),
            ending,
        };
        let shared = Arc::new(shared);
        Ok(Self { service, shared })
    }

    /// Whether browsers must send cookies over TLS only.
    pub(crate) fn is_secure(&self) -> bool {
        let configuration = self.service.configuration();
        configuration.tls.is_some() || configuration.behind_proxy
    }

    /// Runs `question` where nothing slow delays it ([`Pools::urgent`]): for authentication, readiness and pulls.
    ///
    /// # Errors
    /// Errors of the service; those of [`Pool::run`].
    pub(crate) async fn run_urgent<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Service) -> Result<T, ServiceError> + Send + 'static,
    ) -> Result<T, Problem> {
        self.run_in(&self.shared.pools.urgent, question).await
    }

    /// Runs `change` among those that are made at once ([`Pools::changes`]).
    ///
    /// # Errors
    /// Those of [`Self::run_urgent`].
    pub(crate) async fn run_change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Service) -> Result<T, ServiceError> + Send + 'static,
    ) -> Result<T, Problem> {
        self.run_in(&self.shared.pools.changes, change).await
    }

    /// Runs `change` among those that first read tables or campaigns ([`Pools::slow_changes`]).
    ///
    /// # Errors
    /// Those of [`Self::run_urgent`].
    pub(crate) async fn run_slow_change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Service) -> Result<T, ServiceError> + Send + 'static,
    ) -> Result<T, Problem> {
        self.run_in(&self.shared.pools.slow_changes, change).await
    }

    /// Makes a release. Rollbacks and withdrawals do not wait for the releases of new tables, whose gates are evaluated.
    ///
    /// # Errors
    /// Those of [`Service::make_release`] and [`Pool::run`].
    pub(crate) async fn make_release(
        &self,
        actor: Actor,
        key: ChannelKey,
        request: ReleaseRequest,
        expected: Option<u64>,
    ) -> Result<Release, Problem> {
        let pools = &self.shared.pools;
        let pool = match request.action {
            ReleaseAction::Release => &pools.slow_changes,
            ReleaseAction::Rollback | ReleaseAction::Withdraw => &pools.changes,
        };
        let make = move |service: &Service| service.make_release(&actor, &key, &request, expected);
        self.run_in(pool, make).await
    }

    /// Runs `question` among those that read rows and small files ([`Pools::reading`]).
    ///
    /// # Errors
    /// Those of [`Self::run_urgent`].
    pub(crate) async fn run_reading<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Service) -> Result<T, ServiceError> + Send + 'static,
    ) -> Result<T, Problem> {
        self.run_in(&self.shared.pools.reading, question).await
    }

    /// Runs `question` among those that take the processor for long ([`Pools::heavy`]).
    ///
    /// # Errors
    /// Those of [`Self::run_urgent`].
    pub(crate) async fn run_heavy<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Service) -> Result<T, ServiceError> + Send + 'static,
    ) -> Result<T, Problem> {
        self.run_in(&self.shared.pools.heavy, question).await
    }

    async fn run_in<T: Send + 'static>(
        &self,
        pool: &Pool,
        question: impl FnOnce(&Service) -> Result<T, ServiceError> + Send + 'static,
    ) -> Result<T, Problem> {
        let service = Arc::clone(&self.service);
        Ok(pool.run(move || question(&service)).await??)
    }

    /// Runs `question` as [`Self::run_reading`] does; the same thread writes the answer as JSON.
    ///
    /// # Errors
    /// Those of [`Self::run_urgent`].
    pub(crate) async fn read_as_json<T: Serialize>(
        &self,
        question: impl FnOnce(&Service) -> Result<T, ServiceError> + Send + 'static,
    ) -> Result<Encoded, Problem> {
        let text = self.run_reading(move |service| Ok(serde_json::to_string(&question(service)?)));
        let text = text.await?.map_err(|error| Problem::internal(&error))?;
        // Terminals show answers.
        Ok(Encoded(Plain(text).to_string().into()))
    }
}

/// An answer in JSON.
#[derive(Debug)]
pub(crate) struct Encoded(pub(crate) Bytes);

impl IntoResponse for Encoded {
    fn into_response(self) -> Response {
        let media = [(header::CONTENT_TYPE, "application/json")];
        (media, self.0).into_response()
    }
}
