//! What a table must meet before it is released.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{ChannelKey, Digest, Service, ServiceError};

/// A condition, and whether a table meets it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Gate {
    /// `readable`, `library`, `confirmed`, `validated`, `compared`.
    pub name: String,
    /// Whether it is met.
    pub state: GateState,
    /// Why, as a sentence; with a remedy where it is closed.
    pub reason: String,
}

/// Whether a gate lets a table pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum GateState {
    /// It is met.
    Open,
    /// It is not met.
    Closed,
    /// It is not met, and an administrator has passed over it, with a reason.
    Overridden,
}

impl Gate {
    /// Whether the table may pass.
    pub fn is_open(&self) -> bool {
        self.state != GateState::Closed
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.reason)
    }
}

impl Service {
    /// The gates of a release of a table to a channel, as they stand now: the table parses strictly and deploys some
    /// rule (`readable`); it was made for the channel's library and for the CPU of the channel's machine, as far as an
    /// earlier release or version tells (`library`); its deployed rules are confirmed (`confirmed`); a validation of this
    /// very digest on the machine within [`crate::Gating::validation_days`] found nothing significantly slower
    /// (`validated`); the difference to the released table was stored (`compared`).
    ///
    /// # Errors
    /// [`ServiceError::NotFound`] of machine or table.
    pub fn gates(&self, key: &ChannelKey, digest: &Digest) -> Result<Vec<Gate>, ServiceError> {
        todo!("{key:?} {digest}")
    }
}
