//! Calls that follow each other, and ranks that begin at different times, compared with hand calculations.

use model::{PostAhead, Setting, Topology, simulate, simulate_from, simulate_repeated};
use schedule::{Parameters, Request, Schedule};

use super::flat;
use vocabulary::Placement;

/// The time of a message; both ports are busy for all of it.
const MESSAGE: f64 = 4.0 + 0.5 * 16.0;

fn schedule(name: &str, ranks: u32) -> Schedule {
    let request = Request {
        units: 16,
        ..Request::among_ranks(ranks)
    };
    Schedule::new(schedule::find_algorithm(name).unwrap(), &request).unwrap()
}

#[test]
fn repeated_calls_overlap_as_far_as_ranks_leave_early() {
    let machine = flat(4.0, 0.5, 0.0);
    let check = |name, ranks, together: f64, repeated: f64| {
        let setting = Setting {
            machine: &machine,
            topology: Topology::one_rank_per_node(ranks),
            unit_bytes: 1,
        };
        let schedule = schedule(name, ranks);
        let found = simulate(&schedule, &setting).unwrap().seconds;
        assert!((found - together).abs() < 1e-9, "{name}: {found} together");
        let per_call = simulate_repeated(&schedule, &setting, 8, 8).unwrap();
        assert!(
            (per_call - repeated).abs() < 1e-9,
            "{name}: {per_call} repeated"
        );
    };
    // A rank of the chain receives one message and sends one; the root goes on at once.
    check("bcast/chain", 8, 7.0 * MESSAGE, 2.0 * MESSAGE);
    // The root sends three.
    check("bcast/binomial", 8, 3.0 * MESSAGE, 3.0 * MESSAGE);
    // No rank can leave before the others.
    check("allgather/ring", 4, 3.0 * MESSAGE, 3.0 * MESSAGE);
}

#[test]
fn ranks_wait_for_late_ranks() {
    let machine = flat(4.0, 0.5, 0.0);
    let setting = Setting {
        machine: &machine,
        topology: Topology::one_rank_per_node(3),
        unit_bytes: 1,
    };
    let check = |starts: [f64; 3], finished: [f64; 3]| {
        let schedule = schedule("bcast/chain", 3);
        let found = simulate_from(&schedule, &setting, &starts).unwrap();
        assert_eq!(found.finished, finished, "{starts:?}");
    };
    check([0.0, 0.0, 0.0], [MESSAGE, 2.0 * MESSAGE, 2.0 * MESSAGE]);
    // The last rank of the chain is late, and only its message is still to come.
    check([0.0, 0.0, 100.0], [12.0, 112.0, 112.0]);
    // If the root is late, all ranks are.
    check([100.0, 0.0, 0.0], [112.0, 124.0, 124.0]);
}

#[test]
fn long_receives_may_be_posted_a_round_ahead() {
    let request = Request {
        units: 4 * 8192,
        parameters: Parameters::with_blocks(4),
        ..Request::among_ranks(3)
    };
    let schedule = Schedule::new(
        schedule::find_algorithm("reduce/binary_pipelined").unwrap(),
        &request,
    )
    .unwrap();
    let mut machine = flat(4.0, 0.5, 0.25);
    machine.node = machine.network.clone();
    let mut seconds = |post_ahead, ranks_per_node, unit_bytes| {
        machine.post_ahead = post_ahead;
        let setting = Setting {
            machine: &machine,
            topology: Topology::of_ranks(3, ranks_per_node, Placement::Block),
            unit_bytes,
        };
        simulate(&schedule, &setting).unwrap().seconds
    };
    let [alone, together] = [1, 3].map(|ranks_per_node| {
        let all = [PostAhead::None, PostAhead::Network, PostAhead::All];
        all.map(|post_ahead| seconds(post_ahead, ranks_per_node, 1))
    });
    // While a rank combines a block, it receives the next one.
    assert!(alone[2] < alone[0], "{alone:?}");
    assert_eq!(alone[1], alone[2]);
    assert_eq!(together, [alone[0], alone[0], alone[2]]);
    let request = Request {
        units: 4 * 8191,
        ..request
    };
    let shorter = Schedule::new(
        schedule::find_algorithm("reduce/binary_pipelined").unwrap(),
        &request,
    )
    .unwrap();
    let [none, all] = [PostAhead::None, PostAhead::All].map(|post_ahead| {
        machine.post_ahead = post_ahead;
        let setting = Setting {
            machine: &machine,
            topology: Topology::one_rank_per_node(3),
            unit_bytes: 1,
        };
        simulate(&shorter, &setting).unwrap().seconds
    });
    assert_eq!(none, all);
}
