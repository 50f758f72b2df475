//! The records of campaigns and launches.

use store::{LaunchOutcome, SpoolReader, Store, StoreError};
use vocabulary::Pattern;
use wire::Finish;

use crate::fixture::{
    done, first_plan, first_plan_as, in_memory, library, plan, store_with, times, write_spool,
};

#[test]
fn launches_are_numbered_begun_and_ended_once() {
    let mut empty = in_memory();
    assert_eq!(empty.next_launch().expect("readable"), 1);
    let error = empty
        .begin_launch(&first_plan(1))
        .expect_err("no campaign yet");
    assert!(
        matches!(error, StoreError::UnknownCampaign { .. }),
        "{error:?}"
    );

    let mut store = store_with(&first_plan(1));
    assert_eq!(store.next_launch().expect("readable"), 2);
    let begun_before = store
        .begin_launch(&first_plan(1))
        .expect_err("begun before");
    assert!(
        matches!(begun_before, StoreError::LaunchExists { launch: 1, .. }),
        "{begun_before:?}"
    );
    store.begin_launch(&first_plan_as(2)).expect("begun");
    let unfinished = store.unfinished_launches().expect("readable");
    assert_eq!(unfinished, [first_plan(1), first_plan_as(2)]);

    let died = LaunchOutcome::Died {
        message: "mpirun: signal 9".to_owned(),
    };
    store.end_launch(1, &died).expect("ended");
    store
        .end_launch(2, &Finish::Deadline.into())
        .expect("ended");
    for number in [1, 3] {
        let not_under_way = store
            .end_launch(number, &LaunchOutcome::Interrupted)
            .expect_err("not under way");
        assert!(
            matches!(not_under_way, StoreError::NotUnderWay { launch, .. } if launch == number)
        );
    }
    assert!(store.unfinished_launches().expect("readable").is_empty());
    let launches = store.launches().expect("readable");
    let outcomes: Vec<_> = launches.into_iter().map(|launch| launch.outcome).collect();
    assert_eq!(outcomes, [Some(died), Some(LaunchOutcome::Deadline)]);
}

#[test]
fn a_campaign_is_recorded_once() {
    let mut store = in_memory();
    store
        .record_campaign("b", "second", "# one")
        .expect("stored");
    store
        .record_campaign("b", "second", "# two")
        .expect("stored");
    store
        .record_campaign("a", "first", "# three")
        .expect("stored");
    let campaigns = store.campaigns().expect("readable");
    let texts: Vec<_> = campaigns
        .iter()
        .map(|campaign| campaign.text.as_str())
        .collect();
    assert_eq!(texts, ["# one", "# three"]);
}

#[test]
fn an_unfinished_launch_is_finished_from_its_spool() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let plan = plan(
        1,
        library("openmpi"),
        &folder.path().join("spool.jsonl"),
        20,
    );
    write_spool(&plan, 5);
    let mut store = store_with(&plan);
    for task in 0..7 {
        store
            .ingest_record(&plan, &done(task, &[times(task, 0, 5)]))
            .expect("stored");
    }
    for unfinished in store.unfinished_launches().expect("readable") {
        let mut spool = SpoolReader::new(&unfinished.spool);
        while let Some(record) = spool.next_record().expect("readable") {
            store.ingest_record(&unfinished, &record).expect("stored");
        }
        store
            .end_launch(unfinished.launch, &LaunchOutcome::Interrupted)
            .expect("ended");
    }
    let samples = store
        .samples(&library("openmpi"), Pattern::Together)
        .expect("readable");
    assert_eq!(
        samples.len(),
        7 + 2 * 14,
        "one a task stored before, two a cell from the spool"
    );
    assert!(store.unfinished_launches().expect("readable").is_empty());
}

#[test]
fn the_rest_of_an_interrupted_launch_is_known_until_a_launch_is_complete() {
    let plan = first_plan(3);
    let mut store = store_with(&plan);
    let undone = |current: &Store| -> Vec<u32> {
        let tasks = current.unfinished_tasks(&library("openmpi"), "digest");
        tasks
            .expect("readable")
            .iter()
            .map(|task| task.id)
            .collect()
    };
    assert_eq!(undone(&store), [0, 1, 2, 3]);
    let times = [times(2, 0, 10), times(2, 1, 10)];
    store
        .ingest_record(&plan, &done(2, &times))
        .expect("stored");
    store
        .end_launch(1, &LaunchOutcome::Interrupted)
        .expect("ended");
    assert_eq!(undone(&store), [0, 1, 3]);
    assert_eq!(
        store
            .unfinished_tasks(&library("mpich"), "digest")
            .expect("readable"),
        []
    );
    assert_eq!(
        store
            .unfinished_tasks(&library("openmpi"), "other")
            .expect("readable"),
        []
    );
    // The launch that completes it becomes the last one.
    store.begin_launch(&first_plan_as(2)).expect("begun");
    store
        .end_launch(2, &LaunchOutcome::Complete)
        .expect("ended");
    assert!(undone(&store).is_empty());
}
