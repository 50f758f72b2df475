//! Connections that are cut at every point of the exchange: each campaign, result and cancellation counts exactly once.

use std::time::Duration;

use answers::TaskState;
use service::{Scope, TaskKind, TaskRequest};

use crate::bed::{Bed, CAMPAIGN, Cut, MACHINE, WORKS, admin, tune};

/// The most chunks of an exchange: more than a task needs.
const MOST_CHUNKS: usize = 60;
const CUTS: [Cut; 3] = [Cut::Nothing, Cut::Half, Cut::Everything];

/// Whether the service has this text as the agent's campaign.
fn has_campaign(bed: &Bed, text: &str) -> bool {
    let told = bed.service.read_campaign("tuning/small.yaml");
    told.is_ok_and(|(_, told)| told == text)
}

#[test]
fn each_table_counts_once_wherever_the_connection_is_cut() {
    let mut bed = Bed::new(WORKS);
    let (mut agent, local) = bed.start_agent();
    bed.work_until(&mut agent, || has_campaign(&bed, CAMPAIGN));
    let mut cuts = 0;
    let mut cuts_of_campaigns = 0;
    for cut in CUTS {
        for later in 0..MOST_CHUNKS {
            let (tables, calls) = (bed.tables(), bed.calls().len());
            // Another text, so that the agent tells its campaigns again.
            let text = format!("{CAMPAIGN}# {cut:?} of chunk {later}\n");
            bed.write("tuning/small.yaml", &text);
            bed.proxy.plan_cut(later, cut);
            let failures = bed.work_until(&mut agent, || has_campaign(&bed, &text));
            cuts_of_campaigns += failures;
            let id = bed.submit(&tune());
            let task = bed.work_to_end(&mut agent, &local, id);
            let place = format!("{cut:?} of chunk {later}: {task:?}");
            assert_eq!(task.state, TaskState::Done, "{place}");
            assert_eq!(task.attempts, 1, "{place}");
            assert_eq!(bed.calls().len(), calls + 1, "{place}");
            let made = task.made.expect("a table");
            assert!(!tables.contains(&made), "{place}");
            assert_eq!(bed.tables().len(), tables.len() + 1, "{place}");
            let log = bed.service.read_log(id, 0).expect("a log").text;
            assert_eq!(log, format!("measuring {}\n", calls + 1), "{place}");
            if bed.proxy.drop_plan() {
                break;
            }
            cuts += 1;
        }
    }
    // The campaigns, a claim, a heartbeat with the log, the table and the result are two chunks each at least.
    assert!(cuts >= 3 * 10, "only {cuts} cuts");
    assert!(cuts_of_campaigns >= 3, "only {cuts_of_campaigns} cuts");
}

#[test]
fn each_validation_counts_once_wherever_the_connection_is_cut() {
    let mut bed = Bed::new(WORKS);
    let (mut agent, local) = bed.start_agent();
    bed.work_until(&mut agent, || has_campaign(&bed, CAMPAIGN));
    let id = bed.submit(&tune());
    let table = bed
        .work_to_end(&mut agent, &local, id)
        .made
        .expect("a table");
    let validate = TaskRequest {
        kind: TaskKind::Validate,
        campaign: None,
        table: Some(table.clone()),
        ..tune()
    };
    let mut expected = Vec::new();
    for cut in CUTS {
        let before = expected.len();
        for later in 0..MOST_CHUNKS {
            let validation = bed.submit(&validate);
            expected.insert(0, validation);
            bed.proxy.plan_cut(later, cut);
            let task = bed.work_to_end(&mut agent, &local, validation);
            let place = format!("{cut:?} of chunk {later}: {task:?}");
            assert_eq!(task.state, TaskState::Done, "{place}");
            let stored = bed.service.list_validations(MACHINE, &table).expect("read");
            let stored: Vec<_> = stored.iter().map(|row| row.task).collect();
            assert_eq!(stored, expected, "{place}");
            if bed.proxy.drop_plan() {
                break;
            }
        }
        assert!(expected.len() > before + 4, "{cut:?}: {expected:?}");
    }
    assert_eq!(bed.calls().len(), 1 + expected.len());
}

/// A cut of a heartbeat that cancels, or of a request soon after it.
#[test]
fn each_cancelled_task_is_interrupted_once_wherever_the_connection_is_cut() {
    let waits = "trap 'echo interrupted >> calls; exit 130' INT; while :; do sleep 0.02; done";
    let mut bed = Bed::new(waits);
    // Heartbeats are always due: the first request after the cancellation is one.
    let (mut agent, local) = bed.start_agent_at_pace(Scope::Agent, Duration::ZERO);
    bed.work_until(&mut agent, || has_campaign(&bed, CAMPAIGN));
    for cut in CUTS {
        for later in 0..6 {
            let calls = bed.calls().len();
            let id = bed.submit(&tune());
            bed.work_until(&mut agent, || bed.calls().len() == calls + 1);
            bed.service.cancel_task(&admin(), id).expect("asked");
            bed.proxy.plan_cut(later, cut);
            let task = bed.work_to_end(&mut agent, &local, id);
            let place = format!("{cut:?} of chunk {later}: {task:?}");
            assert_eq!(task.state, TaskState::Cancelled, "{place}");
            let all = bed.calls();
            assert_eq!(all.len(), calls + 2, "{place}: {all:?}");
            assert_eq!(all[calls + 1], "interrupted", "{place}");
            assert!(!bed.proxy.drop_plan(), "not cut: {place}");
        }
    }
}
