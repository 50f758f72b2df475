//! Simulations in the order of dependency, compared with those in the order of time, which observers of messages get.

use std::cell::Cell;
use std::collections::HashSet;

use model::{
    Machine, Setting, SimulationError, Topology, best_blocks_while, simulate, simulate_traced,
    simulate_while,
};
use schedule::{ALGORITHMS, Request, Schedule};
use vocabulary::Placement;

/// Messages compete for the ports of ranks; those of some lengths are eager.
const EAGER: &str = "name: eager\nranks_per_node: 4\n\
    network: {alpha: 3, overhead: 1, beta: 0.25, eager_limit: 64}\n\
    node: {alpha: 1, overhead: 0.5, beta: 0.125, eager_limit: 16}\ngamma: 0.25\ncopy: 0.125\n";

/// The ranks of a node share ports, which have gaps and rails, and long messages are posted ahead.
const SHARED: &str = "injection_beta: 0.4\ninjection_gap: 0.5\nrails: 2\npost_ahead: all\n";

/// The other messages of a round matter, as on machines that are fitted to measurements.
const FITTED: &str = "name: fitted\nranks_per_node: 4\n\
    network: {alpha: 3, overhead: 1, beta: 0.25, eager_limit: 4096, fan_out: 1.5, shift: 2}\n\
    node: {alpha: 1, overhead: 0.5, beta: 0.125, eager_limit: 4096, fan_in: 1.5, \
    lines: [{from: 0, alpha: 1, beta: 0.125, exchange: 1.25, fresh: 1.5}]}\n\
    injection_gap: 0.5\ngamma: 0.25\ncopy: 0.125\n";

/// The schedules of all algorithms on these nodes, with this many units of 8 bytes.
fn schedules(topology: Topology, units: u64) -> impl Iterator<Item = Schedule> {
    let request = Request {
        units,
        placed: topology.placed(),
        ..Request::among_ranks(topology.ranks() as u32)
    };
    ALGORITHMS
        .iter()
        .filter_map(move |algorithm| Schedule::new(algorithm, &request).ok())
}

#[test]
fn both_orders_end_at_the_same_times() {
    let machines = [
        EAGER.to_owned(),
        format!("{EAGER}{SHARED}"),
        FITTED.to_owned(),
    ];
    let shapes = [(2, 4), (3, 4), (4, 3), (7, 2), (8, 4), (12, 1), (1, 12)];
    let mut compared = 0;
    for machine in machines.map(|text| Machine::from_yaml(&text).unwrap()) {
        for (nodes, per_node) in shapes {
            for placement in [Placement::Block, Placement::Cyclic] {
                let topology = Topology::new(nodes, per_node, placement);
                let setting = Setting {
                    machine: &machine,
                    topology,
                    unit_bytes: 8,
                };
                // Vectors that are cut unevenly, into eager messages, longer ones, and both.
                for units in [5, 31, 97, 101, 1001, 6145] {
                    for schedule in schedules(topology, units) {
                        let found = simulate(&schedule, &setting).unwrap();
                        let (timed, _) = simulate_traced(&schedule, &setting, usize::MAX).unwrap();
                        let name = schedule.algorithm().name();
                        let on = &machine.name;
                        assert_eq!(
                            found, timed,
                            "{name} on {nodes} x {per_node} of {on}, {placement:?}, {units} units"
                        );
                        compared += 1;
                    }
                }
            }
        }
    }
    assert!(compared > 10_000, "{compared}");
}

/// Alike ranks of the nodes end at different times if a ring cuts the vector unevenly, so that one node cannot stand for
/// the others.
#[test]
fn nodes_differ_where_a_ring_cuts_the_vector_unevenly() {
    let machine = Machine::from_yaml(&format!("{EAGER}{SHARED}")).unwrap();
    let topology = Topology::new(8, 8, Placement::Block);
    let setting = Setting {
        machine: &machine,
        topology,
        unit_bytes: 8,
    };
    let ring = schedule::find_algorithm("allreduce/ring").unwrap();
    for (units, differ) in [(1024, false), (1001, true)] {
        let request = Request {
            units,
            placed: topology.placed(),
            ..Request::among_ranks(64)
        };
        let schedule = Schedule::new(ring, &request).unwrap();
        let (all, _) = simulate_traced(&schedule, &setting, usize::MAX).unwrap();
        let bits = |node: &[f64]| node.iter().map(|time| time.to_bits()).collect();
        let nodes: HashSet<Vec<u64>> = all.finished.chunks(8).map(bits).collect();
        assert_eq!(nodes.len() > 1, differ, "{units} units: {}", nodes.len());
    }
}

#[test]
fn a_simulation_stops_when_it_is_told_to() {
    let machine = Machine::from_yaml(EAGER).unwrap();
    let topology = Topology::new(64, 4, Placement::Block);
    let setting = Setting {
        machine: &machine,
        topology,
        unit_bytes: 8,
    };
    // One whose nodes are compared and of which one is simulated, and others that are simulated whole, in both orders.
    let whole = [
        ("allreduce/ring", 256 * 256),
        ("allreduce/ring", 256 * 256 + 1),
        ("reduce_scatter/ring", 256 * 256 + 1),
    ];
    for (name, units) in whole {
        let request = Request {
            units,
            placed: topology.placed(),
            ..Request::among_ranks(256)
        };
        let algorithm = schedule::find_algorithm(name).unwrap();
        let schedule = Schedule::new(algorithm, &request).unwrap();
        let asked = Cell::new(0);
        let most = |most| {
            let counter = &asked;
            move || {
                counter.set(counter.get() + 1);
                counter.get() <= most
            }
        };
        let all = simulate_while(&schedule, &setting, &most(u32::MAX)).unwrap();
        assert_eq!(all, simulate(&schedule, &setting).unwrap(), "{name}");
        assert!(asked.get() > 5, "{name} asks {} times", asked.get());
        for limit in 0..asked.take().min(20) {
            let stopped = simulate_while(&schedule, &setting, &most(limit));
            assert_eq!(
                stopped,
                Err(SimulationError::Stopped),
                "{name} after {limit}"
            );
            asked.set(0);
        }
    }
    // The search for blocks stops as well.
    let pipelined = schedule::find_algorithm("gather/binary_chunked").unwrap();
    let request = Request {
        units: 1 << 20,
        placed: topology.placed(),
        ..Request::among_ranks(256)
    };
    let stopped = best_blocks_while(pipelined, &request, &setting, &|| false);
    assert_eq!(stopped, Err(SimulationError::Stopped));
}
