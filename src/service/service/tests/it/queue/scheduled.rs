//! Tasks of schedules in the queue: windows, pauses, failures, node-hours.

use service::{
    ExpectedRevision, PauseRequest, ScheduleDefinition, ScheduleEvents, Slice, Task, TaskFilter,
    TaskKind, TaskRequest, TaskState,
};

use super::fixture::{Bed, admin, tune, wait_for};

impl Bed {
    fn set_clock(&mut self, time: &str) {
        self.service().stop_clock_at(time.parse().unwrap());
    }

    fn schedule(&mut self, name: &str, times: &str, windows: &[&str]) {
        let definition = ScheduleDefinition {
            task: tune("small"),
            channel: None,
            times: Some(times.to_owned()),
            events: ScheduleEvents::default(),
            windows: windows.iter().map(|&window| window.to_owned()).collect(),
        };
        let expected = ExpectedRevision::Missing;
        let put = self
            .service()
            .put_schedule(&admin(), name, &definition, expected);
        put.unwrap();
    }

    /// The newest task, once there are so many.
    #[track_caller]
    fn newest_of(&mut self, count: usize) -> Task {
        let service = self.service();
        let list = || {
            let all = service.list_tasks(&TaskFilter::default(), Slice::default());
            all.unwrap().items
        };
        wait_for("the task", || list().len() == count);
        list().remove(0)
    }
}

#[test]
fn a_task_waits_for_a_window_of_its_schedule() {
    let mut bed = Bed::new("end");
    bed.set_clock("2026-11-27T12:00:00Z");
    bed.schedule("late", "0 15 * * *", &["22:00-06:00"]);
    bed.set_clock("2026-11-27T15:00:00Z");
    let task = bed.newest_of(1);
    let waits = bed.until(task.id, |task| task.reason.contains("window"));
    assert_eq!(
        waits.reason,
        "waits for a window of the schedule late; the next one opens at 2026-11-27 22:00 (UTC)"
    );
    // A task of a person does not wait with it.
    let by_hand = bed.tune("small");
    assert_eq!(bed.ended(by_hand).follows, None);
    bed.set_clock("2026-11-27T22:00:00Z");
    assert_eq!(bed.ended(task.id).state, TaskState::Done);
    assert_eq!(bed.calls().len(), 2);
}

#[test]
fn a_paused_schedule_holds_its_waiting_task() {
    let mut bed = Bed::new("end");
    bed.set_clock("2026-11-27T12:00:00Z");
    bed.schedule("late", "0 15 * * *", &["22:00-06:00"]);
    bed.set_clock("2026-11-27T15:00:00Z");
    let task = bed.newest_of(1);
    let pause = PauseRequest {
        reason: "maintenance".to_owned(),
    };
    bed.service()
        .pause_schedule(&admin(), "late", &pause)
        .unwrap();
    bed.set_clock("2026-11-27T22:30:00Z");
    let held = bed.until(task.id, |task| task.reason.contains("paused"));
    assert!(held.reason.ends_with(": maintenance"), "{held:?}");
    bed.service()
        .resume_schedule(&admin(), "late", &pause)
        .unwrap();
    assert_eq!(bed.ended(task.id).state, TaskState::Done);
}

#[test]
fn three_failed_tasks_in_a_row_pause_their_schedule() {
    // The second one succeeds, and so ends the row that the first one began.
    let mut bed = Bed::new("[ $n -eq 2 ] && end && exit 0; echo broken >&2; exit 2");
    bed.set_clock("2026-11-01T12:00:00Z");
    bed.schedule("nightly", "0 2 * * *", &[]);
    for (night, failures) in [(2, 1), (3, 0), (4, 1), (5, 2), (6, 3)] {
        bed.set_clock(&format!("2026-11-{night:02}T02:00:00Z"));
        let task = bed.newest_of(night - 1);
        bed.ended(task.id);
        let schedule = bed.service().read_schedule("nightly").unwrap();
        assert_eq!(schedule.failures, failures, "{night}");
        assert_eq!(schedule.paused.is_some(), failures == 3, "{night}");
    }
    let paused = bed.service().read_schedule("nightly").unwrap().paused;
    let reason = paused.unwrap().reason;
    assert!(
        reason.starts_with("3 failures in a row; the last: task 5 failed:"),
        "{reason}"
    );
    let service = bed.service();
    wait_for("the problem", || {
        let problems = service.list_problems();
        problems
            .iter()
            .any(|problem| problem.contains("`nightly` has paused itself"))
    });
    bed.set_clock("2026-11-07T02:00:00Z");
    service.submit_due_tasks().unwrap();
    bed.newest_of(5);
}

#[test]
fn a_schedule_without_node_hours_says_so_and_goes_on_next_month() {
    let mut bed = Bed::new("end");
    bed.configuration.machines[0].node_hours = Some(0.5);
    let first = bed.tune("small");
    let ended_at = bed.ended(first).ended_at.unwrap();
    bed.stop();
    let database = rusqlite::Connection::open(bed.path("state/service.db")).unwrap();
    database
        .execute("UPDATE task SET node_seconds = 1800", [])
        .unwrap();
    drop(database);
    bed.set_clock(&ended_at.to_string());
    bed.schedule("minutely", "* * * * *", &[]);
    let later = ended_at + jiff::SignedDuration::from_secs(60);
    let is_same_month = later.strftime("%m").to_string() == ended_at.strftime("%m").to_string();
    if is_same_month {
        bed.set_clock(&later.to_string());
        let task = bed.newest_of(2);
        let waits = bed.until(task.id, |task| task.reason.contains("node-hours"));
        assert_eq!(waits.state, TaskState::Waiting);
    }
    let next_month = ended_at + jiff::SignedDuration::from_hours(32 * 24);
    bed.set_clock(&next_month.to_string());
    let task = bed.newest_of(2);
    assert_eq!(bed.ended(task.id).state, TaskState::Done);
}

/// A store that has all measurements of a campaign would make every later tuning of it an empty one.
#[test]
fn each_tuning_of_a_schedule_has_a_store_of_its_own_and_so_measures_again() {
    let mut bed = Bed::new("case $1 in tune) end;; *) exit 2;; esac");
    let by_hand = bed.tune("small");
    bed.ended(by_hand);
    bed.set_clock("2026-11-01T12:00:00Z");
    bed.schedule("nightly", "0 2 * * *", &[]);
    let store = |tested: &Bed, task: u64| {
        let file = tested.path(&format!("state/tasks/{task}/campaign.yaml"));
        let campaign = campaign::Campaign::load(&file).unwrap();
        campaign.output.store.to_string_lossy().into_owned()
    };
    for (night, count) in [(2, 2), (3, 3)] {
        bed.set_clock(&format!("2026-11-{night:02}T02:00:00Z"));
        let task = bed.newest_of(count);
        assert_eq!(bed.ended(task.id).state, TaskState::Done);
    }
    assert!(!store(&bed, 1).contains("task-"), "{}", store(&bed, 1));
    for task in [2, 3] {
        let own = store(&bed, task);
        assert!(own.starts_with(&format!(".colltune/task-{task}-")), "{own}");
    }
    assert_eq!(bed.calls().len(), 3);
}

#[test]
fn a_table_that_a_schedule_made_is_measured_with_its_own_store() {
    let mut bed = Bed::new("case $1 in tune) end;; *) exit 2;; esac");
    bed.set_clock("2026-11-01T12:00:00Z");
    bed.schedule("nightly", "0 2 * * *", &[]);
    bed.set_clock("2026-11-02T02:00:00Z");
    let task = bed.newest_of(1);
    let made = bed.ended(task.id).made.expect("a table");
    let validate = TaskRequest {
        kind: TaskKind::Validate,
        campaign: None,
        table: Some(made),
        ..tune("small")
    };
    let validated = bed.submit(&validate).task.id;
    bed.ended(validated);
    let [tuned, measured] = [1, 2].map(|id| bed.read(&format!("state/tasks/{id}/campaign.yaml")));
    assert_eq!(measured, tuned);
    assert!(tuned.contains(".colltune/task-1-"), "{tuned}");
}
