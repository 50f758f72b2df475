//! Tasks that an agent carries out.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use answers::{ClaimId, ClaimedTask, TaskState};
use service::{Digest, Overrides, Scope, TaskRequest};
use vocabulary::ErrorKind;

use crate::bed::{Bed, CAMPAIGN, WORKS, admin, tune};

#[test]
fn overrides_are_applied_to_the_agents_own_campaign() {
    let mut bed = Bed::new(WORKS);
    let (mut agent, local) = bed.start_agent();
    agent.run_round(&mut |_| {}).expect("told");
    let overrides = Overrides {
        budget: Some("2m".to_owned()),
        sizes: Some("64,1K".to_owned()),
        nodes: Some(vec![4]),
        ..Overrides::default()
    };
    let id = bed.submit(&TaskRequest {
        overrides,
        ..tune()
    });
    let task = bed.work_to_end(&mut agent, &local, id);
    assert_eq!(task.state, TaskState::Done, "{task:?}");
    let call = bed.calls().pop().expect("a call");
    let campaign = call
        .split(' ')
        .find(|word| word.ends_with("campaign.yaml"))
        .expect("a campaign");
    let text = std::fs::read_to_string(campaign).expect("readable");
    assert!(
        text.contains("budget: \"2m\"") && text.contains("4x2"),
        "{text}"
    );
    assert!(!text.contains("2x2"), "{text}");
    // The events of the child were passed on.
    assert_eq!(task.name.as_deref(), Some("small"));
}

#[test]
fn a_campaign_that_was_changed_since_is_not_carried_out() {
    let mut bed = Bed::new(WORKS);
    let (mut agent, local) = bed.start_agent();
    agent.run_round(&mut |_| {}).expect("told");
    let id = bed.submit(&tune());
    bed.write("tuning/small.yaml", &CAMPAIGN.replace("64", "1K"));
    let task = bed.work_to_end(&mut agent, &local, id);
    assert_eq!(task.state, TaskState::Failed, "{task:?}");
    let expected = "tuning/small.yaml on this host is not what the task was submitted with";
    assert!(task.reason.contains(expected), "{}", task.reason);
    assert!(bed.calls().is_empty(), "{:?}", bed.calls());
    // Submitted again, it is.
    let again = bed.submit(&tune());
    let done = bed.work_to_end(&mut agent, &local, again);
    assert_eq!(done.state, TaskState::Done, "{done:?}");
}

/// Such a campaign has the digest of the earlier one.
#[test]
fn a_campaign_in_which_only_a_comment_was_changed_is_carried_out() {
    let mut bed = Bed::new(WORKS);
    let (mut agent, local) = bed.start_agent();
    for comment in ["", "# for the new nodes\n"] {
        let text = format!("{CAMPAIGN}{comment}");
        bed.write("tuning/small.yaml", &text);
        agent.run_round(&mut |_| {}).expect("told");
        let id = bed.submit(&tune());
        let task = bed.work_to_end(&mut agent, &local, id);
        assert_eq!(task.state, TaskState::Done, "{comment}: {task:?}");
    }
}

/// What a service that was broken into could ask for.
#[test]
fn a_service_cannot_make_the_agent_run_anything_else() {
    let mut bed = Bed::new(WORKS);
    bed.write("elsewhere/evil.yaml", "name: evil\nlauncher: simulated\n");
    let (mut agent, local) = bed.start_agent();
    let text = "name: evil\nlauncher: {local: {options: [--evil]}}\n";
    for (fence, path) in [
        (1, "tuning/small.yaml"),
        (2, "elsewhere/evil.yaml"),
        (3, "tuning/../elsewhere/evil.yaml"),
        (4, "/etc/passwd"),
    ] {
        let claim = ClaimId {
            fence,
            nonce: "ab".to_owned(),
        };
        let claimed = ClaimedTask {
            claim,
            task: fence,
            request: TaskRequest {
                campaign: Some(path.to_owned()),
                ..tune()
            },
            campaign: Digest::of_bytes(text.as_bytes()),
            schedule: None,
            table: None,
        };
        local.hold_claim(&claimed).expect("held with a reason");
    }
    let held = local.held_claims().expect("read");
    assert_eq!(held.len(), 4);
    assert!(held.iter().all(|claim| claim.task.is_err()), "{held:?}");
    // The service does not know these claims: they are dropped.
    bed.work_until(&mut agent, || local.held_claims().expect("read").is_empty());
    assert!(bed.calls().is_empty(), "{:?}", bed.calls());
}

#[test]
fn a_result_outlives_the_agent_until_it_is_acknowledged() {
    let mut bed = Bed::new(WORKS);
    let (mut agent, local) = bed.start_agent();
    agent.run_round(&mut |_| {}).expect("told");
    let id = bed.submit(&tune());
    agent.run_round(&mut |_| {}).expect("claimed");
    let held = local.held_claims().expect("read");
    let here = *held[0].task.as_ref().expect("a task");
    let end = Instant::now() + Duration::from_secs(20);
    while !local.read_task(here).expect("read").has_ended() {
        assert!(Instant::now() < end, "the task does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
    bed.stop_agent(agent, local);
    assert_eq!(
        bed.service.read_task(id).expect("read").state,
        TaskState::Running
    );
    let (mut successor, local_again) = bed.start_agent();
    let task = bed.work_to_end(&mut successor, &local_again, id);
    assert_eq!((task.state, task.attempts), (TaskState::Done, 1));
    assert_eq!(bed.calls().len(), 1);
}

#[test]
fn a_cancelled_task_is_interrupted_on_the_agents_host() {
    let mut bed =
        Bed::new("trap 'echo interrupted >> calls; exit 130' INT; while :; do sleep 0.02; done");
    let (mut agent, local) = bed.start_agent();
    agent.run_round(&mut |_| {}).expect("told");
    let id = bed.submit(&tune());
    bed.work_until(&mut agent, || bed.calls().len() == 1);
    bed.service.cancel_task(&admin(), id).expect("asked");
    let mut task = bed.service.read_task(id).expect("read");
    // Heartbeats without news are rare: the cancellation is noticed with the next one that is due.
    let end = Instant::now() + Duration::from_secs(30);
    while !task.has_ended() {
        assert!(Instant::now() < end, "{task:?}");
        agent.run_round(&mut |_| {}).expect("told");
        std::thread::sleep(Duration::from_millis(20));
        task = bed.service.read_task(id).expect("read");
    }
    assert_eq!(task.state, TaskState::Cancelled);
    assert_eq!(bed.calls().last().map(String::as_str), Some("interrupted"));
    assert!(local.held_claims().expect("read").is_empty());
}

#[test]
fn a_failure_is_told_with_the_childs_words() {
    let mut bed = Bed::new("echo 'error: no MPI here' >&2; exit 2");
    let (mut agent, local) = bed.start_agent();
    agent.run_round(&mut |_| {}).expect("told");
    let id = bed.submit(&tune());
    let task = bed.work_to_end(&mut agent, &local, id);
    assert_eq!((task.state, task.exit_code), (TaskState::Failed, Some(2)));
    assert_eq!(task.reason, "no MPI here");
    let log = bed.service.read_log(id, 0).expect("a log");
    assert_eq!(log.text, "error: no MPI here\n");
}

#[test]
fn an_agent_with_a_wrong_token_ends_at_once() {
    let mut bed = Bed::new(WORKS);
    let (mut agent, _local) = bed.start_agent_with(Scope::Submit);
    let never = Arc::new(AtomicBool::new(false));
    let refused = agent.run(&never, |_| {}).expect_err("refused");
    assert_eq!(refused.kind(), ErrorKind::Input, "{refused}");
    assert!(
        refused.to_string().contains("the scope `agent`"),
        "{refused}"
    );
}
