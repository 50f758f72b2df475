//! The order of tasks, and the reasons for waiting.

use service::{Overrides, ServiceError, ServiceMachine, TaskFilter, TaskRequest, TaskState};

use super::fixture::{Bed, CAMPAIGN, admin, tune, wait_for};

const HELD: &str = "touch begun; while [ ! -e go ]; do sleep 0.02; done; end";

#[test]
fn tasks_that_measure_here_run_one_after_the_other() {
    let mut bed = Bed::new("mkdir busy || touch overlap; sleep 0.1; rmdir busy; end");
    let names = ["a", "b", "c", "d"];
    for name in names {
        bed.write(
            &format!("tuning/{name}.yaml"),
            &CAMPAIGN.replace("small", name),
        );
    }
    let ids = names.map(|name| bed.tune(name));
    let ended = ids.map(|id| bed.ended(id));
    assert!(
        ended.iter().all(|task| task.state == TaskState::Done),
        "{ended:?}"
    );
    assert!(ended.is_sorted_by_key(|task| task.started_at));
    assert!(!bed.path("overlap").exists());
}

#[test]
fn the_service_knows_when_a_task_measures_on_its_host() {
    let mut bed = Bed::new(HELD);
    let local = CAMPAIGN.replace("simulated", "local");
    bed.write("tuning/small.yaml", &local.replace("[2x2, 4x2]", "[1x2]"));
    assert!(!bed.service().is_measuring_here());
    let id = bed.tune("small");
    bed.until_there("begun");
    assert!(bed.service().is_measuring_here());
    bed.write("go", "");
    bed.ended(id);
    let service = bed.service();
    wait_for("the end", || !service.is_measuring_here());
}

#[test]
fn the_same_campaign_is_measured_once() {
    let mut bed = Bed::new(HELD);
    let first = bed.tune("small");
    bed.until_there("begun");
    // Comments make no difference.
    bed.write("tuning/small.yaml", &format!("# The same.\n{CAMPAIGN}"));
    let second = bed.submit(&tune("small")).task;
    assert_eq!(
        (second.follows, second.state),
        (Some(first), TaskState::Waiting)
    );
    let third = bed.tune("small");
    assert_eq!(
        bed.service().cancel_task(&admin(), third).unwrap().state,
        TaskState::Cancelled
    );
    bed.write("go", "");
    let (first, second) = (bed.ended(first), bed.ended(second.id));
    assert_eq!(second.state, TaskState::Done);
    assert!(second.made.is_some() && second.made == first.made);
    assert_eq!(second.outcome, first.outcome);
    assert_eq!(bed.calls().len(), 1);
    // The first one has ended, so that another one measures again.
    let again = bed.tune("small");
    assert_eq!(bed.ended(again).follows, None);
    assert_eq!(bed.calls().len(), 2);
}

#[test]
fn the_next_equal_task_replaces_a_cancelled_one() {
    let mut bed = Bed::new(&format!("trap 'exit 130' INT; {HELD}"));
    let first = bed.tune("small");
    bed.until_there("begun");
    let [second, third] = [(); 2].map(|()| bed.tune("small"));
    bed.service().cancel_task(&admin(), first).unwrap();
    assert_eq!(bed.ended(first).state, TaskState::Cancelled);
    bed.until(second, |task| task.state == TaskState::Running);
    assert_eq!(
        bed.service().read_task(third).unwrap().follows,
        Some(second)
    );
    bed.write("go", "");
    assert_eq!(bed.ended(third).state, TaskState::Done);
    assert_eq!(bed.calls().len(), 2);
}

#[test]
fn a_request_with_the_same_key_adds_no_second_task() {
    let mut bed = Bed::new("end");
    let service = bed.service();
    let submit = |request: &TaskRequest, key| service.submit_task(&admin(), request, Some(key));
    let first = submit(&tune("small"), "k1").unwrap();
    let named = TaskRequest {
        machine: Some("local".to_owned()),
        ..tune("small")
    };
    let again = submit(&named, "k1").unwrap();
    assert!(first.is_new && !again.is_new);
    assert_eq!(first.task.id, again.task.id);
    let other = TaskRequest {
        overrides: Overrides {
            budget: Some("2m".to_owned()),
            ..Overrides::default()
        },
        ..named
    };
    assert!(matches!(
        submit(&other, "k1"),
        Err(ServiceError::Conflict(_))
    ));
    assert!(submit(&other, "k2").unwrap().is_new);
    for bad in ["", "a b", &"x".repeat(256)] {
        assert!(
            matches!(submit(&other, bad), Err(ServiceError::Invalid { .. })),
            "{bad}"
        );
    }
    let audit = service
        .read_audit(&admin(), service::Slice::default())
        .unwrap();
    let submitted = audit.items.iter().filter(|row| row.action == "task.submit");
    assert_eq!(submitted.count(), 2);
}

#[test]
fn an_exhausted_account_refuses_new_tasks_with_a_reason() {
    let mut bed = Bed::new("end");
    let machine = |name: &str, hours| ServiceMachine {
        name: name.to_owned(),
        campaigns: vec!["tuning/*.yaml".to_owned()],
        tasks: 1,
        node_hours: hours,
        has_agent: false,
    };
    bed.configuration.machines = vec![machine("poor", Some(0.5)), machine("rich", Some(2.0))];
    let on = |name: &str| TaskRequest {
        machine: Some(name.to_owned()),
        ..tune("small")
    };
    let first = bed.submit(&on("poor")).task.id;
    bed.ended(first);
    bed.stop();
    let database = rusqlite::Connection::open(bed.path("state/service.db")).unwrap();
    database
        .execute("UPDATE task SET node_seconds = 1800", [])
        .unwrap();
    drop(database);
    let waits = bed.submit(&on("poor")).task.id;
    let runs = bed.submit(&on("rich")).task.id;
    assert_eq!(bed.ended(runs).state, TaskState::Done);
    let waits = bed.until(waits, |task| task.reason.contains("node-hours"));
    assert_eq!(waits.state, TaskState::Waiting);
    assert_eq!(
        bed.service().node_seconds_this_month("poor").unwrap(),
        1800.0
    );
    // Months ago.
    bed.stop();
    let reopened = rusqlite::Connection::open(bed.path("state/service.db")).unwrap();
    reopened
        .execute(
            "UPDATE task SET ended_at = 1 WHERE ended_at IS NOT NULL",
            [],
        )
        .unwrap();
    drop(reopened);
    assert_eq!(bed.ended(waits.id).state, TaskState::Done);
}

#[test]
fn fields_that_do_not_belong_together_are_refused() {
    let mut bed = Bed::new("end");
    let service = bed.service();
    let refused = |change: &dyn Fn(&mut TaskRequest)| {
        let mut request = tune("small");
        change(&mut request);
        match service.submit_task(&admin(), &request, None) {
            Err(ServiceError::Invalid { field, .. }) => field,
            other => panic!("{other:?}"),
        }
    };
    let budget = || Overrides {
        budget: Some("1m".to_owned()),
        ..Overrides::default()
    };
    use service::TaskKind::{Check, Report, Validate};
    assert_eq!(refused(&|request| request.campaign = None), "campaign");
    assert_eq!(refused(&|request| request.kind = Validate), "table");
    assert_eq!(
        refused(&|request| request.table = Some(service::Digest::of_bytes(b""))),
        "table"
    );
    assert_eq!(
        refused(&|request| {
            request.kind = Report;
            request.overrides = budget();
        }),
        "overrides"
    );
    let unknown = TaskRequest {
        kind: Check,
        campaign: None,
        table: Some(service::Digest::of_bytes(b"")),
        ..tune("small")
    };
    let unknown = service.submit_task(&admin(), &unknown, None);
    assert!(matches!(
        unknown,
        Err(ServiceError::NotFound { kind: "table", .. })
    ));
    let reader = service::Actor {
        scopes: vec![service::Scope::Read],
        ..admin()
    };
    let forbidden = service.submit_task(&reader, &tune("small"), None);
    assert!(matches!(forbidden, Err(ServiceError::Forbidden { .. })));
    let page = service
        .list_tasks(&TaskFilter::default(), service::Slice::default())
        .unwrap();
    assert!(page.items.is_empty());
}
