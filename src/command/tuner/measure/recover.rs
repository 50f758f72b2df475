//! Unfinished launches of earlier runs.
//!
//! A launch in a batch job that still runs is resumed from its files, and judged as if it had been followed.

use answers::TuningEvent;
use store::LaunchOutcome;
use vocabulary::CampaignProgress;
use wire::Plan;

use super::{AfterLaunch, Measuring};
use crate::TunerError;
use crate::launch::RunningLaunch;
use crate::node_request::NodeRequest;

impl Measuring<'_> {
    /// Follows launches of earlier runs that still run, and stores the records of those that ended. False if one of
    /// them continues without this command.
    pub(super) fn recover_launches(&mut self) -> Result<bool, TunerError> {
        let mut ended_early = 0;
        for plan in self.store.unfinished_launches()? {
            if self.at.launcher.has_outliving_jobs() {
                match self.resume_launch(&plan)? {
                    Some(AfterLaunch::Left) => return Ok(false),
                    Some(_) => continue,
                    None => {}
                }
            }
            self.store_ended_launch(&plan)?;
            ended_early += 1;
        }
        if ended_early > 0 {
            self.observer.notice(&TuningEvent::Recovered {
                launches: ended_early,
            });
        }
        Ok(true)
    }

    fn resume_launch(&mut self, plan: &Plan) -> Result<Option<AfterLaunch>, TunerError> {
        let progress = self.campaign_progress()?;
        let nodes = NodeRequest::to_resume(&self.at.campaign, plan, self.watch);
        let mut launch = RunningLaunch::new(plan, &mut self.store, self.observer, progress);
        let followed = launch.resume(self.at, nodes, self.watch, self.stop);
        let has_result = launch.has_result;
        self.suspects.append(&mut launch.suspects);
        let concluded =
            followed.map(|followed| self.conclude_launch(plan, followed, has_result, false));
        concluded.transpose()
    }

    fn store_ended_launch(&mut self, plan: &Plan) -> Result<(), TunerError> {
        let taken = RunningLaunch::new(
            plan,
            &mut self.store,
            self.observer,
            CampaignProgress::default(),
        )
        .store_new_records();
        // A damaged spool loses only the records behind the damage.
        let outcome = match taken {
            Ok(()) => LaunchOutcome::Interrupted,
            Err(error) => LaunchOutcome::Died {
                message: error.to_string(),
            },
        };
        Ok(self.store.end_launch(plan.launch, &outcome)?)
    }
}
