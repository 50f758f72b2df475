//! Connections that are cut at every point of the exchange: each result counts exactly once.

use answers::TaskState;
use service::{TaskKind, TaskRequest};

use crate::bed::{Bed, Cut, MACHINE, WORKS, tune};

/// The most chunks of an exchange: more than a task needs.
const MOST_CHUNKS: usize = 60;

#[test]
fn each_table_counts_once_wherever_the_connection_is_cut() {
    let mut bed = Bed::new(WORKS);
    let (mut agent, local) = bed.start_agent();
    bed.work_until(&mut agent, || {
        !bed.service.list_campaigns().expect("listed").is_empty()
    });
    let mut cuts = 0;
    for cut in [Cut::Nothing, Cut::Half, Cut::Everything] {
        for later in 0..MOST_CHUNKS {
            let (tables, calls) = (bed.tables(), bed.calls().len());
            let id = bed.submit(&tune());
            bed.proxy.plan_cut(later, cut);
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
    // A claim, a heartbeat with the log, the table and the result are two chunks each at least.
    assert!(cuts >= 3 * 8, "only {cuts} cuts");
}

#[test]
fn each_validation_counts_once_if_an_answer_is_lost() {
    let mut bed = Bed::new(WORKS);
    let (mut agent, local) = bed.start_agent();
    bed.work_until(&mut agent, || {
        !bed.service.list_campaigns().expect("listed").is_empty()
    });
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
    for later in 0..MOST_CHUNKS {
        let validation = bed.submit(&validate);
        expected.insert(0, validation);
        bed.proxy.plan_cut(later, Cut::Everything);
        let task = bed.work_to_end(&mut agent, &local, validation);
        assert_eq!(task.state, TaskState::Done, "{task:?}");
        let stored = bed.service.list_validations(MACHINE, &table).expect("read");
        let stored: Vec<_> = stored.iter().map(|row| row.task).collect();
        assert_eq!(stored, expected, "after chunk {later}");
        if bed.proxy.drop_plan() {
            break;
        }
    }
    assert!(expected.len() > 4, "{expected:?}");
    assert_eq!(bed.calls().len(), 1 + expected.len());
}
