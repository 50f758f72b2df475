//! Tasks with jobs in a batch system, step by step.

use answers::{JobStateName, LastLine, LaunchState, SubmittedJob, SubmittedLaunch, TuningEvent};
use service::{Notice, TaskId, TaskState};
use vocabulary::CampaignProgress;

use super::fixture::{Bed, admin};

const CAMPAIGN: &str = "\
name: NAME
library: openmpi
launcher: slurm
shapes: [2x1, 4x1]
collectives: [bcast]
sizes: 64
budget: 1m
";

/// The output of a step about the job `7`.
fn job(name: JobStateName, nodes: &[&str]) -> String {
    let state = LaunchState {
        reason: Some("Priority".to_owned()),
        nodes: nodes.iter().map(|node| (*node).to_owned()).collect(),
        ..LaunchState::named(name)
    };
    let outcome = SubmittedLaunch {
        job: Some(SubmittedJob {
            launch: 1,
            id: "7".to_owned(),
            state,
            is_new: false,
        }),
        progress: CampaignProgress { done: 1, total: 4 },
    };
    let line = serde_json::to_string(&LastLine::Outcome { outcome }).unwrap();
    format!("echo '{line}'")
}

fn bed(script: &str) -> Bed {
    let bed = Bed::new(script);
    for name in ["a", "b", "c"] {
        bed.write(
            &format!("tuning/{name}.yaml"),
            &CAMPAIGN.replace("NAME", name),
        );
    }
    bed
}

fn begun(bed: &mut Bed, name: &str, reason: &str) -> TaskId {
    let id = bed.tune(name);
    bed.until(id, |task| task.reason.contains(reason));
    id
}

#[test]
fn steps_are_repeated_until_nothing_is_left_to_submit() {
    let mut bed = bed(&format!(
        "case $n in 1) {};; 2|3) {};; *) end;; esac",
        job(JobStateName::Queued, &[]),
        job(JobStateName::Running, &["n1", "n2"]),
    ));
    let id = bed.tune("a");
    let task = bed.ended(id);
    assert_eq!(
        (task.state, task.attempts),
        (TaskState::Done, 1),
        "{task:?}"
    );
    assert_eq!(task.expected_node_seconds, Some(240.0));
    let calls = bed.calls();
    assert_eq!(calls.len(), 4);
    assert!(
        calls.iter().all(|call| call.ends_with("--events --detach")),
        "{calls:?}"
    );
    // Two nodes from the second step to the fourth, which are 40 ms apart at least.
    assert!(task.node_seconds > 0.16, "{task:?}");
}

#[test]
fn a_job_that_cannot_be_read_is_a_failure_of_its_step() {
    // As of a version without one of the keys.
    let unreadable = job(JobStateName::Running, &["n1"]).replace("\"launch\":1,", "");
    let mut bed = bed(&format!(
        "case $n in 1) {unreadable};; 2) {};; *) end;; esac",
        job(JobStateName::Queued, &[])
    ));
    let id = begun(
        &mut bed,
        "a",
        "a job that cannot be read: missing field `launch`",
    );
    let task = bed.ended(id);
    assert_eq!(task.state, TaskState::Done, "{task:?}");
    assert_eq!(bed.calls().len(), 3);
}

#[test]
fn a_job_that_no_step_saw_running_is_counted() {
    let mut bed = bed(&format!(
        "case $n in 1) {};; *) end;; esac",
        job(JobStateName::Queued, &[])
    ));
    let id = bed.tune("a");
    let task = bed.ended(id);
    assert!(task.node_seconds > 0.16, "{task:?}");
}

#[test]
fn jobs_continue_without_the_service() {
    let mut bed = bed(&format!(
        "[ ! -e go ] || {{ end; exit; }}; {}",
        job(JobStateName::Running, &["n1"])
    ));
    let id = begun(&mut bed, "a", "job 7 runs");
    bed.stop();
    let calls = bed.calls().len();
    bed.write("go", "");
    let task = bed.ended(id);
    assert_eq!(
        (task.state, task.attempts),
        (TaskState::Done, 2),
        "{task:?}"
    );
    assert_eq!(bed.calls().len(), calls + 1);
}

/// Pages and listeners are told where a job runs, as by a child that waits for it.
#[test]
fn the_event_of_a_running_job_names_its_nodes() {
    let mut bed = bed(&format!(
        "[ ! -e go ] || {{ end; exit; }}; {}",
        job(JobStateName::Running, &["n1", "n2"])
    ));
    let (_, mut receiver) = bed.service().feed().listen_after(None);
    let id = begun(&mut bed, "a", "job 7 runs");
    let running = TuningEvent::Running {
        number: 1,
        id: "7".to_owned(),
        nodes: vec!["n1".to_owned(), "n2".to_owned()],
    };
    let last = bed.service().feed().last_progress(id).unwrap();
    assert_eq!(last.known_event(), Some(&running));
    let told = std::iter::from_fn(|| receiver.try_recv().ok());
    let mut progress = told.filter_map(|item| match item.notice {
        Notice::Progress { progress, .. } => progress.known_event().cloned(),
        _ => None,
    });
    assert!(progress.any(|event| event == running));
    bed.write("go", "");
    assert_eq!(bed.ended(id).state, TaskState::Done);
}

#[test]
fn batch_tasks_are_limited_and_run_beside_one_that_measures_here() {
    let mut bed = bed(&format!(
        "[ ! -e go ] || {{ end; exit; }}\n\
         case \"$*\" in *--detach) {};; *) while [ ! -e go ]; do sleep 0.02; done; end;; esac",
        job(JobStateName::Queued, &[])
    ));
    bed.configuration.machines[0].tasks = 2;
    let [a, b] = ["a", "b"].map(|name| begun(&mut bed, name, "job 7"));
    let c = bed.tune("c");
    let here = bed.tune("small");
    bed.until(here, |task| task.state == TaskState::Running);
    let task = bed.service().read_task(c).unwrap();
    assert_eq!(task.state, TaskState::Waiting, "{task:?}");
    assert!(
        !bed.service().is_measuring_here(),
        "simulations measure nothing"
    );
    bed.write("go", "");
    for id in [a, b, c, here] {
        assert_eq!(bed.ended(id).state, TaskState::Done);
    }
}

#[test]
fn jobs_are_cancelled_with_their_task() {
    let script = format!(
        "case $1 in cancel) [ $n -gt 4 ] || exit 3;; *) {};; esac",
        job(JobStateName::Queued, &[])
    );
    let mut bed = bed(&script);
    let id = begun(&mut bed, "a", "job 7 is queued (Priority)");
    bed.service().cancel_task(&admin(), id).unwrap();
    let task = bed.ended(id);
    assert_eq!(task.state, TaskState::Cancelled, "{task:?}");
    let last = bed.calls().pop().unwrap();
    let file = bed.path("state/tasks/1/campaign.yaml");
    assert_eq!(last, format!("cancel {} --json", file.display()));

    // Also if the service did not run meanwhile.
    let mut stopped_bed = self::bed(&format!(
        "case $1 in tune) {};; esac",
        job(JobStateName::Queued, &[])
    ));
    let stopped_id = begun(&mut stopped_bed, "a", "job 7");
    stopped_bed.stop();
    stopped_bed
        .service()
        .cancel_task(&admin(), stopped_id)
        .unwrap();
    let stopped_task = stopped_bed.ended(stopped_id);
    assert_eq!(stopped_task.state, TaskState::Cancelled, "{stopped_task:?}");
    assert!(stopped_bed.calls().pop().unwrap().starts_with("cancel "));
}

#[test]
fn a_task_fails_after_several_queries_without_an_answer_of_the_scheduler() {
    let mut bed = bed("echo 'error: squeue is silent' >&2; exit 3");
    let id = bed.tune("a");
    let task = bed.ended(id);
    assert_eq!(task.state, TaskState::Failed, "{task:?}");
    assert!(
        task.reason.contains("squeue is silent (3 times in a row)"),
        "{task:?}"
    );
    assert_eq!(bed.calls().len(), 3);
}
