//! Recorded events, and critical paths.

use model::{Event, Setting, SimulationError, Topology, simulate, simulate_traced};
use schedule::{ALGORITHMS, Request, Schedule};

use super::flat;
use vocabulary::Placement;

/// On machines with all properties, the recorded events add up to the same end, and a critical path leads from the
/// start to the end without a gap.
#[test]
fn a_critical_path_has_no_gaps() {
    let mut contended = flat(2e-6, 1e-9, 5e-10);
    contended.node = contended.network.clone();
    contended.copy = Some(2e-10);
    let network = contended.network.as_mut().unwrap();
    network.overhead = Some(5e-7);
    network.eager_limit = Some(300);
    let plain = flat(2e-6, 1e-9, 5e-10);
    let mut shared = contended.clone();
    shared.injection_beta = Some(8e-10);
    for (machine, ranks_per_node) in [(&plain, 1), (&contended, 3), (&shared, 3)] {
        for algorithm in ALGORITHMS {
            for (ranks, units) in [(1, 9), (2, 40), (8, 64), (14, 1000)] {
                let request = Request {
                    units,
                    ..Request::among_ranks(ranks)
                };
                let schedule = Schedule::new(algorithm, &request).unwrap();
                let setting = Setting {
                    machine,
                    topology: Topology::of_ranks(ranks, ranks_per_node, Placement::Cyclic),
                    unit_bytes: 4,
                };
                let (simulation, trace) = simulate_traced(&schedule, &setting, 100_000).unwrap();
                assert_eq!(simulate(&schedule, &setting).as_ref(), Ok(&simulation));
                assert_eq!(trace.messages.len() as u64, simulation.messages);
                let path = trace.critical_path();
                let mut now = 0.0;
                for segment in &path {
                    assert_eq!(segment.start, now, "{schedule:?}: {path:?}");
                    assert!(segment.end >= now);
                    now = segment.end;
                }
                assert_eq!(now, simulation.seconds, "{schedule:?}: {path:?}");
            }
        }
    }
}

#[test]
fn the_path_of_a_chain_is_the_chain() {
    let machine = flat(1.0, 0.5, 0.25);
    let request = Request {
        units: 8,
        ..Request::among_ranks(4)
    };
    let schedule =
        Schedule::new(schedule::find_algorithm("reduce/chain").unwrap(), &request).unwrap();
    let setting = Setting {
        machine: &machine,
        topology: Topology::one_rank_per_node(4),
        unit_bytes: 1,
    };
    let (simulation, trace) = simulate_traced(&schedule, &setting, 6).unwrap();
    assert_eq!(simulation.seconds, 3.0 * (5.0 + 2.0));
    let steps = trace
        .critical_path()
        .into_iter()
        .map(|segment| match segment.event {
            Event::Message(index) => format!(
                "{}-{}",
                trace.messages[index].from, trace.messages[index].to
            ),
            Event::Work(index) => format!("{}", trace.work[index].rank),
        });
    assert_eq!(
        steps.collect::<Vec<_>>(),
        ["3-2", "2", "2-1", "1", "1-0", "0"]
    );
    let refused = model::simulate_traced(&schedule, &setting, 5);
    assert_eq!(refused.err(), Some(SimulationError::TooMuch { limit: 5 }));
}
