//! What the end of a launch means for those to come.

use std::time::Duration;

use campaign::LauncherConfig;
use launcher::BatchEnd;
use store::LaunchOutcome;
use vocabulary::Purpose;
use wire::{Finish, Plan};

use super::{AfterLaunch, Measuring, SubmittedJob};
use crate::agenda::{LITTLE_BUDGET_SECONDS, spent_seconds};
use crate::confirming::confirms;
use crate::launch::{Ended, OnInterrupt};
use crate::{TunerError, TuningEvent};

/// Launches in a row without a result after which it is no use to go on.
const PATIENCE: u32 = 3;

/// Jobs in a row that end before they begin with their launch after which nothing is submitted any more.
const MOST_UNBEGUN: u32 = 5;

/// Launches in a row that end with their job's wall time, and without a result: the first one may have got
/// what was left of nodes that were there already.
const MOST_SHORT: u32 = 2;

/// Launches in a row that came to nothing.
#[derive(Debug, Default)]
pub(super) struct Patience {
    fruitless: u32,
    unbegun: u32,
    short: u32,
}

impl Measuring<'_> {
    /// Writes down how a launch ended, and says what it means. `is_ours` if it was started by this run.
    pub(super) fn conclude(
        &mut self,
        plan: &Plan,
        ended: Result<Ended, TunerError>,
        fruitful: bool,
        goes_on: bool,
        is_ours: bool,
    ) -> Result<AfterLaunch, TunerError> {
        if goes_on {
            return self.leave(plan, ended?, is_ours);
        }
        self.store.end_launch(plan.launch, &outcome(&ended))?;
        if fruitful {
            self.patience = Patience::default();
        }
        let number = plan.launch;
        match ended? {
            Ended::Finished(Finish::Deadline) => return self.at_deadline(plan, fruitful),
            Ended::Finished(Finish::Complete) | Ended::GoesOn { .. } => {}
            Ended::ByCandidate { message } | Ended::Killed { message } => {
                let message = &message;
                self.observer.notice(TuningEvent::Died { number, message });
                if !fruitful {
                    self.lose_patience(message)?;
                }
            }
            Ended::Batch { end, message } => {
                let message = &message;
                self.observer.notice(TuningEvent::Died { number, message });
                if end == BatchEnd::Cancelled && is_ours {
                    return Err(TunerError::Cancelled);
                }
                if !fruitful {
                    self.batch_ended(end, message)?;
                }
            }
        }
        Ok(AfterLaunch::GoOn)
    }

    /// The launch goes on, whether or not the command was to wait for it.
    fn leave(
        &mut self,
        plan: &Plan,
        ended: Ended,
        is_new: bool,
    ) -> Result<AfterLaunch, TunerError> {
        let Ended::GoesOn { id, standing } = ended else {
            return Ok(AfterLaunch::Left);
        };
        self.left = Some(SubmittedJob {
            launch: plan.launch,
            id: id.clone(),
            standing: standing.clone(),
            is_new,
        });
        match self.watch {
            OnInterrupt::Follow => Err(TunerError::Left { id, standing }),
            OnInterrupt::Own | OnInterrupt::Submit => Ok(AfterLaunch::Left),
        }
    }

    /// The driver stopped in time, which was that of the budget or that of its job.
    fn at_deadline(&mut self, plan: &Plan, fruitful: bool) -> Result<AfterLaunch, TunerError> {
        let (campaign, library) = (&self.at.campaign, &self.at.library);
        let (whole, purpose) = match plan.purpose {
            Some(Purpose::Exploring)
                if self.watch != OnInterrupt::Own && confirms(campaign, &self.store, library)? =>
            {
                (campaign.exploring_seconds(), plan.purpose)
            }
            _ => (campaign.budget_seconds, None),
        };
        let left = whole - spent_seconds(&self.store, campaign, library, purpose)?;
        let is_by_wall_time = self.at.launcher.outlives() && left > LITTLE_BUDGET_SECONDS;
        match (is_by_wall_time, fruitful) {
            (true, true) => {
                let number = plan.launch;
                self.observer.notice(TuningEvent::WallTime { number });
                Ok(AfterLaunch::GoOn)
            }
            (true, false) => {
                self.lack_wall_time()?;
                Ok(AfterLaunch::GoOn)
            }
            (false, true) => Ok(AfterLaunch::GoOn),
            // What was left of the budget did not even suffice for starting up.
            (false, false) => Ok(AfterLaunch::NothingBegan),
        }
    }

    /// A batch system ended a launch before it had a result.
    fn batch_ended(&mut self, end: BatchEnd, message: &str) -> Result<(), TunerError> {
        match end {
            BatchEnd::NotBegun => {
                self.patience.unbegun += 1;
                if self.patience.unbegun < MOST_UNBEGUN {
                    return Ok(());
                }
                Err(TunerError::NeverBegun {
                    jobs: self.patience.unbegun,
                    last: message.to_owned(),
                })
            }
            BatchEnd::WallTime => self.lack_wall_time(),
            BatchEnd::Cancelled
            | BatchEnd::Preempted
            | BatchEnd::NodeFailed
            | BatchEnd::OutOfMemory
            | BatchEnd::Lost => self.lose_patience(message),
        }
    }

    fn lack_wall_time(&mut self) -> Result<(), TunerError> {
        self.patience.short += 1;
        if self.patience.short < MOST_SHORT {
            return Ok(());
        }
        let wall_time = match &self.at.campaign.launcher {
            LauncherConfig::Batch(options) => options.job.wall_time,
            LauncherConfig::Local(_) | LauncherConfig::Simulated(_) => Duration::ZERO,
        };
        Err(TunerError::ShortWallTime { wall_time })
    }

    fn lose_patience(&mut self, last: &str) -> Result<(), TunerError> {
        self.patience.fruitless += 1;
        if self.patience.fruitless < PATIENCE {
            return Ok(());
        }
        Err(TunerError::NoProgress {
            launches: self.patience.fruitless,
            last: last.to_owned(),
        })
    }
}

fn outcome(ended: &Result<Ended, TunerError>) -> LaunchOutcome {
    match ended {
        Ok(Ended::Finished(finish)) => (*finish).into(),
        Ok(
            Ended::ByCandidate { message }
            | Ended::Killed { message }
            | Ended::Batch { message, .. },
        ) => LaunchOutcome::Died {
            message: message.clone(),
        },
        Ok(Ended::GoesOn { .. }) | Err(TunerError::Interrupted) => LaunchOutcome::Interrupted,
        Err(error) => LaunchOutcome::Died {
            message: error.to_string(),
        },
    }
}
