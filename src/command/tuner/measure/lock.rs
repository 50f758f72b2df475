//! The lock on a campaign's launches: one colltune at a time.

use store::{Lease, Lock};

use crate::launch::{absolute_utf8_path, launches_folder};
use crate::{MeasurementContext, TunerError};

/// The right to measure into a campaign's store and to start its launches.
pub(crate) struct CampaignLock {
    _lock: Lock,
    /// For jobs that continue without this process, so that another host does not follow them too.
    lease: Option<Lease>,
}

impl CampaignLock {
    pub(crate) fn acquire(at: &MeasurementContext) -> Result<Self, TunerError> {
        // Checked first, since the lock creates its folder, even for campaigns that cannot be measured here.
        absolute_utf8_path(&at.campaign.output.store)?;
        let lock = Lock::acquire(at.store_path())?;
        let lease = if at.launcher.has_outliving_jobs() {
            Some(Lease::acquire(&launches_folder(&at.campaign.output.store))?)
        } else {
            None
        };
        Ok(Self { _lock: lock, lease })
    }

    /// Checks that this process still has the lock.
    ///
    /// # Errors
    /// [`TunerError::LeaseLost`].
    pub(crate) fn check_still_held(&self) -> Result<(), TunerError> {
        match &self.lease {
            Some(lease) if lease.is_lost() => Err(TunerError::LeaseLost),
            _ => Ok(()),
        }
    }
}
