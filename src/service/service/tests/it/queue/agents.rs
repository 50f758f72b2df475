//! Claims, heartbeats and results of agents.

use std::time::{Duration, Instant};

use service::{
    Actor, AgentCampaign, AgentCampaigns, ClaimRequest, ClaimedTask, Completed, Completion, Digest,
    Heartbeat, HeartbeatAnswer, LogChunk, Scope, Service, ServiceError, Slice, Task, TaskId,
    TaskKind, TaskRequest, TaskState,
};

use super::fixture::{Bed, CAMPAIGN, admin, tune, wait_for};
use crate::fixture::actor;

/// A service whose only machine, `local`, has an agent with `tuning/hydra.yaml`.
fn bed_with_agent() -> Bed {
    let mut bed = Bed::new("exit 9");
    bed.configuration.machines[0].has_agent = true;
    tell_campaign(&mut bed, CAMPAIGN).expect("told");
    bed
}

fn tell_campaign(bed: &mut Bed, text: &str) -> Result<(), ServiceError> {
    let campaign = AgentCampaign {
        path: "tuning/hydra.yaml".to_owned(),
        text: text.to_owned(),
    };
    let campaigns = AgentCampaigns {
        campaigns: vec![campaign],
    };
    let service = bed.service();
    service.put_agent_campaigns(&agent(), "local", &campaigns)
}

fn agent() -> Actor {
    actor(&[Scope::Agent])
}

fn claim(service: &Service, name: &str, held: &[u64]) -> Option<ClaimedTask> {
    let request = ClaimRequest {
        agent: name.to_owned(),
        host: "login1".to_owned(),
        held: held.to_vec(),
    };
    service
        .claim_task(&agent(), "local", &request)
        .expect("answered")
}

fn heartbeat(
    service: &Service,
    claimed: &ClaimedTask,
    log: Option<LogChunk>,
) -> Result<HeartbeatAnswer, ServiceError> {
    let heartbeat = Heartbeat {
        claim: claimed.claim.clone(),
        reason: "measures".to_owned(),
        node_seconds: 7.0,
        progress: None,
        log,
    };
    service.note_heartbeat(&agent(), "local", &heartbeat)
}

/// The result of a claim that tuned.
fn success(bed: &Bed, service: &Service, claimed: &ClaimedTask) -> Completion {
    let text = bed.read("tables/small.yaml");
    let version = service.add_table(&agent(), "local", &text).expect("added");
    Completion {
        claim: claimed.claim.clone(),
        state: TaskState::Done,
        reason: "done".to_owned(),
        exit_code: Some(0),
        outcome: Some(serde_json::json!({"table": "/elsewhere.yaml", "done": 4, "total": 4})),
        node_seconds: 9.0,
        table: Some(version.digest),
    }
}

fn failure(claimed: &ClaimedTask) -> Completion {
    Completion {
        claim: claimed.claim.clone(),
        state: TaskState::Failed,
        reason: "no MPI".to_owned(),
        exit_code: Some(2),
        outcome: None,
        node_seconds: 1.0,
        table: None,
    }
}

fn complete(service: &Service, completion: &Completion) -> Result<Completed, ServiceError> {
    service.complete_claim(&agent(), "local", completion)
}

#[track_caller]
fn check_conflict<T: std::fmt::Debug>(result: Result<T, ServiceError>, expected: &str) {
    match result {
        Err(ServiceError::Conflict(problem)) => assert!(problem.contains(expected), "{problem}"),
        other => panic!("{other:?}"),
    }
}

fn count_versions(service: &Service) -> usize {
    let versions = service.list_versions(Some("local"), None, Slice::default());
    versions.expect("listed").items.len()
}

/// Lets so much time pass that an agent that says nothing loses its claims.
fn let_lease_end() {
    std::thread::sleep(Duration::from_millis(1300));
}

/// A bed whose agents lose their claims after a second.
fn hasty_bed() -> Bed {
    let mut bed = Bed::new("exit 9");
    bed.configuration.machines[0].has_agent = true;
    bed.haste = 300;
    tell_campaign(&mut bed, CAMPAIGN).expect("told");
    bed
}

/// Waits for a task to be as wanted, and wakes the queue meanwhile.
#[track_caller]
fn until_woken(bed: &mut Bed, id: TaskId, is_so: impl Fn(&Task) -> bool) -> Task {
    let service = bed.service();
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let task = service.read_task(id).expect("read");
        if is_so(&task) {
            return task;
        }
        assert!(Instant::now() < end, "{task:?}");
        let other = bed.tune("hydra");
        service.cancel_task(&admin(), other).expect("cancelled");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn tasks_wait_for_the_agent_and_are_never_started_here() {
    let mut bed = bed_with_agent();
    let id = bed.tune("hydra");
    bed.until(id, |task| {
        task.reason
            .contains("waits for the agent of local, which was never heard")
    });
    let service = bed.service();
    assert_eq!(service.find_agent("local").unwrap(), None);
    let claimed = claim(&service, "a", &[]).expect("a task");
    assert_eq!(claimed.task, id);
    assert_eq!(claimed.campaign, Digest::of_bytes(CAMPAIGN.as_bytes()));
    let heard = service.find_agent("local").unwrap().expect("heard");
    assert_eq!(heard.host, "login1");
    let task = service.read_task(id).unwrap();
    assert_eq!((task.state, task.attempts), (TaskState::Running, 1));
    // One task at a time.
    let other = bed.submit(&TaskRequest {
        kind: TaskKind::Report,
        ..tune("hydra")
    });
    assert_eq!(claim(&service, "a", &[claimed.claim.fence]), None);
    heartbeat(&service, &claimed, None).expect("noted");
    assert_eq!(service.read_task(id).unwrap().reason, "measures");
    let done = success(&bed, &service, &claimed);
    assert!(complete(&service, &done).unwrap().counts);
    let next = claim(&service, "a", &[]).expect("the next task");
    assert_eq!(next.task, other.task.id);
    assert!(bed.calls().is_empty(), "{:?}", bed.calls());
}

#[test]
fn a_silent_agent_is_named_as_the_reason() {
    let mut bed = hasty_bed();
    let service = bed.service();
    let running = bed.tune("hydra");
    claim(&service, "a", &[]).expect("a task");
    let waiting = bed.submit(&TaskRequest {
        kind: TaskKind::Report,
        ..tune("hydra")
    });
    let silent =
        |task: &Task| task.reason == "waits for the agent of local, not heard at the moment";
    until_woken(&mut bed, waiting.task.id, silent);
    let task = until_woken(&mut bed, running, silent);
    assert_eq!(task.state, TaskState::Running);
}

#[test]
fn a_claim_whose_answer_was_lost_is_given_again() {
    let mut bed = bed_with_agent();
    let id = bed.tune("hydra");
    let service = bed.service();
    let first = claim(&service, "a", &[]).expect("a task");
    assert_eq!(claim(&service, "a", &[]), Some(first.clone()));
    assert_eq!(claim(&service, "a", &[first.claim.fence]), None);
    // Another agent does not get it.
    assert_eq!(claim(&service, "b", &[]), None);
    assert_eq!(service.read_task(id).unwrap().attempts, 1);
}

#[test]
fn a_result_that_is_sent_twice_counts_once() {
    let mut bed = bed_with_agent();
    let id = bed.tune("hydra");
    let service = bed.service();
    let claimed = claim(&service, "a", &[]).expect("a task");
    heartbeat(&service, &claimed, None).expect("noted");
    let done = success(&bed, &service, &claimed);
    for _ in 0..3 {
        assert_eq!(
            complete(&service, &done).unwrap(),
            Completed { counts: true }
        );
    }
    let task = service.read_task(id).unwrap();
    assert_eq!(
        (task.state, task.made.clone()),
        (TaskState::Done, done.table.clone())
    );
    assert_eq!(task.reason, "the table is added; measurements made: 4 of 4");
    assert!((task.node_seconds - 9.0).abs() < 1e-9, "{task:?}");
    let versions = service.versions_with_digest(&done.table.unwrap()).unwrap();
    let [version] = &versions[..] else {
        panic!("{versions:?}")
    };
    assert_eq!(version.task, Some(id));
    check_conflict(heartbeat(&service, &claimed, None), "has ended: it is done");
}

#[test]
fn points_of_a_validation_are_stored_once() {
    let mut bed = bed_with_agent();
    let service = bed.service();
    let table = service
        .add_table(&admin(), "local", &bed.read("tables/small.yaml"))
        .unwrap();
    let id = bed
        .submit(&TaskRequest {
            kind: TaskKind::Validate,
            table: Some(table.digest.clone()),
            ..tune("hydra")
        })
        .task
        .id;
    let claimed = claim(&service, "a", &[]).expect("a task");
    assert_eq!(claimed.table, Some(bed.read("tables/small.yaml")));
    let outcome =
        r#"{"deployment":"colltune","slower":1,"broken":0,"faster":2,"points":[{},{},{}]}"#;
    let answered = Completion {
        exit_code: Some(1),
        outcome: Some(serde_json::from_str(outcome).unwrap()),
        table: None,
        ..success(&bed, &service, &claimed)
    };
    for _ in 0..2 {
        assert!(complete(&service, &answered).unwrap().counts);
    }
    let validations = service.list_validations("local", &table.digest).unwrap();
    let counts: Vec<_> = validations
        .iter()
        .map(|validation| (validation.task, validation.slower, validation.points))
        .collect();
    assert_eq!(counts, [(id, 1, 3)]);
    assert_eq!(service.read_task(id).unwrap().exit_code, Some(1));
}

#[test]
fn a_superseded_agent_is_refused_and_its_late_success_counts() {
    let mut bed = hasty_bed();
    let id = bed.tune("hydra");
    let service = bed.service();
    let first = claim(&service, "a", &[]).expect("a task");
    assert_eq!(claim(&service, "b", &[]), None);
    let_lease_end();
    let second = claim(&service, "b", &[]).expect("the abandoned task");
    assert_eq!((second.task, first.task), (id, id));
    assert!(second.claim.fence > first.claim.fence);
    check_conflict(heartbeat(&service, &first, None), "superseded by claim");
    check_conflict(complete(&service, &failure(&first)), "superseded by claim");
    assert_eq!(service.read_task(id).unwrap().state, TaskState::Running);
    // The former agent has nothing to take up again.
    assert_eq!(claim(&service, "a", &[]), None);
    // What it has measured is genuine.
    let late = success(&bed, &service, &first);
    assert!(complete(&service, &late).unwrap().counts);
    assert_eq!(service.read_task(id).unwrap().state, TaskState::Done);
    // The other agent is told to stop; its result is acknowledged and changes nothing.
    check_conflict(heartbeat(&service, &second, None), "has ended");
    let versions = count_versions(&service);
    let later = failure(&second);
    for _ in 0..2 {
        assert!(!complete(&service, &later).unwrap().counts);
    }
    let task = service.read_task(id).unwrap();
    assert_eq!((task.state, task.attempts), (TaskState::Done, 2));
    assert_eq!(count_versions(&service), versions);
}

#[test]
fn an_agent_that_returns_before_another_one_goes_on() {
    let mut bed = hasty_bed();
    let id = bed.tune("hydra");
    let service = bed.service();
    let claimed = claim(&service, "a", &[]).expect("a task");
    let_lease_end();
    assert_eq!(claim(&service, "a", &[claimed.claim.fence]), None);
    heartbeat(&service, &claimed, None).expect("still its own");
    assert_eq!(claim(&service, "b", &[]), None);
    let failed = failure(&claimed);
    assert!(complete(&service, &failed).unwrap().counts);
    let task = service.read_task(id).unwrap();
    assert_eq!(
        (task.state, &*task.reason, task.exit_code),
        (TaskState::Failed, "no MPI", Some(2))
    );
}

#[test]
fn a_cancellation_reaches_the_agent_by_its_heartbeat() {
    let mut bed = bed_with_agent();
    let id = bed.tune("hydra");
    let service = bed.service();
    let claimed = claim(&service, "a", &[]).expect("a task");
    assert!(!heartbeat(&service, &claimed, None).unwrap().cancel);
    service.cancel_task(&admin(), id).unwrap();
    assert!(heartbeat(&service, &claimed, None).unwrap().cancel);
    assert_eq!(service.read_task(id).unwrap().reason, "is being cancelled");
    let cancelled = Completion {
        state: TaskState::Cancelled,
        ..failure(&claimed)
    };
    assert!(complete(&service, &cancelled).unwrap().counts);
    assert_eq!(service.read_task(id).unwrap().state, TaskState::Cancelled);
}

#[test]
fn a_task_of_a_silent_agent_can_be_cancelled() {
    let mut bed = hasty_bed();
    let id = bed.tune("hydra");
    let service = bed.service();
    let claimed = claim(&service, "a", &[]).expect("a task");
    service.cancel_task(&admin(), id).unwrap();
    let_lease_end();
    until_woken(&mut bed, id, |task| task.state == TaskState::Cancelled);
    // No agent can claim the task, and a late result leaves it cancelled.
    assert_eq!(claim(&service, "b", &[]), None);
    let done = success(&bed, &service, &claimed);
    assert!(!complete(&service, &done).unwrap().counts);
    assert_eq!(service.read_task(id).unwrap().state, TaskState::Cancelled);
}

#[test]
fn claims_outlive_a_restart_of_the_service() {
    let mut bed = bed_with_agent();
    let id = bed.tune("hydra");
    let claimed = claim(&bed.service(), "a", &[]).expect("a task");
    bed.stop();
    let service = bed.service();
    assert_eq!(service.read_task(id).unwrap().state, TaskState::Running);
    heartbeat(&service, &claimed, None).expect("its own");
    let done = success(&bed, &service, &claimed);
    assert!(complete(&service, &done).unwrap().counts);
    drop(service);
    // If the machine has no agent any more, the service carries out the task itself.
    let other = bed.tune("hydra");
    claim(&bed.service(), "a", &[]).expect("a task");
    bed.stop();
    bed.configuration.machines[0].has_agent = false;
    bed.ended(other);
    assert_eq!(bed.calls().len(), 1);
}

#[test]
fn a_part_of_a_log_that_is_sent_twice_is_stored_once() {
    let mut bed = bed_with_agent();
    let id = bed.tune("hydra");
    let service = bed.service();
    let claimed = claim(&service, "a", &[]).expect("a task");
    let chunk = |from, text: &str| {
        Some(LogChunk {
            from,
            text: text.to_owned(),
            next: from + text.len() as u64,
        })
    };
    let send = |log| heartbeat(&service, &claimed, log).unwrap().log_next;
    assert_eq!(send(chunk(0, "one\n")), 4);
    assert_eq!(send(chunk(0, "one\n")), 4);
    assert_eq!(send(chunk(9, "later\n")), 4);
    assert_eq!(send(chunk(4, "two\n")), 8);
    assert_eq!(send(None), 8);
    assert_eq!(service.read_log(id, 0).unwrap().text, "one\ntwo\n");
}

#[test]
fn only_the_agent_of_a_machine_may_claim() {
    let mut bed = bed_with_agent();
    bed.tune("hydra");
    let service = bed.service();
    let request = ClaimRequest {
        agent: "a".to_owned(),
        host: String::new(),
        held: Vec::new(),
    };
    for scope in [Scope::Read, Scope::Submit, Scope::Publish] {
        let refused = service.claim_task(&actor(&[scope]), "local", &request);
        let is_so = matches!(
            refused,
            Err(ServiceError::Forbidden {
                scope: Scope::Agent,
                ..
            })
        );
        assert!(is_so, "{scope}: {refused:?}");
    }
    let elsewhere = Actor {
        machines: vec!["other".to_owned()],
        ..agent()
    };
    let of_other_machine = service.claim_task(&elsewhere, "local", &request);
    assert!(
        matches!(of_other_machine, Err(ServiceError::Forbidden { .. })),
        "{of_other_machine:?}"
    );
    // An agent does nothing else.
    let submitted = service.submit_task(&agent(), &tune("hydra"), None);
    assert!(
        matches!(submitted, Err(ServiceError::Forbidden { .. })),
        "{submitted:?}"
    );
    for name in ["", "a/b", &"a".repeat(65)] {
        let refused = service.claim_task(
            &agent(),
            "local",
            &ClaimRequest {
                agent: name.to_owned(),
                ..request.clone()
            },
        );
        assert!(
            matches!(refused, Err(ServiceError::Invalid { .. })),
            "{refused:?}"
        );
    }
    let mut claimed = claim(&service, "a", &[]).expect("a task");
    claimed.claim.nonce = "0".repeat(32);
    let unknown = heartbeat(&service, &claimed, None);
    assert!(
        matches!(unknown, Err(ServiceError::NotFound { kind: "claim", .. })),
        "{unknown:?}"
    );
    let mut other_bed = Bed::new("end");
    check_conflict(
        other_bed.service().claim_task(&agent(), "local", &request),
        "agent: true",
    );
}

#[test]
fn results_without_their_parts_are_refused() {
    let mut bed = bed_with_agent();
    let id = bed.tune("hydra");
    let service = bed.service();
    let claimed = claim(&service, "a", &[]).expect("a task");
    let whole = success(&bed, &service, &claimed);
    let wrong = [
        Completion {
            table: None,
            ..whole.clone()
        },
        Completion {
            outcome: None,
            ..whole.clone()
        },
        Completion {
            state: TaskState::Running,
            ..whole.clone()
        },
        Completion {
            table: Some(Digest::of_bytes(b"unknown")),
            ..whole.clone()
        },
    ];
    for completion in wrong {
        let refused = complete(&service, &completion);
        let is_refused = matches!(
            refused,
            Err(ServiceError::Invalid { .. } | ServiceError::NotFound { .. })
        );
        assert!(is_refused, "{refused:?}");
        assert_eq!(service.read_task(id).unwrap().state, TaskState::Running);
    }
    assert!(complete(&service, &whole).unwrap().counts);
}

/// An agent could otherwise read files of the service's host by naming them in its campaigns.
#[test]
fn campaigns_of_an_agent_name_no_files_of_this_host() {
    let mut bed = bed_with_agent();
    let secret = bed.path("secret");
    bed.write("secret", "partition: private\n");
    let text = format!(
        "name: spy\nlauncher:\n  slurm:\n    job: {}\nshapes: 2x2\n",
        secret.display()
    );
    tell_campaign(&mut bed, &text).expect("told");
    let service = bed.service();
    let refused = service.submit_task(&admin(), &tune("hydra"), None);
    let told = refused.expect_err("refused").to_string();
    assert!(told.contains("it is a file of another host"), "{told}");
    let listed = service.list_campaigns().unwrap();
    let entry = listed
        .iter()
        .find(|entry| entry.path == "tuning/hydra.yaml");
    let problem = entry
        .and_then(|entry| entry.problem.clone())
        .expect("a problem");
    assert!(!problem.contains("private"), "{problem}");
    // The service's own campaigns are none of the machine's.
    assert!(service.submit_task(&admin(), &tune("small"), None).is_err());
    let escaping = AgentCampaign {
        path: "../x.yaml".to_owned(),
        text: CAMPAIGN.to_owned(),
    };
    let campaigns = AgentCampaigns {
        campaigns: vec![escaping],
    };
    let outside = service.put_agent_campaigns(&agent(), "local", &campaigns);
    assert!(
        matches!(outside, Err(ServiceError::Invalid { .. })),
        "{outside:?}"
    );
}

#[test]
fn node_hours_keep_agents_waiting() {
    let mut bed = Bed::new("exit 9");
    bed.configuration.machines[0].has_agent = true;
    bed.configuration.machines[0].node_hours = Some(1.0);
    tell_campaign(&mut bed, CAMPAIGN).expect("told");
    let id = bed.tune("hydra");
    let service = bed.service();
    let claimed = claim(&service, "a", &[]).expect("a task");
    let expensive = Completion {
        node_seconds: 3600.0,
        ..failure(&claimed)
    };
    complete(&service, &expensive).expect("stored");
    wait_for("the end", || {
        service.read_task(id).unwrap().state == TaskState::Failed
    });
    let next = bed.tune("hydra");
    bed.until(next, |task| {
        task.reason.contains("has used its 1 node-hours")
    });
    assert_eq!(claim(&service, "a", &[]), None);
}
