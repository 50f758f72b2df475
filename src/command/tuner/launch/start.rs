//! The comparison of a launch's start with what was asked for.
//!
//! Other ranks than those asked for, such as worlds of one rank that do not find each other, end the command, and no
//! candidate has failed. All verbs that measure do this.

use vocabulary::CommShape;
use wire::LaunchStart;

use super::RunningLaunch;
use crate::TunerError;

impl RunningLaunch<'_> {
    /// Whether the driver has reported its start.
    pub(super) fn has_started(&self) -> bool {
        self.start.is_some()
    }

    /// Checks that the ranks are those that were asked for: all of them, in one world, on the right nodes. Otherwise no
    /// candidate is to blame for what follows, and nothing that follows is a measurement of the campaign.
    ///
    /// # Errors
    /// [`TunerError::OtherStart`]; [`TunerError::SeveralStarts`] if another world has started with the same plan.
    pub(super) fn check_start(&self, start: &LaunchStart) -> Result<(), TunerError> {
        let log = self.plan.spool.with_extension("log");
        // The same record may be read again.
        if self.start.as_ref().is_some_and(|first| first != start) {
            return Err(TunerError::SeveralStarts { log });
        }
        let world = start.environment.world();
        let needed = self.plan.tasks.iter().map(|task| task.work.shape());
        let other: Option<CommShape> = match self.asked {
            Some(asked) => (!world.is_exactly(asked)).then_some(asked),
            None => needed
                .filter(|shape| !world.has_room_for(*shape))
                .max_by_key(|shape| shape.ranks()),
        };
        other.map_or(Ok(()), |asked| {
            Err(TunerError::OtherStart { asked, world, log })
        })
    }
}
