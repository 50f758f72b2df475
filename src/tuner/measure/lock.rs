//! The lock on a campaign's launches: one colltune at a time.

use store::{Lease, Lock};

use crate::launch::{absolute, folder};
use crate::{MeasurementContext, TunerError};

/// The right to measure into a campaign's store and to start its launches.
pub(crate) struct CampaignLock {
    _lock: Lock,
    /// Where jobs go on without us, so that another host's colltune could follow them.
    lease: Option<Lease>,
}

impl CampaignLock {
    pub(crate) fn of(at: &MeasurementContext) -> Result<Self, TunerError> {
        // The lock's folder is created: not for a campaign that cannot be measured here.
        absolute(&at.campaign.output.store)?;
        let lock = Lock::acquire(at.store())?;
        let lease = match at.launcher.outlives() {
            true => Some(Lease::acquire(&folder(&at.campaign.output.store))?),
            false => None,
        };
        Ok(Self { _lock: lock, lease })
    }

    /// Checks that the lock is still ours.
    ///
    /// # Errors
    /// [`TunerError::LeaseLost`].
    pub(crate) fn check(&self) -> Result<(), TunerError> {
        match &self.lease {
            Some(lease) if lease.is_lost() => Err(TunerError::LeaseLost),
            _ => Ok(()),
        }
    }
}
