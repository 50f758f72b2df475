//! The state that all handlers share.

use std::sync::Arc;

use service::{Service, ServiceError};
use tokio::sync::{Semaphore, watch};

use crate::failures::Failures;
use crate::hosts::Hosts;
use crate::json::Json;
use crate::metrics::Metrics;
use crate::pulls::Pulls;
use crate::{Problem, WebError};

/// The most event streams at a time.
const STREAMS: usize = 512;

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
    /// Permits for event streams.
    pub(crate) streams: Arc<Semaphore>,
    /// Becomes true when the service stops, which ends event streams.
    pub(crate) ending: watch::Receiver<bool>,
}

impl App {
    pub(crate) fn new(
        service: Arc<Service>,
        ending: watch::Receiver<bool>,
    ) -> Result<Self, WebError> {
        let shared = Shared {
            hosts: Hosts::of(service.configuration()),
            failures: Failures::default(),
            pulls: Pulls::default(),
            metrics: Metrics::new().map_err(WebError::Metrics)?,
            streams: Arc::new(Semaphore::new(STREAMS)),
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

    /// Runs `question` on a thread that may block.
    ///
    /// # Errors
    /// Errors of the service; 500 if it panics.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Service) -> Result<T, ServiceError> + Send + 'static,
    ) -> Result<T, Problem> {
        let service = Arc::clone(&self.service);
        match tokio::task::spawn_blocking(move || question(&service)).await {
            Ok(answer) => Ok(answer?),
            Err(error) => Err(Problem::internal(&error)),
        }
    }

    /// The answer of [`Self::ask`] as JSON.
    ///
    /// # Errors
    /// Those of [`Self::ask`].
    pub(crate) async fn json<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Service) -> Result<T, ServiceError> + Send + 'static,
    ) -> Result<Json<T>, Problem> {
        self.ask(question).await.map(Json)
    }
}
