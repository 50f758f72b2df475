//! Messages through shared memory.

use model::Link;
use vocabulary::{
    Candidate, Cell, CommShape, Datatype, ExperimentKind, Operator, Parameters, Through,
};
use wire::{PlannedTask, PlannedWork, Record};

use crate::bench::{Bench, allreduce, compare, experiment};

const BYTES: u64 = 1 << 16;

fn bench(shared: Option<Link>) -> Bench {
    let combine = ExperimentKind::Combine {
        datatype: Datatype::Float64,
        operator: Operator::Sum,
    };
    let kinds = [ExperimentKind::PingPong, ExperimentKind::Exchange, combine];
    let through_shared = |(kind, id)| {
        let mut task: PlannedTask = experiment(id, kind, (1, 2), BYTES);
        if let PlannedWork::Experiment(experiment) = &mut task.work {
            experiment.through = Through::Shared;
        }
        task
    };
    let cell = Cell {
        shape: CommShape { nodes: 1, ppn: 2 },
        ..allreduce(BYTES)
    };
    let candidate = Candidate::Ours {
        algorithm: "allreduce/recursive_doubling".to_owned(),
        parameters: Parameters {
            through: Through::Shared,
            ..Parameters::default()
        },
    };
    let mut tasks: Vec<PlannedTask> = kinds.into_iter().zip(0..).map(through_shared).collect();
    tasks.push(compare(3, cell, &[candidate]));
    let mut bench = Bench::new(tasks);
    bench.machine.shared = shared;
    bench.plan.library = bench.launcher().library().clone();
    bench
}

#[test]
fn messages_through_shared_memory_follow_the_machine() {
    let shared = Link {
        alpha: 1e-7,
        beta: 3e-11,
        gamma: Some(2e-11),
        ..Link::default()
    };
    let bytes = BYTES as f64;
    let message = shared.alpha + shared.beta * bytes;
    let combined = message + 2e-11 * bytes;
    let expected = [message, message, combined, combined];
    let found = bench(Some(shared)).seconds();
    assert_eq!(found.len(), expected.len());
    for (expected_seconds, ((task, _), seconds)) in expected.iter().zip(found) {
        assert!(
            (seconds[0] / expected_seconds - 1.0).abs() < 1e-12,
            "{task}: {seconds:?} {expected_seconds}"
        );
    }
}

#[test]
fn messages_through_shared_memory_need_the_shared_link() {
    let (_, records) = bench(None).run();
    let refused = records.iter().filter_map(|record| match record {
        Record::Failed { task, message, .. } => Some((*task, message.as_str())),
        _ => None,
    });
    let refused: Vec<(u32, &str)> = refused.collect();
    assert_eq!(refused.len(), 4, "{refused:?}");
    for (_, message) in refused {
        assert!(message.contains("has no `shared`"), "{message}");
    }
}
