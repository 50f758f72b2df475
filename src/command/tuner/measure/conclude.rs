//! Consequences of a launch's end for the launches after it.

use std::time::Duration;

use agenda::{LITTLE_BUDGET_SECONDS, confirms_choices, spent_seconds};
use answers::{SubmittedJob, TuningEvent};
use campaign::LauncherConfig;
use launcher::{BatchEnd, JobState, RecordedState};
use store::LaunchOutcome;
use vocabulary::Purpose;
use wire::{Finish, Plan};

use super::{AfterLaunch, Measuring};
use crate::TunerError;
use crate::history::read_launches;
use crate::launch::{FollowedLaunch, LaunchEnd, OnInterrupt};
use crate::launch_state::name_launch_state;

/// The number of consecutive launches without a result after which measuring ends.
const MOST_FRUITLESS: u32 = 3;

/// The number of consecutive jobs that end before their launch begins after which no more are submitted.
const MOST_UNBEGUN: u32 = 5;

/// The number of consecutive launches that reach their job's wall time without a result after which measuring ends. The
/// first may have got a job whose time was almost over.
const MOST_SHORT: u32 = 2;

/// Numbers of consecutive launches without a result, by reason.
#[derive(Debug, Default)]
pub(super) struct Streaks {
    fruitless: u32,
    unbegun: u32,
    short: u32,
}

impl Measuring<'_> {
    /// Records the end of a launch, if it has ended, and returns what follows. `is_ours` says whether this run started
    /// it.
    pub(super) fn conclude_launch(
        &mut self,
        plan: &Plan,
        followed: FollowedLaunch,
        has_result: bool,
        is_ours: bool,
    ) -> Result<AfterLaunch, TunerError> {
        // The store keeps what goes on as unfinished, so that a later command takes it up.
        let ended = match followed {
            FollowedLaunch::Ended(ended) => ended,
            FollowedLaunch::GoesOn { id, standing } => {
                return self.leave_launch(plan, id, standing, is_ours);
            }
            FollowedLaunch::LostSight(error) => return Err(error),
        };
        self.store
            .end_launch(plan.launch, &outcome_to_record(&ended))?;
        if has_result {
            self.streaks = Streaks::default();
        }
        let number = plan.launch;
        match ended? {
            LaunchEnd::Finished(Finish::Deadline) => return self.handle_deadline(plan, has_result),
            LaunchEnd::Finished(Finish::Complete) => {}
            LaunchEnd::Died { end, message } => {
                self.observer.notice(&TuningEvent::Died {
                    number,
                    message: message.clone(),
                });
                if end == Some(BatchEnd::Cancelled) && is_ours {
                    return Err(TunerError::Cancelled);
                }
                if !has_result {
                    self.handle_missing_result(end, &message)?;
                }
            }
        }
        Ok(AfterLaunch::GoOn)
    }

    /// Leaves a launch that continues; an error if the command was to wait for it.
    fn leave_launch(
        &mut self,
        plan: &Plan,
        id: String,
        standing: JobState,
        is_new: bool,
    ) -> Result<AfterLaunch, TunerError> {
        self.left = Some(SubmittedJob {
            launch: plan.launch,
            id: id.clone(),
            state: name_launch_state(&RecordedState::Current(standing.clone())),
            is_new,
        });
        match self.watch {
            OnInterrupt::Follow => Err(TunerError::Left { id, standing }),
            OnInterrupt::Own | OnInterrupt::Submit => Ok(AfterLaunch::Left),
        }
    }

    /// Handles a launch that the driver ended at its deadline, that of the budget or of its job.
    fn handle_deadline(
        &mut self,
        plan: &Plan,
        has_result: bool,
    ) -> Result<AfterLaunch, TunerError> {
        let campaign = &self.at.campaign;
        let history = read_launches(&self.store, &self.at.library)?;
        let (whole, purpose) = match plan.purpose {
            Some(Purpose::Exploring)
                if self.watch != OnInterrupt::Own && confirms_choices(campaign, &history) =>
            {
                (campaign.exploring_seconds(), plan.purpose)
            }
            _ => (campaign.budget_seconds, None),
        };
        let left = whole - spent_seconds(&history, campaign, purpose);
        let is_by_wall_time = self.at.launcher.has_outliving_jobs() && left > LITTLE_BUDGET_SECONDS;
        match (is_by_wall_time, has_result) {
            (true, true) => {
                let number = plan.launch;
                self.observer.notice(&TuningEvent::WallTime { number });
                Ok(AfterLaunch::GoOn)
            }
            (true, false) => {
                self.count_short_launch()?;
                Ok(AfterLaunch::GoOn)
            }
            (false, true) => Ok(AfterLaunch::GoOn),
            // The rest of the budget did not suffice for the start of the launch.
            (false, false) => Ok(AfterLaunch::NothingBegan),
        }
    }

    /// Handles a launch that ended before it had a result.
    fn handle_missing_result(
        &mut self,
        end: Option<BatchEnd>,
        message: &str,
    ) -> Result<(), TunerError> {
        match end {
            Some(BatchEnd::NotBegun) => {
                self.streaks.unbegun += 1;
                if self.streaks.unbegun < MOST_UNBEGUN {
                    return Ok(());
                }
                Err(TunerError::NeverBegun {
                    jobs: self.streaks.unbegun,
                    last: message.to_owned(),
                })
            }
            Some(BatchEnd::WallTime) => self.count_short_launch(),
            // It may still wait or run, and another one would run beside it.
            Some(BatchEnd::Lost) => Err(TunerError::LostJob {
                last: message.to_owned(),
            }),
            Some(
                BatchEnd::Cancelled
                | BatchEnd::Preempted
                | BatchEnd::NodeFailed
                | BatchEnd::OutOfMemory,
            )
            | None => {
                self.streaks.fruitless += 1;
                if self.streaks.fruitless < MOST_FRUITLESS {
                    return Ok(());
                }
                Err(TunerError::NoProgress {
                    launches: self.streaks.fruitless,
                    last: message.to_owned(),
                })
            }
        }
    }

    fn count_short_launch(&mut self) -> Result<(), TunerError> {
        self.streaks.short += 1;
        if self.streaks.short < MOST_SHORT {
            return Ok(());
        }
        let wall_time = match &self.at.campaign.launcher {
            LauncherConfig::Batch(options) => options.job.wall_time,
            LauncherConfig::Local(_) | LauncherConfig::Simulated(_) => Duration::ZERO,
        };
        Err(TunerError::ShortWallTime { wall_time })
    }
}

fn outcome_to_record(ended: &Result<LaunchEnd, TunerError>) -> LaunchOutcome {
    match ended {
        Ok(LaunchEnd::Finished(finish)) => (*finish).into(),
        Ok(LaunchEnd::Died { message, .. }) => LaunchOutcome::Died {
            message: message.clone(),
        },
        Err(TunerError::Interrupted) => LaunchOutcome::Interrupted,
        Err(error) => LaunchOutcome::Died {
            message: error.to_string(),
        },
    }
}
