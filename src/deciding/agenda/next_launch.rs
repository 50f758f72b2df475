//! The next launch of a campaign.

use campaign::{Campaign, LauncherConfig, TimeSlice};
use launcher::Allocation;
use vocabulary::{Purpose, Repetition};
use wire::PlannedTask;

use crate::confirming::Confirming;
use crate::search::FIRST_LOOK_MINIMUM;
use crate::spending::{
    LaunchWork, WorkBudget, confirming_seconds, exploring_seconds_left, remaining_slice_seconds,
    spent_seconds, unspent_seconds,
};
use crate::{Agenda, History};

/// The precision of a first look's median, as a share; enough to recognise candidates that are far behind.
const FIRST_LOOK_PRECISION: f64 = 0.1;

/// What follows from an agenda and the time that is left.
#[derive(Clone, Debug, PartialEq)]
pub enum NextStep {
    /// A launch is made.
    Launch(NextLaunch),
    /// Everything is measured.
    Done,
    /// Something is left to measure, and no time for it.
    OutOfTime,
}

/// A launch to be made: what it measures, and how long.
#[derive(Clone, Debug, PartialEq)]
pub struct NextLaunch {
    /// Its purpose.
    pub purpose: Purpose,
    /// Its tasks, at least one.
    pub tasks: Vec<PlannedTask>,
    /// The conditions under which a candidate is repeated no further.
    pub repetition: Repetition,
    /// The time after its start from which no task is started, in seconds.
    pub deadline_seconds: f64,
}

impl Agenda {
    /// The next launch, if anything is left and there is time for it.
    pub fn next_step(&self, campaign: &Campaign, history: &History) -> NextStep {
        let tasks = tasks_on_same_nodes(campaign, self.next_tasks());
        if tasks.is_empty() {
            // Exploring may have ended for lack of time.
            let progress = self.count_progress();
            return if progress.done < progress.total {
                NextStep::OutOfTime
            } else {
                NextStep::Done
            };
        }
        let deadline_seconds = self.purpose_seconds_left(campaign, history);
        if deadline_seconds <= 0.0 {
            return NextStep::OutOfTime;
        }
        NextStep::Launch(NextLaunch {
            purpose: self.next_purpose(),
            repetition: self.repetition_rule(campaign, &tasks, deadline_seconds),
            tasks,
            deadline_seconds,
        })
    }

    /// The rule for ending repetitions, chosen so that the rest of the budget suffices for the rest of the agenda.
    pub(crate) fn repetition_rule(
        &self,
        campaign: &Campaign,
        tasks: &[PlannedTask],
        left_seconds: f64,
    ) -> Repetition {
        let mut repetition = campaign.repetition_for_turns(self.launch_turns());
        if self.is_first_look(tasks) {
            repetition.minimum = repetition.minimum.min(FIRST_LOOK_MINIMUM);
            repetition.precision = repetition.precision.max(FIRST_LOOK_PRECISION);
        }
        if campaign.repetitions.slice != TimeSlice::Auto {
            return repetition;
        }
        let planned_seconds = match (&self.confirming, self.keeps_time) {
            (Some(_), _) => confirming_seconds(campaign),
            (None, true) => campaign.exploring_seconds(),
            (None, false) => campaign.budget_seconds,
        };
        let (launches, turns) = match &self.confirming {
            None => (self.launches, self.launch_turns()),
            Some(confirming) => (confirming.launches, confirming.turns),
        };
        let work = LaunchWork {
            launches,
            turns,
            launches_left: self.launches_left(),
        };
        let budget = WorkBudget {
            planned_seconds,
            left_seconds,
        };
        repetition.slice_seconds = remaining_slice_seconds(campaign, budget, work);
        repetition
    }

    /// The time left for launches of the agenda's purpose, in seconds.
    pub(crate) fn purpose_seconds_left(&self, campaign: &Campaign, history: &History) -> f64 {
        let left = unspent_seconds(history, campaign);
        match self.next_purpose() {
            Purpose::Exploring if self.keeps_time => {
                left.min(exploring_seconds_left(history, campaign))
            }
            _ => left,
        }
    }

    /// The smallest budget that suffices to confirm everything, estimated from the times so far, in seconds; `None` if
    /// nothing is left to confirm.
    pub fn needed_budget(&self, campaign: &Campaign, history: &History) -> Option<f64> {
        let open = |confirming: &&Confirming| !confirming.trials.is_empty();
        let confirming = self.confirming.as_ref().filter(open)?;
        let spent = |purpose| spent_seconds(history, campaign, purpose);
        let needed = spent(None) + confirming.seconds;
        if self.is_explored() {
            return Some(needed);
        }
        // Exploring takes its share of a larger budget.
        let confirmed = spent(Some(Purpose::Confirming)) + confirming.seconds;
        let share = confirming_seconds(campaign) / campaign.budget_seconds;
        Some(needed.max(confirmed / share))
    }
}

/// The tasks that run on the same nodes: all of them, or, if each number of nodes has jobs of its own, those on the
/// fewest nodes.
fn tasks_on_same_nodes(campaign: &Campaign, mut tasks: Vec<PlannedTask>) -> Vec<PlannedTask> {
    if has_separate_jobs(campaign) {
        let fewest = tasks.iter().map(|task| task.work.shape().nodes).min();
        tasks.retain(|task| Some(task.work.shape().nodes) == fewest);
    }
    tasks
}

/// Whether each number of nodes has jobs of its own.
pub fn has_separate_jobs(campaign: &Campaign) -> bool {
    matches!(
        &campaign.launcher,
        LauncherConfig::Batch(batch) if batch.allocation == Allocation::Separate
    )
}
