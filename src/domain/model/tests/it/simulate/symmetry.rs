//! Simulations of one group of ranks for all, compared with those of all ranks.

use model::{Machine, Setting, Topology, simulate, simulate_traced};
use schedule::{ALGORITHMS, Request, Schedule};
use vocabulary::Placement;

/// A machine on which messages compete for the ports of ranks and nodes, and the other actions of a round matter.
const MACHINE: &str = "name: any\nranks_per_node: 4\n\
    network: {alpha: 3, overhead: 1, beta: 0.25, eager_limit: 64, fan_out: 1.5, shift: 2}\n\
    node: {alpha: 1, overhead: 0.5, beta: 0.125, eager_limit: 16, fan_in: 1.5}\n\
    injection_beta: 0.125\ninjection_gap: 0.5\nrails: 2\npost_ahead: all\ngamma: 0.25\ncopy: 0.125\n";

/// Compares all algorithms on block-placed nodes, each of this many ranks; returns the number of comparisons.
fn check(machine: &Machine, nodes: u32, per_node: u32, units: u64) -> usize {
    let topology = Topology::new(nodes, per_node, Placement::Block);
    let setting = Setting {
        machine,
        topology,
        unit_bytes: 8,
    };
    let request = Request {
        units,
        placed: topology.placed(),
        ..Request::among_ranks(nodes * per_node)
    };
    let schedules = ALGORITHMS.iter().filter_map(|algorithm| {
        let schedule = Schedule::new(algorithm, &request).ok()?;
        Some((algorithm.name(), schedule))
    });
    let compared = schedules.map(|(name, schedule)| {
        let found = simulate(&schedule, &setting).unwrap();
        let (all, _) = simulate_traced(&schedule, &setting, usize::MAX).unwrap();
        assert_eq!(found, all, "{name} on {nodes} x {per_node}, {units} units");
    });
    compared.count()
}

#[test]
fn one_group_ends_when_all_do() {
    let contended = Machine::from_yaml(MACHINE).unwrap();
    let plain = super::flat(4.0, 0.5, 0.25);
    let mut compared = 0;
    for units in [1, 96, 1536, 6144] {
        for (nodes, per_node) in [(8, 4), (4, 8), (6, 2), (3, 4), (16, 1), (12, 1), (1, 16)] {
            compared += check(&contended, nodes, per_node, units);
        }
        for nodes in [2, 7, 16, 24] {
            compared += check(&plain, nodes, 1, units);
        }
    }
    assert!(compared > 2000, "{compared}");
}
