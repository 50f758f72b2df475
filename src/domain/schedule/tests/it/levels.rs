//! Nodes, and the algorithms that know them, on nodes of any kind.

use proptest::prelude::*;
use schedule::{
    ALGORITHMS, About, Algorithm, Collective, Nodes, Parameter, Parameters, Placed, Rank, Request,
    Schedule, Unsupported, find_algorithm, part_algorithms_of, verify::verify_schedule,
};

use crate::cases::{grid, in_blocks, parameters, schedule};
use crate::random::Random;

/// All algorithms that know nodes.
fn levelled() -> impl Iterator<Item = &'static Algorithm> {
    ALGORITHMS
        .iter()
        .filter(|algorithm| algorithm.knows_nodes())
}

/// Every query of the nodes must agree with their lists of ranks.
fn check_nodes(nodes: &Nodes, expected: &[Vec<Rank>]) {
    assert_eq!(nodes.node_count() as usize, expected.len());
    let ranks: usize = expected.iter().map(Vec::len).sum();
    assert_eq!(nodes.ranks() as usize, ranks);
    for (node, members) in (0..).zip(expected) {
        assert_eq!(nodes.node_size(node) as usize, members.len());
        for (local, rank) in (0..).zip(members) {
            assert_eq!(nodes.place_of_rank(*rank), (node, local));
            assert_eq!(nodes.rank_at(node, local), *rank);
        }
    }
    let largest = expected.iter().map(Vec::len).max().unwrap();
    assert_eq!(nodes.largest_node_size() as usize, largest);
    let are_alike = expected.iter().all(|node| node.len() == largest);
    assert_eq!(nodes.are_alike(), are_alike);
    let gap = |node: &Vec<Rank>| node.windows(2).any(|pair| pair[0] + 1 != pair[1]);
    assert_eq!(nodes.are_consecutive(), !expected.iter().any(gap));
}

/// The ranks on each node, computed from labels; nodes are ordered by their first ranks.
fn lists(labels: &[u32]) -> Vec<Vec<Rank>> {
    let mut seen: Vec<u32> = Vec::new();
    let mut lists: Vec<Vec<Rank>> = Vec::new();
    for (rank, label) in (0..).zip(labels) {
        match seen.iter().position(|known| known == label) {
            Some(node) => lists[node].push(rank),
            None => {
                seen.push(*label);
                lists.push(vec![rank]);
            }
        }
    }
    lists
}

#[test]
fn computed_orders_agree_with_their_lists() {
    for ranks in 1..=40 {
        for size in 1..=ranks + 2 {
            let block: Vec<u32> = (0..ranks).map(|rank| rank / size).collect();
            let cyclic: Vec<u32> = (0..ranks).map(|rank| rank % size).collect();
            for (placed, labels) in [
                (Placed::Block { per_node: size }, block),
                (Placed::Cyclic { nodes: size }, cyclic),
            ] {
                let nodes = placed.resolve_nodes(ranks).unwrap();
                check_nodes(&nodes, &lists(&labels));
                check_nodes(&Nodes::from_labels(&labels), &lists(&labels));
                check_nodes(&Nodes::from_rank_lists(&lists(&labels)), &lists(&labels));
            }
        }
    }
    assert_eq!(Placed::Block { per_node: 0 }.resolve_nodes(3), None);
    assert_eq!(Placed::On(&Nodes::one_node(4)).resolve_nodes(3), None);
}

proptest! {
    #[test]
    fn listed_nodes_are_what_their_lists_are(labels in prop::collection::vec(0_u32..6, 1..40)) {
        check_nodes(&Nodes::from_labels(&labels), &lists(&labels));
    }
}

/// Whether an algorithm works on lanes and the nodes have none, has more leaders than a node has ranks, works on parts
/// that are not contiguous, or scans nodes whose ranks are not consecutive.
fn must_be_refused(algorithm: &Algorithm, leaders: Option<u32>, nodes: &Nodes) -> bool {
    let fewest = (0..nodes.node_count())
        .map(|node| nodes.node_size(node))
        .min();
    if leaders > fewest {
        return true;
    }
    let is_lanes = algorithm.id == "lanes";
    let has_parts =
        algorithm.knows_nodes_itself || algorithm.phases.iter().any(|p| p.about == About::Own);
    let parts_differ = algorithm.collective.has_part_counts();
    let is_cyclic = nodes.are_cyclic() && nodes.are_alike() && !parts_differ;
    if algorithm.collective.is_prefix_reduction() && !nodes.are_consecutive() {
        return true;
    }
    let has_lanes = nodes.are_alike() || !is_lanes;
    !has_lanes || has_parts && !nodes.are_consecutive() && !is_cyclic
}

/// Proves an algorithm on these nodes, from some roots, in place and not.
fn prove(algorithm: &'static Algorithm, parameters: Parameters<'_>, nodes: &Nodes, units: u64) {
    for root in grid().roots(algorithm, nodes.ranks()) {
        for in_place in [false, true] {
            prove_call(algorithm, parameters, nodes, units, (root, in_place));
        }
    }
}

fn prove_call(
    algorithm: &'static Algorithm,
    parameters: Parameters<'_>,
    nodes: &Nodes,
    units: u64,
    (root, in_place): (Rank, bool),
) {
    let request = Request {
        root,
        in_place,
        units,
        parameters,
        placed: Placed::On(nodes),
        ..Request::among_ranks(nodes.ranks())
    };
    let is_refused = must_be_refused(algorithm, parameters.leaders, nodes);
    match Schedule::new(algorithm, &request) {
        Err(Unsupported::UnlikeNodes { .. } | Unsupported::TooManyLeaders { .. }) => {
            assert!(is_refused, "{algorithm} {nodes:?}")
        }
        schedule => {
            let schedule = schedule.unwrap();
            assert!(!is_refused, "{algorithm} {nodes:?}");
            if let Err(fault) = verify_schedule(&schedule) {
                panic!("{algorithm} {request:?}: {fault}");
            }
        }
    }
}

/// A further block costs only the steps that a leader takes for it. In the broadcast, leaders far from the root wait
/// once for the second block before they have passed on the first.
#[test]
fn pipelined_phases_overlap() {
    let steps = |name: &str, blocks| {
        let request = Request {
            units: 64,
            parameters: Parameters::with_blocks(blocks),
            placed: Placed::Block { per_node: 4 },
            ..Request::among_ranks(16)
        };
        let schedule = schedule(find_algorithm(name).unwrap(), &request);
        verify_schedule(&schedule).unwrap().tally.steps
    };
    for (name, one, begin, each) in [
        ("bcast/leaders_pipelined", 4, 3, 2),
        ("reduce/leaders_pipelined", 4, 2, 2),
        ("allreduce/leaders_pipelined", 6, 2, 4),
    ] {
        assert_eq!(steps(name, 1), one, "{name}");
        for blocks in [2, 7, 64] {
            let expected = begin + u64::from(blocks) * each;
            assert_eq!(steps(name, blocks), expected, "{name} {blocks}");
        }
    }
}

/// Parts of any sizes, on nodes of any sizes.
#[test]
fn uneven_parts_are_supported_if_the_ranks_of_nodes_are_consecutive() {
    let algorithm = find_algorithm("reduce_scatter/leaders").unwrap();
    let mut random = Random::named("uneven");
    for turn in 0..200 {
        let ranks = 1 + random.below(24) as u32;
        let mut labels: Vec<u32> = (0..ranks).map(|_| random.below(5) as u32).collect();
        labels.sort_unstable();
        let counts: Vec<u64> = (0..ranks).map(|_| random.below(4)).collect();
        let nodes = Nodes::from_labels(&labels);
        let request = Request {
            units: counts.iter().sum(),
            counts: Some(&counts),
            in_place: turn % 2 == 0,
            parameters: random.pick(&parameters(algorithm)),
            placed: Placed::On(&nodes),
            ..Request::among_ranks(ranks)
        };
        verify_schedule(&schedule(algorithm, &request)).unwrap();
    }
}

/// All ways to fill nodes with consecutive ranks, and each with the ranks shuffled.
#[test]
fn nodes_of_any_sizes_are_supported() {
    for algorithm in levelled() {
        let choices = parameters(algorithm);
        let mut random = Random::named(&algorithm.name());
        for ranks in 1..=12_u32 {
            for ends in 0..1_u32 << (ranks - 1) {
                let mut labels: Vec<u32> = (0..ranks)
                    .map(|rank| (ends & ((1 << rank) - 1)).count_ones())
                    .collect();
                let mut call = || (random.below(ranks.into()) as Rank, random.below(2) == 0);
                let (first, second) = (call(), call());
                let nodes = Nodes::from_labels(&labels);
                prove_call(algorithm, random.pick(&choices), &nodes, 7, first);
                for place in (1..labels.len()).rev() {
                    labels.swap(place, random.below(place as u64 + 1) as usize);
                }
                let shuffled = Nodes::from_labels(&labels);
                prove_call(algorithm, random.pick(&choices), &shuffled, 3, second);
            }
        }
    }
}

#[test]
fn many_ranks_on_random_nodes_are_supported() {
    for algorithm in levelled() {
        let choices = parameters(algorithm);
        let mut random = Random::named(&algorithm.name());
        for _ in 0..60 {
            let ranks = 13 + random.below(120) as u32;
            let nodes = 1 + random.below(ranks.into());
            let labels: Vec<u32> = (0..ranks).map(|_| random.below(nodes) as u32).collect();
            prove(
                algorithm,
                random.pick(&choices),
                &Nodes::from_labels(&labels),
                40,
            );
        }
        // Nodes of equal size, with ranks in random order.
        for (nodes, per_node) in [(2, 3), (3, 2), (4, 4), (5, 3), (7, 8), (16, 5)] {
            let mut labels: Vec<u32> = (0..nodes * per_node).map(|rank| rank % nodes).collect();
            for place in (1..labels.len()).rev() {
                labels.swap(place, random.below(place as u64 + 1) as usize);
            }
            for parameters in &choices {
                prove(algorithm, *parameters, &Nodes::from_labels(&labels), 90);
            }
        }
    }
}

/// Phases accept every algorithm, not only the recommended ones.
#[test]
fn any_algorithm_may_be_a_phase() {
    let mut proved = 0;
    for algorithm in levelled() {
        for parameter in [Parameter::Node, Parameter::Network] {
            let phases = || algorithm.phases.iter();
            let named = || phases().filter(|phase| phase.named_by == Some(parameter));
            let Some(first) = named().next() else {
                assert!(algorithm.knows_nodes_itself, "{algorithm}");
                continue;
            };
            for part in part_algorithms_of(first.collective) {
                let with = Parameters {
                    node: (parameter == Parameter::Node).then_some(part.id),
                    network: (parameter == Parameter::Network).then_some(part.id),
                    ..in_blocks(algorithm, 3)
                };
                for (nodes, per_node) in [(1, 5), (4, 1), (2, 3), (3, 2), (4, 4), (3, 5)] {
                    for placed in [Placed::Block { per_node }, Placed::Cyclic { nodes }] {
                        let ranks = nodes * per_node;
                        let request = Request {
                            parameters: with,
                            placed,
                            ..Request::among_ranks(ranks)
                        };
                        match Schedule::new(algorithm, &request) {
                            Err(
                                Unsupported::Part { .. }
                                | Unsupported::UnlikeNodes { .. }
                                | Unsupported::TooManyLeaders { .. },
                            ) => {
                                continue;
                            }
                            schedule => drop(schedule.unwrap()),
                        }
                        proved += 1;
                        prove(algorithm, with, &placed.resolve_nodes(ranks).unwrap(), 50);
                    }
                }
            }
        }
    }
    assert!(proved > 700, "{proved}");
}

#[test]
fn algorithms_that_know_nodes_are_in_order_if_the_ranks_of_nodes_are_consecutive() {
    for name in [
        "allreduce/leaders",
        "allreduce/leaders_pipelined",
        "reduce/leaders",
        "reduce/leaders_pipelined",
        "reduce_scatter/leaders",
        "reduce_scatter_block/leaders",
        "reduce_scatter_block/lanes",
        "scan/leaders",
        "exscan/leaders",
    ] {
        let found = find_algorithm(name).unwrap();
        let of = |placed| Request {
            commutative: false,
            placed,
            ..Request::among_ranks(12)
        };
        let in_block = schedule(found, &of(Placed::Block { per_node: 4 }));
        assert!(verify_schedule(&in_block).unwrap().ordered);
        let cyclic = Schedule::new(found, &of(Placed::Cyclic { nodes: 3 }));
        let collective = found.collective;
        let algorithm = name.to_owned();
        let expected = match collective {
            Collective::ReduceScatter | Collective::Scan | Collective::Exscan => {
                Unsupported::UnlikeNodes { algorithm }
            }
            _ => Unsupported::Unordered { algorithm },
        };
        assert_eq!(cyclic.unwrap_err(), expected);
    }
}

#[test]
fn algorithms_that_know_nodes_cannot_be_parts_of_compositions() {
    let algorithm = find_algorithm("allreduce/reduce_broadcast").unwrap();
    let request = Request {
        parameters: Parameters {
            reduce: Some("leaders"),
            ..Parameters::default()
        },
        ..Request::among_ranks(4)
    };
    let refusal = Schedule::new(algorithm, &request).unwrap_err();
    assert!(matches!(refusal, Unsupported::Part { .. }), "{refusal}");
}

/// Only leaders exchange data between nodes, or each lane exchanges its part.
#[test]
fn little_passes_between_nodes() {
    let between = |name: &str, network: &'static str| {
        let request = Request {
            units: 24,
            parameters: Parameters {
                network: Some(network),
                ..Parameters::default()
            },
            placed: Placed::Block { per_node: 4 },
            ..Request::among_ranks(16)
        };
        let schedule = schedule(find_algorithm(name).unwrap(), &request);
        let nodes = &schedule.shape().nodes;
        let mut units = 0;
        let mut round = schedule::Round::default();
        for rank in 0..16 {
            let program = schedule.program(rank);
            for index in 0..program.rounds() {
                round.clear();
                program.round(index, &mut round);
                for action in round.actions() {
                    if let schedule::Action::Send { to, span } = action
                        && nodes.place_of_rank(*to).0 != nodes.place_of_rank(rank).0
                    {
                        units += schedule.span_units(rank, span);
                    }
                }
            }
        }
        units
    };
    // Four nodes exchange whole vectors twice, with leaders as with lanes.
    assert_eq!(
        between("allreduce/leaders", "recursive_doubling"),
        4 * 2 * 24
    );
    assert_eq!(between("allreduce/lanes", "recursive_doubling"), 4 * 2 * 24);
    assert_eq!(between("allreduce/lanes", "ring"), 2 * 3 * 24);
    assert_eq!(between("bcast/leaders", "binomial"), 3 * 24);
    assert_eq!(between("bcast/lanes", "binomial"), 3 * 24);
    assert_eq!(between("reduce/leaders", "binomial"), 3 * 24);
    assert_eq!(between("reduce/lanes", "binomial"), 3 * 24);
    // The parts of a node's four ranks are sent once, or twice if a node in between passes them on.
    assert_eq!(between("gather/leaders", "linear_nonblocking"), 3 * 4 * 24);
    assert_eq!(between("gather/leaders", "binomial"), 4 * 4 * 24);
    assert_eq!(between("scatter/leaders", "binomial"), 4 * 4 * 24);
    assert_eq!(between("allgather/leaders", "ring"), 4 * 3 * 4 * 24);
    // A node receives all parts except its own, through one of its ranks or through all.
    assert_eq!(
        between("reduce_scatter/leaders", "circulant"),
        4 * 3 * 24 / 4
    );
    let lanes = between("reduce_scatter_block/lanes", "circulant");
    assert_eq!(lanes, 4 * 3 * 4 * 24);
}
