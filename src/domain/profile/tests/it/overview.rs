//! What profiles say.

use profile::{CallCost, CallShape, ComparedRanks, Form, Profile, RecordedJob};

use crate::made::{allreduce, job, of_calls, seconds};

#[test]
fn waiting_is_told_apart_from_communication() {
    // Ten seconds in allreduces; of the four that were sampled, three were spent waiting.
    let sampled = CallCost {
        calls: 100,
        time: seconds(10),
        sampled_calls: 40,
        sampled: seconds(4),
        waiting: seconds(3),
        ..CallCost::default()
    };
    let mut persistent = allreduce(8);
    persistent.form = Form::Persistent;
    persistent.bytes = None;
    let unsampled = CallCost {
        calls: 10,
        time: seconds(2),
        ..CallCost::default()
    };
    let profile = of_calls("one", [(allreduce(64), sampled), (persistent, unsampled)]);
    let overview = profile.overview();
    // The job has forty seconds of all ranks.
    assert!((overview.share - 12.0 / 40.0).abs() < 1e-12, "{overview:?}");
    let waiting = overview.waiting_share.expect("samples");
    assert!((waiting - 7.5 / 40.0).abs() < 1e-12, "{overview:?}");
    assert!(
        (overview.sampled_share - 10.0 / 12.0).abs() < 1e-12,
        "{overview:?}"
    );
    assert!(
        (overview.unserved_share - 2.0 / 12.0).abs() < 1e-12,
        "{overview:?}"
    );
    let [first, second] = &overview.shapes[..] else {
        panic!("{overview:?}");
    };
    assert_eq!(
        (first.waiting_share, second.waiting_share),
        (Some(0.75), None)
    );
    assert_eq!(
        (first.is_served, second.is_served),
        (Some(true), Some(false))
    );
    assert_eq!(second.mean_bytes, None);
}

#[test]
fn calls_without_a_place_are_of_unknown_kinds() {
    let cost = CallCost {
        calls: 10,
        time: seconds(2),
        ..CallCost::default()
    };
    let profile = of_calls("one", [(CallShape::other(), cost)]);
    let overview = profile.overview();
    assert_eq!(overview.unserved_share, 0.0);
    assert_eq!(overview.shapes[0].is_served, None);
}

#[test]
fn three_nonblocking_collectives_are_served() {
    let is_served = |collective: &str, form| {
        let call = CallShape {
            collective: collective.to_owned(),
            form,
            ..allreduce(8)
        };
        call.is_served().expect("a known kind")
    };
    for collective in ["bcast", "allreduce", "barrier"] {
        assert!(is_served(collective, Form::Nonblocking), "{collective}");
        assert!(!is_served(collective, Form::Persistent), "{collective}");
    }
    assert!(!is_served("alltoall", Form::Nonblocking));
    assert!(!is_served("neighbor_alltoall", Form::Blocking));
}

#[test]
fn nothing_is_said_without_samples() {
    let overview = Profile::default().overview();
    assert_eq!((overview.share, overview.waiting_share), (0.0, None));
}

#[test]
fn a_killed_job_says_what_is_missing() {
    let mut profile = of_calls("one", []);
    let half = RecordedJob {
        ranks: 2,
        parts: [0].into(),
        arrivals: ComparedRanks::WithinNodes,
        ..job()
    };
    profile.jobs.insert("two".to_owned(), half);
    let jobs = profile.overview().jobs;
    assert_eq!((jobs.count, jobs.killed), (2, 1));
    assert_eq!((jobs.compared_within_nodes, jobs.missing_ranks), (1, 2));
    assert_eq!(jobs.programs["solver"], 2);
}
