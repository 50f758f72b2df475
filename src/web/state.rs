//! What all handlers share.

use std::sync::Arc;

use axum::response::Result;
use service::{Service, ServiceError};

use crate::Problem;

/// The service and what belongs to its HTTP interface. Cheap to clone.
#[derive(Clone)]
pub(crate) struct App {
    pub(crate) service: Arc<Service>,
}

impl App {
    /// Asks the service on a thread that may block.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Service) -> Result<T, ServiceError> + Send + 'static,
    ) -> Result<T, Problem> {
        let service = Arc::clone(&self.service);
        let answer = tokio::task::spawn_blocking(move || question(&service)).await;
        let _ = answer;
        todo!()
    }
}
