//! Simulations of one group of ranks for all, compared with those of all ranks.

use std::time::{Duration, Instant};

use model::{Machine, Setting, Topology, simulate, simulate_traced, simulate_while};
use schedule::{ALGORITHMS, Parameter, Parameters, Request, Schedule, find_algorithm};
use vocabulary::Placement;

/// A machine on which messages compete for the ports of ranks and nodes, and the other actions of a round matter.
const MACHINE: &str = "name: any\nranks_per_node: 4\n\
    network: {alpha: 3, overhead: 1, beta: 0.25, eager_limit: 64, fan_out: 1.5, shift: 2}\n\
    node: {alpha: 1, overhead: 0.5, beta: 0.125, eager_limit: 16, fan_in: 1.5}\n\
    injection_beta: 0.125\ninjection_gap: 0.5\nrails: 2\npost_ahead: all\ngamma: 0.25\ncopy: 0.125\n";

/// Compares all algorithms on nodes of this many ranks each; returns the number of comparisons.
fn check(machine: &Machine, topology: Topology, units: u64) -> usize {
    let setting = Setting {
        machine,
        topology,
        unit_bytes: 8,
    };
    let ranks = topology.ranks() as u32;
    let calls = ALGORITHMS.iter().flat_map(|algorithm| {
        let number = |parameter| algorithm.takes(parameter).then_some(3);
        let numbers = Parameters {
            radix: number(Parameter::Radix),
            max_requests: number(Parameter::MaxRequests),
            ..Parameters::default()
        };
        let given = [Parameters::default(), numbers].into_iter();
        let both = numbers != Parameters::default();
        let given = given.take(1 + usize::from(both));
        given.map(move |parameters| (algorithm, parameters))
    });
    let schedules = calls.filter_map(|(algorithm, parameters)| {
        let request = Request {
            units,
            parameters,
            placed: topology.placed(),
            ..Request::among_ranks(ranks)
        };
        let schedule = Schedule::new(algorithm, &request).ok()?;
        Some((algorithm.name(), schedule))
    });
    let compared = schedules.map(|(name, schedule)| {
        let found = simulate(&schedule, &setting).unwrap();
        let (all, _) = simulate_traced(&schedule, &setting, usize::MAX).unwrap();
        assert_eq!(found, all, "{name} on {topology:?}, {units} units");
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
            for placement in Placement::ALL {
                let topology = Topology::new(nodes, per_node, placement);
                compared += check(&contended, topology, units);
            }
        }
        for nodes in [2, 7, 16, 24] {
            compared += check(&plain, Topology::one_rank_per_node(nodes), units);
        }
    }
    assert!(compared > 4000, "{compared}");
}

/// Thousands of messages of a rank wait for ports at once. The time grows with their number, not with its square: that
/// takes minutes here.
#[test]
fn all_messages_of_an_alltoall_at_once_are_simulated_in_time() {
    let machine = Machine::from_yaml(MACHINE).unwrap();
    let topology = Topology::new(100, 48, Placement::Block);
    let setting = Setting {
        machine: &machine,
        topology,
        unit_bytes: 8,
    };
    let request = Request {
        placed: topology.placed(),
        units: 1,
        ..Request::among_ranks(topology.ranks() as u32)
    };
    let linear = find_algorithm("alltoall/linear").unwrap();
    let schedule = Schedule::new(linear, &request).unwrap();
    let end = Instant::now() + Duration::from_secs(40);
    let found = simulate_while(&schedule, &setting, &|| Instant::now() < end);
    let ranks = topology.ranks();
    assert_eq!(found.unwrap().messages, ranks * (ranks - 1));
}
