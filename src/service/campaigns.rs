//! The campaigns of the service's folder.

use campaign::Campaign;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{Service, ServiceError};

/// A campaign in the folder.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct CampaignEntry {
    /// Its path in the folder, with `/` between its parts.
    pub path: String,
    /// Its name, if it can be read.
    pub name: Option<String>,
    /// The machines on which it may run.
    pub machines: Vec<String>,
    /// Why it cannot be read, with line and column.
    pub problem: Option<String>,
}

impl Service {
    /// The campaigns that may run on some machine, by path.
    ///
    /// # Errors
    /// If the folder cannot be listed.
    pub fn campaigns(&self) -> Result<Vec<CampaignEntry>, ServiceError> {
        todo!()
    }

    /// Reads a campaign of the folder. Paths that lead out of it, by `..` or by links, name no campaign.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`] also where no machine may run it; [`ServiceError::Campaign`].
    pub fn campaign(&self, path: &str) -> Result<(Campaign, String), ServiceError> {
        todo!("{path}")
    }
}
