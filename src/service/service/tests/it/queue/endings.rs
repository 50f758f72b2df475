//! The endings of child processes.

use std::time::Duration;

use service::{TaskKind, TaskRequest, TaskState};

use super::fixture::{Bed, admin, is_alive, tune, wait_for};

/// Checks a tune with a child that runs the script: its last state, the number of times that it began, and its reason.
#[track_caller]
fn check(script: &str, state: TaskState, attempts: u32, reason: &str) {
    let mut bed = Bed::new(script);
    // The second pause is long.
    bed.haste = 1000;
    let id = bed.tune("small");
    let task = bed.ended(id);
    assert_eq!((task.state, task.attempts), (state, attempts), "{task:?}");
    assert!(task.reason.contains(reason), "{task:?}");
    assert_eq!(task.made.is_some(), state == TaskState::Done, "{task:?}");
    assert_eq!(bed.calls().len() as u32, attempts);
}

#[test]
fn exit_codes_become_states() {
    use TaskState::{Done, Failed};
    check("end", Done, 1, "measurements made: 4 of 4");
    check(
        "echo 'error: no such key' >&2; exit 2",
        Failed,
        1,
        "no such key",
    );
    check("exit 4", Failed, 1, "exit code 4");
    check("end; exit 1", Failed, 1, "exit code 1");
    check("true", Failed, 1, "without an outcome");
    check(
        "echo 'error: no mpirun' >&2; exit 3",
        Failed,
        3,
        "no mpirun (3 times in a row)",
    );
    check("[ $n -gt 1 ] || exit 3; end", Done, 2, "");
    check("[ $n -gt 4 ] || exit 130; end", Done, 5, "");
    check("[ $n -gt 2 ] || kill -9 $$; end", Done, 3, "");
    check("kill -9 $$", Failed, 3, "signal 9");
    check(
        "echo '{\"event\":\"outcome\",\"outcome\":{\"table\":\"none.yaml\"}}'",
        Failed,
        1,
        "none.yaml",
    );
    check(
        "echo damaged > tables/small.yaml; end",
        Failed,
        1,
        "be added",
    );
}

#[test]
fn failures_count_only_without_progress_between_them() {
    let stored =
        r#"echo "{\"event\":\"stored\",\"progress\":{\"done\":$n,\"total\":9}}"; sleep 0.1"#;
    let script = format!("{stored}\n[ $n -gt 5 ] || exit 3; end");
    let mut bed = Bed::new(&script);
    let id = bed.tune("small");
    let task = bed.ended(id);
    assert_eq!(
        (task.state, task.attempts),
        (TaskState::Done, 6),
        "{task:?}"
    );
}

#[test]
fn a_missing_executable_is_tried_again() {
    let mut bed = Bed::new("end");
    bed.haste = 1000;
    std::fs::remove_file(bed.path("colltune")).unwrap();
    let id = bed.tune("small");
    let task = bed.ended(id);
    assert_eq!(
        (task.state, task.attempts),
        (TaskState::Failed, 3),
        "{task:?}"
    );
    assert!(task.reason.contains("could not be started"), "{task:?}");
}

#[test]
fn results_of_validations_are_stored() {
    let outcome = r#"{"deployment":"colltune","slower":1,"broken":1,"faster":2,"too_few_launches":1,"points":[{},{},{},{},{},{}]}"#;
    let held = r#"{"holds":true,"points":[{"regression":false,"broken":null}]}"#;
    let slower = r#"{"holds":false,"slower_machine":true,"library":"openmpi-4.1.4","machine":{"cpu":"c","kernel":"6.1"},"points":[{"regression":true,"collective":"bcast","nodes":1,"ppn":2,"bytes":64,"operators":"any","place":"measured","chosen":"bcast/chain","seconds":2e-6,"default_seconds":3e-6}]}"#;
    let mut bed = Bed::new(&format!(
        "case $1 in tune) end;;\nvalidate) echo '{{\"event\":\"outcome\",\"outcome\":{outcome}}}'; exit 1;;\n\
         check) if [ $n -lt 4 ]; then echo '{{\"event\":\"outcome\",\"outcome\":{held}}}';\n\
         else echo '{{\"event\":\"outcome\",\"outcome\":{slower}}}'; exit 5; fi;; esac"
    ));
    let id = bed.tune("small");
    let made = bed.ended(id).made.unwrap();
    let of_table = |kind| TaskRequest {
        kind,
        machine: None,
        campaign: None,
        table: Some(made.clone()),
        deployment: None,
        overrides: service::Overrides::default(),
    };
    let validate = bed.submit(&of_table(TaskKind::Validate)).task.id;
    let task = bed.ended(validate);
    assert_eq!((task.state, task.exit_code), (TaskState::Done, Some(1)));
    assert!(
        task.reason
            .ends_with("or fails, at 2 of 5 points, 1 not judged (deployment `colltune`)"),
        "{task:?}"
    );
    let check = bed.submit(&of_table(TaskKind::Check)).task.id;
    assert!(bed.ended(check).reason.contains("holds"));
    let slower_check = bed.submit(&of_table(TaskKind::Check)).task.id;
    let slower_task = bed.ended(slower_check);
    assert_eq!(
        (slower_task.state, slower_task.exit_code),
        (TaskState::Done, Some(5))
    );
    let became = "the library or the machine became slower, at 1 of 1 point";
    assert_eq!(slower_task.reason, became);
    // Its point begins a series.
    let listed_series = bed
        .service()
        .list_series(None, Some("local"), service::Slice::default())
        .unwrap();
    let [series] = &listed_series.items[..] else {
        panic!("{listed_series:?}");
    };
    assert_eq!(series.describe(), "bcast 1x2 64: bcast/chain");
    assert_eq!((&*series.library, &*series.via), ("openmpi", "driver"));
    let trend = bed.service().read_trend(series.id).unwrap();
    assert_eq!(
        (trend.points.len(), trend.points[0].task),
        (1, slower_check)
    );
    assert_eq!(trend.epochs[0].measured.kernel, "6.1");
    assert_eq!((trend.suspected_since, trend.findings), (None, vec![]));
    let levels = bed.service().list_levels(None, Some("local")).unwrap();
    assert_eq!((levels.len(), levels[0].series), (1, 1), "{levels:?}");
    let kept = bed.service().list_validations("local", &made).unwrap();
    let told: Vec<_> = kept
        .iter()
        .map(|kept| {
            (
                kept.task,
                kept.slower,
                kept.faster,
                kept.unjudged,
                kept.points,
            )
        })
        .collect();
    // A check is no validation, which gates require.
    assert_eq!(told, [(validate, 2, 2, 1, 6)]);
    // One that cannot be read hides no other one.
    let unreadable = r#"{"deployment":"of_later_version","too_few_launches":1}"#;
    let database = rusqlite::Connection::open(bed.path("state/service.db")).unwrap();
    let changed = database.execute("UPDATE validation SET details = ?1", [unreadable]);
    assert_eq!(changed, Ok(1));
    let listed = bed.service().list_validations("local", &made).unwrap();
    assert_eq!(
        (listed.len(), listed[0].slower, listed[0].unjudged),
        (1, 2, 0)
    );
    let table = bed.calls()[1].clone();
    let table = table.strip_prefix("validate ").unwrap();
    let (table, arguments) = table.split_once(' ').unwrap();
    assert!(
        arguments.ends_with(" --deployment colltune --events"),
        "{arguments}"
    );
    assert_eq!(
        std::fs::read_to_string(table).unwrap(),
        bed.read("tables/small.yaml")
    );
}

/// A check that could not decide, because time was up or other work was running, has measured points.
#[test]
fn a_check_that_ends_undecided_adds_points_to_trends() {
    let point = |bytes: u32| {
        format!(
            r#"{{"collective":"bcast","nodes":1,"ppn":2,"bytes":{bytes},"operators":"any","place":"measured","chosen":"bcast/chain","seconds":2e-6,"default_seconds":3e-6}}"#
        )
    };
    let outcome = |warnings: &str| {
        let points = [point(64), point(128)].join(",");
        format!(
            r#"{{"library":"openmpi-4.1.4","machine":{{"cpu":"c","kernel":"6.1"}},"warnings":[{warnings}],"points":[{points}]}}"#
        )
    };
    let mut bed = Bed::new(&format!(
        "case $1 in tune) end;;\n\
         check) [ $n -lt 5 ] && w='' || w='\"other work was running\"'\n\
         echo '{{\"event\":\"outcome\",\"outcome\":{}}}' | sed \"s/WARNINGS/$w/\"; exit 3;; esac",
        outcome("WARNINGS")
    ));
    // The second pause is long.
    bed.haste = 1000;
    let tuned = bed.tune("small");
    let made = bed.ended(tuned).made.unwrap();
    let request = TaskRequest {
        kind: TaskKind::Check,
        campaign: None,
        table: Some(made),
        ..tune("small")
    };
    let mut newest = Vec::new();
    let checks = [(); 2].map(|()| {
        let id = bed.submit(&request).task.id;
        let task = bed.ended(id);
        assert_eq!(
            (task.state, task.exit_code, task.attempts),
            (TaskState::Failed, Some(3), 3),
            "{task:?}"
        );
        let levels = bed.service().list_levels(None, None).unwrap();
        assert_eq!((levels.len(), levels[0].points), (1, 2), "{levels:?}");
        newest.push(levels[0].newest_at);
        id
    });
    // What was aggregated after the first check was forgotten with the second one, whose points are not compared.
    assert!(newest[0] < newest[1], "{newest:?}");
    let listed = bed
        .service()
        .list_series(None, Some("local"), service::Slice::default())
        .unwrap();
    assert_eq!(listed.items.len(), 2, "{listed:?}");
    for series in &listed.items {
        let points = bed.service().read_trend(series.id).unwrap().points;
        let points: Vec<_> = points
            .iter()
            .map(|measured| (measured.task, measured.busy))
            .collect();
        // Each task has one point, however often it was tried.
        assert_eq!(points, [(checks[0], false), (checks[1], true)]);
    }
}

#[test]
fn a_task_measures_the_deployment_that_it_names() {
    let mut bed = Bed::new("case $1 in tune) end;; *) exit 2;; esac");
    let id = bed.tune("small");
    let made = bed.ended(id).made.unwrap();
    let request = |deployment| TaskRequest {
        kind: TaskKind::Validate,
        campaign: None,
        table: Some(made.clone()),
        deployment,
        ..tune("small")
    };
    let asked = [Some(table::Deployment::Library), None];
    let ids = asked.map(|deployment| bed.submit(&request(deployment)).task.id);
    for (task_id, deployment) in ids.into_iter().zip(["library", "colltune"]) {
        let task = bed.ended(task_id);
        // Neither waits for the other, as it does different work.
        assert_eq!(task.follows, None, "{task:?}");
        let expected = format!(" --deployment {deployment} --events");
        assert!(bed.calls().iter().any(|call| call.ends_with(&expected)));
    }
    let report = TaskRequest {
        kind: TaskKind::Report,
        deployment: asked[0],
        ..tune("small")
    };
    let refused = bed.service().submit_task(&admin(), &report, None);
    assert!(refused.unwrap_err().to_string().contains("deployment"));
}

#[test]
fn a_report_is_written_to_the_folder_of_its_task() {
    let mut bed = Bed::new("true");
    let request = TaskRequest {
        kind: TaskKind::Report,
        ..tune("small")
    };
    let id = bed.submit(&request).task.id;
    let task = bed.ended(id);
    assert_eq!(task.state, TaskState::Done, "{task:?}");
    let report = bed.path("state/tasks/1/report.html");
    assert_eq!(task.outcome.unwrap()["report"], report.to_str().unwrap());
    let expected = format!(
        "report .colltune/small.db --format html --quiet --output {}",
        report.display()
    );
    assert_eq!(bed.calls(), [expected]);
}

#[test]
fn a_cancelled_child_is_interrupted_and_then_killed() {
    let polite =
        "trap 'echo interrupted > asked; exit 130' INT; touch begun; while :; do sleep 0.05; done";
    let mut bed = Bed::new(polite);
    let id = bed.tune("small");
    bed.until_there("begun");
    bed.service().cancel_task(&admin(), id).unwrap();
    let task = bed.ended(id);
    assert_eq!(
        (task.state, task.exit_code),
        (TaskState::Cancelled, None),
        "{task:?}"
    );
    assert!(task.node_seconds > 0.0, "{task:?}");
    bed.until_there("asked");
    assert_eq!(
        bed.service().cancel_task(&admin(), id).unwrap().state,
        TaskState::Cancelled
    );

    // Its descendant ends as well.
    let stubborn =
        "trap '' INT; sleep 100 & echo $! > child; touch begun; while :; do sleep 0.05; done";
    let mut stubborn_bed = Bed::new(stubborn);
    let stubborn_id = stubborn_bed.tune("small");
    stubborn_bed.until_there("begun");
    stubborn_bed
        .service()
        .cancel_task(&admin(), stubborn_id)
        .unwrap();
    assert_eq!(stubborn_bed.ended(stubborn_id).state, TaskState::Cancelled);
    assert!(!is_alive(
        stubborn_bed.read("child").trim().parse().unwrap()
    ));
}

#[test]
fn a_service_that_stops_interrupts_tasks_that_measure_here_and_continues_them_later() {
    let script = "if [ $n = 1 ]; then trap 'exit 130' INT; touch begun; while :; do sleep 0.05; done; fi; end";
    let mut bed = Bed::new(script);
    let id = bed.tune("small");
    bed.until_there("begun");
    let took = bed.stop();
    assert!(took < Duration::from_secs(5), "{took:?}");
    let task = bed.ended(id);
    assert_eq!(
        (task.state, task.attempts),
        (TaskState::Done, 2),
        "{task:?}"
    );

    // A child that ignores the interrupt is killed.
    let stubborn =
        "if [ $n = 1 ]; then trap '' INT; touch begun; while :; do sleep 0.05; done; fi; end";
    let mut stubborn_bed = Bed::new(stubborn);
    let stubborn_id = stubborn_bed.tune("small");
    stubborn_bed.until_there("begun");
    let killing_took = stubborn_bed.stop();
    assert!(killing_took < Duration::from_secs(5), "{killing_took:?}");
    assert_eq!(stubborn_bed.ended(stubborn_id).state, TaskState::Done);
}

#[test]
fn a_task_continues_after_a_kill_of_the_service_and_its_result_is_stored_once() {
    let mut bed = Bed::new("end");
    let id = bed.tune("small");
    let done = bed.ended(id);
    bed.stop();
    // As after a kill at each of its states.
    for left in [
        "state = 'running', outcome = NULL, exit_code = NULL",
        "state = 'running'",
        "state = 'waiting', outcome = NULL, exit_code = NULL",
    ] {
        let calls = bed.calls().len();
        let database = rusqlite::Connection::open(bed.path("state/service.db")).unwrap();
        let sql = format!("UPDATE task SET {left}, ended_at = NULL, reason = ''");
        database.execute(&sql, []).unwrap();
        drop(database);
        let task = bed.ended(id);
        assert_eq!(
            (task.state, &task.made),
            (TaskState::Done, &done.made),
            "{left}"
        );
        let again = usize::from(left.contains("NULL, exit_code"));
        assert_eq!(bed.calls().len() - calls, again, "{left}");
        let versions = bed
            .service()
            .list_versions(None, None, service::Slice::default())
            .unwrap();
        assert_eq!(versions.items.len(), 1);
        bed.stop();
    }
}

/// As with a full disk: the result is written when that is possible again, and meanwhile the reason is shown.
#[test]
fn results_that_cannot_be_stored_wait_with_a_reason() {
    let mut bed = Bed::new("while [ ! -e go ]; do sleep 0.02; done; end");
    let id = bed.tune("small");
    bed.until(id, |task| task.state == TaskState::Running);
    let database = rusqlite::Connection::open(bed.path("state/service.db")).unwrap();
    let refuse = "CREATE TRIGGER full BEFORE UPDATE ON task WHEN NEW.outcome IS NOT NULL \
                  BEGIN SELECT RAISE(ABORT, 'no space'); END";
    database.execute_batch(refuse).unwrap();
    bed.write("go", "");
    let service = bed.service();
    wait_for("a problem", || !service.list_problems().is_empty());
    let [problem] = &service.list_problems()[..] else {
        panic!("{:?}", service.list_problems());
    };
    assert!(
        problem.starts_with("task 1 waits:") && problem.contains("no space"),
        "{problem}"
    );
    // The queue continues, and still shows the problem.
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(service.list_problems().len(), 1);
    database.execute_batch("DROP TRIGGER full").unwrap();
    assert_eq!(bed.ended(id).state, TaskState::Done);
    wait_for("its end", || service.list_problems().is_empty());
    assert_eq!(bed.calls().len(), 1);
}

/// The log of a task is on a full disk, or cannot be opened: the task continues, and the service says so.
#[test]
fn a_log_that_cannot_be_written_is_a_problem_and_does_not_end_the_task() {
    // More than a pipe holds.
    let mut bed = Bed::new("head -c 300000 /dev/zero | tr '\\0' '\\n' >&2 && end");
    bed.service();
    for (id, target) in [(1, "/dev/full"), (2, "/")] {
        let folder = bed.path(&format!("state/tasks/{id}"));
        std::fs::create_dir_all(&folder).unwrap();
        std::os::unix::fs::symlink(target, folder.join("log")).unwrap();
        let task = bed.tune("small");
        assert_eq!(task, id);
        let service = bed.service();
        if id == 1 {
            wait_for("a problem", || !service.list_problems().is_empty());
            let [problem] = &service.list_problems()[..] else {
                panic!("{:?}", service.list_problems());
            };
            assert!(
                problem.contains("is full: changes are refused"),
                "{problem}"
            );
        }
        assert_eq!(bed.ended(id).state, TaskState::Done, "{target}");
    }
    // There is space where the state is.
    let service = bed.service();
    wait_for("its end", || service.list_problems().is_empty());
}
