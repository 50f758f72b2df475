//! The display of a measurement's progress.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use answers::TuningEvent;
use indicatif::{HumanDuration, ProgressBar, ProgressState};
use tuner::Observer;
use vocabulary::CampaignProgress;
use vocabulary::units::{format_counted, format_duration_up, format_seconds};

use crate::console::{Console, print_diagnostic};

/// A progress bar with an estimate of the remaining time, and warnings above it.
pub(crate) struct ProgressDisplay {
    bar: ProgressBar,
    /// Whether notes are printed about jobs, for lack of a bar.
    notes: bool,
    /// Jobs that notes have named, and whether they ran.
    announced_jobs: BTreeSet<(String, bool)>,
    /// Overridden settings that notes have named.
    set_aside: BTreeSet<String>,
    has_begun: bool,
    /// A clause that says how to give more time.
    budget: &'static str,
    /// The rest of the budget when the last launch began.
    budget_left: Option<Duration>,
    end: BudgetEnd,
}

/// The end of the budget, and thus of measuring, if it is known.
#[derive(Clone, Debug, Default)]
struct BudgetEnd(Arc<Mutex<Option<Instant>>>);

impl BudgetEnd {
    fn set(&self, end: Option<Instant>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = end;
    }

    /// An estimate of the remaining time, bounded by the end of the budget.
    fn limit_estimate(&self, estimate: Duration, now: Instant) -> Duration {
        let end = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let left = end.map(|end| end.saturating_duration_since(now));
        left.map_or(estimate, |left| left.min(estimate))
    }
}

impl ProgressDisplay {
    /// A bar on a terminal; elsewhere only warnings are shown.
    pub(crate) fn new(console: Console) -> Self {
        let template = "measuring [{bar:30}] {pos}/{len} measurements, {elapsed} so far, about {left} to go ({msg})";
        let bar = console.progress_bar(0, template);
        let end = BudgetEnd::default();
        let shown = end.clone();
        let left = move |state: &ProgressState, out: &mut dyn fmt::Write| {
            let left = shown.limit_estimate(state.eta(), Instant::now());
            // An error means that the terminal is gone.
            let _ = write!(out, "{:#}", HumanDuration(left));
        };
        bar.set_style(bar.style().with_key("left", left));
        Self {
            bar,
            notes: !console.is_quiet() && !console.shows_progress(),
            announced_jobs: BTreeSet::new(),
            set_aside: BTreeSet::new(),
            has_begun: false,
            budget: "a larger `budget` in the campaign continues from here",
            budget_left: None,
            end,
        }
    }

    /// A display for measurements that are not stored.
    pub(crate) fn without_store(console: Console) -> Self {
        let mut once = Self::new(console);
        once.budget = "a larger `--budget` gives more time";
        once
    }

    fn advance(&mut self, CampaignProgress { done, total }: CampaignProgress) {
        // Records of earlier launches are stored before the total is known.
        if total == 0 {
            return;
        }
        self.bar.set_length(total);
        self.bar.set_position(done);
        if !self.has_begun {
            self.has_begun = true;
            // Measurements of earlier runs would distort the estimate.
            self.bar.reset_eta();
            self.bar.enable_steady_tick(Duration::from_millis(250));
        }
    }

    /// Shows the state of a launch's job on the bar, or in a note when it begins to wait or to run.
    fn show_job(&mut self, number: u32, id: &str, runs: bool, what: &str) {
        let text = format!("launch {number}, job {id} {what}");
        if runs {
            // Waiting time would distort the estimate.
            self.bar.reset_eta();
            self.set_budget_end();
        }
        if self.note_once(id, runs) && self.notes {
            print_diagnostic("note", &text);
        }
        self.bar
            .set_message(files::quoted(&text, files::MOST_QUOTED));
    }

    /// Records that a job waits or runs. Returns whether a note should say so: not if one has, or if the job is known
    /// to run. One job may serve several launches.
    fn note_once(&mut self, id: &str, runs: bool) -> bool {
        let is_known = self.announced_jobs.contains(&(id.to_owned(), true));
        self.announced_jobs.insert((id.to_owned(), runs)) && !is_known
    }

    /// Sets the end of the budget, counted from now.
    fn set_budget_end(&self) {
        self.end.set(
            self.budget_left
                .and_then(|left| Instant::now().checked_add(left)),
        );
    }

    fn warn(&self, text: &str) {
        self.bar.suspend(|| print_diagnostic("warning", text));
    }
}

impl Drop for ProgressDisplay {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for ProgressDisplay {
    fn notice(&mut self, event: &TuningEvent) {
        match event {
            TuningEvent::Recovered { launches } => self.warn(&format!(
                "{} ended early; all measurements made before are kept",
                format_counted(*launches, "earlier launch")
            )),
            TuningEvent::Launch {
                number,
                progress,
                left_seconds,
            } => {
                let left = left_seconds.map(|left| Duration::try_from_secs_f64(left.max(0.0)));
                self.budget_left = left.map(|left| left.unwrap_or(Duration::MAX));
                self.set_budget_end();
                self.advance(*progress);
                self.bar.set_message(format!("launch {number}"));
            }
            TuningEvent::SetAside { what } => {
                for setting in what {
                    if self.set_aside.insert(setting.clone()) {
                        let note = format!("{setting} and is overridden for measuring");
                        self.bar.suspend(|| print_diagnostic("note", &note));
                    }
                }
            }
            TuningEvent::Queued { number, id, reason } => {
                let reason = reason.as_ref().map(|reason| format!(": {reason}"));
                let what = format!("waits{}", reason.unwrap_or_default());
                self.show_job(*number, id, false, &what);
            }
            // The batch system may report a job as running before its script has written the names of its nodes. The
            // script begins no launch before that.
            TuningEvent::Running { nodes, .. } if nodes.is_empty() => {}
            TuningEvent::Running { number, id, nodes } => {
                let what = format!("runs on {}", nodes.join(", "));
                self.show_job(*number, id, true, &what);
            }
            TuningEvent::WallTime { number } => self.warn(&format!(
                "launch {number} stopped when its job's wall time was nearly over; another job continues"
            )),
            TuningEvent::Stored { progress } => self.advance(*progress),
            TuningEvent::Failed {
                subject,
                candidate,
                kind,
                message,
            } => self.warn(&format!(
                "{candidate} failed in {subject} and is left out there ({kind}): {}",
                first_line(message)
            )),
            TuningEvent::Died { number, message } => self.warn(&format!(
                "launch {number} ended early: {}",
                first_line(message)
            )),
            TuningEvent::Replaces { path, library } => self.warn(&format!(
                "{path} was made for {library} by another campaign or for another library, and is replaced; to keep \
                 it, name other files under `output` in the campaign"
            )),
            TuningEvent::BudgetSpent {
                progress: CampaignProgress { done, total },
                left_seconds,
                needed_budget_seconds,
            } => {
                let state = left_seconds.map_or_else(
                    || "the budget is spent".to_owned(),
                    |left| {
                        let left = format_seconds(left);
                        format!("the rest of the budget, {left}, does not suffice for what is left,")
                    },
                );
                let needed = needed_budget_seconds.map_or_else(String::new, |seconds| {
                    let needed = format_duration_up(seconds);
                    format!("; at least `budget: {needed}` is needed to confirm all choices")
                });
                self.warn(&format!(
                    "{state} with {done} of {total} measurements made{needed}; {}",
                    self.budget
                ));
            }
        }
    }
}

/// The first line of a message, without the log that it may quote.
fn first_line(message: &str) -> &str {
    message.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimated_remaining_time_is_limited_by_the_rest_of_the_budget() {
        let (now, seconds) = (Instant::now(), Duration::from_secs);
        let end = BudgetEnd::default();
        assert_eq!(end.limit_estimate(seconds(660), now), seconds(660));
        end.set(Some(now + seconds(30)));
        assert_eq!(end.limit_estimate(seconds(660), now), seconds(30));
        assert_eq!(
            end.limit_estimate(seconds(660), now + seconds(20)),
            seconds(10)
        );
        assert_eq!(
            end.limit_estimate(seconds(660), now + seconds(40)),
            seconds(0)
        );
        assert_eq!(end.limit_estimate(seconds(5), now), seconds(5));
    }

    #[test]
    fn a_job_is_news_when_its_nodes_are_known() {
        let mut display = ProgressDisplay::new(Console::new(true));
        let running_on = |nodes: &[&str]| TuningEvent::Running {
            number: 1,
            id: "2".to_owned(),
            nodes: nodes.iter().map(|name| (*name).to_owned()).collect(),
        };
        display.notice(&running_on(&[]));
        assert!(display.announced_jobs.is_empty());
        display.notice(&running_on(&["n1"]));
        assert_eq!(display.announced_jobs, [("2".to_owned(), true)].into());
        assert!(!display.note_once("2", false));
    }

    #[test]
    fn a_launch_says_how_much_of_the_budget_is_left() {
        let mut display = ProgressDisplay::new(Console::new(true));
        let progress = CampaignProgress {
            done: 1,
            total: 100,
        };
        display.notice(&TuningEvent::Launch {
            number: 1,
            progress,
            left_seconds: Some(30.0),
        });
        let told = display
            .end
            .limit_estimate(Duration::from_secs(660), Instant::now());
        assert!(told <= Duration::from_secs(30), "{told:?}");
    }
}
