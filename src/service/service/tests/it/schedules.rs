//! Schedules, without the queue: when they submit their tasks. The clock is the test's own.

use answers::ScheduledChannel;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use service::{
    Digest, ExpectedRevision, Overrides, PauseRequest, ReleaseAction, ReleaseChannel, Schedule,
    ScheduleDefinition, ScheduleEvents, ScheduleTag, Scope, ServiceError, Slice, Task, TaskFilter,
    TaskKind, TaskRequest,
};

use crate::bed::{Bed, MACHINE, actor, choosing};
use crate::fixture::admin;

const CAMPAIGN: &str = "name: small\nlauncher: simulated\nshapes: [2x2]\ncollectives: [bcast]\nsizes: 64\nbudget: 1m\n";

/// A service in Berlin with a campaign.
fn berlin() -> Bed {
    let bed = Bed::with(|configuration| {
        configuration.time_zone = TimeZone::get("Europe/Berlin").unwrap();
        let tuning = configuration.folder.join("tuning");
        std::fs::create_dir_all(&tuning).unwrap();
        std::fs::write(tuning.join("small.yaml"), CAMPAIGN).unwrap();
    });
    bed.set_clock("2026-03-27T12:00:00Z");
    bed
}

impl Bed {
    fn set_clock(&self, time: &str) {
        self.service().stop_clock_at(time.parse().unwrap());
    }

    /// Sets the clock, and lets schedules submit their tasks.
    fn pass_to(&self, time: &str) {
        self.set_clock(time);
        self.service().submit_due_tasks().unwrap();
    }

    fn put(&self, name: &str, definition: &ScheduleDefinition) -> Result<Schedule, ServiceError> {
        let put =
            self.service()
                .put_schedule(&admin(), name, definition, ExpectedRevision::Missing);
        put.map(|(schedule, is_new)| {
            assert!(is_new);
            schedule
        })
    }

    /// The tasks, oldest first.
    fn tasks(&self) -> Vec<Task> {
        let all = Slice {
            before: None,
            limit: Some(200),
        };
        let page = self
            .service()
            .list_tasks(&TaskFilter::default(), all)
            .unwrap();
        let mut tasks = page.items;
        tasks.reverse();
        tasks
    }

    /// Ends all tasks that wait, as if they had been carried out at the clock's time.
    fn end_tasks(&self, time: &str) {
        let at: Timestamp = time.parse().unwrap();
        let end = "UPDATE task SET state = 'done', ended_at = ?1 WHERE state = 'waiting'";
        self.database().execute(end, [at.as_millisecond()]).unwrap();
    }

    fn audit(&self, action: &str) -> Vec<Value> {
        let page = self.service().read_audit(&admin(), Slice::default());
        let rows = page.unwrap().items.into_iter();
        let rows = rows.filter(|row| row.action == action);
        rows.map(|row| serde_json::json!(row)).collect()
    }
}

fn tuning(times: &str) -> ScheduleDefinition {
    ScheduleDefinition {
        task: TaskRequest {
            kind: TaskKind::Tune,
            machine: None,
            campaign: Some("tuning/small.yaml".to_owned()),
            table: None,
            deployment: None,
            overrides: Overrides::default(),
        },
        channel: None,
        times: Some(times.to_owned()).filter(|times| !times.is_empty()),
        events: ScheduleEvents::default(),
        windows: Vec::new(),
    }
}

/// A check of the table that production has.
fn checking(times: &str) -> ScheduleDefinition {
    ScheduleDefinition {
        task: TaskRequest {
            kind: TaskKind::Check,
            ..tuning("").task
        },
        channel: Some(ScheduledChannel {
            library: "openmpi-4.1.4".to_owned(),
            channel: ReleaseChannel::Production,
        }),
        ..tuning(times)
    }
}

fn because(reason: &str) -> PauseRequest {
    PauseRequest {
        reason: reason.to_owned(),
    }
}

#[test]
fn a_nightly_task_is_submitted_once_in_each_night_also_when_clocks_change() {
    for (start, days) in [("2026-03-27T12:00:00Z", 4), ("2026-10-23T12:00:00Z", 4)] {
        let bed = berlin();
        bed.set_clock(start);
        bed.put("nightly", &tuning("30 2 * * *")).unwrap();
        let start: Timestamp = start.parse().unwrap();
        let mut submitted_at = Vec::new();
        for quarter in 0..days * 24 * 4 {
            let now = start + SignedDuration::from_mins(15 * quarter);
            let before = bed.tasks().len();
            bed.pass_to(&now.to_string());
            if bed.tasks().len() > before {
                submitted_at.push(now);
            }
            bed.end_tasks(&now.to_string());
        }
        assert_eq!(submitted_at.len(), 4, "{submitted_at:?}");
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let dates = submitted_at
            .iter()
            .map(|at| at.to_zoned(zone.clone()).date());
        let dates: Vec<_> = dates.collect();
        assert!(
            dates
                .windows(2)
                .all(|pair| pair[0].tomorrow().unwrap() == pair[1]),
            "{dates:?}"
        );
    }
}

#[test]
fn times_that_the_service_missed_are_made_up_for_by_one_task() {
    let mut bed = berlin();
    let made = bed.put("nightly", &tuning("0 2 * * *")).unwrap();
    assert_eq!(made.next_at, Some("2026-03-28T01:00:00Z".parse().unwrap()));
    assert_eq!(made.time_zone, "Europe/Berlin");
    bed.pass_to("2026-03-28T00:59:59Z");
    assert_eq!(bed.tasks(), []);
    // A week without the service.
    bed = bed.restarted();
    bed.pass_to("2026-04-04T12:00:00Z");
    bed.pass_to("2026-04-04T12:00:30Z");
    let tasks = bed.tasks();
    assert_eq!(tasks.len(), 1, "{tasks:?}");
    assert_eq!(tasks[0].schedule.as_deref(), Some("nightly"));
    assert_eq!(tasks[0].actor, "schedule nightly");
    let submitted = bed.audit("task.submit");
    let why = submitted[0]["details"]["why"].as_str().unwrap();
    assert!(why.contains("2026-03-28 02:00 (Europe/Berlin)"), "{why}");
    bed.end_tasks("2026-04-04T13:00:00Z");
    bed.pass_to("2026-04-05T00:00:00Z");
    assert_eq!(bed.tasks().len(), 2);
    let shown = bed.service().read_schedule("nightly").unwrap();
    assert_eq!(shown.last_task, Some(2));
}

#[test]
fn while_its_task_has_not_ended_a_schedule_submits_no_other_one() {
    let bed = berlin();
    bed.put("hourly", &tuning("0 * * * *")).unwrap();
    bed.pass_to("2026-03-27T13:00:00Z");
    for hour in ["14", "15", "16"] {
        bed.pass_to(&format!("2026-03-27T{hour}:00:10Z"));
    }
    assert_eq!(bed.tasks().len(), 1);
    // The times meanwhile are left out.
    bed.end_tasks("2026-03-27T16:30:00Z");
    bed.pass_to("2026-03-27T16:31:00Z");
    assert_eq!(bed.tasks().len(), 1);
    bed.pass_to("2026-03-27T17:00:00Z");
    assert_eq!(bed.tasks().len(), 2);
}

#[test]
fn a_clock_that_is_set_back_does_not_silence_a_schedule() {
    let bed = berlin();
    bed.put("hourly", &tuning("0 * * * *")).unwrap();
    bed.pass_to("2036-03-27T13:00:00Z");
    bed.end_tasks("2036-03-27T13:00:00Z");
    assert_eq!(bed.tasks().len(), 1);
    bed.pass_to("2026-03-27T13:10:00Z");
    assert_eq!(bed.tasks().len(), 1);
    bed.pass_to("2026-03-27T14:00:00Z");
    assert_eq!(bed.tasks().len(), 2);
}

#[test]
fn a_pause_has_an_author_and_a_reason_and_its_times_are_left_out() {
    let bed = berlin();
    let made = bed.put("nightly", &tuning("0 2 * * *")).unwrap();
    let ann = actor("ann", &[Scope::Submit]);
    let service = bed.service();
    let refused = service.pause_schedule(&ann, "nightly", &because(" "));
    assert!(matches!(
        refused,
        Err(ServiceError::Invalid {
            field: "reason",
            ..
        })
    ));
    let paused = service.pause_schedule(&ann, "nightly", &because("maintenance"));
    let paused = paused.unwrap();
    assert!(paused.revision > made.revision);
    assert_eq!(paused.next_at, None);
    let pause = paused.paused.unwrap();
    assert_eq!((&*pause.by, &*pause.reason), ("ann", "maintenance"));
    let again = service.pause_schedule(&ann, "nightly", &because("again"));
    assert!(matches!(again, Err(ServiceError::Conflict(why)) if why.contains("by ann")));
    bed.pass_to("2026-03-29T12:00:00Z");
    assert_eq!(bed.tasks(), []);
    let resumed = service.resume_schedule(&ann, "nightly", &because("over"));
    assert_eq!(resumed.unwrap().paused, None);
    bed.pass_to("2026-03-29T12:01:00Z");
    assert_eq!(bed.tasks(), []);
    bed.pass_to("2026-03-30T00:00:00Z");
    assert_eq!(bed.tasks().len(), 1);
    let resumed_again = service.resume_schedule(&ann, "nightly", &because("over"));
    assert!(matches!(resumed_again, Err(ServiceError::Conflict(_))));
    assert_eq!(bed.audit("schedule.pause").len(), 1);
    assert_eq!(bed.audit("schedule.resume")[0]["details"]["reason"], "over");
}

#[test]
fn after_three_failures_in_a_row_a_schedule_pauses_itself_and_says_so() {
    let mut bed = berlin();
    // Production has no table.
    bed.put("nightly", &checking("0 2 * * *")).unwrap();
    for (day, failures) in [("28", 1), ("29", 2), ("30", 3), ("31", 3)] {
        bed.pass_to(&format!("2026-03-{day}T06:00:00Z"));
        bed.pass_to(&format!("2026-03-{day}T06:01:00Z"));
        let schedule = bed.service().read_schedule("nightly").unwrap();
        assert_eq!(schedule.failures, failures, "{day}");
        assert_eq!(schedule.paused.is_some(), failures == 3, "{day}");
    }
    let paused = bed.service().read_schedule("nightly").unwrap().paused;
    let paused = paused.unwrap();
    assert_eq!(paused.by, "service");
    assert!(paused.reason.contains("3 failures in a row"), "{paused:?}");
    assert!(paused.reason.contains("has no table"), "{paused:?}");
    assert_eq!(bed.audit("schedule.pause")[0]["actor"], "service");
    let told = |tested: &Bed| {
        let problems = tested.service().list_problems();
        problems
            .iter()
            .any(|problem| problem.contains("the schedule `nightly` has paused itself"))
    };
    assert!(told(&bed));
    bed = bed.restarted();
    bed.pass_to("2026-03-31T07:00:00Z");
    assert!(told(&bed) && bed.tasks().is_empty());
    // With a table it goes on.
    let digest = bed.validated(&choosing("chain"));
    bed.release(&digest).unwrap();
    let resumed = bed
        .service()
        .resume_schedule(&admin(), "nightly", &because("released"));
    assert_eq!(resumed.unwrap().failures, 0);
    assert!(!told(&bed));
}

#[test]
fn a_schedule_of_a_channel_measures_the_table_that_is_released_then() {
    let bed = berlin();
    let with_campaign = ScheduleDefinition {
        task: TaskRequest {
            campaign: Some("tuning/small.yaml".to_owned()),
            ..checking("").task
        },
        ..checking("0 2 * * *")
    };
    bed.put("nightly", &with_campaign).unwrap();
    let mut digests = Vec::new();
    for (night, algorithm) in [("28", "chain"), ("29", "binomial")] {
        let digest = bed.validated(&choosing(algorithm));
        bed.release(&digest).unwrap();
        bed.pass_to(&format!("2026-03-{night}T06:00:00Z"));
        bed.end_tasks(&format!("2026-03-{night}T07:00:00Z"));
        digests.push(Some(digest));
    }
    bed.act(ReleaseAction::Withdraw, None, None).unwrap();
    bed.pass_to("2026-03-30T06:00:00Z");
    let checks = bed.tasks().into_iter();
    let checks = checks.filter(|task| task.request.kind == TaskKind::Check);
    let tables: Vec<_> = checks.map(|task| task.request.table).collect();
    assert_eq!(tables, digests);
    assert_eq!(bed.service().read_schedule("nightly").unwrap().failures, 1);
}

/// The tables of checks that were submitted after the first `count` tasks.
fn checked_after(bed: &Bed, count: usize) -> Vec<Option<Digest>> {
    let tasks = bed.tasks().into_iter().skip(count);
    let checks = tasks.filter(|task| task.request.kind == TaskKind::Check);
    checks.map(|task| task.request.table).collect()
}

#[test]
fn a_suspicion_measures_the_table_before_the_released_one_as_a_control() {
    let bed = berlin();
    let suspecting = ScheduleDefinition {
        task: TaskRequest {
            campaign: Some("tuning/small.yaml".to_owned()),
            ..checking("").task
        },
        events: ScheduleEvents {
            suspicion: true,
            fingerprint: true,
            ..ScheduleEvents::default()
        },
        ..checking("")
    };
    bed.put("suspecting", &suspecting).unwrap();
    let happen = |what: &str, time: &str| {
        let count = bed.tasks().len();
        let update = "UPDATE schedule SET event = ?1";
        bed.database().execute(update, [what]).unwrap();
        bed.pass_to(time);
        let checked = checked_after(&bed, count);
        bed.end_tasks(time);
        checked
    };
    let suspicion = "the newest points of a trend suggest a change";
    let first = bed.validated(&choosing("chain"));
    bed.release(&first).unwrap();
    // There is no table before it.
    let alone = happen(suspicion, "2026-03-28T06:00:00Z");
    assert_eq!(alone, [Some(first.clone())]);
    let second = bed.validated(&choosing("binomial"));
    bed.release(&second).unwrap();
    let both = [Some(second.clone()), Some(first)];
    assert_eq!(happen(suspicion, "2026-03-28T08:00:00Z"), both);
    // The audit says why, newest first.
    let why = bed.audit("task.submit")[0]["details"]["why"].to_string();
    assert!(why.contains("as a control"), "{why}");
    let last_task = bed.service().read_schedule("suspecting").unwrap().last_task;
    assert_eq!(last_task, Some(bed.tasks().len() as u64 - 1));
    // Other events need none.
    let changed = happen("the fingerprint of openmpi changed", "2026-03-28T10:00:00Z");
    assert_eq!(changed, [Some(second)]);
}

#[test]
fn a_campaign_is_tuned_again_when_its_last_tuning_is_too_old() {
    let bed = berlin();
    let definition = ScheduleDefinition {
        events: ScheduleEvents {
            age_days: Some(10),
            ..ScheduleEvents::default()
        },
        ..tuning("")
    };
    let made = bed.put("old", &definition).unwrap();
    assert_eq!(made.next_at, None);
    for (time, count) in [
        // It was never tuned.
        ("2026-03-27T12:00:01Z", 1),
        ("2026-03-28T12:00:00Z", 1),
        ("2026-04-06T11:59:59Z", 1),
        ("2026-04-06T12:00:02Z", 2),
    ] {
        bed.pass_to(time);
        assert_eq!(bed.tasks().len(), count, "{time}");
        bed.end_tasks("2026-03-27T12:00:02Z");
    }
    // The second one was not carried out, and the next one comes a day later.
    bed.pass_to("2026-04-07T11:59:59Z");
    assert_eq!(bed.tasks().len(), 2);
    bed.pass_to("2026-04-07T12:00:03Z");
    assert_eq!(bed.tasks().len(), 3);
    // Somebody cancels it, later.
    bed.set_clock("2026-04-09T18:00:00Z");
    let at: Timestamp = "2026-04-09T18:00:00Z".parse().unwrap();
    let cancel = "UPDATE task SET state = 'cancelled', ended_at = ?1 WHERE id = 3";
    bed.database()
        .execute(cancel, [at.as_millisecond()])
        .unwrap();
    bed.pass_to("2026-04-10T17:59:59Z");
    assert_eq!(bed.tasks().len(), 3);
    bed.pass_to("2026-04-10T18:00:01Z");
    assert_eq!(bed.tasks().len(), 4);
}

/// Two files with the same campaign have one row, which has the path of the one that was submitted first.
#[test]
fn the_age_of_a_tuning_is_that_of_the_file_although_another_one_has_the_same_campaign() {
    let bed = berlin();
    std::fs::write(bed.folder().join("tuning/copy.yaml"), CAMPAIGN).unwrap();
    let definition = |file: &str| {
        let mut definition = tuning("");
        definition.task.campaign = Some(format!("tuning/{file}.yaml"));
        definition.events.age_days = Some(10);
        definition
    };
    for file in ["small", "copy"] {
        bed.put(file, &definition(file)).unwrap();
    }
    bed.pass_to("2026-03-27T12:00:01Z");
    assert_eq!(bed.tasks().len(), 2);
    bed.end_tasks("2026-03-27T12:00:02Z");
    bed.pass_to("2026-03-30T12:00:00Z");
    assert_eq!(bed.tasks().len(), 2);
}

#[test]
fn schedules_that_do_the_same_work_wait_for_one_of_them_that_nothing_holds_back() {
    let bed = berlin();
    let windowed = ScheduleDefinition {
        windows: vec!["22:00-06:00".to_owned()],
        ..tuning("0 15 * * *")
    };
    bed.put("a", &windowed).unwrap();
    for name in ["b", "c", "d"] {
        bed.put(name, &tuning("0 15 * * *")).unwrap();
    }
    bed.pass_to("2026-03-27T14:00:00Z");
    let followed = || -> Vec<Option<u64>> {
        let tasks = bed.tasks().into_iter();
        tasks.map(|task| task.follows).collect()
    };
    assert_eq!(followed(), [None, None, Some(2), Some(2)]);
    // A person's tuning has other results.
    let service = bed.service();
    let by_hand = service.submit_task(&admin(), &tuning("").task, None);
    assert_eq!(by_hand.unwrap().task.follows, None);
    // Once a schedule is held back, others go on without it.
    service
        .pause_schedule(&admin(), "b", &because("maintenance"))
        .unwrap();
    assert_eq!(followed(), [None, None, None, Some(3), None]);
    let replaced = ScheduleDefinition {
        windows: vec!["22:00-06:00".to_owned()],
        ..tuning("0 15 * * *")
    };
    service
        .put_schedule(&admin(), "c", &replaced, ExpectedRevision::Any)
        .unwrap();
    assert_eq!(followed(), [None, None, None, None, None]);
}

/// The trigger stands for somebody who changes the schedule after the service has read it.
#[test]
fn a_schedule_that_is_changed_meanwhile_submits_nothing() {
    let bed = berlin();
    bed.put("nightly", &tuning("0 2 * * *")).unwrap();
    let meanwhile = "CREATE TRIGGER meanwhile AFTER INSERT ON task BEGIN \
                     UPDATE schedule SET revision = revision + 1; END";
    bed.database().execute(meanwhile, []).unwrap();
    bed.pass_to("2026-03-28T06:00:00Z");
    assert_eq!(bed.tasks(), []);
    assert_eq!(bed.audit("task.submit").len(), 0);
    let schedule = bed.service().read_schedule("nightly").unwrap();
    assert_eq!((schedule.failures, schedule.last_task), (0, None));
    bed.database()
        .execute("DROP TRIGGER meanwhile", [])
        .unwrap();
    bed.pass_to("2026-03-28T06:01:00Z");
    assert_eq!(bed.tasks().len(), 1);
}

#[test]
fn schedules_are_replaced_and_removed_only_as_expected() {
    let bed = berlin();
    let service = bed.service();
    let put = |expected| service.put_schedule(&admin(), "nightly", &tuning("0 2 * * *"), expected);
    for expected in [ExpectedRevision::Any, ExpectedRevision::At(1)] {
        let refused = put(expected);
        assert!(matches!(
            refused,
            Err(ServiceError::Outdated { found: None, .. })
        ));
    }
    let (first, is_new) = put(ExpectedRevision::Missing).unwrap();
    assert!(is_new);
    let refused = put(ExpectedRevision::Missing);
    assert!(matches!(
        refused,
        Err(ServiceError::Outdated { found: Some(_), .. })
    ));
    let (second, is_second_new) = put(ExpectedRevision::At(first.revision)).unwrap();
    assert!(!is_second_new && second.revision > first.revision);
    assert!(put(ExpectedRevision::At(first.revision)).is_err());
    let remove = |expected| service.remove_schedule(&admin(), "nightly", expected);
    assert!(matches!(
        remove(ExpectedRevision::At(first.revision)),
        Err(ServiceError::Outdated { .. })
    ));
    bed.pass_to("2026-03-28T06:00:00Z");
    let waits = remove(ExpectedRevision::Any);
    assert!(matches!(waits, Err(ServiceError::Conflict(why)) if why.contains("task 1")));
    bed.end_tasks("2026-03-28T06:00:00Z");
    // A restored schedule may have the revision of another one.
    let shown = service.read_schedule("nightly").unwrap();
    let tag = ScheduleTag::from_schedule(&shown);
    assert_eq!(tag.to_string().parse(), Ok(tag));
    assert!(tag.to_string().starts_with(&format!("{}-", shown.revision)));
    let mut other = shown.clone();
    other.definition.times = Some("0 3 * * *".to_owned());
    let refused_tag = remove(ExpectedRevision::Same(ScheduleTag::from_schedule(&other)));
    assert!(matches!(refused_tag, Err(ServiceError::Outdated { .. })));
    remove(ExpectedRevision::Same(tag)).unwrap();
    assert!(matches!(
        remove(ExpectedRevision::Any),
        Err(ServiceError::NotFound { .. })
    ));
    // A schedule of the same name is another one, also for those who know the former one.
    let (third, _) = put(ExpectedRevision::Missing).unwrap();
    assert!(third.revision > second.revision);
    assert_eq!(bed.tasks()[0].schedule.as_deref(), Some("nightly"));
}

#[test]
fn schedules_that_could_not_work_are_refused() {
    let bed = berlin();
    let good = tuning("0 2 * * *");
    let checks = checking("0 2 * * *");
    let with = |change: &dyn Fn(&mut ScheduleDefinition), from: &ScheduleDefinition| {
        let mut changed = from.clone();
        change(&mut changed);
        changed
    };
    let digest = bed.added(&choosing("chain"));
    for (definition, field) in [
        (with(&|d| d.times = None, &good), "times"),
        (
            with(&|d| d.times = Some("0 2 * *".to_owned()), &good),
            "times",
        ),
        (
            with(&|d| d.times = Some("0 0 31 2 *".to_owned()), &good),
            "times",
        ),
        (
            with(&|d| d.windows = vec!["late".to_owned()], &good),
            "windows",
        ),
        (
            with(&|d| d.windows = vec!["01:00-02:00".to_owned(); 21], &good),
            "windows",
        ),
        (
            with(&|d| d.channel.clone_from(&checks.channel), &good),
            "channel",
        ),
        (with(&|d| d.task.campaign = None, &good), "campaign"),
        (
            with(&|d| d.task.overrides.budget = Some("no".to_owned()), &good),
            "overrides",
        ),
        (
            with(&|d| d.events.age_days = Some(0), &good),
            "events.age_days",
        ),
        (
            with(&|d| d.events.age_days = Some(9), &checks),
            "events.age_days",
        ),
        (with(&|d| d.channel = None, &checks), "channel"),
        (
            with(&|d| d.task.table = Some(digest.clone()), &checks),
            "channel",
        ),
        (
            with(
                &|d| d.channel.as_mut().unwrap().library = "mpi".to_owned(),
                &checks,
            ),
            "channel",
        ),
    ] {
        match bed.put("nightly", &definition) {
            Err(ServiceError::Invalid { field: found, .. }) => assert_eq!(found, field),
            other => panic!("{field}: {other:?}"),
        }
    }
    for name in ["", "Nightly", "a/b", ".hidden", &"a".repeat(65)] {
        let refused = bed.put(name, &good);
        assert!(
            matches!(refused, Err(ServiceError::Invalid { field: "name", .. })),
            "{name}"
        );
    }
    let missing = with(
        &|d| d.task.campaign = Some("tuning/none.yaml".to_owned()),
        &good,
    );
    assert!(matches!(
        bed.put("nightly", &missing),
        Err(ServiceError::NotFound { .. })
    ));
    assert_eq!(bed.service().list_schedules(None, None).unwrap(), []);
}

#[test]
fn only_submitters_of_the_machine_schedule() {
    let bed = berlin();
    let service = bed.service();
    let reader = actor("reader", &[Scope::Read, Scope::Publish]);
    let mut elsewhere = actor("elsewhere", &[Scope::Submit]);
    elsewhere.machines = vec!["other".to_owned()];
    bed.put("nightly", &tuning("0 2 * * *")).unwrap();
    let mut of_machine = tuning("0 3 * * *");
    of_machine.task.machine = Some(MACHINE.to_owned());
    for stranger in [&reader, &elsewhere] {
        let results = [
            service
                .put_schedule(stranger, "nightly", &of_machine, ExpectedRevision::Any)
                .map(drop),
            service.remove_schedule(stranger, "nightly", ExpectedRevision::Any),
            service
                .pause_schedule(stranger, "nightly", &because("x"))
                .map(drop),
            service
                .resume_schedule(stranger, "nightly", &because("x"))
                .map(drop),
        ];
        for result in results {
            assert!(
                matches!(result, Err(ServiceError::Forbidden { .. })),
                "{result:?}"
            );
        }
    }
    let of_others = service.list_schedules(Some(&["other".to_owned()]), None);
    assert_eq!(of_others.unwrap(), []);
    assert_eq!(
        service.list_schedules(None, Some(MACHINE)).unwrap().len(),
        1
    );
}
